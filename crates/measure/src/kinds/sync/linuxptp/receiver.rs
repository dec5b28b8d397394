//! Receives ptp4l's raw time stamps in a process of its own.
//!
//! ptp4l sends them and waits where nobody takes them: a socket holds ten (net.unix.max_dgram_qlen). So if this program were
//! stopped by Ctrl-Z or a debugger, the time service would stand still with it. The receiver is in a session of its own, takes
//! every message at once, notes the time on this node's clocks, and gives up the socket as soon as this program is gone. What this
//! program does not fetch is dropped there, and counted.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ::sync::bound::ClockReading;
use host::NamedSocket;
use kernel::wait::Readable;
use record::Moment;
use units::Timestamp;

use crate::clocks::{self, Now};

/// The hidden command that this program starts itself with.
pub const RECEIVER_COMMAND: &str = "__sync-stamps";

/// Said once the socket is there.
const READY: u8 = b'r';
/// Until the receiver says that it is ready, or why not.
const PATIENCE: Duration = Duration::from_secs(5);
/// Messages that wait to be fetched, in bytes: some ten minutes at one exchange a second, five seconds at 128.
const MOST_WAITING: usize = 1 << 18;
/// Messages that are taken before it looks whether it has to end, should somebody send them without end.
const MOST_AT_ONCE: usize = 256;
/// Messages that are taken over in a second, many times what a ptp4l sends: more are read and dropped, so that whoever sends without
/// end costs little CPU time and ptp4l never waits.
const MOST_PER_SECOND: u32 = 4_096;
/// The longest message: ptp4l's own buffer.
const MOST_BYTES: usize = 2_048;
/// Numbers before each message: how long it is, what was dropped, and the clocks.
const HEAD: usize = 8 * NUMBERS;
const NUMBERS: usize = 7;

/// A message, and the clocks when it came in.
#[derive(Debug)]
pub(super) struct Stamped {
    pub(super) now: Now,
    pub(super) bytes: Vec<u8>,
}

/// The other process.
#[derive(Debug)]
pub(super) struct Receiver {
    child: Child,
    from: UnixStream,
    /// What came in of a message that is not whole.
    part: Vec<u8>,
    dropped: u64,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // It ends, and removes its socket, once its standard input is closed.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Receiver {
    /// Starts it at the path that ptp4l sends to.
    pub(super) fn start(path: &Path) -> io::Result<Self> {
        let (from, to) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(RECEIVER_COMMAND).arg(path);
        command.stdin(Stdio::piped()).stdout(Stdio::from(OwnedFd::from(to))).stderr(Stdio::piped());
        let child = command.spawn()?;
        // Its end of the pair is open in the command still, and would keep this one from noticing that it ended.
        drop(command);
        let mut receiver = Self { child, from, part: Vec::new(), dropped: 0 };
        receiver.from.set_read_timeout(Some(PATIENCE))?;
        let mut first = [0; 1];
        if receiver.from.read_exact(&mut first).is_err() || first != [READY] {
            let mut said = String::new();
            drop(receiver.child.stdin.take());
            if let Some(mut errors) = receiver.child.stderr.take() {
                let _ = errors.read_to_string(&mut said);
            }
            return Err(io::Error::other(if said.is_empty() { "the receiver ended".to_owned() } else { said }));
        }
        receiver.from.set_nonblocking(true)?;
        Ok(receiver)
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    /// Messages that it had to drop, since they were not fetched.
    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Every message that has come in since the last time.
    pub(super) fn fetch(&mut self) -> Vec<Stamped> {
        let mut buffer = [0; 8_192];
        while let Ok(length @ 1..) = self.from.read(&mut buffer) {
            self.part.extend_from_slice(buffer.get(..length).unwrap_or(&[]));
        }
        let (all, taken, dropped) = split(&self.part);
        self.part.drain(..taken);
        self.dropped = self.dropped.max(dropped);
        all
    }
}

/// The whole messages at the start of `bytes`, how many bytes they are, and what was dropped until then.
fn split(bytes: &[u8]) -> (Vec<Stamped>, usize, u64) {
    let (mut all, mut taken, mut dropped) = (Vec::new(), 0, 0);
    while let Some(head) = bytes.get(taken..taken + HEAD) {
        let numbers: Vec<i64> =
            head.chunks_exact(8).map(|of| i64::from_le_bytes(of.try_into().unwrap_or_default())).collect();
        let [length, lost, monotonic_ns, realtime_ns, raw_ns, clock_ns, error_ns] = numbers[..] else { break };
        let length = usize::try_from(length).unwrap_or(0).min(MOST_BYTES);
        let Some(message) = bytes.get(taken + HEAD..taken + HEAD + length) else { break };
        taken += HEAD + length;
        dropped = u64::try_from(lost).unwrap_or(0);
        all.push(Stamped {
            now: Now {
                moment: Moment {
                    monotonic: Timestamp::from_ns(monotonic_ns),
                    realtime: Timestamp::from_ns(realtime_ns),
                },
                realtime: ClockReading { raw_ns, clock_ns, error_ns },
            },
            bytes: message.to_vec(),
        });
    }
    (all, taken, dropped)
}

fn joined(message: &[u8], now: &Now, dropped: u64) -> Vec<u8> {
    let reading = now.realtime;
    let numbers: [i64; NUMBERS] = [
        i64::try_from(message.len()).unwrap_or(0),
        i64::try_from(dropped).unwrap_or(i64::MAX),
        now.moment.monotonic.as_ns(),
        now.moment.realtime.as_ns(),
        reading.raw_ns,
        reading.clock_ns,
        reading.error_ns,
    ];
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    bytes.extend_from_slice(message);
    bytes
}

/// The other process, until its standard input is closed.
///
/// # Errors
/// Where the socket cannot be made.
pub fn receive() -> io::Result<()> {
    // What stops the terminal's programs, or ends them, does not reach it.
    kernel::process::start_session();
    let path = std::env::args_os().nth(2).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let named = match NamedSocket::at(Path::new(&path)) {
        Ok(named) => named,
        Err(error) => {
            eprint!("{error}");
            return Ok(());
        }
    };
    let mut to = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    to.write_all(&[READY])?;
    to.set_nonblocking(true)?;
    let stdin = io::stdin();
    let (mut waiting, mut dropped) = (Vec::new(), 0_u64);
    let (mut second, mut taken) = (Instant::now(), 0_u32);
    let mut buffer = [0; MOST_BYTES];
    loop {
        // What the other side has no room for yet is tried again soon.
        let timeout_ns = if waiting.is_empty() { 1_000_000_000 } else { 5_000_000 };
        let is_over = {
            let mut readable = Readable::new([stdin.as_fd(), named.descriptor()]);
            readable.wait(timeout_ns)?;
            readable.ready().any(|place| place == 0)
        };
        if is_over {
            return Ok(());
        }
        for _ in 0..MOST_AT_ONCE {
            let Some(message) = named.receive(&mut buffer) else { break };
            taken = taken.saturating_add(1);
            if taken > MOST_PER_SECOND {
                // Only now is it worth to read a clock.
                if second.elapsed() < Duration::from_secs(1) {
                    dropped += 1;
                    continue;
                }
                (second, taken) = (Instant::now(), 1);
            }
            let framed = joined(message, &clocks::now(), dropped);
            if waiting.len() + framed.len() > MOST_WAITING {
                dropped += 1;
            } else {
                waiting.extend(framed);
            }
        }
        match to.write(&waiting) {
            Ok(written) => drop(waiting.drain(..written)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_however_they_are_cut() {
        let now = clocks::now();
        let mut bytes = joined(b"first", &now, 0);
        bytes.extend(joined(b"", &now, 3));
        bytes.extend(joined(b"third", &now, 4));
        for end in 0..=bytes.len() {
            let (all, taken, dropped) = split(&bytes[..end]);
            assert!(taken <= end && all.len() <= 3);
            let (rest, ..) = split(&bytes[taken..]);
            let words: Vec<Vec<u8>> = all.into_iter().chain(rest).map(|one| one.bytes).collect();
            assert_eq!(words, [b"first".to_vec(), b"".to_vec(), b"third".to_vec()]);
            assert!(end < bytes.len() || dropped == 4);
        }
        let (all, ..) = split(&bytes);
        assert_eq!(all[0].now.realtime, now.realtime);
        assert_eq!(all[0].now.moment, now.moment);
    }
}
