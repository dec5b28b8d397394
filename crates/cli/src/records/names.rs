//! Names that distinguish runs of the same label.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use super::Found;

/// Adds to the labels of runs that share one the part of their files' paths in which they differ: `idle` of two folders
/// becomes `idle (monday)` and `idle (tuesday)`.
pub(super) fn distinguish(found: &mut [Found]) {
    let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, one) in found.iter().enumerate() {
        // A run without a label is shown by its measurement.
        let shown = if one.record.label.is_empty() { one.record.measurement.name() } else { &one.record.label };
        same.entry(shown.to_owned()).or_default().push(at);
    }
    for (shown, places) in same.into_iter().filter(|(_, places)| places.len() > 1) {
        let parts: Vec<Vec<String>> = places.iter().map(|&at| parts(&found[at].file)).collect();
        let (first, last) = differing(&parts);
        for (at, parts) in places.into_iter().zip(&parts) {
            let part = parts.get(first..parts.len() - last).unwrap_or_default().join("/");
            // The label of an import is its file's name already.
            let record = &mut found[at].record;
            record.label = if part == shown || part.is_empty() { shown.clone() } else { format!("{shown} ({part})") };
        }
    }
}

fn parts(file: &Path) -> Vec<String> {
    let is_part = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    file.components().filter(is_part).map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

/// How many parts all paths have in common at their beginning and at their end; at least one part of each path is left.
fn differing(paths: &[Vec<String>]) -> (usize, usize) {
    let shortest = paths.iter().map(Vec::len).min().unwrap_or(0);
    let most = shortest.saturating_sub(1);
    let Some(one) = paths.first() else { return (0, 0) };
    let first = (0..most).take_while(|&at| paths.iter().all(|path| path[at] == one[at])).count();
    let from_end = |path: &[String], at: usize| path[path.len() - 1 - at].clone();
    let last = (0..most - first).take_while(|&at| paths.iter().all(|path| from_end(path, at) == from_end(one, at)));
    (first, last.count())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use record::Record;

    use super::*;

    fn labels(label: &str, files: &[&str]) -> Vec<String> {
        let text = include_str!("../../../../fixtures/calibration/idle/quiet.json");
        let record = Record { label: label.to_owned(), ..Record::from_json(text).unwrap() };
        let mut found: Vec<Found> =
            files.iter().map(|file| Found { record: record.clone(), file: PathBuf::from(file) }).collect();
        distinguish(&mut found);
        found.into_iter().map(|found| found.record.label).collect()
    }

    #[test]
    fn runs_of_one_label_get_the_part_of_the_path_in_which_they_differ() {
        assert_eq!(labels("idle", &["x/monday/idle.json"]), ["idle"]);
        assert_eq!(labels("idle", &["x/monday/idle.json", "x/tuesday/idle.json"]), ["idle (monday)", "idle (tuesday)"]);
        assert_eq!(labels("", &["runs/1.json", "runs/2.json"]), ["wakeup (1.json)", "wakeup (2.json)"]);
        assert_eq!(labels("n.txt", &["n.txt", "old/n.txt"]), ["n.txt", "n.txt (old/n.txt)"]);
        assert_eq!(labels("n.txt", &["/a/n.txt", "../n.txt"]), ["n.txt (a)", "n.txt (..)"]);
        assert_eq!(labels("n", &["n", "n"]), ["n", "n"], "the same file twice is for the commands to refuse");
    }

    #[test]
    fn the_labels_under_which_runs_were_measured_stay_beside_their_names() {
        let text = include_str!("../../../../fixtures/calibration/idle/quiet.json");
        let found = |label: &str, file: &str, start_ns: i64| {
            let mut record = Record { label: label.to_owned(), ..Record::from_json(text).unwrap() };
            record.manifest_mut().started.realtime = units::Timestamp::from_ns(start_ns);
            Found { record, file: PathBuf::from(file) }
        };
        let all = vec![found("idle", "2.json", 2), found("", "3.json", 3), found("idle", "1.json", 1)];
        let (runs, labels) = super::super::labeled_by_start(all);
        let names: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
        assert_eq!(
            (names, labels),
            (vec!["idle (1.json)", "idle (2.json)", ""], ["idle", "idle", ""].map(str::to_owned).to_vec())
        );
    }
}
