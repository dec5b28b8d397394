//! What each run has to show beside bounds that contain the truth. The limits were fixed before any run.

use record::{SyncChange, SyncSource, SyncState};

use super::evidence::{SyncEvidence, SyncRunEvidence};
use super::figures::Figures;
use super::row::{self, SyncRow};
use super::truth::Difference;
use crate::calibrate::Check;

/// The widest window of a reading that takes no time of its own (ns): the kernel's code between the two readings of the
/// system clock.
const PLAIN_WINDOW_NS: u64 = 2_000;
/// What the script makes a reading take (ns).
const SLOW_READING_NS: u64 = 30_000;
/// How much an oscillator may differ from the rate that was set for it (ppb): the system clock's own rounding.
const RATE_ERROR_PPB: i64 = 50;
/// The largest error of the median offset of a locked ptp4l with exact stamps on an even path (ns).
const LOCKED_ERROR_NS: i64 = 500;
/// What the uneven path hides from PTP (ns): half of what one way takes more than the other.
const HIDDEN_NS: i64 = 1_500_000;
/// How near to that the clock is once the servo has settled (ns).
const SETTLED_NS: i64 = 50_000;
/// When it has (ns after the start of the run).
const SETTLED_AFTER_NS: i64 = 35_000_000_000;
/// How long after an event the record has to name it (ns).
const NAMED_WITHIN_NS: i64 = 1_000_000_000;
/// How far phc2sys's mean offset may be from the mean of ours (ns): both have windows of less than this.
const PHC2SYS_ERROR_NS: i64 = 2_000;

/// How much wider or narrower our window of a reading may be than what phc2sys prints as its delay (percent).
const WINDOW_DIFFERS_PERCENT: i64 = 5;
/// What the kernel's rounding to whole nanoseconds adds to a window: 1 ns on each side.
const ROUNDING_NS: i64 = 2;

struct Checks<'a> {
    boot: &'a SyncEvidence,
    rows: &'a [SyncRow],
    all: Vec<Check>,
}

/// All checks of a boot; `rows` are those of its runs, among others.
pub(super) fn of_boot(boot: &SyncEvidence, rows: &[SyncRow]) -> Vec<Check> {
    let mut checks = Checks { boot, rows, all: Vec::new() };
    checks.hardware_clocks();
    checks.even_path();
    checks.uneven_path();
    checks.named_steps("ptp-lock");
    checks.named_steps("ptp-step");
    checks.phc2sys();
    checks.all
}

fn own_time(record: &record::Record) -> (i64, i64) {
    (record.manifest().started.monotonic.as_ns(), record.manifest().ended.monotonic.as_ns())
}

/// The figures that were printed during a run.
fn during(figures: &[Figures], run: &SyncRunEvidence) -> Vec<Figures> {
    let (from_ns, to_ns) = own_time(&run.record);
    figures.iter().copied().filter(|of| of.at_ns >= from_ns && of.at_ns <= to_ns).collect()
}

fn mean(values: &[i64]) -> Option<i64> {
    let sum: i128 = values.iter().map(|ns| i128::from(*ns)).sum();
    i64::try_from(sum.checked_div(i128::try_from(values.len()).ok()?)?).ok()
}

impl Checks<'_> {
    fn add(&mut self, name: impl Into<String>, holds: bool, found: impl Into<String>) {
        self.all.push(Check { boot: self.boot.boot.clone(), name: name.into(), holds, found: found.into() });
    }

    fn rows(&self, run: &str) -> Vec<SyncRow> {
        self.rows.iter().filter(|row| row.boot == self.boot.boot && row.run == run).cloned().collect()
    }

    /// The source of ptp4l that has offsets, with its run.
    fn ptp4l(&self, run: &str) -> Option<(SyncRunEvidence, SyncSource)> {
        let run = self.boot.run(run)?;
        let source = run.sources().into_iter().find(|source| source.service == record::SyncService::Linuxptp)?;
        Some((run.clone(), source))
    }

    fn hardware_clocks(&mut self) {
        for run in ["phc-plain", "phc-slow", "phc-precise"] {
            let rows = self.rows(run);
            self.add(format!("{run}: both hardware clocks are read"), rows.len() == 2, format!("{} of 2", rows.len()));
            for (row, set_ppb) in rows.iter().zip(self.boot.rates_ppb) {
                let (holds, found) = match row.rate_ppb {
                    Some((truth, low, high)) => (
                        (truth - set_ppb).abs() <= RATE_ERROR_PPB && low <= truth && truth <= high,
                        format!("set {set_ppb:+} ppb, true {truth:+}, read {low:+} to {high:+}"),
                    ),
                    None => (false, "no rate".to_owned()),
                };
                self.add(format!("{run} {}: the rate is within what the bounds allow", row.source), holds, found);
            }
            let widest_ns = rows.iter().map(|row| row.widest_ns).max().unwrap_or(u64::MAX);
            let (allowed, words) = match run {
                "phc-plain" => (1..=PLAIN_WINDOW_NS, "a reading takes no more than the kernel needs"),
                "phc-slow" => (
                    SLOW_READING_NS..=SLOW_READING_NS + PLAIN_WINDOW_NS,
                    "the window is as wide as the reading is slow",
                ),
                // The kernel rounds both readings down to whole nanoseconds.
                _ => (0..=2, "clocks that are latched at one moment are known to the rounding of both"),
            };
            self.add(format!("{run}: {words}"), allowed.contains(&widest_ns), format!("{widest_ns} ns"));
        }
    }

    fn even_path(&mut self) {
        let Some((run, source)) = self.ptp4l("ptp-even") else {
            self.add("ptp-even: ptp4l was followed", false, "no source of ptp4l has offsets");
            return;
        };
        let is_locked = source.states.last().is_some_and(|change| change.state == SyncState::Locked);
        self.add("ptp-even: ptp4l is locked", is_locked, format!("{:?}", source.states.last().map(|of| of.state)));
        let truths: Vec<i64> = row::looks(&source, &run.truth).iter().map(|look| look.truth.lowest_ns).collect();
        let (median_ns, truth_ns) = (source.spread.map(|spread| spread.median_ns), mean(&truths));
        let near = median_ns.zip(truth_ns).is_some_and(|(median, truth)| (median - truth).abs() <= LOCKED_ERROR_NS);
        let own = during(&self.boot.ptp4l, &run);
        let rms: Vec<i64> = own.iter().map(|of| of.offset_ns).collect();
        let found = format!(
            "ours: median {} ns, true mean {} ns; ptp4l's: mean rms {} ns, {} summaries",
            median_ns.unwrap_or(0),
            truth_ns.unwrap_or(0),
            mean(&rms).unwrap_or(0),
            rms.len()
        );
        self.add("ptp-even: the median offset is the true one", near && !rms.is_empty(), found);
        self.stated("ptp-even");
    }

    /// The bound of a whole run without a step contains all that the module logged of its time.
    fn stated(&mut self, run: &str) {
        let Some((run, source)) = self.ptp4l(run) else { return };
        let looks = row::looks(&source, &run.truth);
        let (Some(first), Some(last), record::HardBound::Stated { lowest_ns, highest_ns, .. }) =
            (looks.first(), looks.last(), &source.bound)
        else {
            self.add(format!("{}: the run has a bound", run.name), false, "none");
            return;
        };
        let inside: Vec<i64> = run
            .truth
            .lines()
            .iter()
            .filter(|line| (first.at_ns..=last.at_ns).contains(&line.monotonic_ns))
            .map(|line| line.difference_ns(Difference::ToOther))
            .collect();
        let outside = inside.iter().filter(|ns| !(*lowest_ns..=*highest_ns).contains(ns)).count();
        let found = format!("{outside} of {} outside of {lowest_ns:+}..{highest_ns:+} ns", inside.len());
        self.add(
            format!("{}: the stated bound contains the truth at all times", run.name),
            outside == 0 && !inside.is_empty(),
            found,
        );
    }

    fn uneven_path(&mut self) {
        let Some((run, source)) = self.ptp4l("ptp-uneven") else {
            self.add("ptp-uneven: ptp4l was followed", false, "no source of ptp4l has offsets");
            return;
        };
        let from_ns = own_time(&run.record).0 + SETTLED_AFTER_NS;
        let looks: Vec<_> = row::looks(&source, &run.truth).into_iter().filter(|look| look.at_ns >= from_ns).collect();
        let truths: Vec<i64> = looks.iter().map(|look| look.truth.lowest_ns).collect();
        let truth_ns = mean(&truths).unwrap_or(0);
        self.add(
            "ptp-uneven: half of the asymmetry is the clock's true offset",
            !truths.is_empty() && (truth_ns + HIDDEN_NS).abs() <= SETTLED_NS,
            format!("mean {truth_ns} ns"),
        );
        let shown: Vec<(i64, i64)> = source
            .track
            .iter()
            .filter(|point| point.at.monotonic.as_ns() >= from_ns)
            .filter_map(|point| Some((point.lowest_ns?, point.highest_ns?)))
            .collect();
        let furthest_ns = shown.iter().map(|(low, high)| low.abs().max(high.abs())).max();
        let own: Vec<i64> =
            during(&self.boot.ptp4l, &run).iter().filter(|of| of.at_ns >= from_ns).map(|of| of.offset_ns).collect();
        self.add(
            "ptp-uneven: the spread does not show it, nor does ptp4l's own estimate",
            furthest_ns.is_some_and(|ns| ns <= SETTLED_NS) && mean(&own).is_some_and(|ns| ns <= SETTLED_NS),
            format!("offsets within ±{} ns; ptp4l's mean rms {} ns", furthest_ns.unwrap_or(0), mean(&own).unwrap_or(0)),
        );
        let within = looks
            .iter()
            .filter(|look| look.bound_ns.0 <= look.truth.lowest_ns && look.truth.highest_ns <= look.bound_ns.1);
        self.add(
            "ptp-uneven: the bound does",
            !looks.is_empty() && within.count() == looks.len(),
            format!("{} bounds, the last {:?} ns", looks.len(), looks.last().map(|look| look.bound_ns)),
        );
        self.stated("ptp-uneven");
    }

    /// Every step of the steered clock is named within a second, and nothing else is called a step.
    fn named_steps(&mut self, name: &str) {
        let Some(run) = self.boot.run(name) else { return };
        let (from_ns, to_ns) = own_time(&run.record);
        let mut steps: Vec<i64> = run
            .truth
            .lines()
            .iter()
            .filter(|line| matches!(line.why.as_str(), "set0" | "step0"))
            .map(|line| line.monotonic_ns)
            .filter(|at_ns| (from_ns..=to_ns - NAMED_WITHIN_NS).contains(at_ns))
            .collect();
        // One line before a change and one after it.
        steps.dedup_by(|later, earlier| *later - *earlier < 100_000_000);
        let named: Vec<i64> = run
            .seen()
            .events
            .iter()
            .filter(|event| event.what == SyncChange::Step)
            .map(|event| event.at.monotonic.as_ns())
            .collect();
        let follows = |step: i64, event: i64| (0..=NAMED_WITHIN_NS).contains(&(event - step));
        let missed = steps.iter().filter(|step| !named.iter().any(|event| follows(**step, *event))).count();
        let invented = named.iter().filter(|event| !steps.iter().any(|step| follows(*step, **event))).count();
        self.add(
            format!("{name}: each step is named within a second, and nothing else is"),
            !steps.is_empty() && missed == 0 && invented == 0,
            format!("{} steps, {missed} not named, {invented} named that were none", steps.len()),
        );
    }

    fn phc2sys(&mut self) {
        let Some(run) = self.boot.run("phc2sys") else { return };
        let own = during(&self.boot.phc2sys, run);
        let locked = own.iter().filter(|of| of.is_locked).count();
        self.add(
            "phc2sys: it is locked",
            !own.is_empty() && locked == own.len(),
            format!("{locked} of {} lines", own.len()),
        );
        let theirs: Vec<i64> = own.iter().map(|of| of.offset_ns).collect();
        let delays: Vec<i64> = own.iter().map(|of| of.delay_ns).collect();
        let source = run.sources().into_iter().find(|source| source.place.to_string().starts_with("ptp0"));
        let looks: Vec<row::Look> = source.iter().flat_map(|source| row::looks(source, &run.truth)).collect();
        let truths: Vec<i64> = looks.iter().map(|look| look.truth.lowest_ns).collect();
        let ours_ns = source.and_then(|source| source.spread).map(|spread| spread.median_ns);
        // Theirs is the system clock's offset from the hardware clock, printed the other way round.
        let is_near = ours_ns.zip(mean(&theirs)).zip(mean(&truths)).is_some_and(|((ours, theirs), truth)| {
            (ours - truth).abs() <= PHC2SYS_ERROR_NS && (theirs.abs() - truth.abs()).abs() <= PHC2SYS_ERROR_NS
        });
        let found = format!(
            "ours: median {} ns; phc2sys's: mean {} ns, mean delay {} ns; true mean {} ns",
            ours_ns.unwrap_or(0),
            mean(&theirs).unwrap_or(0),
            mean(&delays).unwrap_or(0),
            mean(&truths).unwrap_or(0)
        );
        self.add("phc2sys: both figures are the true offset", is_near, found);
        // Both read the same device in turn, and keep the shortest of their readings.
        let mut windows: Vec<i64> = looks.iter().map(|look| look.bound_ns.1 - look.bound_ns.0 - ROUNDING_NS).collect();
        windows.sort_unstable();
        let (window_ns, delay_ns) = (windows.get(windows.len() / 2).copied(), mean(&delays));
        let is_as_wide = window_ns
            .zip(delay_ns)
            .is_some_and(|(window, delay)| delay > 0 && (window - delay).abs() * 100 <= delay * WINDOW_DIFFERS_PERCENT);
        let found = format!("{} ns beside {} ns", window_ns.unwrap_or(0), delay_ns.unwrap_or(0));
        self.add("phc2sys: the median window is as wide as its delay", is_as_wide, found);
    }
}
