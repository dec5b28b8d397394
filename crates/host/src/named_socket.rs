//! Datagram sockets in the file system, one end of which is ours: made, and gone with the run.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// How the names of our own sockets begin.
const PREFIX: &str = "punctual-answers-";

/// Sockets of this process, so that each has a name of its own.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A socket with a name in the file system; the name is gone once it is dropped.
#[derive(Debug)]
pub struct NamedSocket {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Drop for NamedSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl NamedSocket {
    /// One for answers, which are sent to its name: what asks, this process, and a number. Whoever looks at the folder sees which
    /// question it is, of a profile or of a run.
    ///
    /// # Errors
    /// Where no folder takes it.
    pub fn for_answers(to: &str) -> io::Result<Self> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{to}-{}-{number}", std::process::id());
        let folders = [PathBuf::from("/run"), std::env::temp_dir()];
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders {
            remove_abandoned(&folder);
            let path = folder.join(&name);
            match Self::bind(&path) {
                Ok(bound) => return Ok(bound),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// One at a path that another program sends to. A name that nobody listens at any more is taken over.
    ///
    /// # Errors
    /// Where the path is taken, or its folder is not for this user.
    pub fn at(path: &Path) -> io::Result<Self> {
        match Self::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
                std::fs::remove_file(path)?;
                Self::bind(path)
            }
            bound => bound,
        }
    }

    fn bind(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::bind(path)?;
        let named = Self { socket, path: path.to_owned() };
        named.socket.set_nonblocking(true)?;
        // A service under another user has to be able to send here.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
        Ok(named)
    }

    /// What becomes readable once a datagram waits.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a datagram to another such socket.
    ///
    /// # Errors
    /// Where nobody listens there, or this user may not send.
    pub fn send_to(&self, bytes: &[u8], to: &Path) -> io::Result<()> {
        self.socket.send_to(bytes, to).map(|_| ())
    }

    /// The next datagram; `None` where none waits.
    #[must_use]
    pub fn receive<'b>(&self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let length = self.socket.recv(buffer).ok()?;
        buffer.get(..length)
    }
}

/// Removes what killed runs left in a folder.
fn remove_abandoned(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_abandoned(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a name in the file system is a socket that nobody listens at.
fn is_abandoned(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|of| of.file_type().is_socket());
    let refused = UnixDatagram::unbound()
        .and_then(|probe| probe.connect(path))
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    is_socket && refused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_gone_with_its_socket_and_one_in_use_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        let first = NamedSocket::at(&path).unwrap();
        assert_eq!(NamedSocket::at(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let other = NamedSocket::for_answers("test").unwrap();
        other.send_to(b"x", &path).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(first.receive(&mut buffer), Some(&b"x"[..]));
        assert_eq!(first.receive(&mut buffer), None);
        drop(first);
        assert!(!path.exists());
        // As a killed run leaves it.
        drop(UnixDatagram::bind(&path).unwrap());
        assert!(path.exists());
        assert!(NamedSocket::at(&path).is_ok());
        let killed = folder.path().join(format!("{PREFIX}1-0"));
        drop(UnixDatagram::bind(&killed).unwrap());
        let lives = UnixDatagram::bind(folder.path().join(format!("{PREFIX}2-0"))).unwrap();
        remove_abandoned(folder.path());
        assert!(!killed.exists() && folder.path().join(format!("{PREFIX}2-0")).exists(), "{lives:?}");
        std::fs::write(&path, "a user's file").unwrap();
        assert!(NamedSocket::at(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"a user's file");
    }
}
