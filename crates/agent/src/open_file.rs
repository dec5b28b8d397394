//! The interval that is open, in a file that survives a kill: it often holds the worst.

use std::fs;
use std::path::Path;

use farm::monitor::{BootId, GapReason, Interval, LeftTimes, MonitorEntry, RawEntry};
use serde::{Deserialize, Serialize};

use crate::spool::DiskSpool;

/// What the file has.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct OpenFile {
    /// The intervals that were open, or of which it was not known yet whether they stand, as entries of intervals that a kill cut short.
    pub(crate) intervals: Vec<RawEntry>,
    /// The condition that they were measured under, as an entry.
    pub(crate) condition: Option<RawEntry>,
    /// When it was written (ns, CLOCK_BOOTTIME).
    pub(crate) written_ns: i64,
    /// Since when nothing was monitored, where that is so.
    #[serde(default)]
    pub(crate) idle: Option<Idle>,
}

/// A time in which nothing is monitored: a start that has not come to a run yet, or a measurement of somebody else's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Idle {
    /// The boot.
    pub(crate) boot: BootId,
    /// When it began (ns, CLOCK_BOOTTIME).
    pub(crate) since_ns: i64,
    /// Why, where there is a reason.
    pub(crate) why: Option<GapReason>,
}

impl OpenFile {
    /// As they are now; a file that cannot be made is one interval of which a kill would take the last seconds.
    pub(crate) fn write(path: &Path, intervals: &[Interval], condition: Option<&MonitorEntry>, written_ns: i64) {
        let raw = |entry: &MonitorEntry| RawEntry::new(entry).ok();
        let intervals = intervals.iter().filter_map(|interval| {
            let cut = Interval { cut_short: Some(GapReason::Killed), ..interval.clone() };
            raw(&MonitorEntry::Interval(cut))
        });
        let (intervals, condition) = (intervals.collect(), condition.and_then(raw));
        Self { intervals, condition, written_ns, idle: None }.put(path);
    }

    /// Nothing is monitored since a time.
    pub(crate) fn write_idle(path: &Path, idle: Idle, written_ns: i64) {
        Self { intervals: Vec::new(), condition: None, written_ns, idle: Some(idle) }.put(path);
    }

    fn put(&self, path: &Path) {
        let file = self;
        if let Ok(text) = serde_json::to_vec(file) {
            let _ = crate::state::replace_without_flush(path, &text);
        }
    }

    /// Nothing is open any more.
    pub(crate) fn remove(path: &Path) {
        let _ = fs::remove_file(path);
    }
}

/// The entries for what an earlier agent left open, as far as they are not among what is kept: the intervals, and that nothing was
/// monitored since. `now` is this boot's name and the time (ns, CLOCK_BOOTTIME).
pub(crate) fn entries_left(path: &Path, spool: &DiskSpool, now: (&BootId, i64)) -> Vec<MonitorEntry> {
    let read = crate::state::read("open interval", path).ok().flatten();
    // One that is damaged says nothing; the spool has what ended before.
    let Some(file) = read.and_then(|text| serde_json::from_slice::<OpenFile>(&text).ok()) else { return Vec::new() };
    let mut intervals = Vec::new();
    let mut left: Option<LeftTimes> = None;
    for raw in &file.intervals {
        let Ok(MonitorEntry::Interval(interval)) = raw.entry() else { continue };
        left = Some(interval.times.clone());
        if !spool.has_interval(&interval.times.boot, interval.times.start_ns) {
            intervals.push(MonitorEntry::Interval(interval));
        }
    }
    let gap = |boot: BootId, start_ns: i64, length_ns, why| {
        let times = LeftTimes { boot, start_ns, length_ns, wall: None };
        MonitorEntry::Gap { times, why, cpus: Vec::new() }
    };
    // Of another boot it is not known when it ended.
    let since = |boot: &BootId, start_ns: i64| {
        if boot == now.0 { u64::try_from(now.1 - start_ns).unwrap_or(0) } else { 0 }
    };
    if let Some(Idle { boot, since_ns, why }) = file.idle {
        let told_ns = why.as_ref().map_or(since_ns, |_| file.written_ns.max(since_ns));
        let told = why.map(|why| gap(boot.clone(), since_ns, (told_ns - since_ns).unsigned_abs(), why));
        let killed = gap(boot.clone(), told_ns, since(&boot, told_ns), GapReason::Killed);
        return told.into_iter().chain([killed]).collect();
    }
    let Some(left) = left else { return Vec::new() };
    let mut entries = Vec::new();
    if !intervals.is_empty() {
        entries.extend(file.condition.and_then(|raw| raw.entry().ok()));
    }
    entries.append(&mut intervals);
    let start_ns = left.end_ns();
    let length_ns = since(&left.boot, start_ns);
    entries.push(gap(left.boot, start_ns, length_ns, GapReason::Killed));
    entries
}

#[cfg(test)]
mod tests {
    use farm::monitor::{ContentKind, ContentOf};
    use farm::stream::{ContentHash, NodeKey, StreamId};

    use super::*;
    use crate::spool::SpoolLimits;

    fn interval(start_ns: i64) -> Interval {
        Interval {
            times: LeftTimes { boot: BootId("b".to_owned()), start_ns, length_ns: 70, wall: None },
            condition: ContentHash::of("{}"),
            made_of: 1,
            cut_short: None,
            cpus: Vec::new(),
            sources: Vec::new(),
        }
    }

    #[test]
    fn what_a_kill_left_open_is_entered_once_with_its_condition_and_the_time_since() {
        let dir = tempfile::tempdir().unwrap();
        let (mut spool, _) =
            DiskSpool::open(&dir.path().join("spool"), NodeKey([1; 32]), SpoolLimits::of_bytes(1 << 20)).unwrap();
        spool.begin(StreamId { start: 1, random: 1 });
        let (boot, other) = (BootId("b".to_owned()), BootId("c".to_owned()));
        let content = |text: &str| ContentOf {
            kind: ContentKind::Condition,
            text: text.to_owned(),
            since_ns: 1,
            boot: boot.clone(),
        };
        let condition = MonitorEntry::Content(content("{}"));
        let path = dir.path().join("open.json");
        let gap = |length_ns| {
            let times = LeftTimes { boot: boot.clone(), start_ns: 270, length_ns, wall: None };
            MonitorEntry::Gap { times, why: GapReason::Killed, cpus: Vec::new() }
        };
        let cut =
            |start_ns| MonitorEntry::Interval(Interval { cut_short: Some(GapReason::Killed), ..interval(start_ns) });
        assert_eq!(entries_left(&path, &spool, (&boot, 500)), []);
        // The first of both had ended and is in the spool: the file was not rewritten since.
        OpenFile::write(&path, &[interval(100), interval(200)], Some(&condition), 270);
        spool.append(&MonitorEntry::Interval(interval(100)));
        spool.flush().unwrap();
        assert_eq!(entries_left(&path, &spool, (&boot, 500)), [condition, cut(200), gap(230)]);
        // Entered, and killed again before the file was removed, across a boot.
        spool.append(&cut(200));
        spool.flush().unwrap();
        assert_eq!(entries_left(&path, &spool, (&other, 5)), [gap(0)]);
        fs::write(&path, b"{\"intervals\": [").unwrap();
        assert_eq!(entries_left(&path, &spool, (&boot, 500)), []);
    }

    #[test]
    fn a_kill_while_nothing_was_monitored_is_told_with_what_was_known_until_then() {
        let dir = tempfile::tempdir().unwrap();
        let (spool, _) =
            DiskSpool::open(&dir.path().join("spool"), NodeKey([1; 32]), SpoolLimits::of_bytes(1 << 20)).unwrap();
        let (boot, other) = (BootId("b".to_owned()), BootId("c".to_owned()));
        let path = dir.path().join("open.json");
        let gap = |start_ns, length_ns, why| {
            let times = LeftTimes { boot: boot.clone(), start_ns, length_ns, wall: None };
            MonitorEntry::Gap { times, why, cpus: Vec::new() }
        };
        let idle = |why| Idle { boot: boot.clone(), since_ns: 100, why };
        OpenFile::write_idle(&path, idle(None), 130);
        assert_eq!(entries_left(&path, &spool, (&boot, 500)), [gap(100, 400, GapReason::Killed)]);
        assert_eq!(entries_left(&path, &spool, (&other, 5)), [gap(100, 0, GapReason::Killed)]);
        // Somebody measured until it was killed, as far as is known.
        OpenFile::write_idle(&path, idle(Some(GapReason::Measuring)), 130);
        let told = [gap(100, 30, GapReason::Measuring), gap(130, 370, GapReason::Killed)];
        assert_eq!(entries_left(&path, &spool, (&boot, 500)), told);
    }
}
