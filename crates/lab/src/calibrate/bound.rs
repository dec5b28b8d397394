//! How far a reading may differ from the truth. The bounds were fixed before any run and are not widened to make one
//! pass, but for that of hand-overs by a tick, which is stated from another measurement of the same guest.

use serde::{Deserialize, Serialize};

use super::RowVerdict;
use crate::injection::{Delay, Kind};

/// Whether the guest was idle or under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Nothing else runs.
    Idle,
    /// SCHED_OTHER threads that leave no idle time.
    Load,
}

impl Condition {
    /// Text that follows a number in a sentence.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Load => "under load",
        }
    }
}

/// Bounds for reading minus truth minus baseline (ns).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Lower bound without exception: an instrument that reads less than the truth is wrong, even if a tick collided.
    pub least_ns: i64,
    /// Upper bound, except for a few exceptions.
    pub most_ns: i64,
    /// Upper bound of exceptions.
    pub exception_ns: i64,
}

/// Period of the tick of Debian's kernel, CONFIG_HZ=250 (ns). An injection of this length always meets a tick, and the
/// missed ticks run before the thread does.
pub(super) const TICK_NS: i64 = 4_000_000;
/// How far an exception may be above the truth (ns): a colliding tick, with what it wakes, really delays the thread.
const EXCEPTION_NS: i64 = 20_000;

impl Bound {
    /// Bounds for a wake-up delayed by an injection.
    ///
    /// After the injector's last reading follow its return and the wake-up itself. The baseline covers a whole wake-up,
    /// but the injection may save a part of it: the timer is found expired without a separate interrupt. Hence the
    /// bound below zero. A colliding tick adds 3 us idle and 8 us under load.
    pub(super) fn for_wakeup(condition: Condition, delay: &Delay) -> Self {
        let (least_ns, most_ns) = match condition {
            _ if delay.asked_length_ns >= TICK_NS => (-3_000, 15_000),
            Condition::Idle => (-1_000, 5_000),
            Condition::Load => (-3_000, 10_000),
        };
        Self { least_ns, most_ns, exception_ns: EXCEPTION_NS }
    }

    /// Bounds for a hand-over whose waking call was delayed.
    ///
    /// The injector's readings lie within the waking call, so all of an undisturbed hand-over comes on top of the truth, and
    /// that is the baseline: nothing is saved, and below zero there is only the width of the baseline's bin. A tick that
    /// became due meanwhile runs before the woken thread. No timer is a part of a hand-over, so that tick is an interrupt of
    /// its own and takes longer than beside a timer's: 5.5 to 7 us in quiet runs of `noise` in the same guest. Otherwise the
    /// bounds are those of wake-ups.
    pub(super) fn for_hand_over(condition: Condition, delay: &Delay) -> Self {
        let wakeup = Self::for_wakeup(condition, delay);
        Self { least_ns: -1_000, most_ns: wakeup.most_ns.max(8_000), ..wakeup }
    }

    /// Bounds for a gap of `noise` around an injection.
    ///
    /// The injector's first and last readings lie between the loop's two readings, all of one clock on one CPU. So a
    /// gap is never shorter than the truth. It is longer by entering and leaving the injection:
    ///
    /// - Interrupts off: entering an interrupt, leaving it, and one turn of the loop. The shortest gap of the quiet run
    ///   is such an interrupt with some work inside, so it is the bound. An injection of a tick or longer is followed
    ///   by one missed tick, an ordinary gap of the quiet run: its 90th percentile is added.
    /// - A hog: its wake-up on entry; on exit two system calls and a switch to the loop. None of these costs more than
    ///   a wake-up, which contains an interrupt, a switch and a return. So the bound is three late wake-ups (the 99th
    ///   percentile of the boot's quiet run). Ticks run inside a hog.
    ///
    /// In an exception another thread runs before the loop does: the instrument's drain shares the only CPU. The
    /// longest gap of the quiet run is added for it.
    pub(super) fn for_noise(delay: &Delay, quiet: &QuietNoise) -> Self {
        let most_ns = match delay.kind {
            Kind::Hog => 3 * quiet.late_wakeup_ns,
            _ if delay.asked_length_ns >= TICK_NS => quiet.shortest_gap_ns + quiet.ordinary_gap_ns,
            // Interrupts off; the module's other kinds of delay are not part of a calibration.
            _ => quiet.shortest_gap_ns,
        };
        Self { least_ns: 0, most_ns, exception_ns: most_ns + quiet.longest_gap_ns }
    }

    /// Judges a difference (ns); `None` is an injection that was not found.
    pub(super) fn judge(&self, difference_ns: Option<i64>) -> RowVerdict {
        match difference_ns {
            None => RowVerdict::NotFound,
            Some(ns) if (self.least_ns..=self.most_ns).contains(&ns) => RowVerdict::Within,
            Some(ns) if (self.most_ns..=self.exception_ns).contains(&ns) => RowVerdict::Exception,
            Some(_) => RowVerdict::Outside,
        }
    }
}

/// Gaps and wake-ups in the quiet runs of a boot, with nothing injected (ns).
#[derive(Clone, Copy, Debug)]
pub(super) struct QuietNoise {
    pub(super) shortest_gap_ns: i64,
    /// 90th percentile of the gaps.
    pub(super) ordinary_gap_ns: i64,
    pub(super) longest_gap_ns: i64,
    /// 99th percentile of the wake-ups.
    pub(super) late_wakeup_ns: i64,
}
