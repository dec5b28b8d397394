//! What a service manager is told of a program that it runs: that it is ready, that it still works, that it ends (`sd_notify(3)`;
//! systemd's protocol, which others speak too). Where nobody asked, nothing is told.

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The way to a service manager.
#[derive(Debug, Default)]
pub struct Supervisor {
    socket: Option<UnixDatagram>,
}

impl Supervisor {
    /// The one that the environment names (`NOTIFY_SOCKET`); none where it names none.
    ///
    /// # Errors
    /// Where it names one that cannot be reached.
    pub fn from_environment() -> io::Result<Self> {
        let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(Self::default());
        };
        let name = name.into_encoded_bytes();
        // A name that begins with '@' is none of the file system's.
        let address = match name.strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(String::from_utf8_lossy(&name).as_ref())?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Some(socket) })
    }

    /// The program does what it is there for.
    pub fn is_ready(&self) {
        self.tell("READY=1");
    }

    /// The program still works. Whoever hears this too rarely starts it again (`WatchdogSec=`).
    pub fn still_works(&self) {
        self.tell("WATCHDOG=1");
    }

    /// The program is about to end.
    pub fn ends(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, state: &str) {
        if let Some(socket) = &self.socket {
            // A manager that is busy hears the next word.
            let _ = socket.send(state.as_bytes());
        }
    }
}
