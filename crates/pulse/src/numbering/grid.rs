//! The grid of a line's pulses: which of them are how many intervals apart, without their numbers.
//!
//! A node makes its pulses one interval apart, on a clock whose rate the capture's clock does not share. So the grid is found first, of
//! some dozens of pulses and a rate near the nominal one, and then followed from pulse to pulse. Its rate, as the capture shows it, is
//! known much better after that than before, which is what carries it over a gap; where it does not suffice to tell how many intervals a
//! gap is long, a stretch of the grid ends, and another one begins behind the gap.

use crate::edges::Pulse;

/// How far the rates of the two clocks may be apart: searched a little beyond the 2 % that are promised.
const MOST_RATE_ERROR: f64 = 0.022;
/// How far a pulse may be from the grid so that the grid follows it, in intervals.
const NEAR: f64 = 0.125;
/// Where the window of a place begins and ends, in intervals from it. A node can be late by more than it is ever early, and the grid may
/// be off by some hundredths; so from half an interval on behind a place up to the window of the next one nobody can tell.
const EARLIEST: f64 = 0.187_5;
const LATEST: f64 = 0.5;
/// The fewest pulses that a grid is found of, and the most.
pub(crate) const LEAST_FOUND: usize = 24;
const MOST_FOUND: usize = 48;
/// The longest time that a grid is found in, in intervals, and the longest gap in it: pulses on either side of a longer one would fit two
/// grids whose rates are both near the nominal one, and which differ by a whole interval over the gap.
const LONGEST_FOUND: f64 = 128.0;
const LONGEST_GAP: f64 = 10.0;
/// The share of these pulses that has to stand on the grid.
const FOUND_SHARE: f64 = 0.6;
/// Of this many pulses in a row at least half have to be near the grid, or it is lost.
const WATCHED: u32 = 32;
/// The loop that follows a grid has the gains of a line through so many of the last pulses.
const FOLLOWED: f64 = 48.0;
/// Up to so many intervals the rate of the last pulses suffices; beyond it the mean of the last [`MEMORY`] intervals counts.
const SHORT_GAP: f64 = 6.5;
const MEMORY: f64 = 256.0;
/// How far the mean rate of a gap may be from that of the time before it.
const RATE_CHANGE: f64 = 0.000_2;
/// How far pulses are taken to be from the grid at least, on average, when that is judged.
const LEAST_SPREAD: f64 = 0.002;
/// By how much a grid may be off at the end of a gap, in intervals.
const GAP_ERROR: f64 = 0.1;

/// Where a pulse stands on the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// No grid was found here.
    Nowhere,
    /// Near its place.
    Near,
    /// Within the window of its place, and not near.
    Displaced,
    /// At a place that another pulse has, too.
    Shared,
    /// Between the windows of two places, of which it has the earlier one.
    Between,
}

/// A stretch of pulses on one grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The first of its pulses.
    pub(crate) from: usize,
    /// Behind the last one.
    pub(crate) to: usize,
}

/// The pulses of a line on their grids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    /// For each pulse its place, in intervals from the beginning of its stretch; ascending within a stretch.
    pub(crate) places: Vec<i64>,
    /// For each pulse how it stands there.
    pub(crate) standings: Vec<Standing>,
    /// The stretches, in the order of time.
    pub(crate) stretches: Vec<Stretch>,
}

impl Grid {
    /// Finds the grids of these pulses, which are in the order of time.
    pub(crate) fn find(pulses: &[Pulse], interval_ps: i64) -> Self {
        let mut grid = Self {
            places: vec![0; pulses.len()],
            standings: vec![Standing::Nowhere; pulses.len()],
            stretches: Vec::new(),
        };
        let per_ps = 1.0 / units::approx_f64_i64(interval_ps.max(1));
        let mut at = 0;
        while let Some(rest) = pulses.get(at..).filter(|rest| rest.len() >= LEAST_FOUND) {
            let scale = Scale { zero_ps: rest[0].start_ps, per_ps };
            let Some(follower) = acquire(rest, scale) else {
                at += LEAST_FOUND / 3;
                continue;
            };
            let (places, standings) = (&mut grid.places[at..], &mut grid.standings[at..]);
            let followed = follower.follow(rest, scale, places, standings);
            if followed >= LEAST_FOUND {
                mark_shared(&places[..followed], &mut standings[..followed]);
                // The pulse before it, which is on no grid or on another one, may have the same place.
                let before = at.checked_sub(1).and_then(|before| pulses.get(before));
                if before.is_some_and(|before| rest[0].start_ps.saturating_sub(before.start_ps) < interval_ps) {
                    standings[0] = Standing::Shared;
                }
                grid.stretches.push(Stretch { from: at, to: at + followed });
            } else {
                standings[..followed].fill(Standing::Nowhere);
            }
            at += followed.max(LEAST_FOUND / 3);
        }
        grid
    }
}

/// Marks the pulses of a stretch that have the place of another one, also if one of them is so late that it stands between two places:
/// it may be the order's, and the other one nobody's.
fn mark_shared(places: &[i64], standings: &mut [Standing]) {
    for (at, pair) in places.windows(2).enumerate() {
        if pair[0] == pair[1] {
            standings[at..at + 2].fill(Standing::Shared);
        }
    }
}

/// Times in nominal intervals from the first pulse of a stretch on.
#[derive(Clone, Copy, Debug)]
struct Scale {
    zero_ps: i64,
    per_ps: f64,
}

impl Scale {
    #[inline]
    fn of(self, pulse: &Pulse) -> f64 {
        units::approx_f64_i64(pulse.start_ps.saturating_sub(self.zero_ps)) * self.per_ps
    }
}

/// The whole part of a number that is not negative; 0 of one that is.
#[inline]
fn whole(number: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "the purpose of this function; it saturates")]
    let whole = number as i64;
    whole.max(0)
}

/// Finds the grid that these pulses begin with.
fn acquire(pulses: &[Pulse], scale: Scale) -> Option<Follower> {
    let mut before = 0.0;
    let is_close = |time: &f64| {
        let gap = time - std::mem::replace(&mut before, *time);
        *time <= LONGEST_FOUND && gap <= LONGEST_GAP
    };
    let times: Vec<f64> = pulses.iter().take(MOST_FOUND).map(|pulse| scale.of(pulse)).take_while(is_close).collect();
    let &last = times.last().filter(|_| times.len() >= LEAST_FOUND)?;
    // From one rate to the next the last pulse moves by an eighth of an interval.
    let step = 0.125 / last.max(1.0);
    let steps = whole(MOST_RATE_ERROR / step) + 1;
    let mut best = (0, 1.0, 0.0);
    for number in -steps..=steps {
        let period = 1.0 + step * units::approx_f64_i64(number);
        let (count, phase) = most_common_phase(&times, period);
        if count > best.0 {
            best = (count, period, phase);
        }
    }
    let (_, mut period, mut phase) = best;
    // A line through those that stand near it, twice, since the first one shows better which these are.
    let mut near = 0;
    let mut spread = 0.0;
    for _ in 0..2 {
        let (mut count, mut sum_x, mut sum_y, mut sum_xx, mut sum_xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        (near, spread) = (0, 0.0);
        for time in &times {
            let steps = (time - phase) / period;
            let place = steps.round();
            if (steps - place).abs() > NEAR * 1.5 {
                continue;
            }
            near += 1;
            spread += (steps - place).abs();
            count += 1.0;
            sum_x += place;
            sum_y += time;
            sum_xx += place * place;
            sum_xy += place * time;
        }
        let determinant = count * sum_xx - sum_x * sum_x;
        if determinant <= 0.0 {
            return None;
        }
        period = (count * sum_xy - sum_x * sum_y) / determinant;
        phase = (sum_y - period * sum_x) / count;
    }
    let is_found = units::approx_f64_i64(near) >= FOUND_SHARE * units::approx_f64(u64::try_from(times.len()).ok()?);
    if !is_found || (period - 1.0).abs() > MOST_RATE_ERROR {
        return None;
    }
    // The place of the first pulse, or the one before it.
    let position = phase - period * ((phase + EARLIEST * period) / period).floor();
    Some(Follower {
        position: position - period,
        place: -1,
        period,
        mean_period: period,
        spread: spread / units::approx_f64_i64(near),
        followed: last.max(1.0),
        gains: Gains::of_line(units::approx_f64_i64(near)),
    })
}

/// How many of these times stand on the grid of a period that most of them stand on, and where that begins.
fn most_common_phase(times: &[f64], period: f64) -> (u32, f64) {
    const BINS: i64 = 16;
    let mut bins = [0_u32; 16];
    for time in times {
        let steps = time / period;
        let bin = whole((steps - steps.floor()) * 16.0).min(BINS - 1);
        if let Some(bin) = usize::try_from(bin).ok().and_then(|bin| bins.get_mut(bin)) {
            *bin += 1;
        }
    }
    let three = |middle: usize| bins[(middle + 15) % 16] + bins[middle] + bins[(middle + 1) % 16];
    let best = (0..16_usize).max_by_key(|middle| three(*middle)).unwrap_or(0);
    let middle = units::approx_f64(u64::try_from(best).unwrap_or(0)) + 0.5;
    (three(best), middle / 16.0 * period)
}

/// Follows a grid from pulse to pulse. Times are in nominal intervals.
#[derive(Clone, Copy, Debug)]
struct Follower {
    /// When the place was that the grid was last followed to.
    position: f64,
    /// Its number.
    place: i64,
    /// From place to place, by the last pulses.
    period: f64,
    /// The mean of that.
    mean_period: f64,
    /// How far pulses are from the grid, on average.
    spread: f64,
    /// How long the grid was followed, up to [`MEMORY`].
    followed: f64,
    gains: Gains,
}

/// How much of an error the grid follows at once.
#[derive(Clone, Copy, Debug)]
struct Gains {
    /// The number of pulses that a line with these gains goes through.
    pulses: f64,
    position: f64,
    rate: f64,
}

impl Gains {
    /// Those of the end of a line of least squares through so many pulses.
    fn of_line(pulses: f64) -> Self {
        let pairs = pulses * (pulses + 1.0);
        Self { pulses, position: (4.0 * pulses - 2.0) / pairs, rate: 6.0 / pairs }
    }
}

impl Follower {
    /// Puts pulses on the grid, until it ends or is lost. Returns how many stand on it.
    fn follow(mut self, pulses: &[Pulse], scale: Scale, places: &mut [i64], standings: &mut [Standing]) -> usize {
        let mut watched = u32::MAX;
        let mut last_place = 0;
        for (at, pulse) in pulses.iter().enumerate() {
            let Some((found, stands)) = self.put(scale.of(pulse)) else { return at };
            // Corrections of the grid can put a pulse back by next to nothing.
            (places[at], standings[at]) =
                if found < last_place { (last_place, Standing::Between) } else { (found, stands) };
            last_place = places[at];
            watched = (watched << 1) | u32::from(stands == Standing::Near);
            if watched.count_ones() < WATCHED / 2 {
                let doubtful = usize::try_from(WATCHED).unwrap_or(0);
                let kept = (at + 1).saturating_sub(doubtful);
                let kept = places[..kept].partition_point(|place| *place < places[kept]);
                standings[kept..=at].fill(Standing::Nowhere);
                return kept;
            }
        }
        pulses.len()
    }

    /// The place of a pulse and how it stands there; `None` where nobody can tell how many intervals it is away.
    #[inline]
    fn put(&mut self, time: f64) -> Option<(i64, Standing)> {
        let passed = time - self.position;
        let mut steps = passed / self.period;
        if steps > SHORT_GAP {
            let rate_error = RATE_CHANGE + 12.0 * self.spread.max(LEAST_SPREAD) / self.followed;
            if steps * rate_error > GAP_ERROR {
                return None;
            }
            self.period = self.mean_period;
            steps = passed / self.period;
        }
        let count = whole(steps + EARLIEST);
        let whole_steps = units::approx_f64_i64(count);
        let off = steps - whole_steps;
        let place = self.place.saturating_add(count);
        if off.abs() > NEAR {
            return Some((place, if off <= LATEST { Standing::Displaced } else { Standing::Between }));
        }
        let error = off * self.period;
        self.position += whole_steps * self.period + self.gains.position * error;
        self.place = place;
        if count > 0 {
            self.period += self.gains.rate * error / whole_steps;
            if self.gains.pulses < FOLLOWED {
                self.gains = Gains::of_line(self.gains.pulses + 1.0);
            }
            self.followed = (self.followed + whole_steps).min(MEMORY);
            let weight = (whole_steps / self.followed).min(1.0);
            self.mean_period += weight * (self.period - self.mean_period);
            self.spread += weight.max(0.02) * (off.abs() - self.spread);
        }
        Some((place, Standing::Near))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_PS: i64 = 1_000_000;

    fn pulses(intervals: impl IntoIterator<Item = f64>) -> Vec<Pulse> {
        let pulse = |at: f64| Pulse { start_ps: units::round_i64(at * 1e6), width_ps: 100_000 };
        intervals.into_iter().map(pulse).collect()
    }

    /// Of pulses with these numbers: those on one grid are as many places apart as their numbers say.
    fn judge(numbers: &[i64], rate: f64) -> Grid {
        let all = pulses(numbers.iter().map(|number| units::approx_f64_i64(*number) * rate));
        let grid = Grid::find(&all, INTERVAL_PS);
        for stretch in &grid.stretches {
            let zero = numbers[stretch.from] - grid.places[stretch.from];
            let on_it = numbers.iter().zip(&grid.places).take(stretch.to).skip(stretch.from);
            assert!(on_it.into_iter().all(|(number, place)| place + zero == *number), "{rate} {stretch:?}");
        }
        grid
    }

    #[test]
    fn a_gap_is_bridged_as_far_as_the_rate_is_known_and_no_farther() {
        let mut bridged = 0;
        for before in [3, 8, 12, 20, 24, 40, 300] {
            for gap in [1, 5, 11, 30, 47, 60, 90, 120, 250, 600, 3_000] {
                for rate in [0.98, 0.987, 1.0, 1.000_1, 1.011, 1.02] {
                    let numbers: Vec<i64> = (0..before).chain(before + gap..before + gap + 60).collect();
                    let grid = judge(&numbers, rate);
                    assert!(!grid.stretches.is_empty());
                    bridged += usize::from(grid.stretches[0] == Stretch { from: 0, to: numbers.len() });
                    let last = usize::try_from(before).unwrap() - 1;
                    let is_over = |stretch: &Stretch| stretch.from <= last && last + 1 < stretch.to;
                    assert!(gap < 3_000 || !grid.stretches.iter().any(is_over));
                    assert!(gap > 120 || before < 40 || grid.stretches.len() == 1, "{before} {gap} {rate}");
                }
            }
        }
        assert!((150..300).contains(&bridged), "{bridged}");
    }

    #[test]
    fn where_a_pulse_stands_depends_on_how_late_it_is() {
        use Standing::{Between, Displaced, Near};
        for (late, place, stands) in [
            (0.12, 50, Near),
            (-0.12, 50, Near),
            (0.14, 50, Displaced),
            (0.49, 50, Displaced),
            (0.51, 50, Between),
            (0.8, 50, Between),
            (0.83, 51, Displaced),
            (-0.17, 50, Displaced),
            (-0.2, 49, Between),
        ] {
            let others = (0..100).filter(|number| !(49..=51).contains(number)).map(units::approx_f64_i64);
            let mut times: Vec<f64> = others.chain([50.0 + late]).collect();
            times.sort_by(f64::total_cmp);
            let grid = Grid::find(&pulses(times), INTERVAL_PS);
            assert_eq!((grid.places[49], grid.standings[49]), (place, stands), "{late}");
        }
    }

    #[test]
    fn two_pulses_of_one_place_are_both_shared() {
        let mut times: Vec<f64> = (0..60).map(units::approx_f64_i64).collect();
        times.insert(31, 30.6);
        let grid = Grid::find(&pulses(times.clone()), INTERVAL_PS);
        assert_eq!(&grid.standings[29..33], [Standing::Near, Standing::Shared, Standing::Shared, Standing::Near]);
        // Pulses at any time come before: the last of them may be that of the first place.
        let early = (0..40).map(|number| units::approx_f64_i64(number * number % 47) * 0.713 - 40.0);
        times.extend(early.chain([-0.3]));
        times.sort_by(f64::total_cmp);
        let grid = Grid::find(&pulses(times), INTERVAL_PS);
        let first = grid.stretches[0].from;
        assert!(first > 0 && grid.standings[first] == Standing::Shared, "{:?} {first}", grid.stretches);
    }
}
