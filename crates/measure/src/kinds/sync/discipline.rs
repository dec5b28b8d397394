//! The kernel's own clock discipline: always there, and asked for nothing.

use std::os::fd::BorrowedFd;

use ::sync::follow::{About, Followed, Follower, Part, SeriesName};
use kernel::discipline::{self, Discipline, LeapState};
use record::{Interval, Moment, Place, SourceChoice, SyncChange, SyncService, SyncState};
use units::ClockId;

use super::live::LiveSource;
use super::source::{NotFollowed, Source};
use crate::clocks::Now;

const NO_BOUND: &str = "the kernel passes on what a time service stated, and knows no offset of its own";

/// Follows the kernel's clock discipline through a run.
pub(crate) struct KernelClock {
    follower: Follower,
    before: Option<Discipline>,
}

impl KernelClock {
    pub(crate) fn begin(started: Moment, interval_ns: u64) -> Self {
        let about = About {
            service: SyncService::Kernel,
            place: Place::Port { port: "kernel".to_owned(), domain: None },
            clock: Some(ClockId::Realtime.into()),
            trusts: String::new(),
            is_judged: false,
            without_bound: NO_BOUND.to_owned(),
        };
        Self { follower: Follower::new(about, started, interval_ns), before: None }
    }
}

const fn leap_words(leap: LeapState) -> &'static str {
    match leap {
        LeapState::None => "no leap second is announced",
        LeapState::Insert => "a second is inserted at the end of the UTC day",
        LeapState::Delete => "a second is left out at the end of the UTC day",
        LeapState::Now => "the inserted second is now, or was just now",
    }
}

/// What differs from the reading before.
fn follow(follower: &mut Follower, at: Moment, before: Option<&Discipline>, now: &Discipline) {
    let (state, why) = match follower.current_state() {
        _ if now.is_synchronized => (SyncState::Locked, ""),
        None | Some(SyncState::Free) => (SyncState::Free, ""),
        Some(_) => (SyncState::Lost, "no program says any more that it synchronizes the clock (STA_UNSYNC)"),
    };
    follower.state(at, state, why);
    let Some(before) = before else {
        if now.leap != LeapState::None {
            follower.event(at, SyncChange::Leap, leap_words(now.leap).to_owned());
        }
        return;
    };
    if before.leap != now.leap {
        follower.event(at, SyncChange::Leap, leap_words(now.leap).to_owned());
    }
    if before.tai_less_utc_s != now.tai_less_utc_s {
        let detail = format!("TAI less UTC was {} s, and is {} s", before.tai_less_utc_s, now.tai_less_utc_s);
        follower.event(at, SyncChange::TaiOffset, detail);
    }
}

impl Source for KernelClock {
    fn kind(&self) -> Option<SourceChoice> {
        Some(SourceChoice::Kernel)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn take(&mut self) {}

    fn look(&mut self, now: &Now) {
        // A kernel without the call has nothing to say.
        let Ok(read) = discipline::read() else { return };
        follow(&mut self.follower, now.moment, self.before.as_ref(), &read);
        self.before = Some(read);
    }

    fn live(&self) -> LiveSource {
        LiveSource { name: "kernel".to_owned(), state: self.follower.current_state(), offset_ns: None, bound: None }
    }

    fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)> {
        self.follower.hand_on(at)
    }

    fn so_far(&self, part: Part) -> Result<Followed, NotFollowed> {
        let mut followed = self.follower.so_far(part);
        if let Some(read) = &self.before {
            let reference = format!(
                "what a time service stated: largest error {}, estimated {}",
                units::format::span(read.max_error_ns),
                units::format::span(read.estimated_error_ns)
            );
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

    /// What adjtimex says on the day of a leap second: announced, inserted, waited for until the announcement is withdrawn.
    #[test]
    fn a_leap_second_is_an_event_from_its_announcement_to_its_end() {
        let mut read = Discipline {
            is_synchronized: true,
            leap: LeapState::None,
            max_error_ns: 1_000,
            estimated_error_ns: 10,
            frequency_ppb: 0.0,
            tick_us: 10_000,
            tai_less_utc_s: 37,
            has_pps: false,
        };
        let mut follower = KernelClock::begin(Moment::default(), 1_000_000_000).follower;
        let mut before = None;
        // TIME_OK, TIME_INS twice, TIME_OOP with TAI one more, TIME_WAIT, TIME_OK.
        for (leap, tai_less_utc_s) in [
            (LeapState::None, 37),
            (LeapState::Insert, 37),
            (LeapState::Insert, 37),
            (LeapState::Now, 38),
            (LeapState::Now, 38),
            (LeapState::None, 38),
        ] {
            (read.leap, read.tai_less_utc_s) = (leap, tai_less_utc_s);
            follow(&mut follower, Moment::default(), before.as_ref(), &read);
            before = Some(read);
        }
        let events = follower.so_far(Part::Until(Moment::default())).events;
        let words: Vec<&str> = events.iter().map(|event| event.detail.as_str()).collect();
        let expected = [
            "a second is inserted at the end of the UTC day",
            "the inserted second is now, or was just now",
            "TAI less UTC was 37 s, and is 38 s",
            "no leap second is announced",
        ];
        assert_eq!(words, expected);
        assert!(
            events.iter().all(|event| event.what != SyncChange::Step),
            "the system clock's step has an event of its own"
        );
    }

    #[test]
    fn what_changes_is_an_event() {
        let quiet = Discipline {
            is_synchronized: true,
            leap: LeapState::None,
            max_error_ns: 1_000,
            estimated_error_ns: 10,
            frequency_ppb: 0.0,
            tick_us: 10_000,
            tai_less_utc_s: 0,
            has_pps: false,
        };
        let mut follower = KernelClock::begin(Moment::default(), 1_000_000_000).follower;
        let at = Moment::default();
        follow(&mut follower, at, None, &quiet);
        follow(&mut follower, at, Some(&quiet), &quiet);
        let leap = Discipline { leap: LeapState::Insert, tai_less_utc_s: 37, is_synchronized: false, ..quiet };
        follow(&mut follower, at, Some(&quiet), &leap);
        let words: Vec<String> =
            follower.so_far(Part::Until(at)).events.into_iter().map(|event| event.detail).collect();
        assert_eq!(words.len(), 3, "{words:?}");
        assert!(words[0].starts_with("locked to lost: no program"), "{words:?}");
        assert_eq!(words[1], "a second is inserted at the end of the UTC day");
        assert_eq!(words[2], "TAI less UTC was 0 s, and is 37 s");
    }
}
