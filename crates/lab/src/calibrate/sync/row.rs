//! One source of one run against the truth.

use record::{HardBound, Place, SyncSource, TrackPoint};
use serde::{Deserialize, Serialize};

use super::evidence::SyncRunEvidence;
use super::truth::{Difference, Span, TruthLog};

/// How long after the moment of a look a hardware clock may be read (ns). A look is stamped before the first clock is
/// read; its ten readings take 30 us each at most here.
const READ_WITHIN_NS: i64 = 1_000_000;

/// What a run stated of one source, and the truth of the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRow {
    /// Name of the boot.
    pub boot: String,
    /// Name of the run.
    pub run: String,
    /// The source, by its service and place.
    pub source: String,
    /// Looks at which there was a bound.
    pub bounds: u64,
    /// Looks at which the truth was within the bound.
    pub contained: u64,
    /// Lowest and highest true offset at these looks (ns).
    pub truth_ns: Option<(i64, i64)>,
    /// The bound of the whole run, as the record states it (ns).
    pub stated_ns: Option<(i64, i64)>,
    /// The widest bound (ns).
    pub widest_ns: u64,
    /// The distance from the truth to the nearer end of its bound, at the look where it was smallest (ns); negative:
    /// the truth was outside.
    pub margin_ns: Option<i64>,
    /// Lowest and highest error of an offset: reading less truth (ns).
    pub error_ns: Option<(i64, i64)>,
    /// Median, lowest and highest offset of the spread (ns).
    pub spread_ns: Option<(i64, i64, i64)>,
    /// The true rate between the first and the last bound (ppb), and the lowest and highest that the two bounds allow.
    pub rate_ppb: Option<(i64, i64, i64)>,
}

/// Which clocks a source compares: `ptp0` and `ptp1` the hardware clocks with the system clock, ptp4l the two with each
/// other.
fn difference(source: &SyncSource) -> Option<Difference> {
    let Place::Port { port, .. } = &source.place else { return None };
    match port.as_str() {
        "ptp0" => Some(Difference::ToSystem(0)),
        "ptp1" => Some(Difference::ToSystem(1)),
        "punctual0" => Some(Difference::ToOther),
        _ => None,
    }
}

/// A look with a bound and the truth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) at_ns: i64,
    pub(super) bound_ns: (i64, i64),
    pub(super) truth: Span,
}

impl Look {
    /// How far the truth is from the nearer end of the bound; negative: outside. If the truth moved while the clock was
    /// read, what counts is that some part of it is inside.
    fn margin_ns(&self) -> i64 {
        let (lower_ns, upper_ns) = self.bound_ns;
        (self.truth.highest_ns - lower_ns).min(upper_ns - self.truth.lowest_ns)
    }
}

/// The looks with a bound for which the truth is known.
pub(super) fn looks(source: &SyncSource, truth: &TruthLog) -> Vec<Look> {
    let Some(difference) = difference(source) else { return Vec::new() };
    let with_truth = |point: &TrackPoint| {
        let (at_ns, bound_ns) = (point.at.monotonic.as_ns(), point.bound_ns?);
        let truth = match difference {
            Difference::ToSystem(_) => truth.within(at_ns, at_ns + READ_WITHIN_NS, difference),
            Difference::ToOther => truth.at(at_ns, difference),
        };
        Some(Look { at_ns, bound_ns, truth: truth? })
    };
    source.track.iter().filter_map(with_truth).collect()
}

/// Lowest and highest of some values.
fn extremes(values: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    values.fold(None, |found, ns| Some(found.map_or((ns, ns), |(low, high): (i64, i64)| (low.min(ns), high.max(ns)))))
}

impl SyncRow {
    /// Compares a source of a run with the truth; `None` if the source has no bound or compares other clocks.
    pub(super) fn of(boot: &str, run: &SyncRunEvidence, source: &SyncSource) -> Option<Self> {
        let difference = difference(source)?;
        let looks = looks(source, &run.truth);
        let contained = looks.iter().filter(|look| look.margin_ns() >= 0).count();
        let errors = source.track.iter().filter(|point| point.count > 0).filter_map(|point| {
            let truth = run.truth.at(point.at.monotonic.as_ns(), difference)?;
            Some([point.lowest_ns? - truth.highest_ns, point.highest_ns? - truth.lowest_ns])
        });
        let (stated_ns, widest_ns) = match &source.bound {
            HardBound::Stated { lowest_ns, highest_ns, widest_ns, .. } => (Some((*lowest_ns, *highest_ns)), *widest_ns),
            HardBound::Missing { .. } => (None, 0),
        };
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Some(Self {
            boot: boot.to_owned(),
            run: run.name.clone(),
            source: source.name(),
            bounds: count(looks.len()),
            contained: count(contained),
            truth_ns: extremes(looks.iter().flat_map(|look| [look.truth.lowest_ns, look.truth.highest_ns])),
            stated_ns,
            widest_ns,
            margin_ns: looks.iter().map(Look::margin_ns).min(),
            error_ns: extremes(errors.flatten()),
            spread_ns: source.spread.map(|spread| (spread.median_ns, spread.lowest_ns, spread.highest_ns)),
            rate_ppb: rate_ppb(&looks),
        })
    }

    /// Whether there were bounds, and all contained the truth.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.bounds > 0 && self.contained == self.bounds
    }
}

/// The true rate, and the lowest and the highest that the first and the last bound allow.
fn rate_ppb(looks: &[Look]) -> Option<(i64, i64, i64)> {
    let (first, last) = (looks.first()?, looks.last()?);
    let passed_ns = i128::from(last.at_ns) - i128::from(first.at_ns);
    let ppb = |change_ns: i64| i64::try_from(i128::from(change_ns) * 1_000_000_000 / passed_ns).ok();
    if passed_ns <= 0 {
        return None;
    }
    Some((
        ppb(last.truth.lowest_ns - first.truth.lowest_ns)?,
        // Rounded outwards.
        ppb(last.bound_ns.0 - first.bound_ns.1)? - 1,
        ppb(last.bound_ns.1 - first.bound_ns.0)? + 1,
    ))
}
