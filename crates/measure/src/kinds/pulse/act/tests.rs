//! The acting loop over an end that hands out what a test wrote.

use std::collections::VecDeque;

use kernel::packet::{Counters, Launch, PacketEndpoint, ReceiveError, Received, SendError, SentStamp};

use packet::header::HEADER_BYTES;

use super::hot::Refusal;
use super::*;

const SESSION: Session = Session { number: 3, key: [5; 16] };
const MS: i64 = 1_000_000;

/// Has all packets at once, and nothing after that.
struct Scripted<'a> {
    packets: VecDeque<Vec<u8>>,
    /// What others do while the loop waits for the next one.
    meanwhile: &'a dyn Fn(),
}

impl PacketEndpoint for Scripted<'_> {
    fn send(&mut self, _: &[u8], _: Option<Launch>) -> Result<(), SendError> {
        Ok(())
    }

    fn receive<R>(&mut self, take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError> {
        Ok(self.packets.pop_front().map(|payload| take(Received::of_unknown_way(&payload))))
    }

    fn wait(&mut self, deadline_ns: i64) -> Result<bool, ReceiveError> {
        (self.meanwhile)();
        if !self.packets.is_empty() {
            return Ok(true);
        }
        let left_ns = deadline_ns - now_ns(ClockId::Monotonic);
        std::thread::sleep(std::time::Duration::from_nanos(left_ns.max(0).unsigned_abs()));
        Ok(false)
    }

    fn sent_stamp(&mut self) -> Option<SentStamp> {
        None
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn largest_payload(&self) -> usize {
        LEAST_BYTES
    }

    fn rehearsal(&self) -> Option<Self> {
        None
    }
}

/// A packet with an order for a time, active for so long.
fn packet(sequence: u64, act_at_ns: i64, takes_ns: i64) -> Vec<u8> {
    bytes_of(&SESSION, 0, sequence, (act_at_ns, takes_ns)).to_vec()
}

/// Lets the loop take packets and carry out what is ordered until 60 ms from now; what became of each order.
fn obeyed(packets: impl IntoIterator<Item = Vec<u8>>, bounds: Bounds, arming_ns: i64) -> Vec<Done> {
    let clock = ActingClock::default();
    clock.set(Ahead::default());
    obeyed_by(&clock, packets, bounds, arming_ns)
}

fn obeyed_by(
    clock: &ActingClock,
    packets: impl IntoIterator<Item = Vec<u8>>,
    bounds: Bounds,
    arming_ns: i64,
) -> Vec<Done> {
    obeyed_while((clock, None, &|| {}), packets, bounds, (arming_ns, MS))
}

fn obeyed_while(
    (clock, guarded, meanwhile): (&ActingClock, Option<&GuardState>, &dyn Fn()),
    packets: impl IntoIterator<Item = Vec<u8>>,
    bounds: Bounds,
    (arming_ns, spin_ns): (i64, i64),
) -> Vec<Done> {
    let (mut ring, _arrived) = RingBuffer::new(256);
    let (mut done, mut told) = RingBuffer::new(256);
    let (strangers, counted, flag) = (Strangers::default(), AtomicU64::new(0), AtomicBool::new(false));
    let hot = ActLoop {
        end: &mut Scripted { packets: packets.into_iter().collect(), meanwhile },
        output: &Output::Nothing,
        guarded,
        session: SESSION,
        flow: 0,
        clock,
        is_by_own_clock: true,
        bounds,
        lead_ns: 20 * MS,
        arming_ns,
        spin_ns,
        last_sleep_ns: if spin_ns > 0 { 0 } else { MS / 20 },
        pending: &mut Pending::default(),
        tracker: &mut SequenceTracker::default(),
        ring: &mut ring,
        done: &mut done,
        strangers: &strangers,
        dropped: &counted,
        unsafe_failures: &counted,
        stop: &flag,
        watchdog: &flag,
        halt: &flag,
        end_ns: now_ns(ClockId::Monotonic) + 60 * MS,
    };
    let _ = hot.run();
    let mut all = Vec::new();
    while let Ok(done) = told.pop() {
        all.push(done);
    }
    all
}

const ANY: Bounds = Bounds { longest_ns: i64::MAX, least_apart_ns: 0 };

fn fates(done: &[Done]) -> Vec<(u64, Fate)> {
    done.iter().map(|one| (one.sequence, one.fate)).collect()
}

#[test]
fn orders_are_carried_out_in_the_order_of_their_times_and_none_is_early_whether_the_clock_is_asked_or_slept_to() {
    let clock = ActingClock::default();
    clock.set(Ahead::default());
    for spin_ns in [MS, 0] {
        let from_ns = now_ns(ClockId::Realtime) + 20 * MS;
        let at = |number: i64| from_ns + number * 2 * MS;
        // They overtake each other, and each comes twice.
        let sequences = [2, 0, 1, 2, 0, 1];
        let packets = sequences.map(|number| packet(number, at(i64::try_from(number).unwrap()), MS));
        let done = obeyed_while((&clock, None, &|| {}), packets, ANY, (1_000, spin_ns));
        assert_eq!(fates(&done), [(0, Fate::Acted), (1, Fate::Acted), (2, Fate::Acted)]);
        for (number, one) in (0..).zip(&done) {
            assert_eq!((one.ordered_ns, one.scheduled_ns), (at(number), at(number) - 20 * MS));
            assert!(one.acted_ns >= one.ordered_ns && one.returned_ns >= one.acted_ns, "{one:?}");
            assert!(one.armed_ns < one.ordered_ns, "{one:?}");
        }
    }
}

#[test]
fn a_node_sleeps_to_the_time_alone_where_it_does_not_ask_the_clock_for_longer_and_never_for_long() {
    let last_sleep_ns = |spin_ns: i64, interval_ns: i64| {
        let bounds = Bounds { longest_ns: i64::MAX, least_apart_ns: 0 };
        ActPlan { bounds, by: ActsBy::Service, lead_ns: MS, spin_ns, interval_ns }.last_sleep_ns()
    };
    assert_eq!(last_sleep_ns(0, MS), 50_000);
    assert_eq!(last_sleep_ns(0, 100_000), 10_000);
    assert_eq!(last_sleep_ns(10_000, 100_000), 0);
    assert_eq!(last_sleep_ns(49_999, MS), 50_000);
    assert_eq!(last_sleep_ns(100_000, MS), 0);
}

#[test]
fn what_leaves_less_than_the_arming_time_is_not_carried_out() {
    let now_ns = now_ns(ClockId::Realtime);
    let done = obeyed([packet(0, now_ns + 30 * MS, MS), packet(1, now_ns - MS, MS)], ANY, 31 * MS);
    assert_eq!(fates(&done), [(0, Fate::TooLate), (1, Fate::TooLate)]);
    // What it needed is beyond what it had, by definition.
    assert!(done.iter().all(|one| one.armed_ns > one.ordered_ns), "{done:?}");
}

#[test]
fn what_the_output_does_not_allow_is_refused_by_name() {
    let from_ns = now_ns(ClockId::Realtime) + 20 * MS;
    // So far apart that a thread which is some milliseconds late brings none too near to another.
    let bounds = Bounds { longest_ns: MS, least_apart_ns: 20 * MS };
    // Of the run, and without an order.
    let mut without = packet(5, 0, 0);
    let header = Header { sequence: 5, ..HEADER };
    header.write(&SESSION, &mut without);
    // Right in itself, and of a wrong key or for no time at all.
    let mut forged = packet(7, from_ns + 30 * MS, MS);
    forged[HEADER_BYTES] ^= 1;
    let done = obeyed(
        [
            packet(0, from_ns, MS),
            packet(1, from_ns + 10 * MS, MS + 1),
            packet(2, from_ns + 20 * MS - 1, MS),
            packet(3, from_ns - 20 * MS + 1, MS),
            packet(4, from_ns + 30_000 * MS, MS),
            without,
            forged,
            packet(6, from_ns + 20 * MS, MS),
            packet(8, from_ns + 35 * MS, 0),
        ],
        bounds,
        1_000,
    );
    let refused = |why| Fate::Refused(why);
    let mut seen = fates(&done);
    seen.sort_by_key(|(sequence, _)| *sequence);
    assert_eq!(
        seen,
        [
            (0, Fate::Acted),
            (1, refused(Refusal::TooLong)),
            (2, refused(Refusal::TooFast)),
            (3, refused(Refusal::TooFast)),
            (4, refused(Refusal::TooFar)),
            (5, refused(Refusal::NoOrder)),
            (6, Fate::Acted),
            (8, refused(Refusal::NoOrder)),
        ]
    );
}

#[test]
fn an_order_that_would_have_the_output_active_beyond_the_end_of_another_is_refused() {
    let from_ns = now_ns(ClockId::Realtime) + 20 * MS;
    let at = |number: i64| from_ns + number * MS;
    // The third begins before the second is over, and the fourth would end after the second has begun.
    let packets =
        [packet(0, at(0), 2 * MS), packet(1, at(10), 5 * MS), packet(2, at(14), MS), packet(3, at(8), 2 * MS + 1)];
    let packets = packets.into_iter().chain([packet(4, at(15), MS), packet(5, at(8), 2 * MS)]);
    let mut seen = fates(&obeyed(packets, ANY, 1_000));
    seen.sort_by_key(|(sequence, _)| *sequence);
    let fast = Fate::Refused(Refusal::TooFast);
    let expected = [Fate::Acted, Fate::Acted, fast, fast, Fate::Acted, Fate::Acted];
    assert_eq!(seen, (0..).zip(expected).collect::<Vec<_>>());
}

#[test]
fn what_is_far_enough_apart_as_ordered_is_not_carried_out_at_once_where_the_thread_was_late() {
    let clock = ActingClock::default();
    clock.set(Ahead::default());
    let bounds = Bounds { longest_ns: MS, least_apart_ns: 2 * MS };
    let from_ns = now_ns(ClockId::Realtime) + 10 * MS;
    let packets: Vec<_> =
        (0..10).map(|number| packet(number, from_ns + 2 * MS * i64::try_from(number).unwrap(), MS / 4)).collect();
    // Nothing of this program runs for 25 ms once all have come.
    let turns = std::cell::Cell::new(0);
    let stall = || {
        turns.set(turns.get() + 1);
        if turns.get() == 11 {
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
    };
    let done = obeyed_while((&clock, None, &stall), packets, bounds, (1_000, 0));
    assert_eq!(done.len(), 10);
    let acted: Vec<i64> = done.iter().filter(|one| one.fate == Fate::Acted).map(|one| one.acted_ns).collect();
    assert!(acted.windows(2).all(|pair| pair[1] - pair[0] >= MS), "{acted:?}");
    let refused = done.iter().filter(|one| one.fate == Fate::Refused(Refusal::TooFast)).count();
    assert!(refused >= 3 && acted.len() + refused == 10, "{:?}", fates(&done));
    // Where the output may be switched as often as anybody likes, all are.
    let from_ns = now_ns(ClockId::Realtime) + 10 * MS;
    let packets: Vec<_> =
        (0..10).map(|number| packet(number, from_ns + 2 * MS * i64::try_from(number).unwrap(), MS / 4)).collect();
    turns.set(0);
    let done = obeyed_while((&clock, None, &stall), packets, ANY, (1_000, 0));
    assert_eq!(done.iter().filter(|one| one.fate == Fate::Acted).count(), 10);
}

#[test]
fn more_orders_than_there_is_room_for_are_refused_and_what_waits_at_the_end_is_dropped() {
    let from_ns = now_ns(ClockId::Realtime) + 10_000 * MS;
    let done =
        obeyed((0..66).map(|number| packet(number, from_ns + i64::try_from(number).unwrap() * MS, 1)), ANY, 1_000);
    assert_eq!(done.len(), 66);
    let count = |fate: Fate| done.iter().filter(|one| one.fate == fate).count();
    assert_eq!((count(Fate::Refused(Refusal::Full)), count(Fate::Dropped)), (2, 64));
}

#[test]
fn an_order_is_for_the_clock_by_which_the_node_acts_and_for_none_before_that_is_known() {
    let server_ns = now_ns(ClockId::Realtime) + 20 * MS - 500_000 * MS;
    let clock = ActingClock::default();
    assert_eq!(
        fates(&obeyed_by(&clock, [packet(0, server_ns, MS)], ANY, 1_000)),
        [(0, Fate::Refused(Refusal::NoClock))]
    );
    // The node's clock is 500 s ahead of the server's.
    clock.set(Ahead { ns: 500_000 * MS, at_ns: now_ns(ClockId::Realtime), ppb: 0 });
    let server_ns = now_ns(ClockId::Realtime) + 20 * MS - 500_000 * MS;
    let done = obeyed_by(&clock, [packet(1, server_ns, MS)], ANY, 1_000);
    assert_eq!(fates(&done), [(1, Fate::Acted)]);
    assert_eq!(done[0].ordered_ns, server_ns + 500_000 * MS);
    assert!(done[0].acted_ns >= done[0].ordered_ns);
}

#[test]
fn an_order_that_comes_while_the_clocks_are_first_compared_is_for_the_clock_that_is_known_then() {
    let server_ns = now_ns(ClockId::Realtime) + 20 * MS - 500_000 * MS;
    let clock = ActingClock::default();
    // The loop waits for its first order when the controller learns how far the clocks are apart.
    let learn = || clock.set(Ahead { ns: 500_000 * MS, at_ns: now_ns(ClockId::Realtime), ppb: 0 });
    let done = obeyed_while((&clock, None, &learn), [packet(0, server_ns, MS)], ANY, (1_000, MS));
    assert_eq!(fates(&done), [(0, Fate::Acted)]);
    assert_eq!(done[0].ordered_ns, server_ns + 500_000 * MS);
    assert!(done[0].acted_ns >= done[0].ordered_ns);
}

#[test]
fn nothing_is_switched_while_nobody_guards_the_output_and_each_order_says_so() {
    let clock = ActingClock::default();
    clock.set(Ahead::default());
    let obeyed = |state: &GuardState| {
        let from_ns = now_ns(ClockId::Realtime) + 20 * MS;
        let packets = [packet(0, from_ns, MS), packet(1, from_ns + 5 * MS, MS)];
        fates(&obeyed_while((&clock, Some(state), &|| {}), packets, ANY, (1_000, MS)))
    };
    let state = || GuardState(kernel::shared_words::SharedWords::make().unwrap().0);
    let looks = state();
    looks.looked(i64::MAX / 2);
    assert_eq!(obeyed(&looks), [(0, Fate::Acted), (1, Fate::Acted)]);
    assert_eq!(looks.unwatched_ns(), None);
    let silent = state();
    silent.looked(now_ns(ClockId::Monotonic) - 1_000 * MS);
    let halted = Fate::Refused(Refusal::Halted);
    assert_eq!(obeyed(&silent), [(0, halted), (1, halted)]);
    assert!(silent.unwatched_ns().is_some_and(|silent_ns| silent_ns >= 1_000 * MS));
}
