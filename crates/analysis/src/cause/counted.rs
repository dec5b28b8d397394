//! Causes from what the kernel counts alone, where nothing was recorded: never more than likely.

use std::collections::BTreeMap;

use record::{CauseClass, Certainty, ExplainedSample, Owner};
use units::{approx_f64, format};

use super::below_kernel::{BelowKernel, below};
use super::coincidence::BY_ACCIDENT;
use super::conclusion::Conclusion;
use super::event::Thread;
use super::evidence::Late;

/// The counters of the time around a sample.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Between the readings (ns).
    pub window_ns: i64,
    /// For so long the measuring thread was ready and did not have the CPU, beyond what is usual (ns).
    pub waited_ns: Option<u64>,
    /// Page faults of the measuring thread.
    pub faults: Option<u64>,
    /// Threads that it does not outrank, and how long they ran (ns).
    pub ran: Vec<(Thread, u64)>,
    /// An interrupt that hardly ever comes.
    pub seldom: Option<Coincidence>,
}

/// Something that came around a sample and comes seldom.
#[derive(Clone, Debug, PartialEq)]
pub struct Coincidence {
    /// The interrupt's or softirq's name, as in `/proc/interrupts`.
    pub name: String,
    /// How often it came around the sample.
    pub came: u64,
    /// Looks at this CPU without a late sample in which it came too.
    pub with: u64,
    /// All looks at this CPU without a late sample.
    pub looks: u64,
}

/// How often each interrupt comes where nothing is late.
#[derive(Clone, Debug, Default)]
pub struct Seldom {
    /// By name: looks that it came in.
    with: BTreeMap<String, u64>,
    looks: u64,
}

impl Seldom {
    /// Takes in what came between two looks without an outlier: every name that there is, and how often.
    pub fn look<'a>(&mut self, came: impl Iterator<Item = (&'a str, u64)>) {
        self.looks += 1;
        for (name, count) in came {
            if !self.with.contains_key(name) {
                self.with.insert(name.to_owned(), 0);
            }
            if let Some(with) = self.with.get_mut(name) {
                *with += u64::from(count > 0);
            }
        }
    }

    /// Of what came around an outlier that which is too seldom to be there by accident; `None` where nothing is, or so
    /// little was seen that nobody knows.
    ///
    /// The chance that any of those that are as seldom comes in a look is at most the sum of their chances, each
    /// estimated as (looks with it + 1) / (looks + 2).
    #[must_use]
    pub fn coincidence<'a>(&self, came: impl Iterator<Item = (&'a str, u64)>) -> Option<Coincidence> {
        let with = |name: &str| self.with.get(name).copied().unwrap_or(0);
        let (name, count) = came.filter(|(_, count)| *count > 0).min_by_key(|(name, _)| with(name))?;
        let chance = |with: u64| approx_f64(with + 1) / approx_f64(self.looks + 2);
        let as_seldom = self.with.values().filter(|&&other| other <= with(name)).map(|&other| chance(other));
        let any: f64 = as_seldom.sum::<f64>().max(chance(with(name)));
        (any < BY_ACCIDENT).then(|| Coincidence {
            name: name.to_owned(),
            came: count,
            with: with(name),
            looks: self.looks,
        })
    }
}

/// Explains a late sample by counters.
#[must_use]
pub fn explain_by_counters(late: &Late, counted: &Counted, place: BelowKernel) -> ExplainedSample {
    let mut conclusion = conclude(late, counted, place);
    if conclusion.class == CauseClass::Unknown {
        conclusion.evidence.push_str(&place.by_accident());
    }
    let blamed = counted
        .ran
        .iter()
        .find(|(thread, _)| conclusion.class == CauseClass::Thread && thread.group_words() == conclusion.name);
    let owner = blamed.map_or(Owner::Other, |(thread, _)| thread.owner);
    ExplainedSample { owner, ..conclusion.explain(late) }
}

fn conclude(late: &Late, counted: &Counted, place: BelowKernel) -> Conclusion {
    let excess_ns = (late.latency_ns - late.typical_ns).max(1).unsigned_abs();
    let is_most = |ns: u64| ns.saturating_mul(2) >= excess_ns;
    let (whole, window) = (format::latency(late.latency_ns), format::latency(counted.window_ns));
    let likely = |class, name, evidence| Conclusion { class, name, certainty: Certainty::Likely, evidence };
    let waited = counted.waited_ns.filter(|&ns| is_most(ns));
    let longest = counted.ran.iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| is_most(*ns));
    if let (Some(waited_ns), Some((thread, ran_ns))) = (waited, longest) {
        return likely(
            CauseClass::Thread,
            thread.group_words(),
            format!(
                "the measuring thread was ready for {} before it got the CPU, and in the {window} around it {}, which it \
                 does not outrank, ran for {}",
                format::latency(waited_ns),
                thread.words(),
                format::latency(*ran_ns)
            ),
        );
    }
    if let Some(faults @ 1..) = counted.faults {
        let what = if faults == 1 { "a page fault".to_owned() } else { format!("{faults} page faults") };
        return likely(
            CauseClass::PageFault,
            "measuring thread".to_owned(),
            format!("the measuring thread took {what} in the {window} around it"),
        );
    }
    if let Some(conclusion) = below(late.latency_ns, place, "the thread was late") {
        return conclusion;
    }
    if let Some(waited_ns) = waited {
        return Conclusion::unknown(format!(
            "the measuring thread was ready for {} of {whole} and did not get the CPU: another thread had it, or \
             preemption was off; counters do not show which",
            format::latency(waited_ns)
        ));
    }
    if let Some(Coincidence { name, came, with, looks }) = &counted.seldom {
        let times = if *came == 1 { "once".to_owned() } else { format!("{came} times") };
        let class = if name.starts_with("softirq ") { CauseClass::Softirq } else { CauseClass::Interrupt };
        return likely(
            class,
            name.clone(),
            format!(
                "{name} came {times} in the {window} around it, and else in {} of {} looks at this CPU",
                format::count(*with),
                format::count(*looks)
            ),
        );
    }
    let ready = match counted.waited_ns {
        Some(_) => "the measuring thread got the CPU as soon as it was ready, so its timer's interrupt was late",
        None => "the kernel does not count how long threads wait (CONFIG_SCHED_INFO)",
    };
    Conclusion::unknown(format!("{ready}; no counter says why"))
}

#[cfg(test)]
mod tests {
    use record::Moment;

    use super::super::coincidence::Around;
    use super::*;

    fn late() -> Late {
        Late {
            thread: 0,
            cpu: 1,
            scheduled: Moment::default(),
            woke: Moment::default(),
            scheduled_ns: 0,
            latency_ns: 500_000,
            typical_ns: 10_000,
            interval_ns: Some(1_000_000),
            own: Thread { tid: 7, name: "punctual-w0".to_owned(), prio: 1, policy: 1, ..Thread::default() },
        }
    }

    fn hog(ran_ns: u64) -> Counted {
        let hog = Thread { tid: 9, name: "hog".to_owned(), prio: 0, policy: 1, ..Thread::default() };
        Counted {
            window_ns: 20_000_000,
            waited_ns: Some(480_000),
            faults: Some(0),
            ran: vec![(hog, ran_ns)],
            seldom: None,
        }
    }

    #[test]
    fn a_thread_is_likely_where_the_measuring_one_waited_and_it_ran_as_long() {
        let explained = explain_by_counters(&late(), &hog(700_000), BelowKernel::default());
        assert_eq!((explained.class, explained.certainty), (CauseClass::Thread, Certainty::Likely));
        assert_eq!(explained.name, "hog (fifo 99)");
        // It ran, and not for long enough.
        let explained = explain_by_counters(&late(), &hog(100_000), BelowKernel::default());
        assert_eq!(explained.class, CauseClass::Unknown);
        assert!(explained.evidence.contains("ready for 480"), "{}", explained.evidence);
        // It ran, and the measuring thread did not wait.
        let counted = Counted { waited_ns: Some(0), ..hog(700_000) };
        let explained = explain_by_counters(&late(), &counted, BelowKernel::default());
        assert_eq!(explained.class, CauseClass::Unknown);
        assert!(explained.evidence.contains("interrupt was late"), "{}", explained.evidence);
    }

    const fn counted_once(count: u64) -> Option<Around> {
        Some(Around { count, window_ns: 20_000_000, chance: 0.01 })
    }

    #[test]
    fn faults_firmware_heat_and_the_hypervisor_are_likely_where_they_were_counted() {
        let quiet = Counted { waited_ns: Some(0), ran: Vec::new(), ..hog(0) };
        let class = |counted: &Counted, place| {
            let explained = explain_by_counters(&late(), counted, place);
            (explained.class, explained.certainty)
        };
        let faulty = Counted { faults: Some(2), ..quiet.clone() };
        assert_eq!(class(&faulty, BelowKernel::default()), (CauseClass::PageFault, Certainty::Likely));
        let place = BelowKernel { smi: counted_once(1), ..BelowKernel::default() };
        assert_eq!(class(&quiet, place), (CauseClass::Smi, Certainty::Likely));
        let place = BelowKernel { heat: counted_once(1), ..BelowKernel::default() };
        assert_eq!(class(&quiet, place), (CauseClass::Frequency, Certainty::Likely));
        let place = BelowKernel { is_virtual: true, steal_ns: counted_once(10_000_000), ..BelowKernel::default() };
        assert_eq!(class(&quiet, place), (CauseClass::Steal, Certainty::Likely));
        // On bare metal nobody steals.
        assert_eq!(class(&quiet, BelowKernel { is_virtual: false, ..place }).0, CauseClass::Unknown);
    }

    #[test]
    fn an_interrupt_is_likely_only_where_it_is_too_seldom_for_an_accident() {
        let mut seldom = Seldom::default();
        for look in 0..2_000_u64 {
            seldom.look([("LOC", 20), ("eth0", u64::from(look % 10 == 0)), ("disk", 0)].into_iter());
        }
        let found = seldom.coincidence([("LOC", 20), ("disk", 3)].into_iter()).unwrap();
        assert_eq!((found.name.as_str(), found.came, found.with, found.looks), ("disk", 3, 0, 2_000));
        // One look of ten has it: it is there by accident often enough.
        assert_eq!(seldom.coincidence([("LOC", 20), ("eth0", 1)].into_iter()), None);
        // Nothing is known after ten looks.
        let mut young = Seldom::default();
        (0..10).for_each(|_| young.look([("LOC", 20), ("disk", 0)].into_iter()));
        assert_eq!(young.coincidence([("LOC", 20), ("disk", 3)].into_iter()), None);
        let counted = Counted { waited_ns: Some(0), ran: Vec::new(), seldom: Some(found), ..hog(0) };
        let explained = explain_by_counters(&late(), &counted, BelowKernel::default());
        assert_eq!((explained.class, explained.name.as_str()), (CauseClass::Interrupt, "disk"));
    }

    #[test]
    fn many_that_are_seldom_are_an_accident_together() {
        let names: Vec<String> = (0..60).map(|number| format!("line {number}")).collect();
        let mut seldom = Seldom::default();
        (0..1_000).for_each(|_| seldom.look(names.iter().map(|name| (name.as_str(), 0))));
        assert_eq!(seldom.coincidence([("line 7", 1)].into_iter()), None, "60 of a chance of 1 in 1000 each");
        (0..1_000).for_each(|_| seldom.look(names.iter().map(|name| (name.as_str(), 0))));
        assert!(seldom.coincidence([("line 7", 1)].into_iter()).is_some());
    }
}
