//! How far a reading may lie from the truth; fixed before any run, and not widened to make one pass.

use serde::{Deserialize, Serialize};

use super::RowVerdict;
use crate::inject::{Delay, Kind};

/// What else ran in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Nothing.
    Idle,
    /// SCHED_OTHER threads that leave no idle time.
    Load,
}

impl Condition {
    /// In words, as it follows a number.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Load => "under load",
        }
    }
}

/// What reading minus truth minus baseline has to keep (ns).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// No less: an instrument that reads less than the truth is wrong, whatever collided.
    pub least_ns: i64,
    /// No more, but for exceptions.
    pub most_ns: i64,
    /// No exception is above this.
    pub exception_ns: i64,
}

/// The tick of a kernel with CONFIG_HZ=250, Debian's (ns): what lasts this long meets one for certain, and the missed
/// ticks run before the thread does.
pub(super) const TICK_NS: i64 = 4_000_000;
/// An exception may be this far above the truth (ns): a tick, and what it wakes, that collides is real.
const EXCEPTION_NS: i64 = 20_000;

impl Bound {
    /// For a wake-up behind an injection.
    ///
    /// After the injector's last reading there remain its return and the wake-up itself, of which the baseline stands for
    /// the whole and the injection may save a part (the timer is found expired without an interrupt of its own): hence
    /// the room below zero. A tick that collides adds 3 us idle and 8 us under load.
    pub(super) fn of_wakeup(condition: Condition, delay: &Delay) -> Self {
        let (least_ns, most_ns) = match condition {
            _ if delay.asked_length_ns >= TICK_NS => (-3_000, 15_000),
            Condition::Idle => (-1_000, 5_000),
            Condition::Load => (-3_000, 10_000),
        };
        Self { least_ns, most_ns, exception_ns: EXCEPTION_NS }
    }

    /// For a gap of `noise` around an injection.
    ///
    /// The injector's first and last reading lie between the loop's two, all of one clock on one CPU: a gap is never
    /// shorter than the truth. Above it stand the way in and the way out.
    ///
    /// - Interrupts off: entering an interrupt, leaving it, and a turn of the loop. The shortest gap of the quiet run is
    ///   such an interrupt with some work inside, so it is the bound. What lasts a tick or longer is followed by one
    ///   missed tick, an ordinary gap of the quiet run: its 90th percentile on top.
    /// - A hog: its wake-up on the way in, and on the way out two system calls and a switch to the loop, none of which
    ///   costs more than a wake-up, which contains an interrupt, a switch and a return: three late wake-ups (the 99th
    ///   percentile of the boot's quiet run). Ticks run inside a hog.
    ///
    /// As an exception another thread takes its turn before the loop does: the instrument's own drain shares the only
    /// CPU, and its longest gap in the quiet run comes on top.
    pub(super) fn of_noise(delay: &Delay, quiet: &QuietNoise) -> Self {
        let most_ns = match delay.kind {
            Kind::Hog => 3 * quiet.late_wakeup_ns,
            _ if delay.asked_length_ns >= TICK_NS => quiet.shortest_gap_ns + quiet.ordinary_gap_ns,
            // Interrupts off; what else the module makes is not part of a calibration.
            _ => quiet.shortest_gap_ns,
        };
        Self { least_ns: 0, most_ns, exception_ns: most_ns + quiet.longest_gap_ns }
    }

    /// What a difference means; `None` is an injection that was not found.
    pub(super) fn judge(&self, difference_ns: Option<i64>) -> RowVerdict {
        match difference_ns {
            None => RowVerdict::NotFound,
            Some(ns) if (self.least_ns..=self.most_ns).contains(&ns) => RowVerdict::Within,
            Some(ns) if (self.most_ns..=self.exception_ns).contains(&ns) => RowVerdict::Exception,
            Some(_) => RowVerdict::Outside,
        }
    }
}

/// What the quiet runs of a boot say of gaps with nothing injected (ns).
#[derive(Clone, Copy, Debug)]
pub(super) struct QuietNoise {
    pub(super) shortest_gap_ns: i64,
    /// 90th percentile.
    pub(super) ordinary_gap_ns: i64,
    pub(super) longest_gap_ns: i64,
    /// 99th percentile of the wake-ups.
    pub(super) late_wakeup_ns: i64,
}
