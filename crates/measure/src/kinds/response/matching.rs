//! Which event of the input belongs to which edge of the output. Pure.
//!
//! An event belongs to the last edge before its stamp, since the next edge is made only after the event of the one before was
//! taken, or was given up. The first event of an edge is its response; any other is extra.

use std::collections::VecDeque;

use crate::ring::Pair;

/// What became of an edge, or of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// An edge and its event.
    Response {
        /// Before and after the write (ns).
        edge: Pair,
        /// The kernel's stamp (ns).
        event_ns: i64,
        /// When the waiting thread was awake (ns); `None` where it had not slept.
        woke_ns: Option<i64>,
    },
    /// An edge of which no event came.
    Lost {
        /// Before and after the write (ns).
        edge: Pair,
    },
    /// An event of no edge.
    Extra,
}

/// Edges and events in the order of time, of which it is not yet known how they belong together.
#[derive(Debug)]
pub(super) struct Matching {
    edges: VecDeque<Pair>,
    /// The kernel's stamp, and when the thread was awake: below zero where it had not slept.
    events: VecDeque<Pair>,
    /// Events before this (ns) are of the edges that warmed the threads up.
    from_ns: i64,
    /// No more come.
    is_over: bool,
}

impl Matching {
    /// Of a run whose first schedule is at `from_ns`.
    pub(super) const fn new(from_ns: i64) -> Self {
        Self { edges: VecDeque::new(), events: VecDeque::new(), from_ns, is_over: false }
    }

    /// Takes over an edge, after those before it: the readings before and after the write.
    pub(super) fn add_edge(&mut self, edge: Pair) {
        self.edges.push_back(edge);
    }

    /// Takes over an event, after those before it. All of the edges that were made before it was taken are known by then, save the
    /// last one.
    pub(super) fn add_event(&mut self, event: Pair) {
        if event.first_ns >= self.from_ns {
            self.events.push_back(event);
        }
    }

    /// No edge and no event follows.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// The next outcome that is certain. What becomes of an edge is known once the next one is known, or the run is over.
    pub(super) fn next_outcome(&mut self) -> Option<Outcome> {
        let event_ns = self.events.front().map(|event| event.first_ns);
        let Some(edge) = self.edges.front().copied() else {
            return (self.is_over && self.events.pop_front().is_some()).then_some(Outcome::Extra);
        };
        if event_ns.is_some_and(|event_ns| event_ns < edge.first_ns) {
            self.events.pop_front();
            return Some(Outcome::Extra);
        }
        let until_ns = match self.edges.get(1) {
            Some(next) => next.first_ns,
            None if self.is_over => i64::MAX,
            None => return None,
        };
        self.edges.pop_front();
        match self.events.front().copied().filter(|event| event.first_ns < until_ns) {
            Some(event) => {
                self.events.pop_front();
                let woke_ns = (event.second_ns >= 0).then_some(event.second_ns);
                Some(Outcome::Response { edge, event_ns: event.first_ns, woke_ns })
            }
            None => Some(Outcome::Lost { edge }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edge(at_ns: i64) -> Pair {
        Pair { first_ns: at_ns, second_ns: at_ns + 3 }
    }

    fn event(at_ns: i64) -> Pair {
        Pair { first_ns: at_ns, second_ns: at_ns + 20 }
    }

    fn outcomes(matching: &mut Matching) -> Vec<Outcome> {
        std::iter::from_fn(|| matching.next_outcome()).collect()
    }

    fn response(edge_ns: i64, event_ns: i64) -> Outcome {
        Outcome::Response { edge: edge(edge_ns), event_ns, woke_ns: Some(event_ns + 20) }
    }

    #[test]
    fn the_first_event_of_an_edge_is_its_response_and_an_edge_without_one_is_lost() {
        let mut matching = Matching::new(90);
        // One of the warming, and one that somebody else made.
        [80, 95, 104, 110, 301].map(event).into_iter().for_each(|event| matching.add_event(event));
        [100, 200, 300].map(edge).into_iter().for_each(|edge| matching.add_edge(edge));
        let lost = Outcome::Lost { edge: edge(200) };
        assert_eq!(outcomes(&mut matching), [Outcome::Extra, response(100, 104), Outcome::Extra, lost]);
        matching.end();
        assert_eq!(outcomes(&mut matching), [response(300, 301)]);
    }

    #[test]
    fn an_edge_waits_for_the_one_after_it_and_a_thread_that_did_not_sleep_is_no_wake_up() {
        let mut matching = Matching::new(0);
        matching.add_event(Pair { first_ns: 104, second_ns: -120 });
        matching.add_edge(edge(100));
        assert_eq!(matching.next_outcome(), None, "the event may be one of an edge that is not known yet");
        matching.add_edge(edge(200));
        let awake = Outcome::Response { edge: edge(100), event_ns: 104, woke_ns: None };
        assert_eq!(outcomes(&mut matching), [awake]);
        matching.end();
        assert_eq!(outcomes(&mut matching), [Outcome::Lost { edge: edge(200) }]);
    }

    /// What becomes of each edge of a made-up wire: the delays of its events after it (ns), none for one that is lost.
    fn wires() -> impl Strategy<Value = Vec<Vec<i64>>> {
        let delays = prop::collection::vec(0_i64..900, 0..4).prop_map(|mut delays| {
            delays.sort_unstable();
            delays
        });
        prop::collection::vec(delays, 0..60)
    }

    proptest! {
        /// However they come in, each edge is a response or lost, and each event is a response or extra.
        #[test]
        fn no_edge_and_no_event_is_left_or_counted_twice(wire in wires(), asks_every in 1_usize..7) {
            let mut matching = Matching::new(0);
            let mut seen = Vec::new();
            for (number, delays) in wire.iter().enumerate() {
                let at_ns = i64::try_from(number).unwrap() * 1_000;
                matching.add_edge(edge(at_ns));
                delays.iter().for_each(|delay| matching.add_event(event(at_ns + delay)));
                if number % asks_every == 0 {
                    seen.extend(outcomes(&mut matching));
                }
            }
            matching.end();
            seen.extend(outcomes(&mut matching));
            let mut expected = Vec::new();
            for (number, delays) in wire.iter().enumerate() {
                let at_ns = i64::try_from(number).unwrap() * 1_000;
                let first = delays.first().map(|delay| response(at_ns, at_ns + delay));
                expected.push(first.unwrap_or(Outcome::Lost { edge: edge(at_ns) }));
                expected.extend(delays.iter().skip(1).map(|_| Outcome::Extra));
            }
            prop_assert_eq!(seen, expected);
        }
    }
}
