//! Late samples of several CPUs at the same moment: what stops both lies below the kernel, and nobody on either is to blame.
//!
//! A host that stops a virtual machine, and firmware, stop several CPUs together. On the trace of each the running thread goes
//! on having it, so one and the same stop looks like a thread's doing on one CPU and like nobody's on another. A thread that was
//! shown stands where the other CPU's stop was counted there and not on its own. Where nothing counts such a stop, nobody stands
//! but the throttle, by which the scheduler itself chose another thread.

use record::{CauseClass, Certainty, ExplainedSample};
use units::format;

use super::reconcile::pass_on;
use super::remedy::OWN_BUDGET;

/// Two samples are of the same moment where they have at least this share of the longer one in common: 1/2.
const COMMON_DIVISOR: i64 = 2;
/// How long a sample waits for others of its moment (ns), or as long as it was late itself.
const WAITS_NS: i64 = 1_000_000_000;
/// Samples that wait, at most.
const MOST_WAITING: usize = 1_024;

/// Explained samples that others may still be matched with.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Vec<Matchable>);

/// A sample, as far as it has been matched with others.
#[derive(Clone, Debug)]
struct Matchable {
    sample: ExplainedSample,
    /// Whether its cause was shown before it was matched: then the counters of its own CPU have excluded what lies below.
    was_shown: bool,
    /// Whether what stops its CPU from below was counted around it: by the hypervisor, or as SMIs.
    is_counted: bool,
    /// The evidence for its cause, by its own CPU alone.
    evidence: String,
    /// Who would be blamed by its own CPU alone.
    blamed: String,
}

impl Waiting {
    /// Takes a sample in, and hands out those that nothing can be matched with any more.
    pub(super) fn add(&mut self, sample: ExplainedSample, is_counted: bool) -> Vec<ExplainedSample> {
        // Which limit stopped a thread of SCHED_DEADLINE is not on the record; that the scheduler chose another one is.
        let is_choice = sample.class == CauseClass::Throttle && sample.name == OWN_BUDGET && !is_counted;
        let was_shown = sample.certainty == Certainty::Shown || is_choice;
        let now_ns = sample.woke.monotonic.as_ns();
        let (evidence, blamed) = (sample.evidence.clone(), blamed(&sample));
        self.0.push(Matchable { was_shown, sample, is_counted, evidence, blamed });
        self.settle_all();
        let is_over = |Matchable { sample, .. }: &Matchable| {
            let waits_ns = WAITS_NS.max(sample.latency_ns.saturating_mul(COMMON_DIVISOR));
            now_ns.saturating_sub(sample.woke.monotonic.as_ns()) > waits_ns
        };
        let (mut over, mut waiting): (Vec<_>, Vec<_>) = self.0.drain(..).partition(is_over);
        if waiting.len() > MOST_WAITING {
            over.extend(waiting.drain(..waiting.len() - MOST_WAITING));
        }
        self.0 = waiting;
        over.into_iter().map(|of| of.sample).collect()
    }

    /// Decides about the last sample and each of the others, and again about those for which that changed what is known.
    fn settle_all(&mut self) {
        let mut changed = self.0.len().checked_sub(1).into_iter().collect::<Vec<_>>();
        while let Some(place) = changed.pop() {
            let (before, rest) = self.0.split_at_mut(place);
            let Some((one, after)) = rest.split_first_mut() else { continue };
            let others =
                before.iter_mut().enumerate().chain(after.iter_mut().zip(place + 1..).map(|(of, at)| (at, of)));
            for (other_place, other) in others {
                let were_below = [&*one, &*other].map(|of| lies_below(&of.sample));
                settle(other, one);
                let are_below = [&*one, &*other].map(|of| lies_below(&of.sample));
                // Each comes to lie below at most once, so this ends.
                changed.extend((are_below[0] && !were_below[0]).then_some(place));
                changed.extend((are_below[1] && !were_below[1]).then_some(other_place));
            }
        }
    }

    /// Hands out all.
    pub(super) fn finish(self) -> Vec<ExplainedSample> {
        self.0.into_iter().map(|of| of.sample).collect()
    }
}

/// Decides about two samples of one moment.
fn settle(one: &mut Matchable, other: &mut Matchable) {
    if one.sample.cpu == other.sample.cpu || !is_same_moment(&one.sample, &other.sample) {
        return;
    }
    match (lies_below(&one.sample), lies_below(&other.sample)) {
        (true, false) => blame_below(other, one),
        (false, true) => blame_below(one, other),
        (true, true) => {}
        (false, false) => match (nothing_ran(&one.sample), nothing_ran(&other.sample)) {
            (true, false) => blame_nobody(other, one),
            (false, true) => blame_nobody(one, other),
            (true, true) | (false, false) => {}
        },
    }
}

fn is_same_moment(one: &ExplainedSample, other: &ExplainedSample) -> bool {
    let from_ns = one.scheduled.monotonic.as_ns().max(other.scheduled.monotonic.as_ns());
    let to_ns = one.woke.monotonic.as_ns().min(other.woke.monotonic.as_ns());
    let longer_ns = one.latency_ns.max(other.latency_ns);
    longer_ns > 0 && to_ns.saturating_sub(from_ns).saturating_mul(COMMON_DIVISOR) >= longer_ns
}

fn lies_below(sample: &ExplainedSample) -> bool {
    matches!(sample.class, CauseClass::Steal | CauseClass::Smi)
}

/// Whether no cause is known, and its CPU did nothing that could be one.
fn nothing_ran(sample: &ExplainedSample) -> bool {
    let covered_ns = units::total(sample.parts.iter().map(|part| part.net_ns));
    sample.class == CauseClass::Unknown
        && !sample.timeline.is_empty()
        && covered_ns.saturating_mul(2) < sample.latency_ns.unsigned_abs()
}

/// Whether what is blamed could not have made another CPU late too, so that a stop of both explains it better.
fn is_blamed_here(sample: &ExplainedSample) -> bool {
    !matches!(sample.class, CauseClass::Unknown | CauseClass::Migration | CauseClass::PageFault)
}

fn blame_below(matched: &mut Matchable, by: &Matchable) {
    let Matchable { sample, was_shown, is_counted: own_is_counted, evidence, blamed } = matched;
    let Matchable { sample: other, is_counted, .. } = by;
    // Threads have a CPU for long all the time. A handler or a time without interrupts that ended with a stop of the host rather
    // was that stop, which this CPU's count, in units of 10 ms, does not exclude.
    let is_common = match sample.class {
        CauseClass::Throttle => true,
        // A stop of the host that the other CPU's count missed would be missed by this one's too.
        CauseClass::Thread => other.class != CauseClass::Steal || *is_counted,
        _ => false,
    };
    if *was_shown && (is_common || other.class == CauseClass::Smi) && sample.class != CauseClass::Unknown {
        return stand_beside(sample, other);
    }
    // It is one and the same stop, for others of this moment too.
    *own_is_counted |= *is_counted;
    sample.evidence = format!(
        "at the same moment CPU {} was late by {}: {}; one stop of both explains it{blamed}; on CPU {}: {evidence}",
        other.cpu,
        format::latency(other.latency_ns),
        other.class.words(),
        sample.cpu,
    );
    pass_on(&mut sample.parts, sample.class, other.class);
    sample.class = other.class;
    sample.name.clone_from(&other.name);
    sample.owner = other.owner;
    sample.certainty = Certainty::Likely;
}

/// Keeps a cause that was shown: what stopped the other CPU was not counted on this one. SMIs are counted one by one; stolen time
/// in units of 10 ms, so that less of it may be in a sample. That the scheduler chose another thread is no matter of length.
fn stand_beside(sample: &mut ExplainedSample, other: &ExplainedSample) {
    let is_exact = other.class == CauseClass::Smi || sample.class == CauseClass::Throttle;
    if !is_exact {
        sample.certainty = Certainty::Likely;
    }
    sample.evidence.push_str(&format!(
        "; at the same moment CPU {} was late by {}: {}, which was not counted on CPU {}{}",
        other.cpu,
        format::latency(other.latency_ns),
        other.class.words(),
        sample.cpu,
        if is_exact { "" } else { ", though less than it counts in may be in this" }
    ));
}

fn blame_nobody(matched: &mut Matchable, by: &Matchable) {
    let Matchable { sample, was_shown, is_counted, evidence, blamed } = matched;
    // That the scheduler chose another thread is on the record, whatever stopped the CPUs.
    if (sample.class == CauseClass::Throttle && *was_shown) || !is_blamed_here(sample) {
        return;
    }
    let Matchable { sample: other, is_counted: other_is_counted, .. } = by;
    let counted = match *is_counted || *other_is_counted {
        true => "which what is counted of such stops neither shows nor excludes",
        false => "which nothing counts",
    };
    sample.evidence = format!(
        "at the same moment CPU {}, where nothing ran, was late by {}: a stop of both from below the kernel, {counted}, explains \
         it{blamed}; on CPU {}: {evidence}",
        other.cpu,
        format::latency(other.latency_ns),
        sample.cpu,
    );
    pass_on(&mut sample.parts, sample.class, CauseClass::Unknown);
    sample.class = CauseClass::Unknown;
    sample.name.clear();
    sample.owner = record::Owner::Other;
    sample.certainty = Certainty::Unknown;
}

/// Who would be blamed without the other CPU.
fn blamed(sample: &ExplainedSample) -> String {
    if !is_blamed_here(sample) {
        return String::new();
    }
    let name = if sample.name.is_empty() { String::new() } else { format!(" ({})", sample.name) };
    format!(" better than {}{name}", sample.class.words())
}

#[cfg(test)]
mod tests {
    use record::{Activity, DelayPart, Moment, Owner, TimelineSegment};
    use units::Timestamp;

    use super::*;

    const MS: i64 = 1_000_000;

    fn sample(cpu: u32, from_ms: i64, latency_ms: i64, class: CauseClass, certainty: Certainty) -> ExplainedSample {
        let at = |ns| Moment { monotonic: Timestamp::from_ns(ns), realtime: Timestamp::from_ns(ns) };
        let is_idle = class == CauseClass::Unknown;
        let part = DelayPart { class, name: "rustc".to_owned(), net_ns: u64::try_from(latency_ms * MS).unwrap() };
        ExplainedSample {
            thread: cpu,
            cpu,
            latency_ns: latency_ms * MS,
            scheduled: at(from_ms * MS),
            woke: at((from_ms + latency_ms) * MS),
            class,
            name: if class == CauseClass::PreemptionOff { "rustc (other)".to_owned() } else { String::new() },
            certainty,
            owner: Owner::Other,
            evidence: "as recorded".to_owned(),
            parts: if is_idle || class == CauseClass::Steal { Vec::new() } else { vec![part] },
            parts_left_out: 0,
            timeline: vec![TimelineSegment {
                activity: Activity::Idle,
                name: "idle".to_owned(),
                from_ns: 0,
                to_ns: latency_ms * MS,
                depth: 0,
                net_ns: 1,
            }],
            stretches_left_out: 0,
            stack: Vec::new(),
        }
    }

    /// Three things in each of their orders.
    fn orders<T: Clone>(of: &[T; 3]) -> Vec<[T; 3]> {
        let places = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        places.iter().map(|places| places.map(|place| of[place].clone())).collect()
    }

    fn settled(samples: Vec<ExplainedSample>) -> Vec<(u32, CauseClass, Certainty)> {
        let mut waiting = Waiting::default();
        let mut all: Vec<ExplainedSample> = samples.into_iter().flat_map(|sample| waiting.add(sample, true)).collect();
        all.extend(waiting.finish());
        all.sort_by_key(|sample| sample.cpu);
        all.iter().map(|sample| (sample.cpu, sample.class, sample.certainty)).collect()
    }

    #[test]
    fn one_stop_of_two_cpus_is_blamed_on_the_host_on_both_in_either_order() {
        let thread = || sample(0, 100, 8, CauseClass::PreemptionOff, Certainty::Likely);
        let host = || sample(1, 101, 7, CauseClass::Steal, Certainty::Likely);
        let expected = [(0, CauseClass::Steal, Certainty::Likely), (1, CauseClass::Steal, Certainty::Likely)];
        assert_eq!(settled(vec![thread(), host()]), expected);
        assert_eq!(settled(vec![host(), thread()]), expected);
    }

    #[test]
    fn what_was_shown_stands_where_other_cpus_alone_were_stopped() {
        let hog = || sample(0, 100, 8, CauseClass::Thread, Certainty::Shown);
        let stopped = |cpu, class| sample(cpu, 100, 8, class, Certainty::Likely);
        // Stolen time is counted in units of 10 ms: less may be in it.
        let kept = (0, CauseClass::Thread, Certainty::Likely);
        assert_eq!(settled(vec![hog(), stopped(1, CauseClass::Steal)])[0], kept);
        assert_eq!(settled(vec![stopped(1, CauseClass::Steal), hog()])[0], kept);
        let all = settled(vec![stopped(1, CauseClass::Steal), hog(), stopped(2, CauseClass::Steal)]);
        assert_eq!(all[0], kept, "whatever the number of the others");
        // SMIs are counted one by one.
        let shown = (0, CauseClass::Thread, Certainty::Shown);
        assert_eq!(settled(vec![hog(), stopped(1, CauseClass::Smi)])[0], shown);
        let throttle = sample(0, 100, 8, CauseClass::Throttle, Certainty::Shown);
        let shown = (0, CauseClass::Throttle, Certainty::Shown);
        assert_eq!(settled(vec![throttle, stopped(1, CauseClass::Steal)])[0], shown);
        // A handler that was as long as the stop of another CPU was in it.
        let handler = sample(0, 100, 8, CauseClass::Interrupt, Certainty::Shown);
        let host = (0, CauseClass::Steal, Certainty::Likely);
        assert_eq!(settled(vec![handler, stopped(1, CauseClass::Steal)])[0], host);
    }

    #[test]
    fn a_stop_that_the_other_cpu_s_count_missed_too_leaves_nobody_to_blame_but_the_host() {
        let mut waiting = Waiting::default();
        let hog = sample(0, 100, 8, CauseClass::Thread, Certainty::Shown);
        assert!(waiting.add(hog, false).is_empty());
        assert!(waiting.add(sample(1, 100, 8, CauseClass::Steal, Certainty::Likely), false).is_empty());
        assert!(waiting.finish().iter().all(|of| (of.class, of.certainty) == (CauseClass::Steal, Certainty::Likely)));
    }

    #[test]
    fn the_order_of_samples_decides_nothing() {
        let host = || (sample(1, 100, 8, CauseClass::Steal, Certainty::Likely), true);
        let hog = || (sample(0, 100, 8, CauseClass::Thread, Certainty::Shown), false);
        let third = || (sample(2, 100, 8, CauseClass::PreemptionOff, Certainty::Likely), false);
        for order in orders(&[host(), hog(), third()]) {
            let mut waiting = Waiting::default();
            for (sample, is_counted) in order {
                assert!(waiting.add(sample, is_counted).is_empty());
            }
            let mut all: Vec<_> = waiting.finish().iter().map(|of| (of.cpu, of.class, of.certainty)).collect();
            all.sort_by_key(|of| of.0);
            assert_eq!(all[0], (0, CauseClass::Thread, Certainty::Likely));
            assert_eq!(all[2], (2, CauseClass::Steal, Certainty::Likely));
        }
    }

    #[test]
    fn a_stop_reaches_samples_that_share_a_moment_with_another_alone_in_any_order() {
        let thread = || (sample(0, 100, 6, CauseClass::PreemptionOff, Certainty::Likely), false);
        let idle = || (sample(1, 100, 8, CauseClass::Unknown, Certainty::Unknown), false);
        let host = || (sample(2, 103, 8, CauseClass::Steal, Certainty::Likely), true);
        for order in orders(&[thread(), idle(), host()]) {
            let mut waiting = Waiting::default();
            for (sample, is_counted) in order {
                assert!(waiting.add(sample, is_counted).is_empty());
            }
            for sample in waiting.finish() {
                assert_eq!((sample.class, sample.certainty), (CauseClass::Steal, Certainty::Likely), "{sample:?}");
                assert!(sample.evidence.matches("as recorded").count() == 1, "{}", sample.evidence);
            }
        }
    }

    #[test]
    fn what_stops_two_cpus_uncounted_is_said_so_and_not_where_something_was_counted() {
        let said = |is_counted: [bool; 2]| {
            let mut waiting = Waiting::default();
            let thread = sample(0, 100, 8, CauseClass::PreemptionOff, Certainty::Likely);
            assert!(waiting.add(thread, is_counted[0]).is_empty());
            let idle = sample(1, 100, 8, CauseClass::Unknown, Certainty::Unknown);
            assert!(waiting.add(idle, is_counted[1]).is_empty());
            waiting.finish().remove(0).evidence
        };
        let explains = "explains it better than preemption off (rustc (other)); on CPU 0: as recorded";
        let nothing = said([false, false]);
        assert!(nothing.contains("which nothing counts, ") && nothing.ends_with(explains), "{nothing}");
        for counted in [[true, false], [false, true]] {
            let said = said(counted);
            assert!(!said.contains("nothing counts") && said.ends_with(explains), "{said}");
        }
    }

    #[test]
    fn where_the_other_cpu_was_idle_and_late_too_nobody_is_blamed() {
        // Its own budget or the fair server: the scheduler chose another thread either way.
        let mut budget = sample(0, 100, 8, CauseClass::Throttle, Certainty::Likely);
        OWN_BUDGET.clone_into(&mut budget.name);
        let idle = sample(1, 100, 8, CauseClass::Unknown, Certainty::Unknown);
        let mut waiting = Waiting::default();
        assert!(waiting.add(budget, false).is_empty() && waiting.add(idle, false).is_empty());
        assert_eq!(waiting.finish()[0].class, CauseClass::Throttle);

        let throttle = sample(0, 100, 8, CauseClass::Throttle, Certainty::Shown);
        let idle = sample(1, 100, 8, CauseClass::Unknown, Certainty::Unknown);
        assert_eq!(
            settled(vec![throttle, idle])[0],
            (0, CauseClass::Throttle, Certainty::Shown),
            "the scheduler's choice"
        );
        let thread = sample(0, 100, 8, CauseClass::PreemptionOff, Certainty::Shown);
        let idle = sample(1, 100, 8, CauseClass::Unknown, Certainty::Unknown);
        assert_eq!(settled(vec![thread, idle])[0], (0, CauseClass::Unknown, Certainty::Unknown));
    }

    #[test]
    fn another_moment_another_length_or_the_same_cpu_changes_nothing() {
        let thread = || sample(0, 100, 8, CauseClass::PreemptionOff, Certainty::Shown);
        let expected = (0, CauseClass::PreemptionOff, Certainty::Shown);
        for host in [
            sample(1, 107, 8, CauseClass::Steal, Certainty::Likely),
            sample(1, 100, 2, CauseClass::Steal, Certainty::Likely),
            sample(1, 5_000, 8, CauseClass::Steal, Certainty::Likely),
            sample(0, 100, 8, CauseClass::Steal, Certainty::Likely),
        ] {
            assert!(settled(vec![thread(), host]).contains(&expected));
        }
        // Two threads that were each busy: each is as recorded.
        let both = vec![thread(), sample(1, 100, 8, CauseClass::PreemptionOff, Certainty::Shown)];
        assert!(settled(both).iter().all(|(_, class, _)| *class == CauseClass::PreemptionOff));
    }

    #[test]
    fn what_is_over_is_handed_out_and_the_number_that_waits_is_bounded() {
        let mut waiting = Waiting::default();
        assert!(waiting.add(sample(0, 0, 1, CauseClass::Thread, Certainty::Shown), true).is_empty());
        assert_eq!(waiting.add(sample(0, 2_000, 1, CauseClass::Thread, Certainty::Shown), true).len(), 1);
        let all: usize = (0..2 * MOST_WAITING)
            .map(|_| waiting.add(sample(0, 2_001, 1, CauseClass::Thread, Certainty::Shown), true).len())
            .sum();
        assert_eq!(all + waiting.finish().len(), 2 * MOST_WAITING + 1);
    }
}
