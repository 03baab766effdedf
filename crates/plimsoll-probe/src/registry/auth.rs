//! The key to a repository: a name and password as they are, or a token for them.
//!
//! A credential is sent only after it was asked for; to the registry itself, or to the one whom the
//! registry names for tokens. That one must be on HTTPS, with a certificate that the same bundles
//! trust; without TLS only where the registry has none either, by the caller's wish, and on its own
//! host. Redirects of that one are not followed.

use std::collections::BTreeMap;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;

use super::challenge::{self, Challenge};
use super::client::{Ask, Client};
use super::found::{Auth, Fault};
use super::image::Repository;
use super::url::Url;

const TOKEN_BYTES: usize = 1 << 20;
/// One lives a minute or longer.
const TOKENS: usize = 60;

/// By repository, as tokens are.
#[derive(Default)]
pub struct Keys {
    keys: BTreeMap<Repository, Key>,
    /// Who was refused once is not asked for again: passwords get locked by that.
    refused: BTreeMap<Repository, Auth>,
    made: usize,
}

#[derive(Clone)]
pub struct Key {
    pub number: usize,
    pub header: HeaderValue,
    /// A token may be had without one.
    pub by_credential: bool,
    pub is_token: bool,
}

impl Keys {
    pub fn of(&self, repository: &Repository) -> Option<Key> {
        self.keys.get(repository).cloned()
    }

    pub fn refusal(&self, repository: &Repository) -> Option<Auth> {
        self.refused.get(repository).cloned()
    }
}

impl Client<'_> {
    /// A key that may do what the one with the number `used` could not. The headers are of a 401.
    pub async fn unlock(
        &self,
        repository: &Repository,
        used: Option<usize>,
        headers: &HeaderMap,
    ) -> Result<HeaderValue, Auth> {
        // Held while a token is fetched: many requests at once need only one.
        let mut keys = self.keys.lock().await;
        if let Some(why) = keys.refusal(repository) {
            return Err(why);
        }
        let known = keys.of(repository);
        if let Some(key) = known.as_ref().filter(|key| Some(key.number) != used) {
            return Ok(key.header.clone());
        }
        keys.made += 1;
        let made = match known {
            Some(key) if !key.is_token || keys.made > TOKENS => Err(self.refused(Some(&key))),
            _ => self.key(repository, headers, keys.made).await,
        };
        match made {
            Ok(key) => {
                let header = key.header.clone();
                keys.keys.insert(repository.clone(), key);
                Ok(header)
            }
            Err(why) => {
                keys.refused.insert(repository.clone(), why.clone());
                Err(why)
            }
        }
    }

    /// What a 401 means. Who got a token for his password has the right one.
    pub fn refused(&self, key: Option<&Key>) -> Auth {
        match key {
            Some(Key { is_token: true, by_credential: true, .. }) => Auth::Forbidden,
            _ if self.probe.credential.is_some() => Auth::Refused,
            _ => Auth::NoCredential,
        }
    }

    async fn key(
        &self,
        repository: &Repository,
        headers: &HeaderMap,
        number: usize,
    ) -> Result<Key, Auth> {
        let offered: Vec<Challenge> = challenges(headers);
        let usable = offered.iter().find(|one| !matches!(one, Challenge::Other(_)));
        let by_credential = self.probe.credential.is_some();
        match usable {
            Some(Challenge::Basic) => {
                let credential = self.probe.credential.as_ref().ok_or(Auth::NoCredential)?;
                Ok(Key { number, header: credential.basic(), by_credential, is_token: false })
            }
            Some(Challenge::Bearer { realm, service, scope }) => {
                let own = format!("repository:{repository}:pull");
                // No more rights than to read, whatever the registry suggests.
                let scope = scope.as_deref().filter(|scope| scope.ends_with(":pull"));
                let mut parameters = vec![("scope", scope.unwrap_or(&own))];
                parameters.extend(service.as_deref().map(|service| ("service", service)));
                let header = self.token(realm, &parameters).await?;
                Ok(Key { number, header, by_credential, is_token: true })
            }
            _ => Err(Auth::Unusable("it offers neither Basic nor Bearer".into())),
        }
    }

    async fn token(&self, realm: &str, parameters: &[(&str, &str)]) -> Result<HeaderValue, Auth> {
        let unusable = |_| Auth::Unusable("its realm is not on HTTPS".into());
        let url = Url::named(realm.as_bytes(), &self.registry, &self.registry).map_err(unusable)?;
        let url = url.with(parameters);
        let ask = Ask {
            method: Method::GET,
            repository: None,
            path: String::new(),
            accept: None,
            byte: None,
            until: self.soon(),
        };
        let basic = self.probe.credential.as_ref().map(|credential| credential.basic());
        let reply = self.send(&url, &ask, basic).await.map_err(Auth::TokenServer)?;
        match reply.status {
            200 => {}
            401 => return Err(self.refused(None)),
            403 => return Err(Auth::Forbidden),
            status => return Err(Auth::TokenServer(Fault::Get(status))),
        }
        let body = self.body(reply, TOKEN_BYTES).await.map_err(Auth::TokenServer)?;
        token(&body).ok_or(Auth::TokenServer(Fault::Unreadable))
    }
}

pub fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let all = headers.get_all(WWW_AUTHENTICATE).into_iter();
    all.flat_map(|header| challenge::read(header.as_bytes())).collect()
}

/// As a header, which no `Debug` shows.
fn token(body: &[u8]) -> Option<HeaderValue> {
    #[derive(Deserialize)]
    struct Token {
        token: Option<String>,
        access_token: Option<String>,
    }
    let Token { token, access_token } = serde_json::from_slice(body).ok()?;
    let given = |token: &String| !token.is_empty();
    let token = token.filter(given).or(access_token.filter(given))?;
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_two_names_and_is_shown_by_none() {
        for body in
            [r#"{"token":"abc","access_token":null}"#, r#"{"access_token":"abc","expires_in":60}"#]
        {
            let header = token(body.as_bytes()).unwrap();
            assert_eq!(header.to_str().unwrap(), "Bearer abc");
            assert_eq!(format!("{header:?}"), "Sensitive");
        }
        for body in ["", "{}", "[]", r#"{"token":"a\nb"}"#, r#"{"token":7}"#] {
            assert!(token(body.as_bytes()).is_none(), "{body}");
        }
    }
}
