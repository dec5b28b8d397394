//! Merges runs: all samples of a kind into one series, all reasons against validity into one list.

use std::collections::BTreeMap;

use record::{Histogram, Interval, Place, Reason, Record, Series, Validity};

/// How many different details of a reason are listed per group; the others are only counted.
const MAX_DETAILS: usize = 3;

/// Merges all samples of the series that `is_selected` picks into one series with the given name and variant.
pub(crate) fn series<'a>(
    name: &str,
    variant: &str,
    thread: u32,
    all: impl Iterator<Item = &'a Series>,
    is_selected: impl Fn(&Series) -> bool,
) -> Series {
    let (mut histogram, mut below_zero) = (Histogram::new(), Histogram::new());
    let (mut resolution_ns, mut rounding) = (None, record::Rounding::Down);
    for one in all.filter(|one| is_selected(one)) {
        // The coarsest source decides: finer bins would show gaps in its samples.
        if one.resolution_ns > resolution_ns {
            (resolution_ns, rounding) = (one.resolution_ns, one.rounding);
        }
        histogram.merge(&one.histogram);
        if let Some(negative) = &one.below_zero {
            below_zero.merge(negative);
        }
    }
    Series {
        name: name.to_owned(),
        variant: variant.to_owned(),
        place: Place::thread(thread, None),
        histogram,
        below_zero: (!below_zero.is_empty()).then_some(below_zero),
        resolution_ns,
        rounding,
        ..Series::default()
    }
}

/// The intervals of a run, each with the samples of all its threads.
pub(crate) fn intervals<'a>(all: impl Iterator<Item = &'a Series>) -> Vec<Interval> {
    let mut merged: BTreeMap<u64, Interval> = BTreeMap::new();
    for interval in all.flat_map(|series| &series.intervals) {
        if let Some(known) = merged.get_mut(&interval.start_offset_ns) {
            // `followed_by` adds the lengths, but these intervals are at the same time.
            let length_ns = known.length_ns.max(interval.length_ns);
            *known = Interval { length_ns, ..known.followed_by(interval) };
        } else {
            merged.insert(interval.start_offset_ns, interval.clone());
        }
    }
    merged.into_values().collect()
}

/// The details of one reason in one group of runs.
#[derive(Debug, PartialEq, Eq)]
struct GroupDetails<'a> {
    group: &'a str,
    details: Vec<&'a str>,
}

/// Lists each reason once, with its details in every group, so that no group's details hide those of another. Each
/// disturbance that could not be observed is listed once too.
pub(crate) fn validity(groups: &[(&str, Vec<&Record>)]) -> Validity {
    let mut all: Vec<(&Reason, Vec<GroupDetails<'_>>)> = Vec::new();
    for (group, runs) in groups {
        for reason in runs.iter().flat_map(|run| run.validity.reasons()) {
            let place = all.iter().position(|(known, _)| known.code == reason.code).unwrap_or_else(|| {
                all.push((reason, Vec::new()));
                all.len() - 1
            });
            let Some((_, seen)) = all.get_mut(place) else { continue };
            if seen.last().is_none_or(|last| last.group != *group) {
                seen.push(GroupDetails { group, details: Vec::new() });
            }
            if let Some(last) = seen.last_mut().filter(|last| !last.details.contains(&reason.detail.as_str())) {
                last.details.push(&reason.detail);
            }
        }
    }
    let describe = |seen: &[GroupDetails<'_>]| match seen {
        [first, rest @ ..] if seen.len() == groups.len() && rest.iter().all(|one| one.details == first.details) => {
            some_of(&first.details)
        }
        _ => {
            let each = seen.iter().map(|one| match some_of(&one.details) {
                details if details.is_empty() => one.group.to_owned(),
                details => format!("{}: {details}", one.group),
            });
            each.collect::<Vec<_>>().join("; ")
        }
    };
    let reasons = all.iter().map(|(reason, seen)| Reason { code: reason.code, detail: describe(seen) }).collect();
    let mut validity = Validity::from_reasons(reasons);
    for not in groups.iter().flat_map(|(_, runs)| runs).flat_map(|run| run.validity.not_observable()) {
        if !validity.not_observable().contains(not) {
            validity.add_not_observable(not.what, not.detail.clone());
        }
    }
    validity
}

/// The first few details, and the number of the others.
pub(crate) fn some_of(details: &[&str]) -> String {
    let named: Vec<&str> = details.iter().copied().filter(|detail| !detail.is_empty()).collect();
    let first = named.iter().take(MAX_DETAILS).copied().collect::<Vec<_>>().join(", ");
    match named.len().saturating_sub(MAX_DETAILS) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use record::{ReasonCode, Unobservable};

    use super::*;
    use samples::run_of;

    fn doubtful(id: &str, detail: &str) -> Record {
        let mut validity = Validity::default();
        validity.add(ReasonCode::VirtualMachineSteal, detail);
        run_of(id, &[1], validity)
    }

    fn details(a: &[Record], b: &[Record]) -> Vec<String> {
        let all = validity(&[("A", a.iter().collect()), ("B", b.iter().collect())]);
        all.reasons().iter().map(|reason| reason.detail.clone()).collect()
    }

    #[test]
    fn a_reason_of_both_groups_has_the_details_of_both() {
        let a = [doubtful("1", "3 ms"), doubtful("2", "3 ms"), doubtful("3", "5 ms")];
        assert_eq!(details(&a, &[doubtful("4", "70 ms")]), ["A: 3 ms, 5 ms; B: 70 ms"]);
        assert_eq!(details(&a[..1], &[doubtful("4", "3 ms")]), ["3 ms"]);
        assert_eq!(details(&[run_of("0", &[1], Validity::default())], &[doubtful("4", "")]), ["B"]);
        let many: Vec<Record> = (0..9).map(|i| doubtful(&i.to_string(), &format!("{i} ms"))).collect();
        assert_eq!(details(&many, &many), ["0 ms, 1 ms, 2 ms and 6 more"]);
    }

    #[test]
    fn what_could_not_be_observed_is_listed_once() {
        let blind = |id: &str| {
            let mut run = run_of(id, &[1], Validity::default());
            run.validity.add_not_observable(Unobservable::FirmwareInterruptions, "no counter");
            run
        };
        let (first, second, seeing) = (blind("1"), blind("2"), run_of("3", &[1], Validity::default()));
        let all = validity(&[("A", vec![&first, &seeing]), ("B", vec![&second])]);
        assert_eq!((all.not_observable().len(), all.state()), (1, record::ValidityState::Valid));
    }

    #[test]
    fn merged_series_are_as_coarse_as_the_coarsest_of_them() {
        let of = |resolution_ns| Series { resolution_ns, ..Series::default() };
        let merged = |all: &[Series]| series("", "", 0, all.iter(), |_| true).resolution_ns;
        assert_eq!(merged(&[of(None), of(Some(1_000)), of(Some(10_000))]), Some(10_000));
        assert_eq!(merged(&[of(None), of(None)]), None);
    }

    #[test]
    fn intervals_of_all_threads_at_the_same_time_are_merged() {
        let series = |ns: u64, starts: &[u64]| {
            let mut histogram = Histogram::new();
            histogram.record_n(ns, 1);
            let interval = |start| Interval {
                start_offset_ns: start,
                length_ns: 10,
                missed_periods: 2,
                histogram: histogram.clone(),
                ..Interval::default()
            };
            Series { intervals: starts.iter().map(|start| interval(*start)).collect(), ..Series::default() }
        };
        let both = [series(5, &[0, 10]), series(7, &[10, 20])];
        let merged: Vec<_> = intervals(both.iter())
            .iter()
            .map(|one| (one.start_offset_ns, one.histogram.max_ns(), one.histogram.count(), one.missed_periods))
            .collect();
        assert_eq!(merged, [(0, Some(5), 1, 2), (10, Some(7), 2, 4), (20, Some(7), 1, 2)]);
    }
}
