//! Runs taken together: all samples of a kind as one series, all doubts as one list.

use record::{Histogram, Reason, Record, Series, Validity};

/// So many different things seen are named for one reason and group; more are counted.
const MOST_SEEN: usize = 3;

/// All samples of the series that `is_it` picks, as one of the name and variant given.
pub(crate) fn series<'a>(
    name: &str,
    variant: &str,
    thread: u32,
    all: impl Iterator<Item = &'a Series>,
    is_it: impl Fn(&Series) -> bool,
) -> Series {
    let (mut histogram, mut below_zero) = (Histogram::new(), Histogram::new());
    for one in all.filter(|one| is_it(one)) {
        histogram.merge(&one.histogram);
        if let Some(negative) = &one.below_zero {
            below_zero.merge(negative);
        }
    }
    Series {
        name: name.to_owned(),
        variant: variant.to_owned(),
        thread,
        histogram,
        below_zero: (!below_zero.is_empty()).then_some(below_zero),
        ..Series::default()
    }
}

/// What was seen of one reason in one group of runs.
#[derive(Debug, PartialEq, Eq)]
struct Seen<'a> {
    group: &'a str,
    details: Vec<&'a str>,
}

/// Each reason once, with what was seen in every group: nothing of a group is lost because another has the reason too.
pub(crate) fn validity(groups: &[(&str, Vec<&Record>)]) -> Validity {
    let mut all: Vec<(&Reason, Vec<Seen<'_>>)> = Vec::new();
    for (group, runs) in groups {
        for reason in runs.iter().flat_map(|run| run.validity.reasons()) {
            let place = all.iter().position(|(known, _)| known.code == reason.code).unwrap_or_else(|| {
                all.push((reason, Vec::new()));
                all.len() - 1
            });
            let Some((_, seen)) = all.get_mut(place) else { continue };
            if seen.last().is_none_or(|last| last.group != *group) {
                seen.push(Seen { group, details: Vec::new() });
            }
            if let Some(last) = seen.last_mut().filter(|last| !last.details.contains(&reason.detail.as_str())) {
                last.details.push(&reason.detail);
            }
        }
    }
    let told = |seen: &[Seen<'_>]| match seen {
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
    Validity::of(all.iter().map(|(reason, seen)| Reason { code: reason.code, detail: told(seen) }).collect())
}

/// The first few, and how many more.
pub(crate) fn some_of(details: &[&str]) -> String {
    let named: Vec<&str> = details.iter().copied().filter(|detail| !detail.is_empty()).collect();
    let first = named.iter().take(MOST_SEEN).copied().collect::<Vec<_>>().join(", ");
    match named.len().saturating_sub(MOST_SEEN) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
