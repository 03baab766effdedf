//! The file that tells which names stand for which. It stays with its owner.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use plimsoll_disguise::{Disguise, Key, Names};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;
use crate::live::folder_of;

const SCHEMA: &str = "plimsoll.names/v1";
/// Ten thousand hosts with long names, and all their addresses, stay below this.
const LARGEST: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamesFile {
    schema: String,
    /// Of other addresses, in hexadecimal.
    key: String,
    names: BTreeMap<String, String>,
    /// To look one up. They follow from the key, and are the same in every capture.
    #[serde(default)]
    addresses: BTreeMap<String, String>,
}

impl NamesFile {
    /// What is there is used again, so that captures of one site agree with each other.
    pub fn open(file: &Path) -> Result<Self, Failure> {
        let shown = file.display();
        let unreadable =
            |why: &dyn std::fmt::Display| Failure::Unreadable(format!("cannot use {shown}: {why}"));
        let text = match fs_err::File::open(file) {
            Ok(opened) => {
                io::read_to_string(io::Read::take(opened, LARGEST)).map_err(|e| unreadable(&e))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self::anew().map_err(|e| unreadable(&e));
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let names: Self = serde_json::from_str(&text).map_err(|e| unreadable(&e))?;
        match names.schema == SCHEMA && names.key().is_some() {
            true => Ok(names),
            false => Err(unreadable(&format!("it is not of {SCHEMA}"))),
        }
    }

    fn anew() -> Result<Self, getrandom::Error> {
        let key = getrandom::u64()?;
        let more = getrandom::u64()?;
        Ok(Self {
            schema: SCHEMA.into(),
            key: format!("{key:016x}{more:016x}"),
            names: BTreeMap::new(),
            addresses: BTreeMap::new(),
        })
    }

    fn key(&self) -> Option<Key> {
        (self.key.len() == 32)
            .then(|| u128::from_str_radix(&self.key, 16).ok())?
            .map(u128::to_be_bytes)
    }

    /// With all names in it that have to be replaced.
    pub fn disguise(&mut self, names: &Names) -> Result<Disguise, Failure> {
        let key = self.key().unwrap_or_default();
        let disguise = Disguise::new(names, key, &self.names)
            .map_err(|error| Failure::Unreadable(format!("too many names: {error}")))?;
        self.names = disguise.names();
        Ok(disguise)
    }

    /// Remembers which addresses were replaced.
    pub fn used(&mut self, disguise: &Disguise) {
        self.addresses.extend(disguise.addresses());
    }

    /// In one step: what was there stays until the new one is whole.
    pub fn save(&self, file: &Path) -> io::Result<()> {
        let mut new = tempfile::NamedTempFile::new_in(folder_of(file))?;
        new.write_all(plimsoll_report::json(self).as_bytes())?;
        new.as_file().sync_all()?;
        new.persist(file).map_err(|error| error.error)?;
        Ok(())
    }
}
