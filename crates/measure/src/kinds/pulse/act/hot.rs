//! The loop that takes orders and acts. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for
//! words that would.
//!
//! One thread does both: it sleeps in the wait for packets until shortly before the next act, asks the clock from then on, and
//! switches. What comes meanwhile waits in the socket.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ::pulse::order::Order;
use kernel::clock::{KernelClock, Schedule, sleep_until};
use kernel::packet::{PacketEndpoint, ReceiveError, Received, Waited};
use packet::arrived::Arrived;
use packet::header::{self, NotOurs, Session};
use packet::sequence::{Arrival, SequenceTracker};
use rtrb::Producer;

use super::acting_clock::{ActingClock, Ahead};
use super::output::Output;
use super::pending::{Pending, Place, Waiting};
use crate::kinds::pulse::guard::state::GuardState;
use crate::kinds::pulse::now::{Now, monotonic, realtime};
use crate::nodes::receive::hot::{ReceiveCounts, Strangers};

/// How long the thread waits before it looks whether it is to end (ns).
const LONGEST_WAIT_NS: i64 = 50_000_000;
/// How long it waits at most while its output is active, before it looks whether that is still guarded (ns).
const ACTIVE_WAIT_NS: i64 = 10_000_000;
/// Waits after which it looks again whether it is to end, or a clock was set: for the end of a pulse, for a packet and for its time.
const MOST_WAITS: u32 = 3;
/// How long it sleeps where the kernel does not let it receive, before it asks again (ns).
const FAILURE_PAUSE_NS: i64 = 1_000_000;
/// An order that is so far ahead is of another time (ns): the longest lead is half of it.
const FARTHEST_NS: i64 = 20_000_000_000;

/// What became of an order that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was carried out.
    Acted,
    /// It left less than the arming time.
    TooLate,
    /// It was not as it has to be.
    Refused(Refusal),
    /// The driver did not switch the output.
    Failed,
    /// It waited when the clock was stepped, or the run was stopped.
    Dropped,
}

/// Why an order is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nobody knows yet how far the clocks are apart by which it is to act.
    NoClock,
    /// More wait than there is room for.
    Full,
    /// It is no order.
    NoOrder,
    /// The output would be active for longer than it may be.
    TooLong,
    /// It is nearer to another order than the output may be switched.
    TooFast,
    /// Its time is so far ahead that the clocks cannot be of one time.
    TooFar,
    /// Nobody guards the output any longer, or nothing more may be switched for another reason.
    Halted,
}

/// An order that arrived, and what became of it. All times are the node's CLOCK_REALTIME (ns).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) sequence: u64,
    pub(crate) fate: Fate,
    /// When the server was to send it.
    pub(crate) scheduled_ns: i64,
    /// When the thread waits for nothing more than its time.
    pub(crate) armed_ns: i64,
    /// When it was to be carried out.
    pub(crate) ordered_ns: i64,
    /// Right before the output was switched.
    pub(crate) acted_ns: i64,
    /// Right after the driver had switched it.
    pub(crate) returned_ns: i64,
}

/// What an output allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How long it may be active (ns).
    pub(crate) longest_ns: i64,
    /// From one act to the next, at least (ns).
    pub(crate) least_apart_ns: i64,
}

/// All that the loop touches, prepared beforehand.
pub(crate) struct ActLoop<'a, E> {
    pub(crate) end: &'a mut E,
    pub(crate) output: &'a Output,
    /// What the guard of the output is told.
    pub(crate) guarded: Option<&'a GuardState>,
    pub(crate) session: Session,
    pub(crate) flow: u8,
    pub(crate) clock: &'a ActingClock,
    /// Whether it acts by its own clock as that is, and not by how far that is from the server's.
    pub(crate) is_by_own_clock: bool,
    pub(crate) bounds: Bounds,
    /// From an order's schedule to its time (ns).
    pub(crate) lead_ns: i64,
    /// An order that leaves less is too late (ns).
    pub(crate) arming_ns: i64,
    /// How long before its time the clock is asked without a pause (ns).
    pub(crate) spin_ns: i64,
    /// How long before that the thread waits for packets no longer, and sleeps to the time alone (ns): the wait for packets ends
    /// later than a sleep does. 0 where asking the clock hides that.
    pub(crate) last_sleep_ns: i64,
    pub(crate) pending: &'a mut Pending,
    pub(crate) tracker: &'a mut SequenceTracker,
    pub(crate) ring: &'a mut Producer<Arrived>,
    pub(crate) done: &'a mut Producer<Done>,
    pub(crate) strangers: &'a Strangers,
    /// What became of orders and found no place in the ring.
    pub(crate) dropped: &'a AtomicU64,
    /// How often the driver did not make the output safe.
    pub(crate) unsafe_failures: &'a AtomicU64,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watchdog: &'a AtomicBool,
    /// Set where nothing more may be switched.
    pub(crate) halt: &'a AtomicBool,
    /// It ends when CLOCK_MONOTONIC passes this, whatever else happens (ns).
    pub(crate) end_ns: i64,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// When (ns, CLOCK_REALTIME of the node).
    at_ns: i64,
    /// How long before that no packet is waited for any more (ns).
    early_ns: i64,
    /// Whether it is to end a pulse.
    is_end: bool,
}

/// What the loop holds beside what was prepared.
struct State {
    counts: ReceiveCounts,
    /// How far the node's clock is ahead of the server's, once that is known.
    ahead: Ahead,
    is_clock_known: bool,
    /// Which setting of the clock that is.
    clock_version: u64,
    before: Now,
    /// When the output is to be safe again (ns, CLOCK_REALTIME of the node); `None` while it is.
    safe_at_ns: Option<i64>,
    /// From when until when the last order that was carried out was for (ns, CLOCK_REALTIME of the server).
    last_act_ns: i64,
    last_until_ns: i64,
    /// When that was (ns, CLOCK_REALTIME of the node).
    last_acted_ns: i64,
    /// Nothing more is switched.
    is_halted: bool,
}

impl State {
    fn new(clock: &ActingClock) -> Self {
        let mut state = Self {
            counts: ReceiveCounts::default(),
            ahead: Ahead::default(),
            is_clock_known: false,
            clock_version: 0,
            before: Now::read(),
            safe_at_ns: None,
            last_act_ns: i64::MIN / 2,
            last_until_ns: i64::MIN / 2,
            last_acted_ns: i64::MIN / 2,
            is_halted: false,
        };
        state.look_at(clock);
        state
    }

    /// Takes over what is known of the clocks by now.
    #[inline(always)]
    fn look_at(&mut self, clock: &ActingClock) {
        // Before what belongs to it is read: what is set meanwhile is looked at the next time.
        let version = clock.version();
        if version == self.clock_version {
            return;
        }
        if let Some(ahead) = clock.read() {
            (self.ahead, self.is_clock_known, self.clock_version) = (ahead, true, version);
        }
    }
}

impl<E: PacketEndpoint> ActLoop<'_, E> {
    /// Takes orders and carries them out until it is stopped; the output was told to be safe when it returns.
    #[inline(never)]
    pub(crate) fn run(mut self) -> ReceiveCounts {
        let mut state = State::new(self.clock);
        loop {
            let now = Now::read();
            if self.is_over(now.monotonic_ns) {
                break;
            }
            if now.is_stepped_since(&state.before) {
                self.drop_all(&mut state);
                // How far it is from the server's is not known any more.
                state.is_clock_known &= self.is_by_own_clock;
            }
            if !state.is_halted && self.is_to_halt(now.monotonic_ns) {
                state.is_halted = true;
                self.drop_all(&mut state);
            }
            if state.safe_at_ns.is_some() {
                if let Some(guarded) = self.guarded {
                    guarded.lives(now.monotonic_ns);
                }
            }
            state.before = now;
            state.look_at(self.clock);
            if self.left_ns(&state, &now).is_some_and(|(left_ns, _)| left_ns <= 0) {
                // Where the clock was set back meanwhile, that is looked at first.
                if let Some(now) = self.act(&mut state) {
                    self.wait_from(now, &mut state);
                }
            } else {
                self.wait_from(now, &mut state);
            }
        }
        self.drop_all(&mut state);
        state.counts.kernel_dropped = self.end.counters().receive_dropped;
        state.counts
    }

    /// How long it is from a moment until no packet is to be waited for any more (ns), and whether that is for the end of a pulse;
    /// `None` if nothing is to be done.
    #[inline(always)]
    fn left_ns(&self, state: &State, now: &Now) -> Option<(i64, bool)> {
        self.next_ns(state).map(|next| (next.at_ns - next.early_ns - now.realtime_ns, next.is_end))
    }

    /// Waits from now on for what is to be done next, takes packets meanwhile, and ends a pulse, for which nothing has to be looked at:
    /// nearly always all that lies between two acts. How far both clocks are apart is not looked at again.
    #[inline(always)]
    fn wait_from(&mut self, mut now: Now, state: &mut State) {
        for _ in 0..MOST_WAITS {
            let longest_ns = if state.safe_at_ns.is_some() { ACTIVE_WAIT_NS } else { LONGEST_WAIT_NS };
            let (left_ns, is_end) = match self.left_ns(state, &now) {
                Some(next) if next.0 < longest_ns => next,
                _ => (longest_ns, false),
            };
            // Due already.
            if left_ns <= 0 {
                return;
            }
            match self.wait(&now, left_ns, state) {
                Waited::Packet => {}
                Waited::Over if is_end => {
                    self.make_safe();
                    state.safe_at_ns = None;
                }
                Waited::Over | Waited::Early => return,
            }
            now = now.at_monotonic(monotonic());
        }
    }

    /// Takes one packet, whose order is to wait for its time; how long that took from the reading once it had arrived (ns).
    pub(crate) fn arm_one(&mut self) -> i64 {
        let mut state = State::new(self.clock);
        let began_ns = realtime();
        self.take(i64::MAX, &mut state);
        realtime() - began_ns
    }

    #[inline(always)]
    fn is_over(&self, monotonic_ns: i64) -> bool {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        is_set(self.stop) || is_set(self.watchdog) || monotonic_ns > self.end_ns
    }

    /// Whether nothing more may be switched: orders that come after that are refused.
    #[inline(always)]
    fn is_to_halt(&self, monotonic_ns: i64) -> bool {
        let is_watched = self.guarded.is_none_or(|guarded| guarded.is_watched(monotonic_ns));
        !is_watched || self.halt.load(Ordering::Relaxed)
    }

    /// What is to be done next. The end of a pulse is waited for together with packets: who measures looks at its beginning.
    #[inline(always)]
    fn next_ns(&self, state: &State) -> Option<Next> {
        let early_ns = self.spin_ns + self.last_sleep_ns;
        let act = |order: &Waiting| Next { at_ns: state.ahead.on_own(order.act_at_ns), early_ns, is_end: false };
        let act = self.pending.first().map(act);
        let end = state.safe_at_ns.map(|at_ns| Next { at_ns, early_ns: 0, is_end: true });
        match (act, end) {
            (Some(act), Some(end)) if act.at_ns < end.at_ns => Some(act),
            (_, Some(end)) => Some(end),
            (act, None) => act,
        }
    }

    /// Waits for packets for so long, and takes one that comes; how that ended.
    #[inline(always)]
    fn wait(&mut self, now: &Now, left_ns: i64, state: &mut State) -> Waited {
        match self.end.wait_for(left_ns.min(self.end_ns - now.monotonic_ns)) {
            Ok(Waited::Packet) => {
                self.take(now.monotonic_ns + left_ns, state);
                Waited::Packet
            }
            // Its time was over before.
            Ok(Waited::Over) if left_ns > self.end_ns - now.monotonic_ns => Waited::Early,
            Ok(ended) => ended,
            Err(error) => {
                self.fail(error, now.monotonic_ns + left_ns, &mut state.counts);
                Waited::Early
            }
        }
    }

    /// Does what is due next; the time after that, `None` where the clock was set back while the output was switched.
    #[inline(always)]
    fn act(&mut self, state: &mut State) -> Option<Now> {
        let is_act_first = |act_ns: i64| state.safe_at_ns.is_none_or(|safe_ns| act_ns < safe_ns);
        let first_ns = self.pending.first().map(|order| state.ahead.on_own(order.act_at_ns));
        if !first_ns.is_some_and(is_act_first) {
            self.make_safe();
            state.safe_at_ns = None;
            return Some(state.before.at_monotonic(monotonic()));
        }
        let order = self.pending.take()?;
        (state.last_act_ns, state.last_until_ns) = (order.act_at_ns, order.until_ns);
        let ordered_ns = state.ahead.on_own(order.act_at_ns);
        let began = state.before;
        let sleep_ns = ordered_ns - self.spin_ns - began.realtime_ns;
        if self.last_sleep_ns > 0 && sleep_ns > 0 {
            let until = Schedule::at_ns(began.monotonic_ns + sleep_ns);
            let _ = sleep_until(KernelClock::from(units::ClockId::Monotonic), &until);
        }
        let mut acted_ns = realtime();
        while acted_ns < ordered_ns {
            // Set back while it was asked: the time may never come.
            if acted_ns < began.realtime_ns {
                self.tell(&order, Fate::Dropped, state.ahead, [ordered_ns; 3]);
                self.drop_all(state);
                return None;
            }
            std::hint::spin_loop();
            acted_ns = realtime();
        }
        // What was far enough apart when it was ordered need not be where this thread was late.
        let is_near = (0..self.bounds.least_apart_ns / 2).contains(&acted_ns.wrapping_sub(state.last_acted_ns));
        if is_near || self.stop.load(Ordering::Relaxed) {
            let fate = if is_near { Fate::Refused(Refusal::TooFast) } else { Fate::Dropped };
            self.tell(&order, fate, state.ahead, [ordered_ns; 3]);
            return Some(began.at_monotonic(monotonic()));
        }
        state.last_acted_ns = acted_ns;
        let until_ns = state.ahead.on_own(order.until_ns);
        if let Some(guarded) = self.guarded {
            let now_ns = monotonic();
            guarded.becomes_active(now_ns, now_ns + (until_ns - acted_ns).max(0));
        }
        let is_switched = self.output.set(true);
        let returned_ns = realtime();
        let fate = if is_switched { Fate::Acted } else { Fate::Failed };
        state.safe_at_ns = Some(until_ns);
        self.tell(&order, fate, state.ahead, [ordered_ns, acted_ns, returned_ns]);
        // The clock that was read last says how much of the other one has passed.
        let passed_ns = returned_ns - began.realtime_ns;
        (returned_ns >= acted_ns).then(|| began.at_monotonic(began.monotonic_ns + passed_ns))
    }

    #[inline(always)]
    fn make_safe(&self) {
        if self.output.set(false) {
            if let Some(guarded) = self.guarded {
                guarded.is_safe();
            }
        } else {
            self.unsafe_failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Drops what waits, and makes the output safe. Acts before that are nothing to go by, since the clock may have been set.
    #[cold]
    #[inline(never)]
    fn drop_all(&mut self, state: &mut State) {
        state.last_acted_ns = i64::MIN / 2;
        if state.safe_at_ns.take().is_some() {
            self.make_safe();
        }
        while let Some(order) = self.pending.take() {
            let ordered_ns = state.ahead.on_own(order.act_at_ns);
            self.tell(&order, Fate::Dropped, state.ahead, [ordered_ns; 3]);
        }
    }

    /// Hands over what became of an order.
    #[inline(always)]
    fn tell(&mut self, order: &Waiting, fate: Fate, ahead: Ahead, [ordered_ns, acted_ns, returned_ns]: [i64; 3]) {
        let Waiting { sequence, act_at_ns, armed_ns, .. } = *order;
        let scheduled_ns = ahead.on_own(act_at_ns - self.lead_ns);
        let done = Done { sequence, fate, scheduled_ns, armed_ns, ordered_ns, acted_ns, returned_ns };
        if self.done.push(done).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Goes on after a failure, with a pause: one that lasts would be a loop that never sleeps. No act waits for it.
    #[cold]
    #[inline(never)]
    fn fail(&self, error: ReceiveError, until_ns: i64, counts: &mut ReceiveCounts) {
        counts.failures += 1;
        counts.failure.get_or_insert(error);
        let until = Schedule::at_ns(until_ns.min(monotonic() + FAILURE_PAUSE_NS));
        let _ = sleep_until(KernelClock::from(units::ClockId::Monotonic), &until);
    }

    /// Takes one packet, if there is one; what is to be done at `until_ns` (CLOCK_MONOTONIC) does not wait for a failure.
    #[inline(always)]
    fn take(&mut self, until_ns: i64, state: &mut State) {
        let (session, flow, strangers, ring) = (&self.session, self.flow, self.strangers, &mut *self.ring);
        let taken = self.end.receive(|received: Received<'_>| {
            let received_ns = realtime();
            let Received { payload, stack_ns, hardware_ns, .. } = received;
            match Arrived::hand_over(ring, session, flow, payload, [stack_ns, hardware_ns], received_ns) {
                Ok(handed) => {
                    if handed.is_dropped {
                        strangers.dropped.fetch_add(1, Ordering::Relaxed);
                    }
                    let order = header::words(payload).and_then(Order::of_words);
                    handed.measured.map(|sequence| (sequence, order, received_ns))
                }
                Err(NotOurs::Foreign) => {
                    strangers.foreign.fetch_add(1, Ordering::Relaxed);
                    None
                }
                Err(NotOurs::Forged) => {
                    strangers.forged.fetch_add(1, Ordering::Relaxed);
                    None
                }
            }
        });
        match taken {
            Ok(Some(Some((sequence, order, received_ns)))) => self.consider(sequence, order, received_ns, state),
            Ok(_) => {}
            Err(error) => self.fail(error, until_ns, &mut state.counts),
        }
    }

    /// Lets an order wait for its time, unless it cannot be carried out. A copy is nothing.
    #[inline(always)]
    fn consider(&mut self, sequence: u64, order: Option<Order>, received_ns: i64, state: &mut State) {
        if !matches!(self.tracker.take(sequence), Arrival::InOrder | Arrival::Reordered) {
            return;
        }
        state.counts.taken += 1;
        // The clocks may have been compared while this thread waited for the order.
        state.look_at(self.clock);
        let (act_at_ns, until_ns) = order.map_or((0, 0), |order| (order.act_at_ns, order.until_ns));
        let ordered_ns = state.ahead.on_own(act_at_ns);
        let left_ns = ordered_ns.saturating_sub(received_ns);
        let place = self.pending.place_of(act_at_ns);
        let fate = match self.refusal(order.is_some(), (act_at_ns, until_ns), (left_ns, place), state) {
            Some(refusal) => Some(Fate::Refused(refusal)),
            None if left_ns < self.arming_ns => Some(Fate::TooLate),
            None => None,
        };
        // What it takes from then on was measured before, so that what an order needed and whether it is too late are one.
        let armed_ns = received_ns + self.arming_ns;
        let waiting = Waiting { sequence, act_at_ns, until_ns, armed_ns };
        match fate {
            None => self.pending.put(place, waiting),
            Some(fate) => self.tell(&waiting, fate, state.ahead, [ordered_ns; 3]),
        }
    }

    #[inline(always)]
    fn refusal(
        &self,
        is_order: bool,
        (act_at_ns, until_ns): (i64, i64),
        (left_ns, place): (i64, Place),
        state: &State,
    ) -> Option<Refusal> {
        if !is_order {
            return Some(Refusal::NoOrder);
        }
        if state.is_halted {
            return Some(Refusal::Halted);
        }
        if !state.is_clock_known {
            return Some(Refusal::NoClock);
        }
        let apart_ns = self.bounds.least_apart_ns;
        let (before, behind) = self.pending.around(place);
        let (before_ns, active_until_ns) =
            before.map_or((state.last_act_ns, state.last_until_ns), |before| (before.act_at_ns, before.until_ns));
        let is_near = |one_ns: i64, other_ns: i64| (0..apart_ns).contains(&other_ns.saturating_sub(one_ns));
        if until_ns.saturating_sub(act_at_ns) > self.bounds.longest_ns {
            Some(Refusal::TooLong)
        } else if left_ns > FARTHEST_NS {
            Some(Refusal::TooFar)
        } else if act_at_ns < active_until_ns && act_at_ns >= before_ns
            || is_near(before_ns, act_at_ns)
            || behind.is_some_and(|behind| until_ns > behind.act_at_ns || is_near(act_at_ns, behind.act_at_ns))
        {
            // One that begins before the end of another would have it active for longer than each may be.
            Some(Refusal::TooFast)
        } else if self.pending.is_full() {
            Some(Refusal::Full)
        } else {
            None
        }
    }
}
