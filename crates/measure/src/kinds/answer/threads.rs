//! The thread that answers, and the one that knows when the run is over and talks to the witness.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use kernel::clock::{KernelClock, now_ns};
use units::ClockId;

use super::AnswerError;
use super::hot::{AnswerCounts, AnswerLoop};
use super::plan::AnswerPlan;
use super::witness::{Counted, Dialog, Said};
use crate::crew::drain::CLOCK;
use crate::crew::{ArmError, Member, Meter, Metered, Work};
use crate::ring::{Ring, Slot};
use crate::wire::Wire;
use crate::witness::RequestedScheduling;

/// Edges that warm the thread up: the first ones, which are in no latency.
pub(super) const WARMING: u64 = 16;

/// What the threads share with each other and with the drain.
pub(super) struct Shared<W> {
    pub(super) wire: W,
    /// The kernel's stamp of each edge, and when the thread was awake.
    pub(super) woke: Ring,
    /// The same stamp, and when the answer was given.
    pub(super) done: Ring,
    /// Edges that were answered, with those of the warming.
    pub(super) answered: AtomicU64,
    /// Edges that the kernel had no room for.
    pub(super) overflowed: AtomicU64,
    /// What the witness has said so far; `None` where there is none.
    said: Mutex<Option<Said>>,
    watchdog: Arc<AtomicBool>,
    /// The run is to end: the witness first.
    is_told: AtomicBool,
    is_over: AtomicBool,
}

impl<W: Wire> Shared<W> {
    /// Edges, and answers, that found no room: an edge that lacks either is no sample.
    pub(super) fn dropped(&self) -> u64 {
        self.woke.dropped().saturating_add(self.done.dropped())
    }

    /// What the witness has said so far.
    pub(super) fn said(&self) -> Option<Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn witness_says(&self, said: Said) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.wire.end_waits();
    }
}

/// What the thread that answers counted, with its warming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) warming: AnswerCounts,
    pub(super) measured: AnswerCounts,
    /// The longest from the kernel's stamp to the thread while it was warmed up (ns): the witness has it among its own.
    pub(super) warming_longest_ns: u64,
}

/// Both threads, running.
pub(super) struct Running<W> {
    pub(super) shared: Arc<Shared<W>>,
    pub(super) answering: Member<Counts>,
    conductor: Option<JoinHandle<Option<Said>>>,
}

impl<W: Wire> Running<W> {
    /// Starts the thread that answers; it waits for its order.
    ///
    /// # Errors
    /// Where it cannot be had.
    pub(super) fn start(plan: &AnswerPlan, wire: W, watchdog: Arc<AtomicBool>) -> Result<Self, ArmError> {
        let shared = Arc::new(Shared {
            wire,
            woke: Ring::new(plan.length.ring_slots),
            done: Ring::new(plan.length.ring_slots),
            answered: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            said: Mutex::default(),
            watchdog,
            is_told: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let wanted = RequestedScheduling { thread: 0, policy: plan.policy(), cpu: Some(plan.cpu) };
        let answering = Member::start("punctual-w0", wanted, Answering { shared: Arc::clone(&shared) })?;
        Ok(Self { shared, answering, conductor: None })
    }

    /// Lets the witness begin, where there is one, and the run end at its time.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub(super) fn conduct(
        &mut self,
        plan: &AnswerPlan,
        start_ns: i64,
        dialog: Option<Dialog>,
    ) -> Result<(), AnswerError> {
        if let Some(dialog) = &dialog {
            self.shared.witness_says(dialog.said());
        }
        let conducting = Conducting {
            shared: Arc::clone(&self.shared),
            end_ns: match plan.length.end {
                record::RunEnd::After(duration) => start_ns.saturating_add(duration.0),
                record::RunEnd::Samples(_) | record::RunEnd::WhenTold => i64::MAX,
            },
            samples: plan.length.samples(),
        };
        let builder = std::thread::Builder::new().name("punctual-c0".to_owned());
        let conductor = builder.spawn(move || conducting.run(start_ns, dialog)).map_err(AnswerError::Conductor)?;
        self.conductor = Some(conductor);
        Ok(())
    }

    /// Whether both threads have ended.
    pub(super) fn is_finished(&self) -> bool {
        self.answering.is_finished() && self.conductor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Tells that the run is to end, and ends the waiting of a thread that has not begun.
    pub(super) fn end(&self) {
        self.shared.is_told.store(true, Ordering::Release);
        self.answering.call_off();
    }

    /// Ends the wait for an edge.
    pub(super) fn release(&self) {
        self.shared.end();
    }

    /// What the witness said; `None` where there was none, or it still talks.
    pub(super) fn witness(&mut self) -> Option<Said> {
        self.conductor.take_if(|handle| handle.is_finished()).and_then(|handle| handle.join().ok()).flatten()
    }
}

/// Who knows when the run is over.
struct Conducting<W> {
    shared: Arc<Shared<W>>,
    /// When it ends (ns).
    end_ns: i64,
    /// After how many answers.
    samples: u64,
}

impl<W: Wire> Conducting<W> {
    fn is_time(&self, now_ns: i64) -> bool {
        let measured = self.shared.answered.load(Ordering::Relaxed).saturating_sub(WARMING);
        now_ns >= self.end_ns || measured >= self.samples || self.shared.is_told.load(Ordering::Acquire)
    }

    /// Until the end: the witness makes no more edges before nobody answers them.
    fn run(self, start_ns: i64, dialog: Option<Dialog>) -> Option<Said> {
        let ending = Ending(&self.shared);
        let clock = KernelClock::from(CLOCK);
        let is_time = || self.is_time(now_ns(clock));
        let Some(dialog) = dialog else {
            while !is_time() {
                std::thread::sleep(super::witness::LOOK);
            }
            return None;
        };
        let answered = || self.shared.answered.load(Ordering::Relaxed);
        let counted = Counted { now_ns: &|| now_ns(clock).saturating_sub(start_ns), answered: &answered };
        let said = dialog.run(&counted, &is_time, &|said| self.shared.witness_says(said));
        drop(ending);
        Some(said)
    }
}

/// Says that all is over when it is dropped, so that the answering thread hears of it also from a conductor that panics.
struct Ending<'a, W: Wire>(&'a Shared<W>);

impl<W: Wire> Drop for Ending<'_, W> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The loop, held to neither allocate nor fault, between two readings of what it used; one copy of all that code, so that warming
/// makes the pages of the measured one resident, up to the second reading.
#[inline(never)]
fn answers<W: Wire>(hot: AnswerLoop<'_, W>, meter: Meter) -> Metered<AnswerCounts> {
    meter.hot(|| hot.run())
}

/// What the thread that answers is born with.
struct Answering<W> {
    shared: Arc<Shared<W>>,
}

impl<W: Wire> Answering<W> {
    fn until<'a>(&'a self, most: u64, last_number: u32, (woke, done): (&'a Ring, &'a Ring)) -> AnswerLoop<'a, W> {
        let shared = &*self.shared;
        AnswerLoop {
            wire: &shared.wire,
            clock: KernelClock::from(CLOCK),
            most,
            last_number,
            answered: &shared.answered,
            overflowed: &shared.overflowed,
            is_over: &shared.is_over,
            woke: woke.writer(),
            done: done.writer(),
            watchdog: &shared.watchdog,
        }
    }
}

impl<W: Wire> Work for Answering<W> {
    type Counts = Counts;

    fn clock(&self) -> ClockId {
        CLOCK
    }

    fn warm_up(&mut self, meter: Meter) {
        let _ = meter.hot(|| now_ns(KernelClock::from(CLOCK)));
    }

    fn measure(self, _: i64, meter: Meter) -> Metered<Counts> {
        let spare = (Ring::new(64), Ring::new(64));
        // The kernel counts the edges of a line from 1.
        let warming = answers(self.until(WARMING, 0, (&spare.0, &spare.1)), meter).counts();
        let (shared, most) = (&*self.shared, if warming.failed_errno == 0 { u64::MAX } else { 0 });
        let hot = self.until(most, warming.last_number, (&shared.woke, &shared.done));
        let metered = answers(hot, meter);
        let mut warming_longest_ns = 0;
        spare.0.drain(|slots| {
            let longest = slots.iter().map(Slot::pair).map(|pair| pair.second_ns.saturating_sub(pair.first_ns)).max();
            warming_longest_ns = warming_longest_ns.max(longest.unwrap_or(0));
        });
        let warming_longest_ns = u64::try_from(warming_longest_ns).unwrap_or(0);
        metered.map(|measured| Counts { warming, measured, warming_longest_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::MadeUp;
    use super::*;
    use crate::ring::Pair;

    fn shared() -> Arc<Shared<MadeUp>> {
        Arc::new(Shared {
            wire: MadeUp::default(),
            woke: Ring::new(64),
            done: Ring::new(64),
            answered: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            said: Mutex::default(),
            watchdog: Arc::default(),
            is_told: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    #[test]
    fn what_either_half_of_an_edge_found_no_room_for_is_dropped() {
        let shared = shared();
        let fill = |ring: &Ring, pairs: i64| {
            let mut writer = ring.writer();
            (0..pairs).for_each(|ns| writer.push(Pair { first_ns: ns, second_ns: ns }));
        };
        fill(&shared.woke, 64);
        let room = 64 - i64::try_from(shared.dropped()).unwrap();
        fill(&shared.done, room + 3);
        assert_eq!(shared.dropped() - shared.woke.dropped(), 3);
        fill(&shared.woke, 5);
        assert_eq!(shared.dropped(), shared.woke.dropped() + 3);
        assert!(shared.woke.dropped() >= 5);
    }

    #[test]
    fn a_number_of_samples_is_reached_without_the_edges_of_the_warm_up() {
        let shared = shared();
        let conducting = Conducting { shared: Arc::clone(&shared), end_ns: 1_000, samples: 10 };
        let is_time_after = |answered, now_ns| {
            shared.answered.store(answered, Ordering::Relaxed);
            conducting.is_time(now_ns)
        };
        assert!(!is_time_after(WARMING + 9, 999) && is_time_after(WARMING + 10, 999));
        assert!(is_time_after(0, 1_000), "its time is over");
        shared.is_told.store(true, Ordering::Release);
        assert!(is_time_after(0, 0), "it was told");
    }
}
