//! The token as a file.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use peer::{Listener, Settings, TokenFileError, read_token};

fn listener() -> Listener {
    Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap()
}

#[test]
fn a_token_file_is_its_owner_s_alone_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let (first, second) = (listener(), listener());
    first.write_token(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(&read_token(&path).unwrap(), first.token());
    // An older token of this user's is replaced, and stays secret where its file was not.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    second.write_token(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(&read_token(&path).unwrap(), second.token());
    fs::write(&path, "").unwrap();
    first.write_token(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_listener_takes_its_own_token_away_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let (first, second) = (listener(), listener());
    first.write_token(&path).unwrap();
    second.withdraw_token(&path);
    assert_eq!(&read_token(&path).unwrap(), first.token());
    first.withdraw_token(&path);
    assert!(!path.exists());
    first.withdraw_token(&path);
    let other = folder.path().join("other");
    first.write_token(&other).unwrap();
    symlink(&other, &path).unwrap();
    first.withdraw_token(&path);
    assert!(path.is_symlink() && other.exists(), "what somebody else put there stays");
}

#[test]
fn nothing_but_a_token_of_this_user_s_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let listener = listener();
    let check = |name: &str, expected: &str| {
        let path = folder.path().join(name);
        let error = listener.write_token(&path).unwrap_err();
        assert!(error.to_string().contains(expected) && error.to_string().contains(name), "{error}");
    };
    fs::write(folder.path().join("record.json"), "{}").unwrap();
    check("record.json", "is no token file");
    assert_eq!(fs::read_to_string(folder.path().join("record.json")).unwrap(), "{}");
    fs::write(folder.path().join("target"), "PUNCTUAL1").unwrap();
    symlink(folder.path().join("target"), folder.path().join("link")).unwrap();
    check("link", "is no regular file");
    fs::create_dir(folder.path().join("folder")).unwrap();
    check("folder", "is no regular file");
    check("missing/token", "No such file");
    if kernel::process::is_root() {
        let path = folder.path().join("foreign");
        fs::write(&path, "").unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        check("foreign", "belongs to another user");
    } else {
        eprintln!("not run without root: a token file of another user");
    }
}

#[test]
fn a_file_that_holds_no_token_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let check = |content: &str, expected: &str| {
        fs::write(&path, content).unwrap();
        let error = read_token(&path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("token"), "{error}");
    };
    check("", "is empty");
    check("PUNCTUAL1abc", "is cut off: 12 of 139 characters");
    check("not a token", "begins with PUNCTUAL1");
    check(&"P".repeat(5_000), "more than 4096 bytes");
    let error = read_token(&folder.path().join("none")).unwrap_err();
    assert!(matches!(error, TokenFileError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("copy it from the node that listens"), "{error}");
}
