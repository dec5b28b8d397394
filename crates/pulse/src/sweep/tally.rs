//! Counts what boards did with their orders, schedule by schedule.

use histogram::HistogramRecorder;

use super::outcome::{BURST_GAP_NS, BoardCount, Burst, NeededLead, Outcome};
use super::step::OrderRun;

/// What a board did with one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardShown {
    /// It was armed so long after the moment for which the order was to be sent (ns), in time or not.
    Armed {
        /// The lead that it needed (ns).
        needed_ns: u64,
    },
    /// The order never reached it.
    Lost,
}

/// What became of a schedule, over all boards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Every board was armed in time.
    InTime,
    /// Every board got its order, at least one of them too late.
    Late,
    /// At least one board never got its order.
    Lost,
}

/// Why a schedule is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TallyError {
    /// Not one result of each board.
    #[error("{got} boards were shown, and {boards} are ordered")]
    Boards {
        /// How many boards are ordered.
        boards: usize,
        /// How many boards have a result.
        got: usize,
    },
    /// Schedules are counted in the order of time.
    #[error("the schedule at {0} ns is not later than the one before it")]
    Backwards(u64),
}

/// Counts the schedules of one run.
#[derive(Debug)]
pub struct Tally {
    run: OrderRun,
    orders: u64,
    lost: u64,
    late: u64,
    needed: HistogramRecorder,
    boards: Vec<BoardCount>,
    last_ns: Option<u64>,
    bursts: u64,
    /// When the present burst began and its last miss was (ns), and its misses.
    burst: Option<(u64, u64, u64)>,
    longest_burst: Option<Burst>,
}

impl Tally {
    /// Begins to count the schedules of a run for so many boards.
    #[must_use]
    pub fn new(run: &OrderRun, boards: usize) -> Self {
        Self {
            run: *run,
            orders: 0,
            lost: 0,
            late: 0,
            needed: HistogramRecorder::new(),
            boards: vec![BoardCount::default(); boards],
            last_ns: None,
            bursts: 0,
            burst: None,
            longest_burst: None,
        }
    }

    /// Counts the schedule `S(k)` at `at_ns`, on any clock, with what each board did, in the order of the boards. Schedules come in the
    /// order of time.
    pub fn take(&mut self, at_ns: u64, shown: &[BoardShown]) -> Result<Trial, TallyError> {
        if shown.len() != self.boards.len() {
            return Err(TallyError::Boards { boards: self.boards.len(), got: shown.len() });
        }
        if self.last_ns.is_some_and(|last_ns| at_ns <= last_ns) {
            return Err(TallyError::Backwards(at_ns));
        }
        self.last_ns = Some(at_ns);
        let (mut worst_ns, mut is_lost) = (0, false);
        for (board, shown) in self.boards.iter_mut().zip(shown) {
            match *shown {
                BoardShown::Armed { needed_ns } => {
                    board.worst_ns = board.worst_ns.max(Some(needed_ns));
                    board.late += u64::from(needed_ns > self.run.lead_ns);
                    worst_ns = worst_ns.max(needed_ns);
                }
                BoardShown::Lost => {
                    board.lost += 1;
                    is_lost = true;
                }
            }
        }
        self.orders += 1;
        let trial = match (is_lost, worst_ns > self.run.lead_ns) {
            (true, _) => Trial::Lost,
            (false, true) => Trial::Late,
            (false, false) => Trial::InTime,
        };
        self.lost += u64::from(trial == Trial::Lost);
        self.late += u64::from(trial == Trial::Late);
        if trial != Trial::Lost {
            self.needed.record(worst_ns);
        }
        if trial != Trial::InTime {
            self.miss(at_ns);
        }
        Ok(trial)
    }

    fn miss(&mut self, at_ns: u64) {
        let (from_ns, misses) = match self.burst {
            Some((from_ns, last_ns, misses)) if at_ns - last_ns < BURST_GAP_NS => (from_ns, misses + 1),
            _ => {
                self.bursts += 1;
                (at_ns, 1)
            }
        };
        self.burst = Some((from_ns, at_ns, misses));
        self.longest_burst = self.longest_burst.max(Some(Burst { misses, span_ns: at_ns - from_ns }));
    }

    /// What the run came to, after it took so long (ns).
    #[must_use]
    pub fn finish(mut self, took_ns: u64) -> Outcome {
        let needed = self.needed.take();
        let worst_ns = needed.max_ns();
        // A quantile is the upper end of its bin, which may be above the worst.
        let quantile = |share: f64| Some(needed.quantile_ns(share)?.min(worst_ns?));
        let needed = || {
            Some(NeededLead {
                p50_ns: quantile(0.5)?,
                p99_ns: quantile(0.99)?,
                p999_ns: quantile(0.999)?,
                worst_ns: worst_ns?,
            })
        };
        Outcome {
            number: self.run.number,
            orders: self.orders,
            lost: self.lost,
            late: self.late,
            needed: needed(),
            bursts: self.bursts,
            longest_burst: self.longest_burst,
            boards: self.boards,
            took_ns,
        }
    }
}
