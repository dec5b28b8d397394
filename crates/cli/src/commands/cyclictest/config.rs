//! What the engine is asked for, out of what was typed.

use anyhow::bail;
use record::{Placement, PolicyChoice, RunEnd, Stagger, WakeupRequest};
use run::LinearBins;
use units::{CpuSet, Ns};

use super::args::{Alignment, Cpus, Options, PolicyName, Threads};

/// Between the intervals of two threads where nothing else is asked.
const DEFAULT_DISTANCE_US: u64 = 500;

/// A run as the engine wants it, and what else it takes to look like cyclictest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) config: WakeupRequest,
    /// The bins of the original's output.
    pub(super) bins: LinearBins,
    /// The policy as the status line names it.
    pub(super) policy_words: String,
    /// What was changed about the wishes, for stderr.
    pub(super) notes: Vec<String>,
}

/// One unit of the output (ns).
pub(super) const fn unit_ns(options: &Options) -> u64 {
    if options.nanoseconds { 1 } else { 1_000 }
}

/// Turns options into a run on the CPUs that this process may use.
pub(super) fn setup(options: &Options, available: &CpuSet) -> anyhow::Result<Setup> {
    let mut notes = Vec::new();
    let threads = match options.threads {
        Threads::Count(count) => count,
        Threads::EachCpu => u32::try_from(available.len())?,
    };
    let (policy, priority) = scheduling(options, threads, &mut notes);
    let policy_words = match policy {
        PolicyName::Fifo | PolicyName::RoundRobin => policy.word().to_owned(),
        other => format!("{}/other", other.word()),
    };
    let distance_us = if options.histogram_bins.is_some() {
        if options.distance_us.is_some_and(|distance| distance > 0) {
            notes.push("WARN: -d has no effect: with a histogram all threads run at the same interval".to_owned());
        }
        0
    } else {
        options.distance_us.unwrap_or(DEFAULT_DISTANCE_US)
    };
    if options.loops == Some(1) {
        bail!("-l 1 measures nothing: take at least 2 loops");
    }
    if options.trace_mark && options.break_above.is_none() {
        notes.push("WARN: --tracemark has no effect without -b".to_owned());
    }
    let (align_to, stagger) = start(options.alignment)?;
    let bins = options.histogram_bins.unwrap_or(0);
    let config = WakeupRequest {
        // The original's output has no place for them.
        scan_rhythms: false,
        placement: Placement::Pinned(resolve(&options.affinity, available)?),
        threads: Some(threads),
        policy: match policy {
            PolicyName::Fifo => PolicyChoice::Fifo,
            PolicyName::RoundRobin => PolicyChoice::RoundRobin,
            PolicyName::Other | PolicyName::Batch | PolicyName::Idle => PolicyChoice::Other,
        },
        priority,
        descending_priorities: options.priority_spread,
        interval: from_us(options.interval_us, "-i")?,
        interval_step: from_us(distance_us, "-d")?,
        align_to,
        stagger,
        end: match (options.loops, options.duration) {
            (Some(loops), _) => RunEnd::Samples(loops),
            (None, Some(duration)) => RunEnd::After(duration),
            (None, None) => RunEnd::WhenTold,
        },
        clock: options.clock,
        // The engine holds nothing: the command itself does, and says so before the threads start.
        hold_dma_latency_us: None,
        breaktrace: options.break_above.map(|limit| break_limit(limit, unit_ns(options))).transpose()?,
        breaktrace_marks: options.trace_mark,
        controller_cpus: options.main_affinity.as_ref().map(|cpus| resolve(cpus, available)).transpose()?,
        lock_memory: options.lock_memory,
        // The output knows no intervals: as few as the record allows.
        interval_maximum: Some(Ns::from_s(300)),
        ..WakeupRequest::default()
    };
    let bins = LinearBins { width_ns: unit_ns(options), bins, kept_overflows: bins };
    Ok(Setup { config, bins, policy_words, notes })
}

/// The grid that the run starts on, and how the threads follow each other.
fn start(alignment: Alignment) -> anyhow::Result<(Option<Ns>, Stagger)> {
    Ok(match alignment {
        Alignment::Spread => (None, Stagger::Even),
        Alignment::Aligned(us) => (None, Stagger::AfterInterval { all: Ns::ZERO, each: from_us(us, "--aligned")? }),
        Alignment::Second(us) => {
            (Some(Ns::from_s(1)), Stagger::AfterInterval { all: from_us(us, "--secaligned")?, each: Ns::ZERO })
        }
    })
}

/// Policy and priority belong together: a priority makes FIFO of every policy that has none, and the other way round.
fn scheduling(options: &Options, threads: u32, notes: &mut Vec<String>) -> (PolicyName, u32) {
    let named = options.policy.unwrap_or(PolicyName::Other);
    let real_time = matches!(named, PolicyName::Fifo | PolicyName::RoundRobin);
    let mut priority = options.priority;
    if priority == 0 && (real_time || options.priority_spread) {
        priority = threads.saturating_add(1).min(99);
        notes.push(format!("defaulting realtime priority to {priority}"));
    }
    if priority > 0 && !real_time {
        if options.policy.is_some() {
            notes.push("WARN: -p needs a real-time policy: running as SCHED_FIFO".to_owned());
        }
        return (PolicyName::Fifo, priority);
    }
    if matches!(named, PolicyName::Batch | PolicyName::Idle) {
        notes.push(format!("WARN: --policy={} runs as SCHED_OTHER, as it does in cyclictest", named.word()));
    }
    (named, priority)
}

/// The first latency above `limit` whole units, since samples are truncated before they are compared.
fn break_limit(limit: u64, unit_ns: u64) -> anyhow::Result<Ns> {
    let ns = limit.checked_add(1).and_then(|units| units.checked_mul(unit_ns)).map(|ns| ns - 1);
    match ns.and_then(|ns| i64::try_from(ns).ok()) {
        Some(ns) => Ok(Ns(ns)),
        None => bail!("-b {limit} is out of range: it is longer than 292 years"),
    }
}

fn from_us(us: u64, option: &str) -> anyhow::Result<Ns> {
    match us.checked_mul(1_000).and_then(|ns| i64::try_from(ns).ok()) {
        Some(ns) => Ok(Ns(ns)),
        None => bail!("{option} {us} is out of range: it is longer than 292 years"),
    }
}

fn resolve(cpus: &Cpus, available: &CpuSet) -> anyhow::Result<CpuSet> {
    let resolved = match cpus {
        Cpus::Available => available.clone(),
        Cpus::Listed(listed) => listed.clone(),
        Cpus::Except(except) => available.difference(except),
    };
    if resolved.is_empty() {
        bail!("no CPU is left: this process may use CPUs {available}");
    }
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::super::args::{Request, parse};
    use super::*;

    fn setup_of(line: &str) -> anyhow::Result<Setup> {
        match parse(line.split_whitespace().map(Into::into)).unwrap() {
            Request::Run(options) => setup(&options, &"0-3".parse().unwrap()),
            Request::Help => panic!("{line} asks for help"),
        }
    }

    fn scheduling_of(line: &str) -> (PolicyChoice, u32, String) {
        let setup = setup_of(line).unwrap();
        (setup.config.policy, setup.config.priority, setup.policy_words)
    }

    #[test]
    fn policy_and_priority_make_each_other() {
        let check = |line, policy, priority, words: &str| {
            assert_eq!(scheduling_of(line), (policy, priority, words.to_owned()), "{line}");
        };
        check("", PolicyChoice::Other, 0, "other/other");
        check("--policy=batch", PolicyChoice::Other, 0, "batch/other");
        check("-p 80", PolicyChoice::Fifo, 80, "fifo");
        check("-p 80 --policy=other", PolicyChoice::Fifo, 80, "fifo");
        check("-p 80 --policy=rr", PolicyChoice::RoundRobin, 80, "rr");
        check("--policy=rr -t 2", PolicyChoice::RoundRobin, 3, "rr");
        check("--priospread", PolicyChoice::Fifo, 2, "fifo");
        assert!(!setup_of("-p 80 -t 3").unwrap().config.descending_priorities);
        assert!(setup_of("-p 80 -t 3 --priospread").unwrap().config.descending_priorities);
    }

    #[test]
    fn threads_are_always_pinned_and_lists_go_round() {
        let cpus = |line| setup_of(line).unwrap().config.placement;
        let pinned = |text: &str| Placement::Pinned(text.parse().unwrap());
        assert_eq!(cpus(""), pinned("0-3"));
        assert_eq!(cpus("-a 1 -t 3"), pinned("1"));
        assert_eq!(cpus("-a !0"), pinned("1-3"));
        assert!(setup_of("-a !0-3").is_err());
        assert_eq!(setup_of("-S").unwrap().config.threads, Some(4));
    }

    #[test]
    fn a_histogram_takes_the_distance_away() {
        let step = |line| setup_of(line).unwrap().config.interval_step;
        assert_eq!((step("-t 2"), step("-d 100"), step("-h 5")), (Ns::from_us(500), Ns::from_us(100), Ns::ZERO));
        let setup = setup_of("-h 5 -d 100").unwrap();
        assert_eq!((setup.config.interval_step, setup.notes.len()), (Ns::ZERO, 1));
    }

    #[test]
    fn an_alignment_is_a_grid_and_an_order() {
        let start = |line| {
            let config = setup_of(line).unwrap().config;
            (config.align_to, config.stagger)
        };
        let after = |all_us, each_us| Stagger::AfterInterval { all: Ns::from_us(all_us), each: Ns::from_us(each_us) };
        assert_eq!(start(""), (None, Stagger::Even));
        assert_eq!(start("-A 50 -t 2"), (None, after(0, 50)));
        assert_eq!(start("--secaligned=50"), (Some(Ns::from_s(1)), after(50, 0)));
        assert!(setup_of("-A 99999999999999999").is_err());
    }

    #[test]
    fn a_limit_breaks_on_the_first_whole_unit_above_it() {
        let limit = |line| setup_of(line).unwrap().config.breaktrace;
        // 50.999 us truncates to 50, which is not above 50.
        assert_eq!(limit("-b 50"), Some(Ns(50_999)));
        assert_eq!(limit("-N -b 50"), Some(Ns(50)));
        assert_eq!(limit("-b 0"), None);
        assert!(!setup_of("-b 50").unwrap().config.breaktrace_marks, "without --tracemark tracefs is not needed");
    }

    #[test]
    fn what_cannot_be_run_says_why() {
        for line in ["-l 1", "-i 99999999999999999", "-b 18446744073709551615"] {
            assert!(setup_of(line).is_err(), "{line}");
        }
    }
}
