//! The spool over kills, damage, a hub that is away and one that was restored.

use farm::monitor::{BootId, CpuInterval, Figures, GapReason, Interval, LeftTimes, MonitorEntry};
use farm::stream::{Common, ContentHash, GoneReason, Mark, Place, Span, StreamId};
use units::Random;

use super::*;

const NODE: NodeKey = NodeKey([3; 32]);
const ROOMY: SpoolLimits = SpoolLimits::of_bytes(16 << 20);

fn stream(start: u64) -> StreamId {
    StreamId { start, random: start * 1_000 + 7 }
}

fn interval(number: i64, maximum_ns: i64) -> MonitorEntry {
    let figures = Figures { maximum_ns, maximum_at_ns: 5, samples: 1_000, ..Figures::default() };
    MonitorEntry::Interval(Interval {
        times: LeftTimes {
            boot: BootId("boot".to_owned()),
            start_ns: number * 1_000_000_000,
            length_ns: 1_000_000_000,
            wall: None,
        },
        condition: ContentHash::of("{}"),
        made_of: 1,
        cut_short: None,
        cpus: vec![CpuInterval { cpu: 0, valid: Some(figures), ..CpuInterval::default() }],
        sources: Vec::new(),
    })
}

fn open(folder: &Path, limits: SpoolLimits) -> (DiskSpool, Found) {
    DiskSpool::open(folder, NODE, limits).unwrap()
}

/// All that is kept, as it would be sent to a hub that has nothing.
fn all(spool: &DiskSpool) -> Vec<(StreamId, Span, Body<MonitorEntry>)> {
    let entry = |(stream, item): (StreamId, &Item<Kept>)| {
        let body = match with_text(&item.body).unwrap() {
            Body::Full(raw) => Body::Full(raw.entry().unwrap()),
            Body::Emptied => Body::Emptied,
            Body::Gone(why) => Body::Gone(why),
        };
        (stream, item.span, body)
    };
    spool.spool.items().map(entry).collect()
}

fn mark(spool: &DiskSpool, stream: StreamId, epoch: u64) -> Mark {
    let (sequence, hash) = spool.spool.state(stream).unwrap().end;
    Mark { stream, sequence, hash, epoch, lacks: Vec::new() }
}

#[test]
fn what_was_flushed_is_there_after_a_start_and_what_was_not_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(dir.path(), ROOMY);
    assert_eq!(spool.append(&interval(0, 1)), None, "no stream was begun");
    spool.begin(stream(1));
    for number in 0..10 {
        spool.append(&interval(number, 100 + number));
    }
    spool.flush().unwrap();
    let (kept, counts) = (all(&spool), spool.counts());
    assert_eq!((kept.len(), counts), (10, (10, 10)));
    let batch = spool.batch(4, 1 << 20).unwrap().unwrap();
    assert_eq!((batch.stream, batch.items.len()), (stream(1), 4));
    assert!(BatchBody::from_json(&serde_json::to_vec(&batch).unwrap()).is_ok());
    assert_eq!(spool.batch(100, 1).unwrap().unwrap().items.len(), 1, "one at least");
    spool.append(&interval(10, 1));
    assert_eq!(spool.batch(100, 1 << 20).unwrap().unwrap().items.len(), 10, "what is not on the disk is not sent");
    drop(spool);
    let (mut spool, found) = open(dir.path(), ROOMY);
    assert_eq!((all(&spool), &found), (kept, &Found::default()));
    assert!(spool.has_interval(&BootId("boot".to_owned()), 9_000_000_000));
    assert!(!spool.has_interval(&BootId("boot".to_owned()), 10_000_000_000));
    assert!(!spool.has_interval(&BootId("other".to_owned()), 9_000_000_000));
    // A mark is known after the next start, and a later stream follows.
    let mark = mark(&spool, stream(1), 1);
    assert_eq!(spool.take_mark(&mark).unwrap(), Marked::Committed);
    spool.begin(stream(2));
    spool.append(&interval(20, 1));
    spool.flush().unwrap();
    drop(spool);
    let (mut spool, _) = open(dir.path(), ROOMY);
    assert_eq!((spool.counts(), spool.epoch()), ((11, 1), 1));
    assert_eq!(spool.batch(100, 1 << 20).unwrap().unwrap().stream, stream(2));
}

#[test]
fn a_torn_end_is_cut_and_a_damaged_line_is_named_and_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let small = SpoolLimits::of_bytes(256 * 1024);
    let (mut spool, _) = open(dir.path(), small);
    spool.begin(stream(1));
    for number in 0..140 {
        spool.append(&interval(number, 100 + number));
        spool.flush().unwrap();
    }
    let whole = all(&spool);
    let folder = generation_path(dir.path(), spool.generation);
    let (last, end) = (spool.last_segment, spool.spool.state(stream(1)).unwrap().end);
    assert!(last >= 3, "{last} segments");
    drop(spool);
    // A power cut in the middle of the last line.
    let path = segment_path(&folder, last);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let (spool, found) = open(dir.path(), small);
    assert!(found.cut_bytes > 0 && found.set_aside.is_empty(), "{found:?}");
    assert_eq!(all(&spool), whole[..139]);
    drop(spool);
    // A bit of a line in the middle of another segment.
    let path = segment_path(&folder, 2);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&path, &bytes).unwrap();
    let (mut spool, found) = open(dir.path(), small);
    assert!(found.set_aside.len() == 1 && fs::read(&found.set_aside[0]).unwrap() == bytes, "{found:?}");
    let kept = all(&spool);
    let gone: Vec<_> = kept.iter().filter(|(_, _, body)| *body == Body::Gone(GoneReason::Damaged)).collect();
    assert_eq!(gone.iter().map(|(_, span, _)| span.count()).sum::<u64>(), 1, "{gone:?}");
    assert_eq!(kept.len(), 139);
    // All of it is sent, and the mark passes over it.
    let batch = spool.batch(200, 1 << 20).unwrap().unwrap();
    assert_eq!(batch.items.len(), 139);
    assert!(BatchBody::from_json(&serde_json::to_vec(&batch).unwrap()).is_ok());
    assert_ne!(spool.spool.state(stream(1)).unwrap().end, end);
    let mark = mark(&spool, stream(1), 1);
    assert_eq!(spool.take_mark(&mark).unwrap(), Marked::Committed);
    assert_eq!(spool.counts(), (139, 0));
    drop(spool);
    assert_eq!(all(&open(dir.path(), small).0), kept);
}

#[test]
fn a_stream_whose_last_lines_were_lost_says_that_they_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let small = SpoolLimits::of_bytes(256 * 1024);
    let (mut spool, _) = open(dir.path(), small);
    spool.begin(stream(1));
    for number in 0..5 {
        spool.append(&interval(number, 1));
    }
    spool.flush().unwrap();
    let folder = generation_path(dir.path(), spool.generation);
    drop(spool);
    let (mut spool, _) = open(dir.path(), small);
    spool.begin(stream(2));
    spool.append(&interval(9, 1));
    spool.flush().unwrap();
    drop(spool);
    let path = segment_path(&folder, 1);
    let text = fs::read_to_string(&path).unwrap();
    let at = text.rfind("\"maximum-ns\"").unwrap();
    let mut bytes = text.into_bytes();
    bytes[at] = b' ';
    fs::write(&path, bytes).unwrap();
    let (spool, found) = open(dir.path(), small);
    assert_eq!(found.set_aside.len(), 1);
    let last_of_first = all(&spool).into_iter().rfind(|(of, ..)| *of == stream(1)).unwrap();
    assert_eq!((last_of_first.1, last_of_first.2), (Span::one(5), Body::Gone(GoneReason::Damaged)));
}

#[test]
fn a_hub_that_is_away_costs_detail_and_no_maximum_and_the_room_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let small = SpoolLimits::of_bytes(256 * 1024);
    let (mut spool, _) = open(dir.path(), small);
    spool.begin(stream(1));
    let mut random = Random::new(5);
    let mut worst = 0;
    let size = |folder: &Path| -> u64 {
        let of = |path: PathBuf| {
            fs::read_dir(path).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum::<u64>()
        };
        let generations = fs::read_dir(folder).unwrap().map(|one| one.unwrap().path());
        generations.filter(|path| path.is_dir()).map(of).sum()
    };
    for number in 0..3_000 {
        let maximum_ns = 1_000 + i64::try_from(random.below(1_000_000)).unwrap();
        worst = worst.max(maximum_ns);
        spool.append(&interval(number, maximum_ns));
        spool.flush().unwrap();
        assert!(size(dir.path()) <= small.bytes, "{} bytes", size(dir.path()));
    }
    drop(spool);
    let (spool, _) = open(dir.path(), small);
    let (mut made_of, mut samples, mut found, mut end) = (0, 0, 0, 0);
    for (_, span, body) in all(&spool) {
        assert_eq!(span.before(), end, "sequences end covered");
        end = span.last();
        let Body::Full(MonitorEntry::Interval(one)) = body else { panic!("{body:?}") };
        let figures = one.cpus[0].valid.clone().unwrap();
        made_of += one.made_of;
        samples += figures.samples;
        found = found.max(figures.maximum_ns);
    }
    assert_eq!((made_of, samples, found, end), (3_000, 3_000_000, worst, 3_000));
    assert!(all(&spool).len() < 1_000);
}

#[test]
fn what_was_acknowledged_goes_by_age_and_makes_room() {
    let dir = tempfile::tempdir().unwrap();
    let limits = SpoolLimits { bytes: 256 * 1024, keep_acknowledged_s: 0 };
    let (mut spool, _) = open(dir.path(), limits);
    spool.age_before_s = 10;
    spool.begin(stream(1));
    for number in 0..1_000 {
        spool.append(&interval(number, 1));
        spool.flush().unwrap();
        spool.age_before_s += 10;
        let mark = mark(&spool, stream(1), 1);
        assert_eq!(spool.take_mark(&mark).unwrap(), Marked::Committed);
    }
    assert!(spool.counts().0 < 600, "{:?}", spool.counts());
    let is_merged = |(_, _, body): &(StreamId, Span, Body<MonitorEntry>)| matches!(body, Body::Full(MonitorEntry::Interval(one)) if one.made_of > 1);
    assert!(!all(&spool).iter().any(is_merged), "nothing has to be merged where something may go");
}

#[test]
fn what_waited_for_a_hub_that_was_away_for_days_is_kept_from_its_acknowledgment_on() {
    const DAY_S: u64 = 86_400;
    let dir = tempfile::tempdir().unwrap();
    let small = SpoolLimits::of_bytes(256 * 1024);
    let (mut spool, _) = open(dir.path(), small);
    spool.begin(stream(1));
    // More than the half of the room, at which what is old goes.
    let fill = |spool: &mut DiskSpool, from: i64| {
        for number in from..from + 300 {
            spool.append(&interval(number, 1)).unwrap();
            spool.flush().unwrap();
        }
    };
    let first = |spool: &DiskSpool| all(spool)[0].1.first();
    fill(&mut spool, 0);
    spool.age_before_s = 9 * DAY_S;
    let late = mark(&spool, stream(1), 1);
    assert_eq!(spool.take_mark(&late).unwrap(), Marked::Committed);
    fill(&mut spool, 300);
    assert_eq!(first(&spool), 1, "a backup of yesterday lacks it");
    spool.age_before_s = 15 * DAY_S;
    drop(spool);
    let (mut spool, _) = open(dir.path(), small);
    assert_eq!(spool.age_before_s / DAY_S, 9, "as far as it was written down");
    spool.begin(stream(2));
    spool.age_before_s = 16 * DAY_S - 10;
    fill(&mut spool, 600);
    assert_eq!(first(&spool), 1);
    spool.age_before_s = 16 * DAY_S + 10;
    fill(&mut spool, 900);
    assert!(first(&spool) > late.sequence || all(&spool)[0].0 == stream(2), "{:?}", all(&spool)[0]);
    // A later life of the hub has acknowledged nothing yet.
    let later = mark(&spool, stream(2), 2);
    spool.take_mark(&Mark { sequence: 0, hash: Place::origin(&NODE, stream(2)), ..later }).unwrap();
    assert!(spool.acknowledged.known().iter().all(|known| known.sequence == 0), "{:?}", spool.acknowledged);
}

#[test]
fn a_mark_of_an_old_hub_changes_nothing_and_one_of_another_history_diverts() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(dir.path(), ROOMY);
    spool.begin(stream(1));
    for number in 0..4 {
        spool.append(&interval(number, 1));
    }
    spool.flush().unwrap();
    let common = mark(&spool, stream(1), 5);
    assert_eq!(spool.take_mark(&common).unwrap(), Marked::Committed);
    let old = Mark { epoch: 4, sequence: 1, ..common.clone() };
    assert_eq!(spool.take_mark(&old).unwrap(), Marked::OldHub);
    assert_eq!((spool.counts(), spool.epoch()), ((4, 0), 5));
    for number in 4..7 {
        spool.append(&interval(number, 1));
    }
    spool.flush().unwrap();
    // The hub has an entry here that this node never wrote: a snapshot of it was set back.
    let other = Mark { sequence: 6, hash: Place([9; 16]), ..common.clone() };
    assert_eq!(spool.take_mark(&other).unwrap(), Marked::Diverged);
    drop(spool);
    let (mut spool, _) = open(dir.path(), ROOMY);
    let (diverged, places) = spool.diverged().unwrap();
    assert!(diverged == stream(1) && places.contains(&(4, common.hash)));
    let found = Common { sequence: 4, end: 6, of: Place::of_places(&places) };
    let new = spool.divert(diverged, &found, 5).unwrap().unwrap();
    // What both have is sent once more, since the hub may have been told that something of it is gone.
    let again = spool.batch(100, 1 << 20).unwrap().unwrap();
    assert_eq!((again.stream, again.items.len()), (stream(1), 4));
    assert_eq!(spool.take_mark(&other).unwrap(), Marked::Committed);
    let batch = spool.batch(100, 1 << 20).unwrap().unwrap();
    assert_eq!((batch.stream, batch.items.len(), spool.diverged()), (new, 3, None));
    drop(spool);
    let (mut spool, _) = open(dir.path(), ROOMY);
    assert_eq!(spool.batch(100, 1 << 20).unwrap().unwrap(), batch);
}

#[test]
fn a_generation_that_was_cut_short_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(dir.path(), ROOMY);
    spool.begin(stream(1));
    spool.append(&MonitorEntry::End { boot: BootId("b".to_owned()), at_ns: 3, why: GapReason::Stopped });
    spool.flush().unwrap();
    let kept = all(&spool);
    drop(spool);
    let part = dir.path().join("g00000002.part");
    fs::create_dir(&part).unwrap();
    fs::write(part.join("00000001.log"), b"punctual-spool 1\nhalf").unwrap();
    let (mut spool, _) = open(dir.path(), ROOMY);
    assert!(all(&spool) == kept && !part.exists());
    // Killed after the new one got its name, before the old one went.
    spool.rewrite().unwrap();
    fs::create_dir(generation_path(dir.path(), 1)).unwrap();
    drop(spool);
    let (spool, _) = open(dir.path(), ROOMY);
    assert!(all(&spool) == kept && !generation_path(dir.path(), 1).exists());
}
