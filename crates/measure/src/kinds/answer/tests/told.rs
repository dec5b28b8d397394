//! What is made of what a witness said, without a run.

use record::{AnswerRun, AnswerWitness, ReasonCode, Series};

use super::super::finish::{ByWitness, by_witness, of_witness};
use super::super::witness::Said;

#[test]
fn answers_that_cannot_be_ours_contradict_the_run() {
    let own = AnswerRun { edges: 100, ..AnswerRun::default() };
    let said = |in_histogram, min_ns, overruns| AnswerWitness {
        in_histogram,
        samples: 90,
        overruns,
        min_ns: Some(min_ns),
        max_ns: Some(40_000),
        ..AnswerWitness::default()
    };
    let contradicts = |witness: AnswerWitness| {
        of_witness(&witness, Some(&own), Some(20_000)).iter().any(|(code, _)| *code == ReasonCode::WitnessContradicts)
    };
    assert!(!contradicts(said(100, 19_700, 0)) && contradicts(said(101, 19_700, 0)), "somebody else answers");
    let without_histogram = AnswerWitness { samples: 101, ..said(0, 19_700, 0) };
    assert!(contradicts(without_histogram), "lost before its histogram, and its frames have more than were answered");
    assert!(contradicts(said(100, 19_500, 0)), "shorter than a part of it");
    assert!(!contradicts(said(100, 500, 1)), "one that came after it had been given up is short by its fault");
}

/// What is made of cells with so many answers, of a witness whose longest in a frame is this one (ns).
fn made_of(cells: &[(usize, u64)], max_ns: u64, change: impl FnOnce(&mut AnswerWitness)) -> Series {
    told_of(cells, max_ns, None, change).series.unwrap()
}

fn told_of(
    filled: &[(usize, u64)],
    max_ns: u64,
    longest_woke_ns: Option<u64>,
    change: impl FnOnce(&mut AnswerWitness),
) -> ByWitness {
    let mut cells = vec![0; 1_000];
    filled.iter().for_each(|(cell, count)| cells[*cell] = *count);
    let answers = cells.iter().sum();
    let mut witness = AnswerWitness {
        period_ns: 1_000_000,
        overrun_ns: 1_000_000,
        max_ns: Some(max_ns),
        samples: answers,
        in_histogram: answers,
        ..AnswerWitness::default()
    };
    change(&mut witness);
    by_witness(&Said { witness, cells }, longest_woke_ns)
}

#[test]
fn what_lies_in_the_last_cell_has_no_bound_where_no_frame_has_it() {
    let of = |max_ns| made_of(&[(30, 5), (999, 1)], max_ns, |_| ());
    assert!(of(30_400).uncertainty.unwrap().is_unknown());
    // That took longer than a period, and so would be an overrun: of a period of 10 ms it is none.
    let exact = made_of(&[(30, 5), (999, 1)], 2_345_678, |witness| witness.period_ns = 10_000_000);
    assert_eq!((exact.histogram.max_ns(), exact.uncertainty, exact.taken()), (Some(2_345_678), None, 6));
}

#[test]
fn the_longest_is_exact_only_where_no_answer_without_a_frame_shares_its_cell() {
    let of = |cell, count, max_ns, warm_up| {
        let series = made_of(&[(30, 5), (cell, count)], max_ns, |witness| {
            (witness.warm_up, witness.samples) = (warm_up, 5 + count - warm_up);
        });
        (series.histogram.max_ns().unwrap(), series.taken(), series.uncertainty.map(|error| error.above_ns))
    };
    assert_eq!(of(70, 1, 70_100, 3), (70_100, 6, None), "it is alone in its cell");
    assert_eq!(of(70, 2, 70_100, 0), (70_100, 7, None), "the other one is in a frame too");
    assert_eq!(of(70, 2, 70_100, 3), (70_100, 7, Some(899)), "one of the warm-up may have taken up to 70,999 ns");
    assert_eq!(of(999, 2, 1_010_000, 3), (1_010_000, 7, Some(u64::MAX)), "the last cell has no end");
    assert_eq!(of(60, 2, 400_000, 0), (60_000, 7, Some(999)), "no answer of the histogram took as long");
}

/// At a period of 100 us an answer of 250 us is entered at 50 us; the overruns of a warm-up are told nowhere.
#[test]
fn what_the_witness_forgot_and_our_own_stamps_show_leaves_its_longest_without_a_bound() {
    let of = |own_ns, overruns| {
        told_of(&[(50, 1), (60, 9_000), (80, 1)], 80_400, Some(own_ns), |witness| {
            (witness.period_ns, witness.overruns) = (100_000, overruns);
        })
    };
    let told = of(245_000, 0);
    let series = told.series.unwrap();
    assert_eq!(
        (series.histogram.max_ns(), series.taken()),
        (Some(240_100), 9_003),
        "2 % less: rates of crystals differ"
    );
    assert!(series.uncertainty.unwrap().is_unknown());
    assert!(told.forgotten.unwrap().contains("took 240 us or more by our own stamps"));
    let alike = of(82_000, 0);
    assert_eq!((alike.series.unwrap().uncertainty, alike.forgotten), (None, None), "it may be one of its own");
    // One that it gave up is the one that took so long here.
    let given_up = of(2_000_000, 3).series.unwrap();
    assert_eq!((given_up.histogram.max_ns(), given_up.taken()), (Some(1_960_000), 9_005));
}

/// An answer of 350 us at a period of 100 us is three overruns, and stands in cell 50 and in its frame.
#[test]
fn periods_that_an_answer_took_are_no_answers() {
    let change =
        |witness: &mut AnswerWitness| (witness.period_ns, witness.overrun_ns, witness.overruns) = (100_000, 100_000, 3);
    let series = made_of(&[(50, 1), (60, 9_000)], 350_700, change);
    assert_eq!((series.histogram.max_ns(), series.taken()), (Some(350_700), 9_001));
    assert_eq!(series.histogram.count_above(99_999), 1);
    assert!(series.uncertainty.unwrap().is_unknown());
    let mut witness = AnswerWitness { max_ns: Some(350_700), ..AnswerWitness::default() };
    change(&mut witness);
    let said = |witness: &AnswerWitness| of_witness(witness, None, None)[0].1.clone();
    assert!(said(&witness).contains("3 overruns") && !said(&witness).contains("answers came"), "{}", said(&witness));
    (witness.max_ns, witness.overruns, witness.overrun_ns) = (Some(60_000), 1, 1_000_000);
    assert!(said(&witness).starts_with("1 answer came at least 1 ms after its edge"), "{}", said(&witness));
}
