//! Files that grow: what a reader sees after each interval, what a disk refuses, who else writes.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use record::{Histogram, Manifest, Measurement, Place, Series};

use super::*;

/// A run of one thread with so many intervals, of which the record itself has none.
fn run(intervals: u64) -> (Record, Vec<Interval>) {
    let mut record = Record::empty("1".to_owned(), Measurement::Wakeup, Manifest::default());
    let mut series =
        Series { name: "scheduled_to_woke".to_owned(), place: Place::thread(0, Some(1)), ..Series::default() };
    let intervals: Vec<Interval> = (0..intervals).map(interval).collect();
    intervals.iter().for_each(|one| series.histogram.merge(&one.histogram));
    series.counters.samples = series.histogram.count();
    record.series = vec![series];
    (record.with_node_named(), intervals)
}

fn interval(number: u64) -> Interval {
    let mut histogram = Histogram::new();
    histogram.record_n(1_000 + number * 37 % 1_000, 5);
    Interval { start_offset_ns: number * 1_000, length_ns: 1_000, histogram, ..Interval::default() }
}

fn growing(path: &Path) -> Growing {
    Growing { path: path.to_owned(), shadow: kernel::whole_file::unfinished(path), ..Growing::default() }
}

fn take(growing: &mut Growing, number: u64) -> io::Result<()> {
    let (record, intervals) = run(number + 1);
    if growing.head.is_empty() {
        growing.head = GrowingText::head(&record);
    }
    let last = [(0, intervals.last().unwrap().clone())];
    growing.texts.push(GrowingText::intervals(&last, &record, number == 0));
    growing.grow(&GrowingText::tail(&record))
}

fn read(path: &Path) -> Record {
    Record::from_json(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn after_each_interval_the_file_is_the_record_until_then_and_little_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    fs::write(&path, "what was there before").unwrap();
    let mut growing = growing(&path);
    for number in 0..40 {
        take(&mut growing, number).unwrap();
        let (mut expected, intervals) = run(number + 1);
        expected.series[0].intervals = intervals;
        assert_eq!(read(&path), expected);
        assert!(growing.texts.len() <= 1, "what both files have is not kept");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    let finished = folder.path().join("finished");
    let (bare, intervals) = run(40);
    growing.write_finished(&bare, &mut File::create(&finished).unwrap()).unwrap();
    let mut whole = bare;
    whole.series[0].intervals = intervals;
    assert_eq!(fs::read_to_string(&finished).unwrap(), whole.to_json(), "the same text as one that never grew");
}

#[test]
fn what_a_disk_refuses_is_written_with_the_next_interval() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let mut growing = growing(&path);
    (0..3).for_each(|number| take(&mut growing, number).unwrap());
    let before = fs::read(&path).unwrap();
    // A file that cannot be written stands for a disk without room.
    let half = growing.hidden.take().unwrap();
    let readable = Half { file: File::open(&growing.shadow).unwrap(), ..half };
    growing.hidden = Some(readable);
    assert!(take(&mut growing, 3).is_err());
    assert_eq!(fs::read(&path).unwrap(), before, "what was there is untouched");
    let half = growing.hidden.take().unwrap();
    let file = File::options().read(true).write(true).open(&growing.shadow).unwrap();
    growing.hidden = Some(Half { file, ..half });
    take(&mut growing, 4).unwrap();
    assert_eq!(read(&path).series[0].intervals, run(5).1, "nothing is lost");
    take(&mut growing, 5).unwrap();
    assert_eq!(read(&path).series[0].intervals, run(6).1);
}

#[test]
fn a_file_that_somebody_takes_away_or_replaces_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let mut growing = growing(&path);
    (0..3).for_each(|number| take(&mut growing, number).unwrap());
    fs::rename(&path, folder.path().join("moved")).unwrap();
    take(&mut growing, 3).unwrap();
    assert_eq!(read(&path).series[0].intervals.len(), 4);
    let other = folder.path().join("other");
    fs::write(&other, "somebody else's").unwrap();
    fs::rename(&other, &path).unwrap();
    for number in 4..8 {
        take(&mut growing, number).unwrap();
        assert_eq!(read(&path).series[0].intervals, run(number + 1).1);
    }
    assert_eq!(read(&folder.path().join("moved")).series[0].intervals.len(), 3, "what was moved away is left alone");
}

#[test]
fn two_runs_do_not_write_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let claim = || RecordFile::claim(&path, CpuSet::new(), |_| {});
    let first = claim().unwrap();
    let error = claim().unwrap_err();
    assert!(matches!(error, RecordFileError::InUse(_)), "{error}");
    let other = RecordFile::claim(&folder.path().join("other.json"), CpuSet::new(), |_| {}).unwrap();
    let (mut record, intervals) = run(2);
    record.series[0].intervals = intervals;
    for file in [first, other] {
        let path = file.path().to_owned();
        file.finish(&record).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), record.to_json());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    claim().unwrap();
}
