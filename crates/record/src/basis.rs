//! The minimum that a run must have measured before it may conclude that a deadline holds.
//!
//! A single sample above the limit breaks it, however short the run was. The absence of such a sample means something only
//! if enough was measured: a run that ended after two wake-ups has not shown that a machine acts on time.

use std::fmt;

use units::format::{self, span};

use crate::{Node, ReasonCode, Record, Requested, Sampling, Series};

/// A run must have covered the requested time, or the requested samples, divided by this: at least half of them.
pub const LEAST_SHARE_DIVISOR: u64 = 2;
/// The minimum number of samples of each measuring thread, unless fewer were requested.
pub const LEAST_SAMPLES: u64 = 1_000;
/// If fewer samples than [`LEAST_SAMPLES`] were requested, this share of them is enough (%).
pub const NEARLY_ALL_PERCENT: u64 = 90;

/// Why a run has measured too little to conclude that a limit holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// The run ended after less than half of its requested time.
    Time {
        /// How long the run lasted (ns).
        measured_ns: u64,
        /// The requested duration (ns).
        asked_ns: u64,
    },
    /// A requested CPU has no samples.
    CpuSilent {
        /// Number of the CPU.
        cpu: u32,
    },
    /// Fewer threads have samples than were requested.
    ThreadsMissing {
        /// Threads with samples.
        measured: u64,
        /// Number of threads that were requested.
        asked: u64,
    },
    /// A thread took too few samples.
    Samples {
        /// The CPU or the thread, in words: `CPU 3`.
        place: String,
        /// Samples that the thread took.
        taken: u64,
        /// Samples that were requested; absent if the request determines no number.
        asked: Option<u64>,
    },
    /// The loop of `noise` ran on a CPU for less than half of the requested time.
    Observed {
        /// The CPU or the thread, in words: `CPU 3`.
        place: String,
        /// How long the loop ran (ns).
        observed_ns: u64,
        /// The requested duration (ns).
        asked_ns: u64,
    },
}

impl fmt::Display for Shortfall {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { measured_ns, asked_ns } => {
                write!(to, "it ran for {} of the requested {}", span(*measured_ns), span(*asked_ns))
            }
            Self::CpuSilent { cpu } => write!(to, "CPU {cpu} was requested and has no samples"),
            Self::ThreadsMissing { measured, asked } => {
                write!(to, "{} of {} requested threads have samples", format::count(*measured), format::count(*asked))
            }
            Self::Samples { place, taken, asked: Some(asked) } => {
                write!(to, "{place} took {} of {} requested samples", format::count(*taken), format::count(*asked))
            }
            Self::Samples { place, taken, asked: None } => {
                write!(to, "{place} took {} samples", format::count(*taken))
            }
            Self::Observed { place, observed_ns, asked_ns } => {
                write!(to, "{place} was observed for {} of the requested {}", span(*observed_ns), span(*asked_ns))
            }
        }
    }
}

impl Record {
    /// Why this run cannot conclude that a limit holds even if none of its samples exceeds it; `None` if it can.
    ///
    /// A run that ended because a claim was decided had its own stopping rule, so its duration is not checked.
    #[must_use]
    pub fn shortfall(&self) -> Option<Shortfall> {
        if self.manifest().ended_because.is_some() {
            return self.missing_samples();
        }
        self.too_short().or_else(|| self.missing_samples()).or_else(|| self.too_few_samples())
    }

    /// Duration of the run on its leading node, from the first schedule (ns).
    #[must_use]
    pub fn measured_ns(&self) -> u64 {
        self.manifest().measured_ns()
    }

    /// How much of the run stands (ns): its duration less the intervals that something spoiled, of the series with the most of
    /// them.
    #[must_use]
    pub fn standing_ns(&self) -> u64 {
        self.measured_ns().saturating_sub(self.series.iter().map(|series| series.spoiled.length_ns).max().unwrap_or(0))
    }

    /// What its numbers and its verdict cover: `5 min of 5 min 10 s`; `None` where that is the whole run.
    #[must_use]
    pub fn covers(&self) -> Option<String> {
        let is_whole = self.series.iter().all(|series| series.spoiled.count == 0);
        (!is_whole).then(|| format!("{} of {}", span(self.standing_ns()), span(self.measured_ns())))
    }

    /// The same of its verdict alone: a witness's answers, where these are judged, are also those of intervals that do not stand.
    #[must_use]
    pub fn verdict_covers(&self) -> Option<String> {
        self.covers().filter(|_| self.series.iter().any(|series| series.judged && series.spoiled.count > 0))
    }

    fn too_short(&self) -> Option<Shortfall> {
        self.nodes.iter().find_map(|Node { manifest, .. }| {
            let asked_ns = manifest.requested.duration_ns?;
            let measured_ns = manifest.measured_ns();
            // An import may not know when it ran. A followed program may end early: that is not held against the run.
            let unknown = manifest.is_imported() && measured_ns == 0;
            let was_cut = self.validity.has(ReasonCode::InterruptedEarly);
            let by_itself = !was_cut && self.app().is_some_and(|app| app.ended.is_some());
            (!unknown && !by_itself && is_below_half(measured_ns, asked_ns))
                .then_some(Shortfall::Time { measured_ns, asked_ns })
        })
    }

    /// The first requested CPU without samples, or the number of threads if fewer have samples than were requested.
    fn missing_samples(&self) -> Option<Shortfall> {
        let sampling = self.measurement.kind().sampling;
        if matches!(sampling, Sampling::Program | Sampling::Packets) {
            // The request does not determine which threads a program has. Packets belong to a flow and not to a CPU.
            return None;
        }
        self.nodes.iter().find_map(|node| {
            let requested = &node.manifest.requested;
            let has_samples = |series: &&Series| series.taken() > 0 || series.gaps().is_some_and(|gaps| gaps.turns > 0);
            let sampled = || self.series_of(node).filter(has_samples);
            // Fewer threads than CPUs cannot cover every CPU. An import's thread count comes from its own samples, so that a
            // small count is no excuse there.
            let are_enough = usize::try_from(requested.threads).is_ok_and(|all| all >= requested.cpus.len());
            let each_cpu = requested.pinned && (node.manifest.is_imported() || are_enough);
            if each_cpu || sampling == Sampling::Disturbances {
                let silent = requested.cpus.iter().find(|cpu| !sampled().any(|it| it.place.cpu() == Some(*cpu)));
                if let Some(cpu) = silent {
                    return Some(Shortfall::CpuSilent { cpu });
                }
            }
            let measured = u64::try_from(sampled().count()).unwrap_or(u64::MAX);
            let asked = u64::from(requested.threads);
            (sampling == Sampling::Schedules && measured < asked)
                .then_some(Shortfall::ThreadsMissing { measured, asked })
        })
    }

    /// The series that were measured on `node`.
    fn series_of(&self, node: &Node) -> impl Iterator<Item = &Series> {
        // While a record is being assembled, the series of the leading node may have no node name yet.
        let leads = std::ptr::eq(node, self.nodes.first());
        self.series.iter().filter(move |series| series.node == node.name || leads && series.node.is_empty())
    }

    fn too_few_samples(&self) -> Option<Shortfall> {
        self.nodes.iter().find_map(|node| {
            let requested = &node.manifest.requested;
            self.series_of(node).find_map(|series| self.too_few_samples_in(series, requested))
        })
    }

    fn too_few_samples_in(&self, series: &Series, requested: &Requested) -> Option<Shortfall> {
        match self.measurement.kind().sampling {
            // What stands beside a judged latency is of the same samples.
            Sampling::Schedules | Sampling::Packets if !series.judged => None,
            Sampling::Schedules | Sampling::Packets => {
                let interval_ns = series.interval_ns.or(requested.interval_ns).filter(|&ns| ns > 0);
                let by_time = requested.duration_ns.zip(interval_ns).map(|(duration_ns, ns)| duration_ns / ns);
                let asked = requested.samples.or(by_time);
                let taken = series.taken();
                // A skipped schedule counts too: the latency of the late wake-up covers it. What was lost is counted as that.
                let accounted = taken
                    .saturating_add(series.counters.missed_periods)
                    .saturating_add(series.counters.lost.unwrap_or(0));
                let short = match asked {
                    Some(asked) => {
                        is_below_half(accounted, asked) || taken < LEAST_SAMPLES && !is_nearly_all(accounted, asked)
                    }
                    None => taken == 0,
                };
                short.then(|| Shortfall::Samples { place: series.place.to_string(), taken, asked })
            }
            Sampling::Disturbances => {
                let (asked_ns, gaps) = requested.duration_ns.zip(series.gaps())?;
                is_below_half(gaps.observed_ns, asked_ns).then(|| Shortfall::Observed {
                    place: series.place.to_string(),
                    observed_ns: gaps.observed_ns,
                    asked_ns,
                })
            }
            Sampling::Comparisons => {
                let source = self.sync()?.sources.iter().find(|source| source.place == series.place)?;
                let first = source.track.iter().find(|point| point.bound_ns.is_some()).filter(|_| series.judged)?;
                let observed_ns = self.manifest().ended.monotonic.since(first.at.monotonic).0;
                let (observed_ns, asked_ns) = (u64::try_from(observed_ns).unwrap_or(0), requested.duration_ns?);
                is_below_half(observed_ns, asked_ns).then(|| Shortfall::Observed {
                    place: series.place.to_string(),
                    observed_ns,
                    asked_ns,
                })
            }
            Sampling::Edges if !series.judged => None,
            Sampling::Edges => {
                let (taken, asked) = (series.taken(), requested.samples);
                let short = taken < LEAST_SAMPLES.min(asked.unwrap_or(LEAST_SAMPLES))
                    || asked.is_some_and(|asked| is_below_half(taken, asked));
                short.then(|| Shortfall::Samples { place: series.place.to_string(), taken, asked })
            }
            Sampling::Repetitions | Sampling::Program => None,
        }
    }
}

fn is_below_half(part: u64, whole: u64) -> bool {
    part.saturating_mul(LEAST_SHARE_DIVISOR) < whole
}

fn is_nearly_all(part: u64, whole: u64) -> bool {
    u128::from(part) * 100 >= u128::from(whole) * u128::from(NEARLY_ALL_PERCENT)
}

/// The section of `docs/validity.md` about the minimum basis of a conclusion.
#[must_use]
pub fn least_basis_markdown() -> String {
    format!(
        "\n## What a run needs to conclude \"holds\"\n\n\
         A sample above the limit breaks it, however short the run was.\n\
         That a limit holds is concluded only if enough was measured. Otherwise the verdict is *cannot be told*, exit 3:\n\n\
         - the run covered at least half of the requested time, or of the requested samples;\n\
         - every requested CPU and every requested thread has samples;\n\
         - each thread took at least {} samples, or {NEARLY_ALL_PERCENT} % of the requested number if that is smaller; schedules that a late \
         wake-up skipped count here, since its latency covers them;\n\
         - `noise`: the loop ran on each CPU for at least half of the requested time;\n\
         - `sync`: each judged source had a bound from some moment on until the end, for at least half of the requested time.\n\n\
         A run without a stated duration or number of samples needs at least one sample of each thread.\n\
         A run that `--until-sure` ended has its own stopping rule: only the second point applies to it.\n\
         The duration is not checked for a program that `app` follows and that may end early.\n\n\
         `assess` concludes *holds* only if each of its parts (idle, idle states disabled if the machine allows it, \
         under load, noise) took place, is not invalid and meets this minimum, and if all of them measured the same CPUs.\n\
         *Does not hold* follows from any single valid part, whatever the others show.\n",
        format::count(LEAST_SAMPLES)
    )
}

#[cfg(test)]
mod tests;
