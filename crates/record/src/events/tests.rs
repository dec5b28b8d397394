use super::*;
use crate::Series;
use crate::{GrowingText, Histogram, Manifest, Place};

/// What a run hands on at once: intervals, each with the number of its series, and the record until then.
type Handed = (Vec<(usize, Interval)>, Record);

/// A run of two threads: what it hands on, one after the other, and its record at the end, with or without its intervals.
fn run(seed: u64, keeps_intervals: bool) -> (Vec<Handed>, Record) {
    let mut random = units::Random::new(seed);
    let mut handed = Vec::new();
    let mut whole = empty();
    let mut total = [Histogram::new(), Histogram::new()];
    for at in 0..below(&mut random, 8) {
        let mut intervals = Vec::new();
        for (place, total) in total.iter_mut().enumerate() {
            // One thread can have none where nothing was taken.
            if below(&mut random, 4) == 0 {
                continue;
            }
            let mut histogram = Histogram::new();
            histogram.record_n(1_000 + below(&mut random, 90_000), 1 + below(&mut random, 5));
            total.merge(&histogram);
            let interval = Interval { start_offset_ns: at * 100, length_ns: 100, histogram, ..Interval::default() };
            whole.series[place].intervals.push(interval.clone());
            intervals.push((place, interval));
        }
        let mut so_far = empty();
        for (series, total) in so_far.series.iter_mut().zip(&total) {
            series.histogram = total.clone();
        }
        whole.series.iter_mut().zip(&total).for_each(|(series, total)| series.histogram = total.clone());
        if seed % 3 == 0 {
            // As a kind hands it on that keeps all of them.
            so_far
                .series
                .iter_mut()
                .zip(&whole.series)
                .for_each(|(so_far, all)| so_far.intervals.clone_from(&all.intervals));
        }
        so_far.validity.add(crate::ReasonCode::InterruptedEarly, "cut short");
        handed.push((intervals, so_far));
    }
    if !keeps_intervals {
        whole.series.iter_mut().for_each(|series| series.intervals.clear());
    }
    (handed, whole)
}

fn below(random: &mut units::Random, bound: usize) -> u64 {
    random.below(bound).try_into().unwrap()
}

fn empty() -> Record {
    let mut record = Record::empty("1".to_owned(), Measurement::Wakeup, Manifest::default());
    for (thread, name) in [(0, "scheduled_to_woke"), (1, "scheduled_to_woke")] {
        record.series.push(Series { name: name.to_owned(), place: Place::thread(thread, None), ..Series::default() });
    }
    record
}

#[test]
fn a_record_is_the_fold_of_its_events_wherever_they_are_cut() {
    for seed in 0..200 {
        let keeps_intervals = seed % 2 == 0;
        let (handed, whole) = run(seed, keeps_intervals);
        let (mut told, mut fold, mut texts) = (Told::default(), Fold::default(), String::new());
        let mut head = String::new();
        for (intervals, so_far) in handed {
            if head.is_empty() {
                head = GrowingText::head(&so_far);
            }
            texts += &GrowingText::intervals(&intervals, &so_far, texts.is_empty());
            let file = format!("{head}{texts}{}", GrowingText::tail(&so_far));
            let event = told.intervals(&intervals, so_far);
            fold.take(RunEvent::from_line(&event.to_line()).unwrap());
            assert_eq!(fold.record(), Some(&Record::from_json(&file).unwrap()), "seed {seed}");
            fold.take(RunEvent::Live { live: Live::default() });
            assert!(!fold.is_finished());
        }
        let mut file = whole.to_json();
        if !keeps_intervals {
            file = format!("{}{texts}{}", GrowingText::finished_head(&whole), GrowingText::finished_tail());
        }
        fold.take(RunEvent::from_line(&told.finished(whole).to_line()).unwrap());
        assert_eq!(fold.record(), Some(&Record::from_json(&file).unwrap()), "seed {seed}");
        assert!(fold.is_finished() && fold.missing() == 0);
    }
}

#[test]
fn a_record_that_is_told_anew_each_time_is_the_latest_one_wherever_it_is_cut() {
    let mut fold = Fold::default();
    // A thread that was taken for one of those that count is not, later.
    let told = |fold: &mut Fold, event: RunEvent| fold.take(RunEvent::from_line(&event.to_line()).unwrap());
    for (seed, series) in [(2, 2), (4, 1), (6, 2)] {
        let mut so_far = run(seed, true).1;
        so_far.series.truncate(series);
        let file = Record::from_json(&so_far.to_json()).unwrap();
        told(&mut fold, RunEvent::SoFar { record: Box::new(so_far) });
        assert_eq!((fold.record(), fold.is_finished()), (Some(&file), false));
    }
    let finished = run(8, true).1;
    let file = Record::from_json(&finished.to_json()).unwrap();
    told(&mut fold, RunEvent::Finished { record: Box::new(finished) });
    assert_eq!((fold.record(), fold.is_finished()), (Some(&file), true), "no interval is there twice");
}

#[test]
fn what_steers_a_terminal_is_no_part_of_a_line() {
    let event = RunEvent::Warning { text: "\u{1b}[2Jone\ntwo\u{202e}".to_owned() };
    let line = event.to_line();
    assert_eq!(line.matches('\n').count(), 1);
    let RunEvent::Warning { text } = RunEvent::from_line(&line).unwrap() else { panic!("{line}") };
    assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
    assert!(RunEvent::from_line("{\"event\": \"started\"}").is_err());
}
