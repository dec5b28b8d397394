//! Which timer's function made a thread runnable, and for when that timer had been set. Pure.
//!
//! The kernel writes when a timer is started (its address and the moment), when its function begins and when it ends.
//! What is made runnable in between, by the same CPU at the same level, was made so by that timer: whatever call the
//! thread waits in, whoever started the timer, and whichever other timers were started since.

use std::collections::HashMap;

use kernel::time_namespace::TimeNamespace;
use trace::Level;
use units::ClockId;

use crate::clock_watch::ClockWatch;

/// Timers that are kept account of. Each address is one; those of ended threads are dropped when there are too many.
const MOST_TIMERS: usize = 16_384;
/// A clock that is farther from its reading than this has been set meanwhile (ns).
const SET_SINCE_NS: u64 = 10_000_000;

/// How far the clocks that the kernel's timers are on are ahead of this process's monotonic clock, as last read (ns).
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    /// 0 outside of a time namespace.
    monotonic_ns: i64,
    realtime_ns: i64,
    tai_ns: i64,
    boottime_ns: i64,
}

impl Offsets {
    pub(super) fn now(clocks: &ClockWatch) -> Self {
        let apart = TimeNamespace::own();
        let monotonic_ns = kernel::clock::now_ns(ClockId::Monotonic.into());
        let ahead_ns = |clock: ClockId| kernel::clock::now_ns(clock.into()) - monotonic_ns;
        Self {
            monotonic_ns: -apart.monotonic_ns,
            realtime_ns: clocks.moment(0).realtime.as_ns(),
            tai_ns: ahead_ns(ClockId::Tai),
            boottime_ns: ahead_ns(ClockId::Boottime) - apart.boottime_ns,
        }
    }

    /// How far the clock of a timer is ahead of the monotonic one (ns): the kernel read `now_ns` on it shortly before it wrote
    /// an event at `time_ns`.
    fn of_timer(&self, now_ns: i64, time_ns: u64) -> i64 {
        // The reading came before the event, so this is too little by the time in between.
        let at_least_ns = now_ns.saturating_sub(i64::try_from(time_ns).unwrap_or(i64::MAX));
        let known = [self.monotonic_ns, self.realtime_ns, self.tai_ns, self.boottime_ns];
        let nearest = known.into_iter().min_by_key(|ns| ns.abs_diff(at_least_ns)).unwrap_or(0);
        // A clock that was set since it was read here: the event's own figures are the better ones.
        if nearest.abs_diff(at_least_ns) > SET_SINCE_NS { at_least_ns } else { nearest.max(at_least_ns) }
    }
}

/// Where the function of a timer runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExecutionContext {
    pub(super) cpu: u32,
    pub(super) level: Level,
    /// The thread that is interrupted, or that handles soft interrupts.
    pub(super) tid: u32,
}

/// A timer by its address.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// The moment that it is set for, on its own clock (ns); `None` once it has expired.
    asked_ns: Option<i64>,
    function: u64,
    /// An expiry by which nobody was made runnable so far.
    missed: Option<Expiry>,
}

/// The expiry of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expiry {
    /// The moment that the timer was set for, on the monotonic clock (ns).
    pub(super) scheduled_ns: i64,
    /// When its function began (ns).
    pub(super) began_ns: u64,
    /// The function.
    pub(super) function: u64,
}

/// A function that goes on.
#[derive(Clone, Copy, Debug)]
struct Running {
    timer: u64,
    /// The thread that was running, or that handles soft interrupts.
    tid: u32,
    scheduled_ns: Option<i64>,
}

/// All timers that were seen.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_address: HashMap<u64, Timer>,
    /// By CPU: in a hard interrupt, and elsewhere.
    running: HashMap<(u32, bool), Running>,
}

impl Timers {
    /// A timer is started. Returns its last expiry, where nobody was made runnable by that.
    pub(super) fn start(&mut self, timer: u64, function: u64, asked_ns: i64) -> Option<Expiry> {
        if self.by_address.len() >= MOST_TIMERS && !self.by_address.contains_key(&timer) {
            // Those that have expired first: whoever is still waited for will be set again.
            self.by_address.retain(|_, timer| timer.asked_ns.is_some());
            if self.by_address.len() >= MOST_TIMERS {
                self.by_address.clear();
            }
        }
        let now = Timer { asked_ns: Some(asked_ns), function, missed: None };
        self.by_address.insert(timer, now).and_then(|before| before.missed)
    }

    /// The function of a timer begins.
    pub(super) fn expire(&mut self, at: ExecutionContext, timer: u64, now_ns: i64, time_ns: u64, offsets: &Offsets) {
        let ExecutionContext { cpu, level, tid } = at;
        let known = self.by_address.get_mut(&timer);
        let scheduled_ns = known.and_then(|known| {
            let scheduled_ns = known.asked_ns.take()?.saturating_sub(offsets.of_timer(now_ns, time_ns));
            known.missed = Some(Expiry { scheduled_ns, began_ns: time_ns, function: known.function });
            Some(scheduled_ns)
        });
        self.running.insert((cpu, level == Level::HardInterrupt), Running { timer, tid, scheduled_ns });
    }

    /// The function of a timer has ended.
    pub(super) fn done(&mut self, cpu: u32, level: Level) {
        self.running.remove(&(cpu, level == Level::HardInterrupt));
    }

    /// Whether a thread is being made runnable by a timer, and the moment that this was set for, where that was seen.
    pub(super) fn cause(&mut self, cpu: u32, level: Level, tid: u32) -> Option<Option<i64>> {
        let is_hard = level == Level::HardInterrupt;
        let running = self.running.get(&(cpu, is_hard))?;
        // A thread that handles soft interrupts may be preempted, by one that makes others runnable.
        if !is_hard && running.tid != tid {
            return None;
        }
        if let Some(timer) = self.by_address.get_mut(&running.timer) {
            timer.missed = None;
        }
        Some(running.scheduled_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: u32 = 0;

    fn offsets() -> Offsets {
        Offsets {
            monotonic_ns: 0,
            realtime_ns: 1_700_000_000_000_000_000,
            tai_ns: 1_700_000_037_000_000_000,
            boottime_ns: 90_000_000_000,
        }
    }

    fn expire(timers: &mut Timers, cpu: u32, level: Level, timer: u64, ahead_ns: i64) {
        let at = ExecutionContext { cpu, level, tid: NOBODY };
        timers.expire(at, timer, 5_000_000 + ahead_ns, 5_000_700, &offsets());
    }

    #[test]
    fn a_timer_s_moment_is_translated_from_whatever_clock_it_is_on() {
        for ahead_ns in
            [offsets().monotonic_ns, offsets().realtime_ns, offsets().tai_ns, offsets().boottime_ns, -77_000_000_000]
        {
            let mut timers = Timers::default();
            timers.start(0xa, 1, 4_990_000 + ahead_ns);
            expire(&mut timers, 3, Level::HardInterrupt, 0xa, ahead_ns);
            let moment = timers.cause(3, Level::HardInterrupt, NOBODY).unwrap().unwrap();
            // A clock that was set meanwhile is known to within the way from the kernel's reading to its event.
            let error_ns = if ahead_ns == -77_000_000_000 { 700 } else { 0 };
            assert_eq!(moment, 4_990_000 + error_ns, "{ahead_ns}");
        }
    }

    #[test]
    fn only_what_the_function_itself_makes_runnable_is_the_timer_s() {
        let mut timers = Timers::default();
        timers.start(0xa, 1, 4_000_000);
        timers.start(0xb, 1, 4_500_000);
        expire(&mut timers, 0, Level::SoftInterrupt, 0xa, 0);
        // Another timer's, in a hard interrupt on top of it.
        expire(&mut timers, 0, Level::HardInterrupt, 0xb, 0);
        assert_eq!(timers.cause(0, Level::HardInterrupt, NOBODY), Some(Some(4_500_000)));
        timers.done(0, Level::HardInterrupt);
        assert_eq!(timers.cause(0, Level::HardInterrupt, NOBODY), None, "a packet's interrupt");
        assert_eq!(timers.cause(1, Level::SoftInterrupt, NOBODY), None, "another CPU");
        assert_eq!(timers.cause(0, Level::Thread, 77), None, "a thread that preempted the one of soft interrupts");
        assert_eq!(timers.cause(0, Level::SoftInterrupt, NOBODY), Some(Some(4_000_000)));
        timers.done(0, Level::SoftInterrupt);
        assert_eq!(timers.cause(0, Level::SoftInterrupt, NOBODY), None);
    }

    #[test]
    fn a_moment_that_was_not_seen_to_be_set_is_unknown() {
        let mut timers = Timers::default();
        expire(&mut timers, 0, Level::HardInterrupt, 0xa, 0);
        assert_eq!(timers.cause(0, Level::HardInterrupt, NOBODY), Some(None), "set before the run");
        timers.start(0xa, 1, 4_000_000);
        expire(&mut timers, 0, Level::HardInterrupt, 0xa, 0);
        timers.done(0, Level::HardInterrupt);
        expire(&mut timers, 0, Level::HardInterrupt, 0xa, 0);
        assert_eq!(timers.cause(0, Level::HardInterrupt, NOBODY), Some(None), "set again, and nobody saw it");
    }

    #[test]
    fn an_expiry_that_woke_nobody_is_told_when_the_timer_is_set_again() {
        let mut timers = Timers::default();
        assert_eq!(timers.start(0xa, 9, 4_000_000), None);
        expire(&mut timers, 0, Level::HardInterrupt, 0xa, 0);
        let missed = Expiry { scheduled_ns: 4_000_000, began_ns: 5_000_700, function: 9 };
        assert_eq!(timers.start(0xa, 9, 6_000_000), Some(missed));
        expire(&mut timers, 0, Level::HardInterrupt, 0xa, 0);
        assert!(timers.cause(0, Level::HardInterrupt, NOBODY).is_some());
        assert_eq!(timers.start(0xa, 9, 8_000_000), None, "it woke somebody");
    }

    #[test]
    fn any_number_of_timers_is_bounded() {
        let mut timers = Timers::default();
        for timer in 0..4 * u64::try_from(MOST_TIMERS).unwrap() {
            timers.start(timer, 1, 0);
            assert!(timers.by_address.len() <= MOST_TIMERS);
        }
    }
}
