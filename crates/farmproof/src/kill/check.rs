//! What a hub has, held against what was measured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agent::DiskSpool;
use anyhow::Context as _;
use farm::stream::{NodeKey, Place, StreamId};
use store::{CpuHistory, GapSpan, GapWhy, HistoryAsked, Quotas, Read as _, Sqlite, Tier};

use super::node::Room;
use crate::clock::now_wall_ns;
use crate::journal::Noted;
use crate::truth::{SLOT_NS, Truth};

/// Points that are asked for at once: more than a node has intervals.
const MOST_POINTS: usize = 1 << 20;

/// A node as it is checked.
pub(super) struct Checked {
    pub(super) truth: Truth,
    pub(super) key: NodeKey,
    pub(super) noted: Noted,
    pub(super) room: Room,
    /// The end of each of its streams, with its place in the chain: what the hub has to have in the end.
    pub(super) ends: BTreeMap<StreamId, (u64, Place)>,
}

/// The ends of the streams in an agent's folder.
pub(super) fn spool_ends(state: &Path, key: NodeKey) -> anyhow::Result<BTreeMap<StreamId, (u64, Place)>> {
    let (spool, _) = DiskSpool::open(&state.join("spool"), key, agent::SpoolLimits::of_bytes(1 << 40))?;
    Ok(spool.ends().collect())
}

/// What was found, and what of it is wrong.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) intervals: usize,
    /// Intervals that came as part of a longer one.
    pub(super) merged: usize,
    pub(super) gaps: usize,
    /// Hours of which there are histograms.
    pub(super) histograms: u64,
    pub(super) wrong: Vec<String>,
}

fn open(store: &Path) -> anyhow::Result<Sqlite> {
    Sqlite::open(store, Quotas::default(), now_wall_ns()).context("what the hub left cannot be read")
}

/// How many entries were acknowledged, and which of these a hub lacks.
pub(super) fn acknowledged(store: &Path, nodes: &[Checked]) -> anyhow::Result<(u64, Vec<String>)> {
    let store = open(store)?;
    let (mut all, mut wrong) = (0, Vec::new());
    for node in nodes {
        for (stream, sequence) in &node.noted.acknowledged {
            all += sequence;
            let held = store.common(node.key, *stream, &[])?.end;
            if held < *sequence {
                let number = node.truth.node;
                wrong.push(format!("node {number}, stream {stream}: acknowledged up to {sequence}, held up to {held}"));
            }
        }
    }
    Ok((all, wrong))
}

/// Holds all of a store against what was measured, and against where the nodes' streams end.
pub(super) fn all(store: &Path, nodes: &[Checked]) -> anyhow::Result<Found> {
    let store = open(store)?;
    let ever: BTreeMap<NodeKey, Option<i64>> = store
        .fleet(now_wall_ns())?
        .into_iter()
        .map(|row| (row.node.key, row.ever.map(|ever| ever.maximum_ns)))
        .collect();
    let mut found = Found::default();
    for node in nodes {
        check_streams(&store, node, &mut found)?;
        let number = node.truth.node;
        let largest = check_history(&store, node, &mut found)?;
        let shown = ever.get(&node.key).copied().flatten();
        // The page does not have it then.
        let is_revoked = store.node(node.key)?.is_some_and(|node| node.revoked_wall_ns.is_some());
        if shown != largest && !is_revoked {
            found
                .wrong
                .push(format!("node {number}: the page of all nodes says {shown:?} ns, its worst is {largest:?} ns"));
        }
    }
    Ok(found)
}

/// The hub's end of each stream is the node's, with its place in the chain.
fn check_streams(store: &Sqlite, node: &Checked, found: &mut Found) -> anyhow::Result<()> {
    for (stream, (sequence, place)) in node.ends.clone() {
        let held = store.common(node.key, stream, &[(sequence, place)])?;
        if (held.sequence, held.end) != (sequence, sequence) {
            found.wrong.push(format!(
                "node {}, stream {stream}: it ends at {sequence}, and the hub's ends at {} with {} in common",
                node.truth.node, held.end, held.sequence
            ));
        }
    }
    Ok(())
}

/// Each interval and gap is there once, as it was measured; the largest latency of all.
fn check_history(store: &Sqlite, node: &Checked, found: &mut Found) -> anyhow::Result<Option<i64>> {
    let Checked { truth, noted, .. } = node;
    let slots = noted.begun.last().map_or(1, |last| last + 1);
    let (from_utc_ns, to_utc_ns) = (truth.utc_ns(0) - SLOT_NS, truth.utc_ns(slots) + SLOT_NS);
    let history = store.history(node.key, &HistoryAsked { from_utc_ns, to_utc_ns, most_points: MOST_POINTS })?;
    let mut wrong = |what: String| found.wrong.push(format!("node {}: {what}", truth.node));
    if (history.tier, history.not_placed) != (Tier::Intervals, 0) {
        wrong(format!("{:?}, {} intervals without a time", history.tier, history.not_placed));
    }
    let (mut largest, mut shown) = (None, BTreeSet::new());
    let numbers: Vec<u32> = history.cpus.iter().map(|cpu| cpu.cpu).collect();
    if numbers != (0..truth.cpus).collect::<Vec<_>>() {
        wrong(format!("CPUs {numbers:?}, and it has {}", truth.cpus));
    }
    for cpu in &history.cpus {
        let (covered, merged) = check_cpu(truth, noted, cpu, &mut wrong);
        let lacks = noted.whole.iter().filter(|slot| !truth.is_gap(**slot) && !covered.contains(slot));
        for slot in lacks {
            wrong(format!("CPU {}: the interval of slot {slot} is missing", cpu.cpu));
        }
        largest = largest.max(covered.iter().map(|slot| truth.figures(*slot, cpu.cpu).maximum_ns).max());
        if cpu.cpu == 0 {
            found.intervals += covered.len();
            found.merged += merged;
        }
        shown.extend(covered);
    }
    found.gaps += check_gaps(truth, noted, &history.gaps, shown, &mut wrong);
    check_histograms(store, node, (from_utc_ns, to_utc_ns), found)?;
    Ok(largest)
}

/// The gaps that were written are there once, and what a hub concludes is the time of which a kill left nothing before a boot: as much of
/// that and no more. `shown` are the slots of which intervals are there. How many gaps were written.
fn check_gaps(
    truth: &Truth,
    noted: &Noted,
    gaps: &[GapSpan],
    mut shown: BTreeSet<u64>,
    wrong: &mut impl FnMut(String),
) -> usize {
    let (said, concluded): (Vec<_>, Vec<_>) = gaps.iter().partition(|gap| matches!(gap.why, GapWhy::Said(_)));
    let mut written = BTreeSet::new();
    for gap in said {
        let slot = truth.slot_at(gap.start_utc_ns).filter(|slot| truth.is_gap(*slot) && noted.begun.contains(slot));
        match slot {
            Some(slot) if written.insert(slot) => {}
            Some(slot) => wrong(format!("the gap of slot {slot} is there twice")),
            None => wrong(format!("a gap at {} that nobody wrote", gap.start_utc_ns)),
        }
    }
    for slot in noted.whole.iter().filter(|slot| truth.is_gap(**slot) && !written.contains(slot)) {
        wrong(format!("the gap of slot {slot} is missing"));
    }
    shown.extend(&written);
    let mut nothing = BTreeSet::new();
    for gap in concluded {
        let end_utc_ns = gap.start_utc_ns.saturating_add_unsigned(gap.length_ns);
        let span = truth.slot_at(gap.start_utc_ns).zip(truth.slot_at(end_utc_ns));
        match span.filter(|(first, after)| (*first..*after).all(|slot| !shown.contains(&slot))) {
            Some((first, after)) if noted.boots.contains(&after) => nothing.extend(first..after),
            _ => wrong(format!("a gap at {} that is concluded from nothing", gap.start_utc_ns)),
        }
    }
    for slot in noted.begun.iter().filter(|slot| !shown.contains(slot) && !nothing.contains(slot)) {
        let is_between = shown.first().is_some_and(|first| first < slot);
        let next = shown.range(slot..).next().filter(|_| is_between);
        if next.is_some_and(|next| noted.boots.range(slot + 1..=*next).next().is_some()) {
            wrong(format!("slot {slot}, of which a kill left nothing before a boot, is no gap"));
        }
    }
    written.len()
}

/// Which slots the intervals of a CPU cover, and how many of them in longer ones.
fn check_cpu(truth: &Truth, noted: &Noted, cpu: &CpuHistory, wrong: &mut impl FnMut(String)) -> (BTreeSet<u64>, usize) {
    let (mut covered, mut merged) = (BTreeSet::new(), 0);
    for point in &cpu.points {
        let length_ns = i64::try_from(point.length_ns).unwrap_or(i64::MAX);
        let first = truth.slot_at(point.start_utc_ns);
        let after = truth.slot_at(point.start_utc_ns.saturating_add(length_ns));
        let (Some(first), Some(after)) = (first, after) else {
            wrong(format!("CPU {}: an interval at {} that nobody measured", cpu.cpu, point.start_utc_ns));
            continue;
        };
        let mut expected = (0, 0, 0);
        let mut worst = None;
        for slot in first..after {
            if truth.is_gap(slot) || !noted.begun.contains(&slot) {
                wrong(format!("CPU {}: an interval of slot {slot}, which nobody measured", cpu.cpu));
            }
            if !covered.insert(slot) {
                wrong(format!("CPU {}: the interval of slot {slot} is there twice", cpu.cpu));
            }
            let figures = truth.figures(slot, cpu.cpu);
            expected.0 += figures.samples;
            expected.1 += figures.missed_periods;
            expected.2 += figures.beyond_limit;
            let at_ns = truth.utc_ns(slot).saturating_add_unsigned(figures.maximum_at_ns);
            // The first of equal ones, of which there are none.
            worst = worst.max(Some((figures.maximum_ns, at_ns, figures.cause)));
        }
        if after - first > 1 {
            merged += usize::try_from(after - first).unwrap_or(0);
        }
        let shown = point.maximum_ns.zip(point.maximum_utc_ns).map(|(maximum, at)| (maximum, at, point.cause.clone()));
        if shown != worst {
            wrong(format!("CPU {}, slots {first} to {}: {shown:?}, and measured was {worst:?}", cpu.cpu, after - 1));
        }
        let counts = (point.samples, point.missed_periods, point.beyond_limit);
        if counts != expected {
            wrong(format!(
                "CPU {}, slots {first} to {}: {counts:?}, and measured was {expected:?}",
                cpu.cpu,
                after - 1
            ));
        }
    }
    (covered, merged)
}

/// The histograms of all hours together: each once, but for those that made room for maxima.
fn check_histograms(
    store: &Sqlite,
    node: &Checked,
    (from_utc_ns, to_utc_ns): (i64, i64),
    found: &mut Found,
) -> anyhow::Result<()> {
    let Checked { truth, noted, .. } = node;
    let all = store.histograms(node.key, from_utc_ns, to_utc_ns)?;
    let (mut samples, mut hours) = (0, 0);
    for span in all.iter().filter(|span| span.cpu == 0) {
        samples += span.histogram.count();
        hours += span.hours;
    }
    found.histograms += hours;
    let of = |slots: &BTreeSet<u64>| -> u64 {
        let hours = slots.iter().filter(|slot| truth.has_histograms(**slot));
        units::total(hours.map(|slot| truth.histogram_samples(*slot)))
    };
    let most = of(&noted.begun);
    let least = if node.room == Room::Enough { of(&noted.whole) } else { 0 };
    if !(least..=most).contains(&samples) {
        let number = truth.node;
        found
            .wrong
            .push(format!("node {number}: {samples} samples in histograms, and {least} to {most} were measured"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong where slots 0 to 9 were begun, a boot starts with each of `boots`, nothing is left of the slots `lost`, and a hub
    /// concludes a gap from the first to the second slot of `concluded`.
    fn wrong(boots: &[u64], lost: &[u64], concluded: Option<(u64, u64)>) -> usize {
        let truth = (0..).map(|seed| Truth { seed, node: 0, cpus: 1, first_utc_ns: 0, are_maxima_apart: true });
        let truth = truth.into_iter().find(|truth| (0..10).all(|slot| !truth.is_gap(slot))).unwrap();
        let begun: BTreeSet<u64> = (0..10).collect();
        let whole: BTreeSet<u64> = begun.iter().copied().filter(|slot| !lost.contains(slot)).collect();
        let noted = Noted { begun, whole: whole.clone(), boots: boots.iter().copied().collect(), ..Noted::default() };
        let gap = |(first, after): (u64, u64)| GapSpan {
            start_utc_ns: truth.utc_ns(first),
            length_ns: truth.utc_ns(after).abs_diff(truth.utc_ns(first)),
            why: GapWhy::NoWord,
            cpus: Vec::new(),
        };
        let gaps: Vec<GapSpan> = concluded.map(gap).into_iter().collect();
        let mut all = 0;
        check_gaps(&truth, &noted, &gaps, whole, &mut |_| all += 1);
        all
    }

    #[test]
    fn what_a_kill_left_nothing_of_before_a_boot_is_a_gap_and_nothing_else_is() {
        assert_eq!(wrong(&[0, 5], &[], None), 0);
        assert_eq!(wrong(&[0, 5], &[4], Some((4, 5))), 0);
        assert_eq!(wrong(&[0, 4, 5], &[3, 4], Some((3, 5))), 0);
        assert_eq!(wrong(&[0, 5], &[4], None), 1, "it has to be concluded");
        assert_eq!(wrong(&[0, 5], &[4], Some((3, 5))), 2, "not of what was measured");
        assert_eq!(wrong(&[0, 6], &[4], Some((4, 5))), 1, "within a boot nobody concludes anything");
        assert_eq!(wrong(&[0, 6], &[4], None), 0);
        assert_eq!(wrong(&[0, 5], &[], Some((5, 6))), 1);
        assert_eq!(wrong(&[0, 1], &[0], None), 0, "nothing is known before the first boot");
    }
}
