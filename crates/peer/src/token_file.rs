//! The token as a file that only its owner reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use farm::{Token, TokenError};

/// A token file has one short line; what is longer is another file.
const MOST_BYTES: u64 = 4096;

/// Why a token file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The kernel refuses.
    #[error("the token file {}: {error}", path.display())]
    File {
        /// Path of the file, as it was named.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
    /// It does not exist.
    #[error("there is no token file {}: copy it from the node that listens, where 'punctual listen --token-file FILE' writes it", path.display())]
    Missing {
        /// Path of the file, as it was named.
        path: PathBuf,
    },
    /// Something else stands at its place.
    #[error("{} exists and {what}: it is left as it is; name another file for the token, or remove that one", path.display())]
    InTheWay {
        /// Path of the file, as it was named.
        path: PathBuf,
        /// What stands there.
        what: &'static str,
    },
    /// What it holds is no token.
    #[error("the token file {}: {error}", path.display())]
    Token {
        /// Path of the file, as it was named.
        path: PathBuf,
        /// What is wrong.
        error: TokenError,
    },
    /// Much longer than a token.
    #[error("{} is no token file: it has more than {MOST_BYTES} bytes", path.display())]
    TooLong {
        /// Path of the file, as it was named.
        path: PathBuf,
    },
}

/// Reads a token from a file.
///
/// # Errors
/// If the file cannot be read, or holds no token.
pub fn read_token(path: &Path) -> Result<Token, TokenFileError> {
    let text = File::open(path).and_then(read_short).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => TokenFileError::Missing { path: path.to_owned() },
        _ => file_error(path, error),
    })?;
    let Some(text) = text else { return Err(TokenFileError::TooLong { path: path.to_owned() }) };
    text.parse().map_err(|error| TokenFileError::Token { path: path.to_owned(), error })
}

/// The text of a short file, `None` of a longer one.
fn read_short(file: File) -> io::Result<Option<String>> {
    let mut text = Vec::new();
    let bytes = file.take(MOST_BYTES + 1).read_to_end(&mut text)?;
    Ok((u64::try_from(bytes).is_ok_and(|bytes| bytes <= MOST_BYTES))
        .then(|| String::from_utf8_lossy(&text).into_owned()))
}

fn file_error(path: &Path, error: io::Error) -> TokenFileError {
    TokenFileError::File { path: path.to_owned(), error }
}

/// Writes a token to a file of mode 0600: beside its place first, then renamed, so that a reader sees all of it or nothing.
pub(crate) fn write(path: &Path, token: &Token) -> Result<(), TokenFileError> {
    check_place(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}.punctual-new", std::process::id()));
    // One that a killed process of the same number left; nobody else's has this name.
    let _ = fs::remove_file(&part);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let written = made.and_then(|mut file| {
        file.write_all(format!("{}\n", token.reveal()).as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        // It may not exist at all.
        let _ = fs::remove_file(&part);
    }
    written.and_then(|()| kernel::whole_file::sync_folder(path)).map_err(|error| file_error(path, error))
}

/// Removes a file that still has this token; any other one stays, and so does one that cannot be removed.
pub(crate) fn withdraw(path: &Path, token: &Token) {
    let is_it = read_token(path).is_ok_and(|found| found.reveal() == token.reveal());
    if is_it && fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        let _ = fs::remove_file(path);
    }
}

/// Whether a token may be written there: nothing is there, or a token of this user's.
fn check_place(path: &Path) -> Result<(), TokenFileError> {
    let in_the_way = |what| Err(TokenFileError::InTheWay { path: path.to_owned(), what });
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(file_error(path, error)),
    };
    if !found.is_file() {
        return in_the_way("is no regular file");
    }
    if found.uid() != kernel::process::effective_user() {
        return in_the_way("belongs to another user");
    }
    match File::open(path).and_then(read_short) {
        Ok(Some(text)) if text.trim().is_empty() || Token::begins_like_one(&text) => Ok(()),
        Ok(_) => in_the_way("is no token file"),
        Err(error) => Err(file_error(path, error)),
    }
}
