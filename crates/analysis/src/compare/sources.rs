//! Which offsets of a run are compared, where it followed several sources of time: each is another clock against another
//! reference, so that two together say nothing.

use std::borrow::Cow;

use record::{Place, Record};

/// The places whose series of a latency are each a quantity of its own, in the order in which the run names its sources; empty for
/// kinds whose places are all of one quantity, as the CPUs of a run are.
fn places<'r>(run: &'r Record, latency: &str) -> Vec<&'r Place> {
    let has = |place: &Place| run.series.iter().any(|series| series.name == latency && series.place == *place);
    let sources = run.sync().into_iter().flat_map(|sync| &sync.sources);
    sources.map(|source| &source.place).filter(|place| has(place)).collect()
}

/// The source that is compared: the first one of the first run that all runs followed. `None` where the runs have none in common, or
/// no sources at all; then each run counts by its first.
pub(super) fn common(runs: &[&Record], latency: &str) -> Option<Place> {
    let (first, others) = runs.split_first()?;
    let is_in = |run: &&Record, place: &Place| places(run, latency).contains(&place);
    places(first, latency).into_iter().find(|place| others.iter().all(|run| is_in(run, place))).cloned()
}

/// The run with the offsets that are compared alone: those of `place`, or of its first source where it did not follow that.
#[must_use]
pub fn compared<'r>(run: &'r Record, latency: &str, place: Option<&Place>) -> Cow<'r, Record> {
    let all = places(run, latency);
    let chosen = all.iter().find(|one| Some(**one) == place).or_else(|| all.first());
    match chosen {
        Some(chosen) if all.len() > 1 => {
            let kept = run.series.iter().filter(|series| series.name != latency || series.place == **chosen);
            Cow::Owned(Record { series: kept.cloned().collect(), ..run.clone() })
        }
        _ => Cow::Borrowed(run),
    }
}

/// What a reader has to know of the choice: which source is compared, and which were left out.
pub(super) fn note(groups: [&[&Record]; 2], latency: &str, place: Option<&Place>) -> Option<String> {
    let names = |run: &Record| -> Vec<String> {
        let sync = run.sync().map_or(&[][..], |sync| &sync.sources);
        places(run, latency)
            .iter()
            .filter_map(|place| sync.iter().find(|source| source.place == **place))
            .map(record::SyncSource::name)
            .collect()
    };
    let all = || groups.iter().flat_map(|group| group.iter());
    if let Some(place) = place {
        let source = all().find_map(|run| run.sync()?.sources.iter().find(|source| source.place == *place))?.name();
        let mut others: Vec<String> = all().flat_map(|run| names(run)).filter(|name| *name != source).collect();
        others.sort();
        others.dedup();
        return (!others.is_empty()).then(|| {
            format!(
                "Compared are the offsets of {source}; those of {} are other clocks, and left out.",
                others.join(", ")
            )
        });
    }
    let [a, b] = groups.map(|group| group.first().and_then(|run| names(run).into_iter().next()));
    let (a, b) = (a?, b?);
    Some(format!("The offsets are of different sources: {a} of A, {b} of B."))
}
