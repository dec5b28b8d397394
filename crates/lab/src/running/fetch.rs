//! Files out of guests, and into them.
//!
//! A guest needs a shell, `cat`, `wc` and `find` for it, which every system has.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Component, Path};

use super::client::{ExecError, Streams, exec};
use super::place::Lab;
use crate::guest::protocol::Run;

/// Prints `file` and its size (bytes), `folder` and the files in it, or why neither can be read.
const LOOK: &str = r#"if [ -d "$1" ]; then cd -- "$1" && echo folder && find . -type f
elif [ ! -e "$1" ]; then echo missing
elif [ ! -r "$1" ]; then echo denied
elif [ ! -f "$1" ]; then echo odd
else echo file && wc -c <"$1"; fi"#;

/// What a path of a guest is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file of this size (bytes).
    File(u64),
    /// A folder, with the paths of the files in it and below, relative to it, in the order of their names.
    Folder(Vec<String>),
}

/// Why a file of a guest was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The guest could not be asked.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The guest has no such file.
    #[error("node {node} has no {path}; paths that do not begin with / are below /root there")]
    Missing {
        /// Name of the node.
        node: String,
        /// The path that was asked for.
        path: String,
    },
    /// It cannot be read.
    #[error("{path} of node {node} cannot be read: {why}")]
    Unreadable {
        /// Name of the node.
        node: String,
        /// The path that was asked for.
        path: String,
        /// The reason, in the guest's words.
        why: String,
    },
    /// It cannot be written there.
    #[error("{path} of node {node} cannot be written: {why}")]
    Unwritable {
        /// Name of the node.
        node: String,
        /// The path that was asked for.
        path: String,
        /// The reason, in the guest's words.
        why: String,
    },
    /// What came could not be written here.
    #[error("{path} cannot be kept here: {error}")]
    Write {
        /// The path that was asked for.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// Less came than the guest had announced.
    #[error("of {path} only {got} of {size} bytes came; try again")]
    Cut {
        /// The path that was asked for.
        path: String,
        /// Bytes that came.
        got: u64,
        /// Bytes that the file has.
        size: u64,
    },
}

/// Looks what a path of a guest is.
///
/// # Errors
/// If there is no such node or path, or it can be no file to fetch.
pub fn look(lab: &Lab, node: &str, path: &str) -> Result<Found, FetchError> {
    let (mut said, mut error) = (Vec::new(), Vec::new());
    let run = shell(LOOK, path);
    exec(lab, node, &run, Streams { input: None, output: &mut said, error: &mut error })?;
    let unreadable =
        |why: &str| FetchError::Unreadable { node: node.to_owned(), path: path.to_owned(), why: why.to_owned() };
    found(&String::from_utf8_lossy(&said)).map_err(|why| match why {
        "missing" => FetchError::Missing { node: node.to_owned(), path: path.to_owned() },
        "" => unreadable(String::from_utf8_lossy(&error).trim()),
        why => unreadable(why),
    })
}

/// Reads what [`LOOK`] has printed; the error is `missing`, empty where the guest's own words say why, or the reason.
fn found(said: &str) -> Result<Found, &'static str> {
    let mut lines = said.lines();
    match lines.next() {
        Some("file") => lines.next().and_then(|size| size.trim().parse().ok()).map(Found::File).ok_or(""),
        Some("folder") => {
            let mut files: Vec<String> = lines.map(|line| line.strip_prefix("./").unwrap_or(line).to_owned()).collect();
            if files.iter().any(|file| !is_below(file)) {
                return Err("a name in it leads out of it");
            }
            files.sort();
            Ok(Found::Folder(files))
        }
        Some("missing") => Err("missing"),
        Some("denied") => Err("permission denied"),
        Some("odd") => Err("it is no regular file"),
        _ => Err(""),
    }
}

/// Whether a path stays below the folder that it is relative to: a guest does not choose where the host writes.
fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Writes a file in a guest; what is there is replaced.
///
/// # Errors
/// If there is no such node, or it cannot write there.
pub fn put(lab: &Lab, node: &str, path: &str, content: Vec<u8>) -> Result<(), FetchError> {
    let (mut said, mut error) = (Vec::new(), Vec::new());
    let run = shell(r#"exec cat >"$1""#, path);
    let input: Box<dyn io::Read + Send> = Box::new(io::Cursor::new(content));
    let code = exec(lab, node, &run, Streams { input: Some(input), output: &mut said, error: &mut error })?;
    if code == 0 {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&error).trim().to_owned();
    Err(FetchError::Unwritable { node: node.to_owned(), path: path.to_owned(), why })
}

/// Writes the content of a guest's file of this size (bytes, as [`look`] reported it) to `to`, and returns the number of
/// bytes, which is larger if the file has grown since. `progress` is called with the bytes that came so far.
///
/// # Errors
/// If it cannot be read or written, or less comes than the file has.
pub fn fetch(
    lab: &Lab,
    node: &str,
    path: &str,
    size: u64,
    to: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, FetchError> {
    let mut error = Vec::new();
    let mut counted = Counted { to, bytes: 0, progress, failed: None };
    let run = shell(r#"exec cat <"$1""#, path);
    let ended = exec(lab, node, &run, Streams { input: None, output: &mut counted, error: &mut error });
    if let Some(error) = counted.failed {
        return Err(FetchError::Write { path: path.to_owned(), error });
    }
    let code = ended?;
    let got = counted.bytes;
    if code != 0 {
        let why = String::from_utf8_lossy(&error).trim().to_owned();
        return Err(FetchError::Unreadable { node: node.to_owned(), path: path.to_owned(), why });
    }
    if got < size {
        return Err(FetchError::Cut { path: path.to_owned(), got, size });
    }
    Ok(got)
}

/// A script of a guest's shell with one argument.
fn shell(script: &str, argument: &str) -> Run {
    let arguments = ["sh", "-c", script, "sh", argument].map(str::to_owned).to_vec();
    Run { arguments, environment: BTreeMap::new() }
}

/// Counts what is written, and keeps the error that ended it.
struct Counted<'a> {
    to: &'a mut dyn Write,
    bytes: u64,
    progress: &'a mut dyn FnMut(u64),
    failed: Option<io::Error>,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.to.write_all(bytes) {
            let kind = error.kind();
            self.failed = Some(error);
            return Err(kind.into());
        }
        self.bytes += bytes.len() as u64;
        (self.progress)(self.bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;
    use crate::guest::protocol::{Ended, Frame, Kind};

    /// Fetches from a guest that answers so, and returns what was written.
    fn fetch_from(answer: Vec<Frame>, size: u64, to: &mut dyn Write) -> Result<u64, FetchError> {
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab { name: "l".to_owned(), folder: folder.path().to_owned() };
        let listener = UnixListener::bind(lab.socket_path("n")).unwrap();
        let guest = std::thread::spawn(move || {
            let (mut port, _) = listener.accept().unwrap();
            let asked: Run = Frame::read(&mut port).unwrap().unwrap().parse().unwrap();
            // The other side stops to listen where it cannot write.
            answer.iter().take_while(|frame| frame.write(&mut port).is_ok()).count();
            asked.arguments.last().cloned()
        });
        let mut seen = Vec::new();
        let fetched = fetch(&lab, "n", "/tmp/x y", size, to, &mut |bytes| seen.push(bytes));
        assert_eq!(guest.join().unwrap().as_deref(), Some("/tmp/x y"));
        assert!(seen.is_sorted());
        fetched
    }

    fn said(kind: Kind, content: &[u8]) -> Frame {
        Frame { kind, content: content.to_vec() }
    }

    fn ended(code: i32) -> Frame {
        Frame::json(Kind::Ended, &Ended::Code(code)).unwrap()
    }

    #[test]
    fn a_file_comes_byte_by_byte_or_with_the_reason_why_not() {
        let mut kept = Vec::new();
        let whole = vec![said(Kind::Output, b"\0\xff"), said(Kind::Output, b"\n\r\n"), ended(0)];
        assert_eq!(fetch_from(whole.clone(), 5, &mut kept).unwrap(), 5);
        assert_eq!(kept, b"\0\xff\n\r\n");
        // It has grown since it was looked at.
        assert_eq!(fetch_from(whole.clone(), 3, &mut Vec::new()).unwrap(), 5);
        let cut = fetch_from(whole.clone(), 6, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(cut, "of /tmp/x y only 5 of 6 bytes came; try again");
        let denied = vec![said(Kind::Error, b"sh: can't open /tmp/x y: no such file\n"), ended(1)];
        let denied = fetch_from(denied, 5, &mut Vec::new()).unwrap_err().to_string();
        assert!(denied.contains("of node n cannot be read: sh: can't open"), "{denied}");
        // A full disk here is no fault of the guest's.
        let full = fetch_from(whole, 5, &mut [0_u8; 1].as_mut_slice()).unwrap_err();
        assert!(matches!(full, FetchError::Write { .. }), "{full}");
    }

    #[test]
    fn what_the_guest_says_of_a_path_is_understood() {
        assert_eq!(found("file\n      12\n"), Ok(Found::File(12)));
        assert_eq!(found("folder\n./b/c.json\n./a\n"), Ok(Found::Folder(vec!["a".to_owned(), "b/c.json".to_owned()])));
        assert_eq!(found("folder\n"), Ok(Found::Folder(Vec::new())));
        assert_eq!(found("missing\n"), Err("missing"));
        for said in ["", "file\n", "sh: find: not found\n"] {
            assert_eq!(found(said), Err(""), "{said}");
        }
        // A guest does not choose where the host writes.
        for said in ["folder\n../x\n", "folder\n/etc/passwd\n", "folder\n./a/../../x\n", "folder\n./\n"] {
            assert!(found(said).is_err(), "{said}");
        }
    }

    /// The scripts in the shell of this machine.
    #[test]
    fn the_script_tells_files_folders_and_what_is_neither_apart() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::create_dir_all(at("-d e/f")).unwrap();
        std::fs::write(at("-d e/f/g h"), b"\0\xff\n").unwrap();
        let look = |path: &str| {
            let run = shell(LOOK, path);
            let output =
                Command::new(&run.arguments[0]).args(&run.arguments[1..]).current_dir(&folder).output().unwrap();
            found(&String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(look(&at("-d e")), Ok(Found::Folder(vec!["f/g h".to_owned()])));
        assert_eq!(look("-d e"), Ok(Found::Folder(vec!["f/g h".to_owned()])));
        assert_eq!(look(&at("-d e/f/g h")), Ok(Found::File(3)));
        assert_eq!(look(&at("nope")), Err("missing"));
        assert_eq!(look("/dev/null"), Err("it is no regular file"));
    }
}
