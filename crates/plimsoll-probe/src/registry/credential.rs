//! Who asks. Kept in memory, sent where a registry asks for it, and shown nowhere.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The value of the header, ready to be sent.
    basic: HeaderValue,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a credential is a user name without a colon and a password, or base64 of both")]
pub struct NoCredential;

impl Credential {
    pub fn new(user: &str, password: &str) -> Result<Self, NoCredential> {
        if user.is_empty() || user.contains(':') {
            return Err(NoCredential);
        }
        let pair = STANDARD.encode(format!("{user}:{password}"));
        let mut basic = HeaderValue::try_from(format!("Basic {pair}")).map_err(|_| NoCredential)?;
        basic.set_sensitive(true);
        Ok(Self { basic })
    }

    /// The field `auth` of a pull secret.
    pub fn from_auth(auth: &str) -> Result<Self, NoCredential> {
        let bytes = STANDARD.decode(auth.trim()).map_err(|_| NoCredential)?;
        let text = String::from_utf8(bytes).map_err(|_| NoCredential)?;
        let (user, password) = text.split_once(':').ok_or(NoCredential)?;
        Self::new(user, password)
    }

    pub(crate) fn basic(&self) -> HeaderValue {
        self.basic.clone()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_the_same_credential_and_show_nothing() {
        let pair = Credential::new("mirror", "hunter:2").unwrap();
        let auth = Credential::from_auth("bWlycm9yOmh1bnRlcjoy\n").unwrap();
        assert_eq!(pair, auth);
        assert_eq!(pair.basic().to_str().unwrap(), "Basic bWlycm9yOmh1bnRlcjoy");
        let shown = format!("{pair:?} {:?}", pair.basic());
        assert!(!shown.contains("hunter") && !shown.contains("bWly"), "{shown}");
        for odd in ["", "????", "bm9jb2xvbg==", "/////w=="] {
            assert_eq!(Credential::from_auth(odd), Err(NoCredential), "{odd}");
        }
        assert!(Credential::new("a:b", "c").is_err() && Credential::new("", "c").is_err());
    }
}
