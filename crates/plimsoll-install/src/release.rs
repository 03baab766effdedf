use std::fmt;
use std::str::FromStr;

/// A minor release of OpenShift whose installer is known here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    V4_14,
    V4_15,
    V4_16,
    V4_17,
    #[default]
    V4_18,
    V4_19,
    V4_20,
}

impl Release {
    pub const ALL: [Release; 7] = [
        Release::V4_14,
        Release::V4_15,
        Release::V4_16,
        Release::V4_17,
        Release::V4_18,
        Release::V4_19,
        Release::V4_20,
    ];

    pub fn minor(self) -> u32 {
        match self {
            Release::V4_14 => 14,
            Release::V4_15 => 15,
            Release::V4_16 => 16,
            Release::V4_17 => 17,
            Release::V4_18 => 18,
            Release::V4_19 => 19,
            Release::V4_20 => 20,
        }
    }
}

/// A build of the installer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installer {
    /// `openshift-install-fips`, on a host in FIPS mode.
    pub fips: bool,
    /// The architecture that its release payload is for; none where it is for all of them.
    pub payload: Option<&'static str>,
}

impl Default for Installer {
    fn default() -> Self {
        Self { fips: false, payload: Some("amd64") }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "4.{}", self.minor())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no release between 4.14 and 4.20: {0}")]
pub struct UnknownRelease(pub String);

impl FromStr for Release {
    type Err = UnknownRelease;

    /// `4.18`, `v4.18`, `4.18.3`, `4.18.0-rc.1`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownRelease(text.to_string());
        let rest = text.strip_prefix('v').unwrap_or(text).strip_prefix("4.").ok_or_else(unknown)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (minor, rest) = rest.split_at(digits);
        if !rest.is_empty() && !rest.starts_with('.') {
            return Err(unknown());
        }
        let minor: u32 = minor.parse().map_err(|_| unknown())?;
        Self::ALL.into_iter().find(|release| release.minor() == minor).ok_or_else(unknown)
    }
}

/// What the user will run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `create cluster`, `create manifests`, `create ignition-configs`.
    Ipi,
    /// `agent create image`.
    Agent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_from_any_version_of_it() {
        assert_eq!("4.18".parse(), Ok(Release::V4_18));
        assert_eq!("4.18.3".parse(), Ok(Release::V4_18));
        assert_eq!("v4.20.0-rc.2".parse(), Ok(Release::V4_20));
        for wrong in ["", "4", "4.", "4.13", "4.21", "5.18", "4.18x", "4.018x"] {
            assert!(wrong.parse::<Release>().is_err(), "{wrong}");
        }
        for release in Release::ALL {
            assert_eq!(release.to_string().parse(), Ok(release));
        }
    }
}
