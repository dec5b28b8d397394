//! The way of one connection from a guest to a port of the host: a process that QEMU starts, with the guest's side as its standard
//! input and output (the same socket).

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::os::fd::AsFd as _;
use std::thread;

/// The hidden command that is such a process; the port is the word after it.
pub const RELAY_COMMAND: &str = "__lab-relay";

/// The words that start the command, for QEMU's command line: by the keeper's own file, wherever that is, so that no character of a
/// path can mean something to QEMU.
pub(super) fn relay_words() -> String {
    format!("/proc/{}/exe {RELAY_COMMAND}", std::process::id())
}

/// Moves bytes between the guest's side and a port of the host's loopback address until the host's side ends.
///
/// # Errors
/// If the command line names no port, nobody listens there, or the connection breaks.
pub fn relay() -> io::Result<()> {
    let port = std::env::args().nth(2).and_then(|word| word.parse().ok());
    let port: u16 = port.ok_or_else(|| io::Error::other("no port is named"))?;
    let host = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    let mut from_guest = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Not `Stdout`, which holds the end of a line back.
    let mut to_guest = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut to_host = host.try_clone()?;
    thread::Builder::new().name("lab-relay".to_owned()).spawn(move || {
        // However it ended, the host's side gets the end too, and may still answer.
        let _ = io::copy(&mut from_guest, &mut to_host);
        let _ = to_host.shutdown(Shutdown::Write);
    })?;
    // The process ends with this, and closes the guest's side.
    io::copy(&mut &host, &mut to_guest).map(|_| ())
}
