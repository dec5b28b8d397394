//! ClockBound's daemon, over the memory that it shares: its bound on the system clock's error, with the trust that it needs.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use ::sync::bound::OffsetBound;
use ::sync::follow::{About, Followed, Follower, Part, SeriesName, Shown};
use codecs::clockbound::{ClockBound, ClockBoundError, ClockBoundStatus, HEADER_BYTES, MOST_BYTES, is_whole};
use record::{Interval, Moment, Place, SourceChoice, SyncChange, SyncService, SyncState};
use units::ClockId;

use super::live::LiveSource;
use super::shared_memory;
use super::source::{NotFollowed, Source};
use crate::clocks::Now;

/// Where the daemon shares its memory: version 2, then version 1.
const KNOWN: [&str; 2] = ["/var/run/clockbound/shm0", "/var/run/clockbound/shm"];
/// From one reading to the next (ns).
const EVERY_NS: i64 = 1_000_000_000;
/// The daemon writes once a second, and for less than a microsecond.
const TRIES: usize = 8;
const TRUSTS: &str = "ClockBound's daemon is right, and with it what it rests on: chronyd's bound (root delay / 2 + root dispersion), \
                      the hardware clock's stated error, and the largest drift that it is configured with";
const NO_BOUND: &str = "ClockBound's daemon stated no bound that holds";

/// Follows one daemon through a run.
pub(crate) struct Daemon {
    path: PathBuf,
    follower: Follower,
    next_ns: i64,
    disruption_marker: Option<u64>,
    last: Option<OffsetBound>,
}

/// Why there is nothing to read.
enum Unread {
    /// It will not be there at the next look either.
    Never(String),
    /// It was being written each time.
    Busy,
}

fn read(path: &Path) -> Result<ClockBound, Unread> {
    let refused = |error: io::Error| Unread::Never(format!("{}: {error}", path.display()));
    for _ in 0..TRIES {
        let reading = shared_memory::read(path, HEADER_BYTES, MOST_BYTES).map_err(refused)?;
        let decoded = ClockBound::decode(&reading.whole).map_err(|error| (error, refused(io::Error::other(error))));
        match decoded {
            // Whoever writes it, it never was or will be such a memory.
            Err((ClockBoundError::Foreign | ClockBoundError::Short { .. } | ClockBoundError::Version(_), why)) => {
                return Err(why);
            }
            decoded => {
                let is_one_state = reading.whole.get(..HEADER_BYTES) == Some(&reading.before);
                if is_one_state && is_whole(&reading.before, &reading.after) {
                    return decoded.map_err(|(_, why)| why);
                }
            }
        }
    }
    Err(Unread::Busy)
}

impl Daemon {
    /// The daemon that shares its memory at a path, or at the known ones; else why there is none.
    pub(crate) fn find(path: Option<&str>, started: Moment, interval_ns: u64) -> Result<Self, String> {
        let found = shared_memory::find(path, &KNOWN, |candidate| match read(candidate) {
            // One that is being written is there.
            Err(Unread::Never(why)) => Err(why),
            Ok(_) | Err(Unread::Busy) => Ok(()),
        });
        let path = found.map_err(|why| format!("no memory of ClockBound's daemon: {why}"))?;
        Ok(Self::begin(path, started, interval_ns))
    }

    /// Whether a daemon may run here: its folder or its memory is there.
    pub(crate) fn may_run(path: Option<&str>) -> bool {
        shared_memory::may_run(path, &KNOWN)
    }

    fn begin(path: PathBuf, started: Moment, interval_ns: u64) -> Self {
        let about = About {
            service: SyncService::Clockbound,
            place: Place::Port { port: "clockbound".to_owned(), domain: None },
            clock: Some(ClockId::Realtime.into()),
            trusts: TRUSTS.to_owned(),
            is_judged: true,
            without_bound: NO_BOUND.to_owned(),
        };
        let mut follower = Follower::new(about, started, interval_ns);
        follower.reference(started, "true time, as ClockBound's daemon bounds it");
        follower.could_miss("changes between two readings, 1 s apart".to_owned());
        Self { path, follower, next_ns: 0, disruption_marker: None, last: None }
    }

    fn lost(&mut self, at: Moment, why: &str) {
        self.follower.state(at, SyncState::Lost, why);
        self.last = None;
    }

    fn take_reading(&mut self, at: Moment, read: &ClockBound) {
        if let Some((before, now)) = self.disruption_marker.zip(read.disruption_marker).filter(|(a, b)| a != b) {
            let detail = format!("the disruption marker that ClockBound saw changed from {before} to {now}");
            self.follower.event(at, SyncChange::Disruption, detail);
        }
        self.disruption_marker = read.disruption_marker.or(self.disruption_marker);
        match read.bound_at(at.monotonic.as_ns()) {
            Ok(bound_ns) => {
                let (state, why) = match read.status {
                    ClockBoundStatus::Synchronized => (SyncState::Locked, ""),
                    _ => (SyncState::Holdover, "the daemon calls the clock free running"),
                };
                self.follower.state(at, state, why);
                let bound_ns = i64::try_from(bound_ns).unwrap_or(i64::MAX);
                let bound = OffsetBound { lower_ns: -bound_ns, upper_ns: bound_ns };
                // The daemon takes the clock as it is for the middle of its bound.
                self.follower.offset(at, Shown::default(), Some(bound));
                self.last = Some(bound);
            }
            Err(error) => self.lost(at, &error.to_string()),
        }
    }
}

impl Source for Daemon {
    fn kind(&self) -> Option<SourceChoice> {
        Some(SourceChoice::Clockbound)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn take(&mut self) {}

    fn look(&mut self, now: &Now) {
        if now.realtime.raw_ns < self.next_ns {
            return;
        }
        self.next_ns = now.realtime.raw_ns + EVERY_NS;
        match read(&self.path) {
            Ok(read) => self.take_reading(now.moment, &read),
            Err(Unread::Never(why)) => self.lost(now.moment, &why),
            Err(Unread::Busy) => self.lost(now.moment, "its memory is being written and never done"),
        }
    }

    fn live(&self) -> LiveSource {
        LiveSource {
            name: "clockbound".to_owned(),
            state: self.follower.current_state(),
            offset_ns: None,
            bound: self.last,
        }
    }

    fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)> {
        self.follower.hand_on(at)
    }

    fn system_clock_was_set(&mut self, at: Moment) {
        self.follower.cut(at);
    }

    fn so_far(&self, part: Part) -> Result<Followed, NotFollowed> {
        let mut followed = self.follower.so_far(part);
        // It states a bound and no offset: nothing is spread.
        for part in &mut followed.parts {
            part.source.spread = None;
            part.source.allan.clear();
        }
        Ok(followed)
    }
}

#[cfg(test)]
mod tests {
    use record::HardBound;

    use super::*;
    use crate::clocks;

    /// The memory of version 2, as the daemon writes it.
    fn memory(generation: u16, as_of_ns: i64, bound_ns: i64, marker: u64, status: i32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [0x414D_5A4E_u32, 0x4342_0200, 80] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(2_u16.to_ne_bytes());
        bytes.extend(generation.to_ne_bytes());
        for ns in [as_of_ns, as_of_ns + 1_000_000_000_000] {
            bytes.extend((ns / 1_000_000_000).to_ne_bytes());
            bytes.extend((ns % 1_000_000_000).to_ne_bytes());
        }
        bytes.extend(bound_ns.to_ne_bytes());
        bytes.extend(marker.to_ne_bytes());
        bytes.extend(1_000_u32.to_ne_bytes());
        bytes.extend(status.to_ne_bytes());
        bytes.resize(80, 0);
        bytes
    }

    /// Looks as after a second.
    fn look(daemon: &mut Daemon) {
        daemon.next_ns = 0;
        daemon.look(&clocks::now());
    }

    #[test]
    fn the_daemons_bound_is_stated_with_its_trust_and_no_offset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shm0");
        let now = clocks::now().moment;
        let as_of_ns = now.monotonic.as_ns();
        std::fs::write(&path, memory(2, as_of_ns, 40_000, 7, 1)).unwrap();
        let mut daemon = Daemon::find(path.to_str(), now, 1_000_000_000).ok().unwrap();
        look(&mut daemon);
        std::fs::write(&path, memory(4, as_of_ns, 90_000, 8, 2)).unwrap();
        look(&mut daemon);
        std::fs::write(&path, memory(5, as_of_ns, 1, 8, 1)).unwrap();
        look(&mut daemon);
        std::fs::write(&path, b"short").unwrap();
        look(&mut daemon);
        std::fs::remove_file(&path).unwrap();
        look(&mut daemon);
        let followed = daemon.so_far(Part::Until(clocks::now().moment)).unwrap();
        let source = &followed.parts[0].source;
        let HardBound::Stated { lowest_ns, highest_ns, trusts, .. } = &source.bound else { panic!("{source:?}") };
        assert!((-91_000..=-90_000).contains(lowest_ns) && (90_000..=91_000).contains(highest_ns), "{source:?}");
        assert!(trusts.contains("ClockBound") && source.spread.is_none() && source.allan.is_empty());
        let states: Vec<SyncState> = source.states.iter().map(|change| change.state).collect();
        assert_eq!(states, [SyncState::Locked, SyncState::Holdover, SyncState::Lost]);
        let disruptions = followed.events.iter().filter(|event| event.what == SyncChange::Disruption).count();
        assert_eq!(disruptions, 1);
        assert!(followed.events.iter().any(|event| event.detail.contains("being written")), "{:?}", followed.events);
    }

    #[test]
    fn what_is_no_memory_of_the_daemons_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes, words) in [
            ("none", None, "No such file"),
            ("short", Some(&b"AMZN"[..]), "it has 4 bytes"),
            ("other", Some(&[1; 80][..]), "does not begin as"),
        ] {
            let path = folder.path().join(name);
            if let Some(bytes) = bytes {
                std::fs::write(&path, bytes).unwrap();
            }
            let Err(why) = Daemon::find(path.to_str(), Moment::default(), 1) else { panic!("{name}") };
            assert!(why.contains(words) && why.contains(name), "{why}");
        }
    }
}
