//! Who of a load's parts runs when: one after the other and then all, and standing still in between so that a stated
//! share of the time is used. Pure: the time is an argument.

use std::time::Duration;

use units::Random;

/// One turn of running and standing still takes this long in the mean.
const TURN: Duration = Duration::from_secs(1);

/// The parts that have their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// All of them.
    All,
    /// This one, counted among those that run.
    Part(usize),
}

impl Turn {
    /// Whether the part with this number has it.
    pub(crate) fn has(self, part: usize) -> bool {
        match self {
            Self::All => true,
            Self::Part(its) => its == part,
        }
    }
}

/// One part after the other, each for the same time, and all together until the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rotation {
    parts: usize,
    window: Duration,
}

impl Rotation {
    /// Of a run of this length; the last window is that of all parts.
    pub(crate) fn new(run: Duration, parts: usize) -> Self {
        let windows = u32::try_from(parts.saturating_add(1)).unwrap_or(u32::MAX);
        Self { parts, window: run / windows }
    }

    /// Whose turn it is so long after the start.
    pub(crate) fn turn(&self, elapsed: Duration) -> Turn {
        if self.window.is_zero() {
            return Turn::All;
        }
        let window = elapsed.as_nanos() / self.window.as_nanos();
        match usize::try_from(window) {
            Ok(part) if part < self.parts => Turn::Part(part),
            _ => Turn::All,
        }
    }
}

/// Turns of running and standing still of random length, so that they have no rhythm that could be taken for one of the
/// machine's.
#[derive(Clone, Debug)]
pub(crate) struct ShareTurns {
    share: f64,
    random: Random,
    until: Duration,
    running: bool,
}

impl ShareTurns {
    /// Running for this share of the time (above 0, up to 1); the lengths follow from the seed.
    pub(crate) fn new(share: f64, seed: u64) -> Self {
        Self { share, random: Random::new(seed), until: Duration::ZERO, running: false }
    }

    /// Whether the parts shall run so long after the start; asked in the order of time.
    pub(crate) fn is_running(&mut self, elapsed: Duration) -> bool {
        if self.share >= 1.0 {
            return true;
        }
        while elapsed >= self.until {
            self.running = !self.running;
            let mean = TURN.mul_f64(if self.running { self.share } else { 1.0 - self.share });
            // Half to three halves of the mean, evenly; never nothing, so that this ends.
            let length = mean.mul_f64(0.5 + self.random.unit());
            self.until += length.max(Duration::from_millis(1));
        }
        self.running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_turn_and_then_all() {
        let rotation = Rotation::new(Duration::from_secs(7), 6);
        let turns: Vec<Turn> = (0..8).map(|s| rotation.turn(Duration::from_millis(1_000 * s + 500))).collect();
        assert_eq!(turns[..6], [0, 1, 2, 3, 4, 5].map(Turn::Part));
        assert_eq!(turns[6..], [Turn::All, Turn::All]);
        assert_eq!(rotation.turn(Duration::from_secs(1)), Turn::Part(1), "at the boundary the next one's");
        assert_eq!(Rotation::new(Duration::ZERO, 3).turn(Duration::ZERO), Turn::All);
    }

    #[test]
    fn the_share_is_kept_without_a_rhythm() {
        for share in [0.05, 0.3, 0.75, 1.0] {
            for seed in [0, 1, 77, u64::MAX] {
                let mut turns = ShareTurns::new(share, seed);
                let (mut running_ms, mut starts) = (0_u32, Vec::new());
                let mut before = false;
                for ms in 0..600_000_u32 {
                    let now = turns.is_running(Duration::from_millis(ms.into()));
                    running_ms += u32::from(now);
                    if now && !before {
                        starts.push(ms);
                    }
                    before = now;
                }
                let kept = f64::from(running_ms) / 600_000.0;
                assert!((kept - share).abs() < 0.02, "{kept} for {share}, seed {seed}");
                if share < 1.0 {
                    let lengths: std::collections::BTreeSet<u32> =
                        starts.windows(2).map(|two| two[1] - two[0]).collect();
                    assert!(lengths.len() > 100, "{} lengths of turns", lengths.len());
                }
            }
        }
    }
}
