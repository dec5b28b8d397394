//! Other measurements of this machine, for which the agent leaves their CPUs.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use units::CpuSet;

/// The longest line with which a measurement says its CPUs (bytes).
const MOST_LINE: usize = 4_096;
/// The most measurements that are listened to; of more the agent takes no notice.
const MOST_GUESTS: usize = 64;
/// How long after the last one the agent stays away: several parts of one assessment follow each other.
const STAYS_AWAY: Duration = Duration::from_secs(3);

/// A measurement, as long as its connection lives.
#[derive(Debug)]
struct Guest {
    stream: UnixStream,
    line: Vec<u8>,
    /// Its CPUs, once it has said them.
    cpus: Option<CpuSet>,
    is_answered: bool,
}

/// The measurements that go on.
#[derive(Debug)]
pub(crate) struct Guests {
    listener: Option<UnixListener>,
    guests: Vec<Guest>,
    monitored: CpuSet,
    last_seen: Option<Instant>,
}

impl Guests {
    /// Listens for them. Where another agent does, in a container or for another folder, that one leaves its CPUs and this one does not.
    pub(crate) fn listen(monitored: &CpuSet) -> Self {
        let bound = run::agent_socket().and_then(|address| {
            let listener = UnixListener::bind_addr(&address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        Self { listener: bound.ok(), guests: Vec::new(), monitored: monitored.clone(), last_seen: None }
    }

    /// Takes new ones, and forgets those that have ended; whether one of them measures on the agent's CPUs, or has just ended.
    pub(crate) fn are_there(&mut self) -> bool {
        while let Some((stream, _)) = self.listener.as_ref().and_then(|listener| listener.accept().ok()) {
            if self.guests.len() < MOST_GUESTS && stream.set_nonblocking(true).is_ok() {
                self.guests.push(Guest { stream, line: Vec::new(), cpus: None, is_answered: false });
            }
        }
        self.guests.retain_mut(Guest::lives);
        let monitored = &self.monitored;
        let disturbs = |guest: &Guest| {
            guest.cpus.as_ref().is_some_and(|cpus| cpus.is_empty() || !cpus.intersection(monitored).is_empty())
        };
        for guest in self.guests.iter_mut().filter(|guest| guest.cpus.is_some() && !disturbs(guest)) {
            guest.answer();
        }
        if self.guests.iter().any(disturbs) {
            self.last_seen = Some(Instant::now());
        }
        self.last_seen.is_some_and(|seen| seen.elapsed() < STAYS_AWAY)
    }

    /// Nothing is measured any more: whoever waits for that may begin.
    pub(crate) fn has_left(&mut self) {
        self.guests.iter_mut().filter(|guest| guest.cpus.is_some()).for_each(Guest::answer);
    }
}

impl Guest {
    /// Reads what has come; whether the other end is still there.
    fn lives(&mut self) -> bool {
        let mut part = [0; 256];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return false,
                Ok(length) => self.line.extend_from_slice(&part[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
            if self.line.len() > MOST_LINE {
                return false;
            }
        }
        if self.cpus.is_none() && self.line.ends_with(b"\n") {
            // Unpinned threads, or CPUs that cannot be read, are all of them.
            let text = String::from_utf8_lossy(&self.line);
            self.cpus = Some(text.trim().parse().unwrap_or_default());
        }
        true
    }

    fn answer(&mut self) {
        if !self.is_answered {
            self.is_answered = true;
            // One that is gone is forgotten with the next look.
            let _ = self.stream.write_all(&[run::HAS_LEFT]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_answered_once_its_cpus_are_free_and_forgotten_with_its_end() {
        let mut guests =
            Guests { listener: None, guests: Vec::new(), monitored: "0-1".parse().unwrap(), last_seen: None };
        let mut come = |cpus: &str| {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            theirs.set_nonblocking(true).unwrap();
            ours.set_nonblocking(true).unwrap();
            ours.write_all(cpus.as_bytes()).unwrap();
            guests.guests.push(Guest { stream: theirs, line: Vec::new(), cpus: None, is_answered: false });
            (ours, guests.are_there())
        };
        let is_answered = |stream: &mut UnixStream| stream.read(&mut [0]).is_ok_and(|length| length == 1);
        let (mut elsewhere, there) = come("2-3\n");
        assert!(!there && is_answered(&mut elsewhere));
        let (mut here, there) = come("1\n");
        assert!(there && !is_answered(&mut here));
        guests.has_left();
        assert!(is_answered(&mut here) && guests.are_there());
        drop((here, elsewhere));
        assert!(guests.are_there() && guests.guests.is_empty(), "it stays away for a while");
        guests.last_seen = None;
        assert!(!guests.are_there());
    }
}
