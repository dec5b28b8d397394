//! The least that a run must have measured before "it holds" may rest on it.
//!
//! A sample beyond a limit decides by itself, however short the run. That no sample was beyond it says something only where
//! enough was looked at: a run that was ended after two wake-ups has not shown that a machine acts on time.

use std::fmt;

use units::format::{self, span};

use crate::{Node, ReasonCode, Record, Requested, Sampling, Series};

/// One over the least share of the time, or of the samples, that a run must have taken of what was asked: 2, which is half.
pub const LEAST_SHARE_DIVISOR: u64 = 2;
/// The least number of samples of each measuring thread, unless fewer were asked.
pub const LEAST_SAMPLES: u64 = 1_000;
/// Where fewer samples than [`LEAST_SAMPLES`] were asked, this many hundredths of them are enough.
pub const NEARLY_ALL_PERCENT: u64 = 90;

/// Why a run has measured too little to say that a limit holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// It was ended after less than half of its time.
    Time {
        /// How long it ran (ns).
        measured_ns: u64,
        /// How long it was to run (ns).
        asked_ns: u64,
    },
    /// A CPU that was to be measured has no samples.
    CpuSilent {
        /// The CPU.
        cpu: u32,
    },
    /// Fewer threads measured than were asked.
    ThreadsMissing {
        /// Threads with samples.
        measured: u64,
        /// Threads that were asked.
        asked: u64,
    },
    /// A thread took too few samples.
    Samples {
        /// The CPU or the thread, in words.
        place: String,
        /// Samples that it took.
        taken: u64,
        /// Samples that were asked of it; absent where no number follows from what was asked.
        asked: Option<u64>,
    },
    /// The loop that never sleeps did not run for half of its time on a CPU.
    Observed {
        /// The CPU or the thread, in words.
        place: String,
        /// How long it ran (ns).
        observed_ns: u64,
        /// How long it was to run (ns).
        asked_ns: u64,
    },
}

impl fmt::Display for Shortfall {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { measured_ns, asked_ns } => {
                write!(to, "it ran for {} of the {} that were asked", span(*measured_ns), span(*asked_ns))
            }
            Self::CpuSilent { cpu } => write!(to, "CPU {cpu} was to be measured and has no samples"),
            Self::ThreadsMissing { measured, asked } => {
                write!(to, "{} of {} threads have samples", format::count(*measured), format::count(*asked))
            }
            Self::Samples { place, taken, asked: Some(asked) } => {
                write!(to, "{place} took {} of {} samples", format::count(*taken), format::count(*asked))
            }
            Self::Samples { place, taken, asked: None } => {
                write!(to, "{place} took {} samples", format::count(*taken))
            }
            Self::Observed { place, observed_ns, asked_ns } => {
                write!(to, "{place} was watched for {} of {}", span(*observed_ns), span(*asked_ns))
            }
        }
    }
}

impl Record {
    /// Why this run cannot say that a limit holds, though none of its samples exceeds it; `None` where it can.
    ///
    /// A run that was ended because a claim was decided had its own rule for when to stop, and is not held to its duration.
    #[must_use]
    pub fn shortfall(&self) -> Option<Shortfall> {
        if self.manifest().ended_because.is_some() {
            return self.silent();
        }
        self.short_of_time().or_else(|| self.silent()).or_else(|| self.short_of_samples())
    }

    /// How long the run went on (ns).
    #[must_use]
    pub fn measured_ns(&self) -> u64 {
        self.manifest().measured_ns()
    }

    fn short_of_time(&self) -> Option<Shortfall> {
        self.nodes.iter().find_map(|Node { manifest, .. }| {
            let asked_ns = manifest.requested.duration_ns?;
            let measured_ns = manifest.measured_ns();
            // An import may not know when it ran, and a program that may end has ended where that is no reason against the run.
            let unknown = manifest.is_imported() && measured_ns == 0;
            let was_cut = self.validity.has(ReasonCode::InterruptedEarly);
            let by_itself = !was_cut && self.app().is_some_and(|app| app.ended.is_some());
            (!unknown && !by_itself && is_below_half(measured_ns, asked_ns))
                .then_some(Shortfall::Time { measured_ns, asked_ns })
        })
    }

    /// CPUs and threads that were asked and of which nothing came.
    fn silent(&self) -> Option<Shortfall> {
        let sampling = self.measurement.kind().sampling;
        if sampling == Sampling::Program {
            // Which threads a program has is not asked of it.
            return None;
        }
        self.nodes.iter().find_map(|node| {
            let requested = &node.manifest.requested;
            let has_samples = |series: &&Series| series.taken() > 0 || series.gaps().is_some_and(|gaps| gaps.turns > 0);
            let speaks = || self.series_of(node).filter(has_samples);
            // Fewer threads than CPUs cannot speak of each CPU; of an import the threads are counted by what came of them.
            let are_enough = usize::try_from(requested.threads).is_ok_and(|all| all >= requested.cpus.len());
            let each_cpu = requested.pinned && (node.manifest.is_imported() || are_enough);
            if each_cpu || sampling == Sampling::Disturbances {
                let silent = requested.cpus.iter().find(|cpu| !speaks().any(|series| series.place.cpu() == Some(*cpu)));
                if let Some(cpu) = silent {
                    return Some(Shortfall::CpuSilent { cpu });
                }
            }
            let measured = u64::try_from(speaks().count()).unwrap_or(u64::MAX);
            let asked = u64::from(requested.threads);
            (sampling == Sampling::Schedules && measured < asked)
                .then_some(Shortfall::ThreadsMissing { measured, asked })
        })
    }

    /// The series of one of the run's nodes.
    fn series_of(&self, node: &Node) -> impl Iterator<Item = &Series> {
        // A record that is still being put together may not name its leading node.
        let leads = std::ptr::eq(node, self.nodes.first());
        self.series.iter().filter(move |series| series.node == node.name || leads && series.node.is_empty())
    }

    fn short_of_samples(&self) -> Option<Shortfall> {
        self.nodes.iter().find_map(|node| {
            let requested = &node.manifest.requested;
            self.series_of(node).find_map(|series| self.short_of_samples_in(series, requested))
        })
    }

    fn short_of_samples_in(&self, series: &Series, requested: &Requested) -> Option<Shortfall> {
        match self.measurement.kind().sampling {
            Sampling::Schedules => {
                let interval_ns = series.interval_ns.or(requested.interval_ns).filter(|&ns| ns > 0);
                let by_time = requested.duration_ns.zip(interval_ns).map(|(duration_ns, ns)| duration_ns / ns);
                let asked = requested.samples.or(by_time);
                let taken = series.taken();
                // A schedule that a late wake-up swallowed has its say in the latency of that wake-up.
                let accounted = taken.saturating_add(series.counters.missed_periods);
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

/// The section of `docs/validity.md` about it.
#[must_use]
pub fn least_basis_markdown() -> String {
    format!(
        "\n## The least that \"holds\" needs\n\n\
         A sample beyond the limit breaks it, however short the run was.\n\
         That a limit holds is concluded only where enough was measured; else the verdict is *cannot be told*, exit 3:\n\n\
         - the run took at least half of the time, or of the samples, that was asked;\n\
         - every CPU and every thread that was asked has samples;\n\
         - each thread took at least {} samples, or {NEARLY_ALL_PERCENT} % of what was asked where that is fewer; schedules that a late wake-up \
         swallowed count here, since its latency speaks for them;\n\
         - `noise`: the loop ran on each CPU for at least half of its time.\n\n\
         A run without a stated duration or number of samples was asked for what it took: it needs a sample of each thread.\n\
         A run that `--until-sure` ended has its own rule, and is held only to the second point.\n\
         A program that `app` follows, and that may end, is not held to the duration.\n\n\
         `assess` concludes *holds* only where each of its parts (idle, with idle states disabled where the machine allows it, \
         under load, noise) took place, is not invalid, has this least, and where all of them measured the same CPUs.\n\
         *Does not hold* stands from any valid part, whatever became of the others.\n",
        format::count(LEAST_SAMPLES)
    )
}

#[cfg(test)]
mod tests;
