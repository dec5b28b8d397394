//! A measurement and the agent of the same machine do not measure on the same CPUs: the agent leaves them, and says so.
//!
//! The agent listens at a name of the abstract namespace of Unix sockets. A run connects, says which CPUs it measures, and waits until
//! the agent has left them; the connection holds it off until the run has ended, however it ends.

use std::io::{self, Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use units::CpuSet;

/// The name at which an agent listens (unix(7), abstract), unless the variable of the environment names another.
const AGENT_SOCKET: &str = "punctual-agent";
const AGENT_SOCKET_VARIABLE: &str = "PUNCTUAL_AGENT_SOCKET";
/// What the agent answers once it measures nothing on the CPUs of a run.
pub const HAS_LEFT: u8 = b'.';
/// How long a run waits for that: ending a measurement takes a second.
const PATIENCE: Duration = Duration::from_secs(8);

/// Where an agent of this machine listens.
///
/// # Errors
/// Where the environment names what is no name of a socket.
pub fn agent_socket() -> io::Result<SocketAddr> {
    let name = std::env::var(AGENT_SOCKET_VARIABLE).unwrap_or_else(|_| AGENT_SOCKET.to_owned());
    SocketAddr::from_abstract_name(name)
}

/// The agent, where there is one, is off the CPUs of a run as long as this lives.
#[derive(Debug)]
pub(crate) struct HeldOff(#[expect(dead_code, reason = "held for its drop alone")] Option<UnixStream>);

impl HeldOff {
    /// Has the agent leave some CPUs. Without one nothing is to be done.
    ///
    /// # Errors
    /// Where it does not answer.
    pub(crate) fn from(cpus: &CpuSet) -> io::Result<Self> {
        let address = agent_socket()?;
        let Ok(mut stream) = UnixStream::connect_addr(&address) else { return Ok(Self(None)) };
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{cpus}\n").as_bytes())?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        Ok(Self(Some(stream)))
    }
}
