//! Asks a running ptp4l for its state, over the socket that answers questions alone where it has one. Nothing is set.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use codecs::linuxptp::{ClockIdentity, PortIdentity, Request, Requester};
use profile::ptp_state::{PtpState, QUESTIONS};
use profile::time_config::Config;

use crate::named_socket::NamedSocket;

/// Where ptp4l makes its sockets unless it is configured, up to 4.4 and after: for questions alone (4.0 and later), and for all.
const KNOWN_READ_ONLY: [&str; 2] = ["/var/run/ptp4lro", "/var/run/ptp/ptp4lro"];
const KNOWN: [&str; 2] = ["/var/run/ptp4l", "/var/run/ptp/ptp4l"];
/// It answers within a millisecond; one that is stopped does not keep the reader waiting.
const PATIENCE: Duration = Duration::from_millis(200);
/// Once something came, the rest follows at once.
const QUIET: Duration = Duration::from_millis(20);

/// Why nothing is known of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// This user may not ask.
    Denied,
    /// It has no socket where it should be, or does not answer.
    Silent,
}

/// Asks a ptp4l with this configuration; `located` is where a path of its is found from here.
pub(super) fn ask(config: &Config, located: &dyn Fn(&str) -> Option<String>) -> Result<PtpState, NoAnswer> {
    let known = |own: &Option<String>, known: [&str; 2]| match own {
        Some(own) => vec![own.clone()],
        None => known.map(str::to_owned).to_vec(),
    };
    let mut sockets = known(&config.read_only, KNOWN_READ_ONLY);
    sockets.extend(known(&config.management, KNOWN));
    let mut last = NoAnswer::Silent;
    for socket in sockets {
        let Some(socket) = located(&socket) else { continue };
        match ask_at(Path::new(&socket), config) {
            Ok(state) => return Ok(state),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => last = NoAnswer::Denied,
            Err(_) => {}
        }
    }
    Err(last)
}

fn ask_at(socket: &Path, config: &Config) -> io::Result<PtpState> {
    let own = NamedSocket::for_answers("profile")?;
    let requester = Requester {
        transport_specific: config.transport_specific.unwrap_or(0) & 0xf,
        domain_number: config.domain_number.unwrap_or(0),
        minor_version: 0,
        source: PortIdentity { clock: ClockIdentity([0xff; 8]), port: asker() },
    };
    for (sequence, id) in (1..).zip(QUESTIONS) {
        let request = requester.encode(sequence, &Request::Get(id)).map_err(io::Error::other)?;
        own.send_to(request.as_bytes(), socket)?;
    }
    let (mut state, mut has_answered) = (PtpState::default(), false);
    let (began, mut last) = (Instant::now(), Instant::now());
    loop {
        let mut buffer = [0; 2_048];
        while let Some(datagram) = own.receive(&mut buffer) {
            state.take(datagram);
            (has_answered, last) = (true, Instant::now());
            if began.elapsed() > PATIENCE {
                break;
            }
        }
        let is_done = has_answered && last.elapsed() > QUIET;
        if is_done || began.elapsed() > PATIENCE {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if state == PtpState::default() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(state) }
}

/// A number of this process, so that answers to others are not taken for ours.
fn asker() -> u16 {
    u16::try_from(std::process::id() & 0xffff).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn one_that_is_not_there_or_does_not_answer_is_silent_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ptp4l");
        let config = Config {
            management: Some(path.to_str().unwrap().to_owned()),
            read_only: Some(folder.path().join("ro").to_str().unwrap().to_owned()),
            ..Config::default()
        };
        assert_eq!(ask(&config, &|path| Some(path.to_owned())), Err(NoAnswer::Silent));
        let stopped = UnixDatagram::bind(&path).unwrap();
        let began = Instant::now();
        assert_eq!(ask(&config, &|path| Some(path.to_owned())), Err(NoAnswer::Silent));
        assert!(began.elapsed() < Duration::from_secs(5));
        // All questions were asked, and none of them sets anything.
        stopped.set_nonblocking(true).unwrap();
        let mut buffer = [0; 256];
        let mut asked = 0;
        while let Ok(length) = stopped.recv(&mut buffer) {
            // The action stands behind header, target, and hops: 0 is GET.
            assert_eq!((length, buffer[46] & 0xf), (54, 0));
            asked += 1;
        }
        assert_eq!(asked, QUESTIONS.len());
    }
}
