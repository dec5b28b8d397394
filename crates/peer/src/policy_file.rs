//! The file that says what this node may be asked.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use farm::{Policy, PolicyError};

/// Where a node's policy stands, unless another file is named.
pub const POLICY_FILE: &str = "/etc/punctual/policy.toml";
/// A policy is a few lines; what is longer is another file.
const MOST_BYTES: u64 = 64 * 1024;
/// The permission of everybody to write.
const WRITABLE_BY_ALL: u32 = 0o002;

/// Why a node's policy cannot be known. Nothing is allowed then.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFileError {
    /// The file cannot be read.
    #[error("the policy {}: {error}; without it nobody may ask anything of this node", path.display())]
    File {
        /// Path of the file, as it was named.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
    /// Somebody else could have written it.
    #[error("the policy {} {what}, who could allow everything with it: make it root's or your own, and writable by its owner alone (chmod 644)", path.display())]
    Untrusted {
        /// Path of the file, as it was named.
        path: PathBuf,
        /// Who else may write it.
        what: &'static str,
    },
    /// It is no policy.
    #[error("the policy {}: {error}", path.display())]
    Policy {
        /// Path of the file, as it was named.
        path: PathBuf,
        /// Line, field and reason.
        error: PolicyError,
    },
    /// Much longer than a policy.
    #[error("{} is no policy: it has more than {MOST_BYTES} bytes", path.display())]
    TooLong {
        /// Path of the file, as it was named.
        path: PathBuf,
    },
}

/// This node's policy: what [`POLICY_FILE`] says, and measurements alone where there is no such file.
///
/// # Errors
/// If there is one that cannot be read or trusted.
pub fn local_policy() -> Result<Policy, PolicyFileError> {
    or_default(read_policy(POLICY_FILE.as_ref()))
}

fn or_default(read: Result<Policy, PolicyFileError>) -> Result<Policy, PolicyFileError> {
    match read {
        Err(PolicyFileError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(Policy::default()),
        read => read,
    }
}

/// Reads a policy from a file.
///
/// # Errors
/// If it is missing, cannot be read or is no policy, or if others than root and this user may write it.
pub fn read_policy(path: &Path) -> Result<Policy, PolicyFileError> {
    let failed = |error| PolicyFileError::File { path: path.to_owned(), error };
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let untrusted = |what| Err(PolicyFileError::Untrusted { path: path.to_owned(), what });
    if about.mode() & WRITABLE_BY_ALL != 0 {
        return untrusted("may be written by everybody");
    }
    if ![0, kernel::process::effective_user()].contains(&about.uid()) {
        return untrusted("belongs to another user");
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > MOST_BYTES) {
        return Err(PolicyFileError::TooLong { path: path.to_owned() });
    }
    Policy::from_toml(&text).map_err(|error| PolicyFileError::Policy { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use farm::JobClass;

    use super::*;

    #[test]
    fn a_missing_file_allows_measurements_and_a_bad_one_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        assert_eq!(or_default(read_policy(&path)).unwrap(), Policy::default());
        assert!(read_policy(&path).unwrap_err().to_string().contains("nobody may ask anything"));
        fs::write(&path, "allow = [\"load\"]\n").unwrap();
        assert_eq!(read_policy(&path).unwrap().allow, [JobClass::Load]);
        fs::write(&path, "allow = [\"everything\"]\n").unwrap();
        let error = or_default(read_policy(&path)).unwrap_err().to_string();
        assert!(error.contains("policy.toml") && error.contains("line 1") && error.contains("everything"), "{error}");
        fs::write(&path, "#".repeat(70_000)).unwrap();
        assert!(matches!(or_default(read_policy(&path)), Err(PolicyFileError::TooLong { .. })));
    }

    #[test]
    fn a_policy_that_everybody_may_write_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o646)).unwrap();
        let error = read_policy(&path).unwrap_err().to_string();
        assert!(error.contains("may be written by everybody"), "{error}");
    }
}
