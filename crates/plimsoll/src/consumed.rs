//! An install folder after the installer was there: it takes the configs away and keeps a copy of each
//! in its state.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const STATE: &str = ".openshift_install_state.json";
/// Ignition of a large cluster is in it, too.
const LARGEST: u64 = 64 << 20;
/// What the installer makes, besides `*.ign`.
const MADE: [&str; 4] = [STATE, "auth", "manifests", "openshift"];
/// Certificates in these are good for a day from when they were written.
const DATED: [&str; 3] = [STATE, "auth/kubeconfig", "manifests"];

/// Whether an earlier run of the installer left something here.
pub fn was_here(folder: &Path) -> bool {
    MADE.iter().any(|name| folder.join(name).exists()) || !ignition(folder).is_empty()
}

/// The config of this name as the installer keeps it in its state, with every default filled in. The
/// reason where there is none.
pub fn kept(folder: &Path, name: &str) -> Result<(PathBuf, String), String> {
    let path = folder.join(STATE);
    let size = fs_err::metadata(&path).map_err(|error| plimsoll_sources::plain(&error))?.len();
    if size > LARGEST {
        return Err(format!("{STATE} is larger than {} MiB", LARGEST >> 20));
    }
    let bytes = fs_err::read(&path).map_err(|error| plimsoll_sources::plain(&error))?;
    let state: Value = serde_json::from_slice(&bytes).map_err(|_| format!("{STATE} is no JSON"))?;
    let assets = state.as_object().into_iter().flat_map(|assets| assets.values());
    let text = assets.filter_map(|asset| file_of(asset, name)).next();
    Ok((path, text.ok_or_else(|| format!("{STATE} has no {name}"))?))
}

/// Some assets spell the field `file`, and some `File`.
fn file_of(asset: &Value, name: &str) -> Option<String> {
    let field = |of: &Value, wanted: &str| {
        let mut all = of.as_object()?.iter();
        all.find(|(key, _)| key.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.clone())
    };
    let file = field(asset, "file")?;
    if field(&file, "Filename")?.as_str()? != name {
        return None;
    }
    let bytes = STANDARD.decode(field(&file, "Data")?.as_str()?).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.trim().is_empty())
}

/// Of the oldest thing that an earlier run left.
pub fn age_hours(folder: &Path, now: jiff::Timestamp) -> Option<i64> {
    let assets = DATED.iter().map(|name| folder.join(name)).chain(ignition(folder));
    let made = assets.filter_map(|path| {
        let changed = fs_err::metadata(path).ok()?.modified().ok()?;
        jiff::Timestamp::try_from(changed).ok()
    });
    Some(now.duration_since(made.min()?).as_hours())
}

fn ignition(folder: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "ign")).collect()
}
