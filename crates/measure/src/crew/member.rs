//! One measuring thread: born, granted, warm, waiting for its order, measuring, and what it reports at its end.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kernel::usage::ThreadUsage;
use record::Counters;
use units::ClockId;

use super::{COMES_UP_WITHIN, LEAD_NS, now_ns, why_stuck};
use crate::judge::ThreadEnd;
use crate::witness::{Grant, ReadBack, RequestedScheduling};

/// Stack of a measuring thread: far more than the loops need, little enough to touch.
const STACK_BYTES: usize = 256 * 1024;
/// How long a thread waits for its start before it looks at its clock again.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Why a planned run could not start.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// The kernel refused a thread.
    #[error("cannot start measuring thread {thread}: {error}")]
    Thread {
        /// Number of the thread, from 0.
        thread: u32,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A thread never came up.
    #[error(
        "measuring thread {thread} did not come up within {} s: {why}; see 'punctual check'",
        COMES_UP_WITHIN.as_secs()
    )]
    Stuck {
        /// Number of the thread, from 0.
        thread: u32,
        /// Who could have run in its place, as far as that can be read.
        why: String,
    },
    /// SCHED_DEADLINE's admission control.
    #[error(
        "the kernel refused SCHED_DEADLINE with this runtime and period: {error}; the sum of runtime/period of all such threads must stay below sched_rt_runtime_us/sched_rt_period_us, and the threads must be allowed on a whole root domain"
    )]
    Deadline {
        /// The kernel's reason.
        error: io::Error,
    },
    /// The trace cannot be stopped.
    #[error("--breaktrace needs the kernel's trace: {0}")]
    Trace(kernel::tracefs::TraceError),
}

/// What the thread of a kind of measurement does.
pub(crate) trait Work {
    /// What its loop counts.
    type Counts;

    /// The clock of the start time that it is given.
    fn clock(&self) -> ClockId;

    /// A few turns of the loop that will run, by the same way to it as in [`measure`](Self::measure), so that all code and
    /// data are resident that are used while the meter counts.
    fn warm_up(&mut self, meter: Meter);

    /// Measures, from `start_ns` on its clock on, with the loop itself run by the meter.
    fn measure(self, start_ns: i64, meter: Meter) -> Metered<Self::Counts>;
}

/// What a thread reports at its end.
#[derive(Debug)]
pub(crate) struct Report<C> {
    /// What its loop counted.
    pub(crate) counts: C,
    /// What it used while it measured.
    usage: ThreadUsage,
    /// How often the scheduler moved it while it measured; `None` if the kernel does not report it.
    migrations: Option<u64>,
    /// When its loop was over (ns, CLOCK_MONOTONIC).
    pub(crate) ended_ns: i64,
    /// What the kernel said of the thread once its loop was over.
    pub(crate) at_end: Option<ReadBack>,
}

impl<C> Report<C> {
    /// Page faults while it measured, minor and major.
    pub(crate) const fn faults(&self) -> (u64, u64) {
        (self.usage.minor_faults, self.usage.major_faults)
    }

    /// How often the scheduler moved it while it measured.
    pub(crate) const fn migrations(&self) -> Option<u64> {
        self.migrations
    }

    /// What only the thread itself can count, besides what others counted of it.
    pub(crate) fn add_to(&self, counters: &mut Counters) {
        counters.voluntary_switches = Some(self.usage.voluntary_switches);
        counters.involuntary_switches = Some(self.usage.involuntary_switches);
        counters.minor_faults = Some(self.usage.minor_faults);
        counters.major_faults = Some(self.usage.major_faults);
        counters.migrations = self.migrations;
    }
}

/// What a thread waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Measure from this on (ns on its clock).
    BeginAt(i64),
    /// Nothing is measured.
    End,
}

/// One thread of a run.
#[derive(Debug)]
pub(crate) struct Member<C> {
    /// Its kernel id.
    pub(crate) tid: u32,
    /// What it was granted.
    pub(crate) grant: Grant,
    orders: Sender<Order>,
    handle: Option<JoinHandle<Option<Report<C>>>>,
}

impl<C: Send + 'static> Member<C> {
    /// Starts a thread, and waits until it has asked for what it wants and is warm.
    ///
    /// # Errors
    /// Where no thread is to be had, or it does not come up.
    pub(crate) fn start<W>(name: &str, wanted: RequestedScheduling, work: W) -> Result<Self, ArmError>
    where
        W: Work<Counts = C> + Send + 'static,
    {
        let thread = wanted.thread;
        let (arrive, arrived) = sync_channel(1);
        let (orders, wait) = channel();
        let handle = thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || serve(work, wanted, &arrive, &wait))
            .map_err(|error| ArmError::Thread { thread, error })?;
        let Ok((tid, grant)) = arrived.recv_timeout(COMES_UP_WITHIN) else {
            return Err(ArmError::Stuck { thread, why: why_stuck(wanted) });
        };
        Ok(Self { tid, grant, orders, handle: Some(handle) })
    }
}

impl<C> Member<C> {
    /// Starts the measurement at `start_ns` on its clock. All threads with the same start begin together, however long each
    /// takes to hear of it.
    pub(crate) fn begin_at(&self, start_ns: i64) {
        // One that has died is found at the end.
        let _ = self.orders.send(Order::BeginAt(start_ns));
    }

    /// Calls it off where it still waits for its start. A loop that runs has its own way to end.
    pub(crate) fn call_off(&self) {
        let _ = self.orders.send(Order::End);
    }

    /// Whether its thread has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// What it reported at its end, and how it ended. One that is stuck is left to the process's end, and says nothing; one
    /// that was called off has nothing to say.
    pub(crate) fn report(&mut self) -> MemberReport<C> {
        match self.handle.take_if(|handle| handle.is_finished()).map(JoinHandle::join) {
            Some(Ok(report)) => MemberReport { report, end: ThreadEnd::Whole },
            Some(Err(_)) => MemberReport { report: None, end: ThreadEnd::Died },
            None => MemberReport { report: None, end: ThreadEnd::Stuck },
        }
    }
}

/// What a measuring thread has come to.
pub(crate) struct MemberReport<C> {
    /// What it reported at its end; `None` while it goes on, where it was called off, or where it never did.
    pub(crate) report: Option<Report<C>>,
    /// How it ended.
    pub(crate) end: ThreadEnd,
}

impl<C> MemberReport<C> {
    /// Of a thread that goes on.
    pub(crate) const fn so_far() -> Self {
        Self { report: None, end: ThreadEnd::Whole }
    }
}

/// The life of a measuring thread, from arming to its report; `None` where it was called off before it measured.
pub(crate) fn serve<W: Work>(
    mut work: W,
    wanted: RequestedScheduling,
    arrive: &SyncSender<(u32, Grant)>,
    orders: &Receiver<Order>,
) -> Option<Report<W::Counts>> {
    // All of this is only setting up.
    kernel::signals::block_all_but_watchdog();
    kernel::sched::set_least_timer_slack();
    let grant = Grant::ask(wanted);
    work.warm_up(Meter(()));
    let tid = kernel::sched::thread_id();
    // The controller that gave up waiting has dropped its end; then there is nothing to do but end.
    arrive.send((tid, grant)).ok()?;
    let start_ns = wait_for_start(orders, work.clock())?;
    // Pages of code may have been released meanwhile, see `Watching::begin`.
    work.warm_up(Meter(()));
    let moves_before = crate::witness::migrations(tid);
    let Metered { counts, usage } = work.measure(start_ns, Meter(()));
    let ended_ns = now_ns(ClockId::Monotonic);
    let moved = |before: u64| Some(crate::witness::migrations(tid)?.saturating_sub(before));
    let migrations = moves_before.and_then(moved);
    Some(Report { counts, usage, migrations, ended_ns, at_end: ReadBack::read_calling_thread() })
}

/// Waits for the order, and until the start is near. Each thread has an order of its own to wait for: no lock that another
/// one, starved, could hold. One that is called off while it waits for a far start ends at once.
fn wait_for_start(orders: &Receiver<Order>, clock: ClockId) -> Option<i64> {
    let mut order = orders.recv().ok()?;
    loop {
        let Order::BeginAt(start_ns) = order else { return None };
        let wait_ns = u64::try_from(start_ns.saturating_sub(now_ns(clock)).saturating_sub(LEAD_NS)).unwrap_or(0);
        // A clock that can be set is asked again now and then.
        let wait = Duration::from_nanos(wait_ns).min(LONGEST_WAIT);
        match orders.recv_timeout(wait) {
            Ok(changed) => order = changed,
            Err(RecvTimeoutError::Timeout) if wait_ns == 0 => return Some(start_ns),
            Err(RecvTimeoutError::Timeout) => {}
            // Its run is given up.
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Measures what a loop uses of the machine beside its samples.
#[derive(Clone, Copy)]
pub(crate) struct Meter(());

/// What a loop counted, and what it used.
pub(crate) struct Metered<C> {
    counts: C,
    usage: ThreadUsage,
}

impl<C> Metered<C> {
    /// What the loop counted.
    pub(crate) fn counts(self) -> C {
        self.counts
    }

    /// The same use with other counts.
    pub(crate) fn map<D>(self, change: impl FnOnce(C) -> D) -> Metered<D> {
        Metered { counts: change(self.counts), usage: self.usage }
    }
}

impl Meter {
    /// Runs a loop that neither allocates nor faults, which is held.
    #[inline(always)]
    pub(crate) fn hot<C>(self, run: impl FnOnce() -> C) -> Metered<C> {
        self.around(|| kernel::hot_section::enter(run))
    }

    /// Runs what is a loop only in parts.
    #[inline(always)]
    pub(crate) fn around<C>(self, run: impl FnOnce() -> C) -> Metered<C> {
        let before = ThreadUsage::now().unwrap_or_default();
        let counts = run();
        Metered { counts, usage: ThreadUsage::now().unwrap_or_default().since(&before) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use kernel::sched::Policy;

    use super::*;

    /// Records the start time that it was given.
    struct Scribe(Arc<AtomicI64>);

    impl Work for Scribe {
        type Counts = i64;

        fn clock(&self) -> ClockId {
            ClockId::Monotonic
        }

        fn warm_up(&mut self, _: Meter) {
            self.0.store(1, Ordering::Release);
        }

        fn measure(self, start_ns: i64, meter: Meter) -> Metered<i64> {
            meter.hot(|| start_ns)
        }
    }

    fn scribe() -> (Member<i64>, Arc<AtomicI64>) {
        let start = Arc::new(AtomicI64::new(0));
        let wanted = RequestedScheduling { thread: 0, policy: Policy::Other, cpu: None };
        (Member::start("scribe", wanted, Scribe(Arc::clone(&start))).unwrap(), start)
    }

    fn ended(member: &mut Member<i64>) -> MemberReport<i64> {
        // It ends by itself after it was started.
        while !member.is_finished() {
            thread::yield_now();
        }
        member.report()
    }

    #[test]
    fn a_thread_is_warm_once_it_has_come_up_and_begins_when_it_is_told() {
        let (mut member, warm) = scribe();
        assert_eq!(warm.load(Ordering::Acquire), 1);
        assert!(!member.is_finished() && member.tid != 0);
        assert_eq!(member.report().end, ThreadEnd::Stuck, "it waits for its order");
        let start_ns = now_ns(ClockId::Monotonic);
        member.begin_at(start_ns);
        let MemberReport { report, end } = ended(&mut member);
        assert_eq!((report.unwrap().counts, end), (start_ns, ThreadEnd::Whole));
    }

    #[test]
    fn one_that_waits_for_a_far_start_is_called_off_at_once() {
        let (mut member, _) = scribe();
        member.begin_at(i64::MAX);
        member.call_off();
        let MemberReport { report, end } = ended(&mut member);
        assert!(report.is_none() && end == ThreadEnd::Whole);
        // One whose run was given up before any order ends too.
        let (member, _) = scribe();
        let Member { orders, handle, .. } = member;
        drop(orders);
        assert!(handle.unwrap().join().unwrap().is_none());
    }
}
