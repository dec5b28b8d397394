//! The scan itself: each CPU at several thresholds, one rhythm after the other.

use record::{Rhythm, RhythmEnd, RhythmScan};
use units::CpuSet;

use super::events::{Event, LEAST_EVENTS, events, levels};
use super::fit::{Blur, Fit, best_ratio, fit, refined};
use super::spectrum::{Candidate, LEAST_TURNS, MOST_BINS, Transforms};
use super::statistic::{Point, concentration};
use super::{LEVEL, LateThread, ScanInput, known};
use crate::float;
use units::Random;

/// Up to so many CPUs are scanned one by one; of more, these few and all of them together.
const MOST_SINGLE: usize = 4;
const SINGLE_OF_MANY: usize = 2;
/// Rhythms that are looked for on one CPU.
const MOST_RHYTHMS: usize = 4;
/// Each next look at a long run has bins so many times as long.
const COARSER: f64 = 8.0;
/// Exact looks at the candidates of one level and end, and how many are left where one is as clear as can be.
const MOST_LOOKS: usize = 8;
const ENOUGH: usize = 6;
/// A candidate that is more probable than this (natural logarithm) is none: the best of a million frequencies is.
const LEAST_LOG_P: f64 = -12.0;
/// Late samples that a plot shows.
const SHOWN: usize = 300;
/// From this part of its period on a rhythm leaves events at its edges.
const WIDE: f64 = 0.02;
/// A period is sought down to so many bins.
const LEAST_BINS: f64 = 2.5;
/// With random schedules a bin is this part of the interval.
const JITTERED_BINS: f64 = 4.0;

/// The late wake-ups of one CPU, or of all, above one threshold.
struct Level {
    above_ns: u64,
    events: Vec<Event>,
    /// The moments with the doubt that the sampling leaves, spread evenly: a grid of schedules is then no rhythm.
    /// For both ends.
    points: [Vec<Point>; 2],
}

struct Set {
    cpus: CpuSet,
    interval_ns: f64,
    levels: Vec<Level>,
}

/// What is found on one CPU.
struct Found {
    rhythm: Rhythm,
    log_p: f64,
}

pub(super) fn scan(input: &ScanInput<'_>) -> RhythmScan {
    let run_ns = units::approx_f64_i64(input.ended_ns.saturating_sub(input.started_ns)).max(0.0);
    let interval_ns = input.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(0);
    let bin_ns = bin_ns(units::approx_f64(interval_ns), input.jittered);
    let mut result = RhythmScan {
        shortest_period_ns: units::round_u64(LEAST_BINS * bin_ns),
        longest_period_ns: units::round_u64(run_ns / LEAST_TURNS),
        hidden: if input.jittered { Vec::new() } else { known::hidden(input.surroundings, interval_ns) },
        ..RhythmScan::default()
    };
    let sets = sets(input);
    result.above_ns = sets.iter().flat_map(|set| &set.levels).map(|level| level.above_ns).min().unwrap_or(0);
    let is_late = |thread: &LateThread| thread.wakeups.iter().filter(|one| one.latency_ns > result.above_ns).count();
    let late: usize = input.threads.iter().map(is_late).sum();
    result.late_samples = u64::try_from(late).unwrap_or(u64::MAX);
    let is_too_short = run_ns / LEAST_TURNS <= LEAST_BINS * bin_ns || interval_ns == 0;
    if is_too_short || sets.iter().all(|set| set.levels.is_empty()) {
        result.late_samples = if is_too_short { result.late_samples } else { 0 };
        result.not_scanned = Some(if is_too_short {
            "the run is too short for a period to come back three times".to_owned()
        } else {
            format!("fewer than {LEAST_EVENTS} wake-ups were late")
        });
        return result;
    }
    let trials = trials(&sets, run_ns, input.jittered);
    let mut transforms = Transforms::default();
    let mut found: Vec<Found> = Vec::new();
    for set in sets {
        found.extend(rhythms_of(set, input, run_ns, trials, &mut transforms));
    }
    result.rhythms = merged(found);
    for rhythm in &mut result.rhythms {
        rhythm.likely = known::names(rhythm, input);
        if rhythm.likely.is_empty() {
            rhythm.contradicted = known::contradicted(rhythm, input);
        }
    }
    result.rhythms.sort_by(|a, b| f64::total_cmp(&late_time(b), &late_time(a)));
    result
}

fn late_time(rhythm: &Rhythm) -> f64 {
    units::approx_f64(rhythm.in_rhythm) * units::approx_f64(rhythm.median_ns)
}

fn bin_ns(interval_ns: f64, jittered: bool) -> f64 {
    if jittered { interval_ns / JITTERED_BINS } else { interval_ns }
}

/// What is scanned by itself.
fn sets(input: &ScanInput<'_>) -> Vec<Set> {
    let mut by_time: Vec<&LateThread> = input.threads.iter().collect();
    let time = |thread: &LateThread| units::total(thread.wakeups.iter().map(|one| one.latency_ns));
    by_time.sort_by_cached_key(|thread| std::cmp::Reverse(time(thread)));
    let mut sets = Vec::new();
    if by_time.len() > MOST_SINGLE {
        let mut wakeups: Vec<_> = input.threads.iter().flat_map(|thread| thread.wakeups.iter().copied()).collect();
        wakeups.sort_unstable_by_key(|one| one.scheduled_ns);
        let cpus = input.threads.iter().filter_map(|thread| thread.cpu).collect();
        let interval_ns = input.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(1);
        sets.push(set(input, cpus, &LateThread { cpu: None, interval_ns, wakeups }));
        by_time.truncate(SINGLE_OF_MANY);
    }
    sets.extend(by_time.into_iter().map(|thread| set(input, thread.cpu.into_iter().collect(), thread)));
    sets
}

fn set(input: &ScanInput<'_>, cpus: CpuSet, thread: &LateThread) -> Set {
    let interval_ns = units::approx_f64(thread.interval_ns);
    // Random schedules leave no grid.
    let grain_ns = if input.jittered { 0.0 } else { interval_ns };
    let levels = levels(&thread.wakeups, input.body_ns, input.deadline_ns);
    let level = |above_ns: u64| {
        let events = events(&thread.wakeups, above_ns, input.started_ns, thread.interval_ns);
        let mut random = Random::new(above_ns);
        let mut spread = |of: fn(&Event) -> f64| -> Vec<Point> {
            let point = |event: &Event| Point {
                at_ns: (of(event) - grain_ns * random.unit()).max(0.0),
                latency_ns: event.latency_ns,
            };
            events.iter().map(point).collect()
        };
        let points = [spread(|event| event.begins_ns), spread(|event| event.ends_ns)];
        Level { above_ns, events, points }
    };
    let levels = levels.into_iter().map(level).filter(|level| level.events.len() >= LEAST_EVENTS).collect();
    Set { cpus, interval_ns, levels }
}

/// The lengths of bins with which a run is looked at.
fn scales(run_ns: f64, interval_ns: f64, jittered: bool) -> Vec<f64> {
    let mut scales = vec![bin_ns(interval_ns, jittered)];
    while let Some(&last) = scales.last().filter(|last| run_ns / **last > float(MOST_BINS)) {
        scales.push(last * COARSER);
    }
    scales
}

/// How many chances a scan has to be deceived.
fn trials(sets: &[Set], run_ns: f64, jittered: bool) -> f64 {
    // A maximum over continuous frequencies exceeds a bound about ten times as often as over independent ones.
    const CONTINUOUS: f64 = 10.0;
    let each = |set: &Set| {
        let bins: f64 = scales(run_ns, set.interval_ns, jittered)
            .iter()
            .map(|bin_ns| (run_ns / bin_ns).min(float(MOST_BINS)) / LEAST_BINS)
            .sum();
        // Both ends.
        2.0 * bins * float(set.levels.len())
    };
    (CONTINUOUS * sets.iter().map(each).sum::<f64>()).max(1.0)
}

/// All rhythms of one set: among the latest wake-ups first, where fewest others stand between them.
fn rhythms_of(
    mut set: Set,
    input: &ScanInput<'_>,
    run_ns: f64,
    trials: f64,
    transforms: &mut Transforms,
) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let bound = LEVEL.ln() - trials.ln();
    for at in (0..set.levels.len()).rev() {
        for _ in 0..MOST_RHYTHMS {
            let Some(best) = best_of(&set, at, run_ns, input.jittered, transforms).filter(|best| best.log_p <= bound)
            else {
                break;
            };
            let best = sharper(&set, widened(&set, best, run_ns, input.jittered, bound), run_ns, input.jittered, bound);
            let rhythm = rhythm(&set, &best, best.log_p + trials.ln());
            let is_new = !found.iter().any(|known| is_left_of(&known.rhythm, &rhythm));
            set.levels.iter_mut().for_each(|level| remove(level, &best));
            if is_new {
                found.push(Found { rhythm, log_p: best.log_p });
            }
        }
    }
    found
}

/// A period with its place in the scan.
struct Best {
    fit: Fit,
    frequency: f64,
    log_p: f64,
    level: usize,
    /// 0 for beginnings, 1 for ends.
    end: usize,
    window_ns: (f64, f64),
}

fn moment(end: usize) -> fn(&Event) -> f64 {
    if end == 0 { |event| event.begins_ns } else { |event| event.ends_ns }
}

fn fit_of(set: &Set, best: &Best, run_ns: f64, jittered: bool) -> Option<Fit> {
    let level = &set.levels[best.level];
    let moments_ns: Vec<f64> = level.events.iter().map(moment(best.end)).collect();
    // Where a delay ended is known as it was read; where it began only to within the interval.
    let grain_ns = if jittered || best.end == 1 { 0.0 } else { set.interval_ns };
    let points = within(&level.points[best.end], best.window_ns);
    let spread_ns = if jittered { 0.0 } else { set.interval_ns };
    fit(&points, &moments_ns, best.frequency, Blur { grain_ns, spread_ns }, best.window_ns, run_ns)
}

/// The least probable period of one level.
fn best_of(set: &Set, at: usize, run_ns: f64, jittered: bool, transforms: &mut Transforms) -> Option<Best> {
    let level = &set.levels[at];
    let mut best: Option<Best> = None;
    for bin_ns in scales(run_ns, set.interval_ns, jittered) {
        let length_ns = (bin_ns * float(MOST_BINS)).min(run_ns);
        let window_ns = densest(&level.points[0], length_ns, run_ns);
        let windowed: [Vec<Point>; 2] = [0, 1].map(|end: usize| within(&level.points[end], window_ns));
        if windowed[0].len() < LEAST_EVENTS || windowed[1].len() < LEAST_EVENTS {
            continue;
        }
        for Looked { frequency, log_p, end } in best_in(&windowed, bin_ns, length_ns, transforms) {
            if best.as_ref().is_some_and(|best| best.log_p <= log_p) {
                continue;
            }
            let unfitted = Fit::default();
            let mut found = Best { fit: unfitted, frequency, log_p, level: at, end, window_ns };
            if let Some(fit) = fit_of(set, &found, run_ns, jittered) {
                found.fit = fit;
                best = Some(found);
            }
        }
    }
    best
}

/// The same rhythm with earlier wake-ups too, as long as it does not drown among them.
fn widened(set: &Set, found: Best, run_ns: f64, jittered: bool, bound: f64) -> Best {
    let share = |best: &Best| {
        let moments_ns: Vec<f64> = set.levels[best.level].events.iter().map(moment(best.end)).collect();
        best.fit.share(&moments_ns)
    };
    let least = share(&found) / 2.0;
    let wider = (0..found.level).find_map(|level| {
        let points = within(&set.levels[level].points[found.end], found.window_ns);
        let frequency = 1.0 / found.fit.period_ns;
        let log_p = concentration(&points, frequency, usize::MAX).log_p;
        let mut wider = Best { fit: Fit::default(), frequency, log_p, level, ..found };
        wider.fit = fit_of(set, &wider, run_ns, jittered)?;
        let is_the_same = (wider.fit.period_ns - found.fit.period_ns).abs()
            <= 2.0 * (found.fit.uncertainty_ns + wider.fit.uncertainty_ns);
        (log_p <= bound && is_the_same && share(&wider) >= least).then_some(wider)
    });
    wider.unwrap_or(found)
}

/// The same rhythm by its ends, where these keep the phase as well: they are known to the microsecond, and beginnings
/// only to within the interval.
fn sharper(set: &Set, found: Best, run_ns: f64, jittered: bool, bound: f64) -> Best {
    if found.end == 1 {
        return found;
    }
    let level = &set.levels[found.level];
    let share = |best: &Best| {
        let moments_ns: Vec<f64> = level.events.iter().map(moment(best.end)).collect();
        best.fit.share(&moments_ns)
    };
    let frequency = 1.0 / found.fit.period_ns;
    let log_p = concentration(&within(&level.points[1], found.window_ns), frequency, usize::MAX).log_p;
    let mut ends = Best { fit: Fit::default(), frequency, log_p, end: 1, ..found };
    let Some(fit) = fit_of(set, &ends, run_ns, jittered).filter(|_| log_p <= bound) else { return found };
    ends.fit = fit;
    let apart_ns = (ends.fit.period_ns - found.fit.period_ns).abs();
    let is_the_same = apart_ns <= 2.0 * (found.fit.uncertainty_ns + ends.fit.uncertainty_ns);
    let is_sharper = ends.fit.uncertainty_ns <= found.fit.uncertainty_ns && share(&ends) >= 0.9 * share(&found);
    if is_the_same && is_sharper { ends } else { found }
}

/// Points within a window, counted from its start.
fn within(points: &[Point], (from_ns, to_ns): (f64, f64)) -> Vec<Point> {
    let inside = points.iter().filter(|point| (from_ns..=to_ns).contains(&point.at_ns));
    inside.map(|point| Point { at_ns: point.at_ns - from_ns, ..*point }).collect()
}

/// The window of that length with the most points.
fn densest(points: &[Point], length_ns: f64, run_ns: f64) -> (f64, f64) {
    if length_ns >= run_ns {
        return (0.0, run_ns);
    }
    let (mut from, mut best) = (0, (0, 0.0));
    for (to, point) in points.iter().enumerate() {
        while points[from].at_ns < point.at_ns - length_ns {
            from += 1;
        }
        if to - from > best.0 {
            best = (to - from, points[from].at_ns);
        }
    }
    let start_ns = f64::min(best.1, run_ns - length_ns);
    (start_ns, start_ns + length_ns)
}

/// A frequency that was looked at exactly.
struct Looked {
    frequency: f64,
    log_p: f64,
    end: usize,
}

/// The best frequency of each end.
fn best_in(points: &[Vec<Point>; 2], bin_ns: f64, length_ns: f64, transforms: &mut Transforms) -> Vec<Looked> {
    let moments: [Vec<f64>; 2] = [0, 1].map(|end: usize| points[end].iter().map(|point| point.at_ns).collect());
    let bins = usize::try_from(units::round_u64((length_ns / bin_ns).ceil())).unwrap_or(MOST_BINS).min(MOST_BINS);
    let mut candidates = transforms.candidates([&moments[0], &moments[1]], bin_ns, bins);
    candidates.sort_by(|a, b| f64::total_cmp(&a.log_p, &b.log_p));
    let (lowest, highest) = (LEAST_TURNS / length_ns, 1.0 / (LEAST_BINS * bin_ns));
    let mut best: [Option<Looked>; 2] = [None, None];
    let mut looks = [MOST_LOOKS; 2];
    for Candidate { frequency, step, harmonics, train, log_p } in candidates {
        // Chance alone gives the best of so many frequencies as much.
        if log_p > LEAST_LOG_P {
            break;
        }
        // Weaker ones are parts of the same, and it is looked at again once that is taken away.
        let enough = best[train].as_ref().is_some_and(|best| best.log_p < 3.0 * LEAST_LOG_P && looks[train] < ENOUGH);
        if frequency > highest || looks[train] == 0 || enough {
            continue;
        }
        looks[train] -= 1;
        let (frequency, found) = refined(&points[train], frequency, step, harmonics);
        let is_better = best[train].as_ref().is_none_or(|best| found.log_p < best.log_p);
        if found.log_p > LEAST_LOG_P || !is_better {
            continue;
        }
        let (frequency, found) = best_ratio(&points[train], frequency, lowest, highest);
        best[train] = Some(Looked { frequency, log_p: found.log_p, end: train });
    }
    best.into_iter().flatten().collect()
}

fn remove(level: &mut Level, best: &Best) {
    let keeps: Vec<bool> = level.events.iter().map(|event| !best.fit.is_near(moment(best.end)(event))).collect();
    let mut at = keeps.iter();
    level.events.retain(|_| at.next().is_none_or(|keeps| *keeps));
    for points in &mut level.points {
        let mut at = keeps.iter();
        points.retain(|_| at.next().is_none_or(|keeps| *keeps));
    }
}

/// In the words of a record.
fn rhythm(set: &Set, best: &Best, log_p: f64) -> Rhythm {
    let (level, fit) = (&set.levels[best.level], &best.fit);
    let at = moment(best.end);
    let (from_ns, to_ns) = fit.span_ns;
    let scanned: Vec<&Event> = level.events.iter().filter(|event| (from_ns..=to_ns).contains(&at(event))).collect();
    let inside: Vec<&Event> = scanned.iter().copied().filter(|event| fit.holds(at(event))).collect();
    let mut latencies: Vec<u64> = inside.iter().map(|event| event.latency_ns).collect();
    latencies.sort_unstable();
    let time = |events: &[&Event]| units::approx_f64(units::total(events.iter().map(|event| event.time_ns)));
    let mut shown = scanned.clone();
    shown.sort_by_key(|event| std::cmp::Reverse(event.latency_ns));
    shown.truncate(SHOWN);
    let folded = |event: &&Event| {
        let turns = (at(event) - fit.moment_ns) / fit.period_ns + 0.5;
        units::round_u64((turns - turns.floor()) * fit.period_ns)
    };
    let count = |events: &[&Event]| u64::try_from(events.len()).unwrap_or(u64::MAX);
    Rhythm {
        period_ns: fit.period_ns,
        period_uncertainty_ns: fit.uncertainty_ns,
        end: if best.end == 0 { RhythmEnd::Begins } else { RhythmEnd::Ends },
        phase_ns: units::round_u64(fit.moment_ns.rem_euclid(fit.period_ns)),
        width_ns: units::round_u64(fit.width_ns),
        above_ns: level.above_ns,
        late: count(&scanned),
        in_rhythm: count(&inside),
        cycles: units::round_u64(((to_ns - from_ns) / fit.period_ns).floor()),
        late_time_share: time(&inside) / time(&scanned).max(1.0),
        median_ns: latencies.get(latencies.len() / 2).copied().unwrap_or(0),
        max_ns: latencies.last().copied().unwrap_or(0),
        false_alarm: log_p.exp().min(1.0),
        cpus: set.cpus.clone(),
        in_phase: false,
        likely: Vec::new(),
        contradicted: Vec::new(),
        shown: None,
        folded_ns: shown.iter().map(folded).collect(),
        folded_latency_ns: shown.iter().map(|event| event.latency_ns).collect(),
    }
}

/// How far two periods may lie apart and be one.
fn slack_ns(a: &Rhythm, b: &Rhythm) -> f64 {
    2.0 * (a.period_uncertainty_ns + b.period_uncertainty_ns) + 1e-5 * a.period_ns
}

/// Whether a rhythm is what is left of a known one: of its period, or of a part of it. A wide one leaves more.
fn is_left_of(known: &Rhythm, left: &Rhythm) -> bool {
    let most = if units::approx_f64(known.width_ns) > WIDE * known.period_ns { 8_u32 } else { 3 };
    let is_ratio = |known_turns: u32, left_turns: u32| {
        let (a, b) = (f64::from(known_turns), f64::from(left_turns));
        // Periods that differ by less than a turn over the whole run cannot be distinguished.
        let resolved_ns = known.period_ns / units::approx_f64(known.cycles.max(1));
        (a * known.period_ns - b * left.period_ns).abs() <= f64::max(a, b) * (slack_ns(known, left) + 1.5 * resolved_ns)
    };
    (1..=most).any(|turns| is_ratio(1, turns)) || [(2, 1), (3, 1), (2, 3), (3, 2)].iter().any(|(a, b)| is_ratio(*a, *b))
}

/// What several CPUs have in common is one rhythm.
fn merged(mut found: Vec<Found>) -> Vec<Rhythm> {
    found.sort_by(|a, b| f64::total_cmp(&a.log_p, &b.log_p));
    let mut rhythms: Vec<Rhythm> = Vec::new();
    for Found { rhythm, .. } in found {
        let same = rhythms.iter_mut().find(|known| {
            (known.period_ns - rhythm.period_ns).abs() <= slack_ns(known, &rhythm) && known.end == rhythm.end
        });
        match same {
            Some(known) => join(known, &rhythm),
            None => rhythms.push(rhythm),
        }
    }
    rhythms
}

fn join(known: &mut Rhythm, other: &Rhythm) {
    if other.cpus.is_subset(&known.cpus) {
        return;
    }
    let apart_ns = units::approx_f64(known.phase_ns) - units::approx_f64(other.phase_ns);
    let turned_ns = (apart_ns + known.period_ns / 2.0).rem_euclid(known.period_ns) - known.period_ns / 2.0;
    let is_in_phase = turned_ns.abs() <= units::approx_f64(known.width_ns.saturating_add(other.width_ns)) / 2.0;
    known.in_phase = is_in_phase && (known.in_phase || known.cpus.len() == 1);
    known.cpus = known.cpus.union(&other.cpus);
    let weight = units::approx_f64(known.late) / units::approx_f64(known.late.saturating_add(other.late).max(1));
    known.late_time_share = weight * known.late_time_share + (1.0 - weight) * other.late_time_share;
    known.late = known.late.saturating_add(other.late);
    known.in_rhythm = known.in_rhythm.saturating_add(other.in_rhythm);
    known.max_ns = known.max_ns.max(other.max_ns);
}
