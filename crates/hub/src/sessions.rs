//! Who may read: a link with a secret that is good once, which becomes a session of one browser.
//!
//! Both are empty files, called by the SHA-256 of their secret: whoever reads the folder has no session by it, and a command makes a
//! link while the hub runs.

use std::fs;
use std::path::{Path, PathBuf};

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use farm::stream::NodeKey;

use crate::folder::{self, Folder, FolderError};
use crate::keys::{KeyError, hexadecimal, new_secret, sha256};

/// The cookie's name.
const COOKIE_NAME: &str = "punctual-session";
/// How long a browser keeps it (s): 400 days, the most that browsers do. What ends one earlier is `punctual-hub link --end-all`.
const COOKIE_AGE_S: u32 = 400 * 86_400;

/// Links and sessions of a hub.
#[derive(Clone, Debug)]
pub struct Sessions {
    links: PathBuf,
    sessions: PathBuf,
}

/// The name of a secret's file, where a text is a secret.
fn name_of(secret: &str) -> Option<String> {
    // 32 bytes as digits have the form of a key.
    let bytes: NodeKey = secret.parse().ok()?;
    Some(hexadecimal(sha256(&bytes.0)))
}

impl Sessions {
    /// Those of a hub's folder.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn new(folder: &Folder) -> Result<Self, FolderError> {
        Ok(Self { links: folder.below("links")?, sessions: folder.below("sessions")? })
    }

    /// Makes a link; its secret.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn new_link(&self) -> Result<String, KeyError> {
        make(&self.links)
    }

    /// Makes a session of a link, once; the session's secret.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn redeem(&self, link: &str) -> Result<Option<String>, KeyError> {
        let Some(name) = name_of(link) else { return Ok(None) };
        // Of two who come at once one removes it.
        if fs::remove_file(self.links.join(name)).is_err() {
            return Ok(None);
        }
        // After a power cut it is not good again.
        sync(&self.links)?;
        make(&self.sessions).map(Some)
    }

    /// Whether a request is of a session.
    #[must_use]
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut secrets = pairs.filter(|(name, _)| *name == COOKIE_NAME).filter_map(|(_, secret)| name_of(secret));
        secrets.any(|name| self.sessions.join(name).is_file())
    }

    /// Ends all sessions and links; how many. After a power cut none of them is good again.
    ///
    /// # Errors
    /// Where one cannot be removed.
    pub fn end_all(&self) -> Result<usize, FolderError> {
        let mut ended = 0;
        for folder in [&self.links, &self.sessions] {
            let failed = |error| FolderError::File { path: folder.clone(), error };
            for entry in fs::read_dir(folder).map_err(failed)? {
                fs::remove_file(entry.map_err(failed)?.path()).map_err(failed)?;
                ended += 1;
            }
            sync(folder)?;
        }
        Ok(ended)
    }
}

/// Brings to the disk which files a folder has.
fn sync(folder: &Path) -> Result<(), FolderError> {
    let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| FolderError::File { path: folder.to_owned(), error })
}

fn make(folder: &Path) -> Result<String, KeyError> {
    let secret = new_secret()?;
    folder::write_new(&folder.join(hexadecimal(sha256(secret.bytes()))), b"")?;
    Ok(hexadecimal(*secret.bytes()))
}

/// The value of a session's cookie: no script reads it, and no other site's page sends it.
pub(crate) fn cookie(secret: &str, is_over_tls: bool) -> String {
    let secure = if is_over_tls { "; Secure" } else { "" };
    format!("{COOKIE_NAME}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_AGE_S}{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_good_once_and_only_its_session_is_in() {
        let place = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(&Folder::make(&place.path().join("hub")).unwrap()).unwrap();
        let link = sessions.new_link().unwrap();
        let session = sessions.redeem(&link).unwrap().unwrap();
        assert_eq!(sessions.redeem(&link).unwrap(), None);
        let with = |cookie: &str| {
            let headers = HeaderMap::from_iter([(COOKIE, cookie.parse().unwrap())]);
            sessions.is_in(&headers)
        };
        assert!(with(&format!("a=b; {COOKIE_NAME}={session}")) && !with(&format!("{COOKIE_NAME}={link}")));
        for other in ["", "..", "../links", "%2e%2e", &"0".repeat(64), &session.to_uppercase()] {
            assert!(!with(&format!("{COOKIE_NAME}={other}")), "{other}");
        }
        assert_eq!((sessions.end_all().unwrap(), with(&format!("{COOKIE_NAME}={session}"))), (1, false));
    }
}
