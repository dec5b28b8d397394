//! What the hypervisor says of a virtual machine's clock: moves and restored snapshots, which make every offset before them void, and
//! how wrong the host's own clock can be, as information.

use std::os::fd::BorrowedFd;
use std::path::Path;

use ::sync::follow::{About, Followed, Follower, Part, SeriesName};
use codecs::vmclock::{Expected, HostStatus, VmClock};
use record::{Interval, Moment, Place, SourceChoice, SyncChange, SyncService};
use units::ClockId;

use super::live::LiveSource;
use super::source::{NotFollowed, Source};
use crate::clocks::Now;
use crate::disruption::{DEVICE, DisruptionWatch};

const NO_BOUND: &str = "the hypervisor states how wrong the host's clock can be, and no offset of this machine's";

/// Follows it through a run.
pub(crate) struct HostClock {
    watch: DisruptionWatch,
    follower: Follower,
    before: Option<VmClock>,
}

impl HostClock {
    /// The clock of this machine's hypervisor, where it offers one; else why it cannot be read, where it is there.
    pub(crate) fn find(started: Moment, interval_ns: u64) -> Result<Option<Self>, String> {
        Self::find_at(Path::new(DEVICE), started, interval_ns)
    }

    fn find_at(device: &Path, started: Moment, interval_ns: u64) -> Result<Option<Self>, String> {
        let watch = DisruptionWatch::begin(device);
        if let Some(refusal) = watch.refusal() {
            return Err(refusal.to_owned());
        }
        let Some(&first) = watch.last() else { return Ok(None) };
        let about = About {
            service: SyncService::Vmclock,
            place: Place::Port { port: "vmclock".to_owned(), domain: None },
            clock: Some(ClockId::Realtime.into()),
            trusts: String::new(),
            is_judged: false,
            without_bound: NO_BOUND.to_owned(),
        };
        Ok(Some(Self { watch, follower: Follower::new(about, started, interval_ns), before: Some(first) }))
    }
}

const fn status_words(status: HostStatus) -> &'static str {
    match status {
        HostStatus::Unknown => "in a state that is not known",
        HostStatus::Initializing => "being started",
        HostStatus::Synchronized => "synchronized",
        HostStatus::FreeRunning => "free running",
        HostStatus::Unreliable => "unreliable",
    }
}

const fn expected_words(expected: Option<Expected>) -> &'static str {
    match expected {
        None => "no disruption is announced any more",
        Some(Expected::WithinADay) => "a disruption is announced within about a day",
        Some(Expected::WithinAnHour) => "a disruption is announced within about an hour",
    }
}

impl Source for HostClock {
    fn kind(&self) -> Option<SourceChoice> {
        None
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn take(&mut self) {}

    fn look(&mut self, now: &Now) {
        if let Some(disrupted) = self.watch.look() {
            let detail = format!("{}: the virtual machine was moved or restored", disrupted.words());
            self.follower.event(now.moment, SyncChange::Disruption, detail);
        }
        let Some(&read) = self.watch.last() else { return };
        let Some(before) = self.before.replace(read) else { return };
        if before.status != read.status {
            let (before, now_is) = (status_words(before.status), status_words(read.status));
            let detail = format!("the host's clock was {before}, and is {now_is}");
            self.follower.event(now.moment, SyncChange::Source, detail);
        }
        if before.expected != read.expected {
            self.follower.event(now.moment, SyncChange::Source, expected_words(read.expected).to_owned());
        }
    }

    fn live(&self) -> LiveSource {
        LiveSource { name: "vmclock".to_owned(), state: None, offset_ns: None, bound: None }
    }

    fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)> {
        self.follower.hand_on(at)
    }

    fn so_far(&self, part: Part) -> Result<Followed, NotFollowed> {
        let mut followed = self.follower.so_far(part);
        if let Some(read) = &self.before {
            let error = read.largest_error_ns.map_or_else(
                || "it does not state its error".to_owned(),
                |ns| format!("wrong by at most {}", units::format::span(i64::try_from(ns).unwrap_or(i64::MAX))),
            );
            let reference = format!("the host's clock, {}; {error}", status_words(read.status));
            for part in &mut followed.parts {
                part.source.reference.clone_from(&reference);
            }
        }
        Ok(followed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks;
    use crate::disruption::page;

    #[test]
    fn a_move_of_the_machine_is_an_event_and_the_hosts_error_is_stated() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("vmclock0");
        let mut first = page(2, 7);
        first[24] = 1 << 6;
        first[96..98].copy_from_slice(&900_u16.to_le_bytes());
        std::fs::write(&device, &first).unwrap();
        let mut host = HostClock::find_at(&device, Moment::default(), 1_000_000_000).unwrap().unwrap();
        host.look(&clocks::now());
        let mut moved = page(4, 8);
        moved[34] = 3;
        std::fs::write(&device, &moved).unwrap();
        host.look(&clocks::now());
        host.look(&clocks::now());
        let followed = host.so_far(Part::Until(clocks::now().moment)).unwrap();
        let words: Vec<_> = followed.events.iter().map(|event| (event.what, event.detail.as_str())).collect();
        assert_eq!(words.len(), 2, "{words:?}");
        assert!(words[0].0 == SyncChange::Disruption && words[0].1.contains("from 7 to 8"), "{words:?}");
        assert_eq!(words[1].1, "the host's clock was synchronized, and is free running");
        assert!(
            followed.parts[0].source.reference.ends_with("it does not state its error"),
            "{:?}",
            followed.parts[0].source
        );
        assert!(HostClock::find_at(&folder.path().join("none"), Moment::default(), 1).unwrap().is_none());
    }
}
