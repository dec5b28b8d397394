use record::{Histogram, Manifest, Measurement, Moment, NodeIdentity, Place, Series, ValidityState};
use units::Timestamp;

use super::*;
use crate::Choice;
use crate::journal::Event;

/// A campaign of three factors with two levels each.
fn campaign(repetitions: u32) -> Campaign {
    let mut text = format!(
        "name = \"c\"\nabout = \"a\"\nrepetitions = {repetitions}\nconfirm = {{ repetitions = {repetitions} }}\n\
         [[measurement]]\nname = \"m\"\nrequest.kind = \"wakeup\"\nduration = \"1s\"\n"
    );
    for name in ["good", "bad", "none"] {
        text +=
            &format!("[[factor]]\nname = \"{name}\"\n[[factor.level]]\nname = \"0\"\n[[factor.level]]\nname = \"1\"\n");
        text += &format!("[factor.level.intent.file]\n\"/sys/{name}\" = 1\n");
    }
    Campaign::from_toml(&text, &Choice::default()).unwrap()
}

/// A run of 1,000 samples about `level_ns`, with one of ten times that.
fn run(id: usize, level_ns: u64) -> Record {
    let mut histogram = Histogram::new();
    // Runs differ a little, as real ones do.
    let level_ns = level_ns + 13 * (id as u64 * 7 % 11);
    for sample in 0..999 {
        histogram.record_n(level_ns + sample % 97, 1);
    }
    histogram.record_n(level_ns * 10, 1);
    let manifest = Manifest {
        node: NodeIdentity { hostname: "board".to_owned(), ..NodeIdentity::default() },
        ended: Moment { monotonic: Timestamp::from_ns(1_000_000_000), ..Moment::default() },
        ..Manifest::default()
    };
    let series = Series {
        name: "scheduled_to_woke".to_owned(),
        place: Place::thread(0, Some(1)),
        histogram,
        ..Series::default()
    };
    Record { series: vec![series], ..Record::empty(id.to_string(), Measurement::Wakeup, manifest) }
}

/// The latency of a condition: half where `good` is set, double where `bad` is.
fn level_ns(campaign: &Campaign, layout: &Layout, condition: usize) -> u64 {
    let levels = &layout.conditions[condition].levels;
    assert_eq!(campaign.factor[0].name, "good");
    10_000 * (1 + levels[1] as u64) / (1 + levels[0] as u64)
}

struct Simulated {
    campaign: Campaign,
    state: State,
    records: BTreeMap<(usize, usize), Record>,
}

impl Simulated {
    fn new(repetitions: u32) -> Self {
        let mut state = State::default();
        state.take(Event::Begin { version: 1, realtime_ns: 1, boot_id: "b".into(), program: "1".into() });
        Self { campaign: campaign(repetitions), state, records: BTreeMap::new() }
    }

    fn measure(&mut self, visits: &[Visit], layout: &Layout) {
        for visit in visits {
            let changed = vec![format!("file {}", visit.condition)];
            let (number, file) = (visit.number, format!("runs/{}.json", visit.number));
            self.state.take(Event::Ready { visit: number, boot_id: "b".into(), changed, refused: vec![] });
            let ran = Event::Ran {
                visit: number,
                measurement: 0,
                file,
                validity: ValidityState::Valid,
                lasted_ns: 1,
                unusable: None,
            };
            self.state.take(ran);
            self.records.insert((number, 0), run(number, level_ns(&self.campaign, layout, visit.condition)));
        }
    }

    fn conclude(&self) -> CampaignResult {
        let records = self.borrowed();
        Evidence { campaign: &self.campaign, state: &self.state, records: &records, resamples: 1_000 }.conclude()
    }

    fn winners(&self) -> Vec<usize> {
        let records = self.borrowed();
        Evidence { campaign: &self.campaign, state: &self.state, records: &records, resamples: 1_000 }.winners()
    }

    fn borrowed(&self) -> BTreeMap<(usize, usize), &Record> {
        self.records.iter().map(|(key, record)| (*key, record)).collect()
    }
}

#[test]
fn helping_harming_and_indifferent_levels_are_distinguished_and_winners_confirmed() {
    let mut simulated = Simulated::new(6);
    assert_eq!(simulated.campaign.comparisons(), 4);
    assert_eq!(simulated.campaign.least_repetitions(), 6);
    let first = simulated.campaign.layout(None);
    simulated.measure(&first.visits, &first);
    let result = simulated.conclude();
    let states: Vec<AnswerState> = result.answers.iter().map(|answer| answer.state).collect();
    assert_eq!(states, [AnswerState::Helps, AnswerState::Harms, AnswerState::NoDifferenceShown], "{result:#?}");
    assert_eq!(simulated.winners(), [1]);
    assert_eq!(result.headline, "good=1 helps; bad=1 harms. So far: 24 of 24 runs.");

    simulated.state.take(Event::Winners { conditions: vec![1] });
    let second = simulated.campaign.layout(Some(&[1]));
    simulated.measure(&second.visits[first.visits.len()..], &second);
    simulated.state.take(Event::End);
    let result = simulated.conclude();
    assert_eq!(result.state, ResultState::Complete);
    assert_eq!(result.headline, "good=1 helps; bad=1 harms. Measured again together, the winners help.");
    assert!(
        result.lines.iter().any(|line| line.starts_with("The winners together, measured again: good=1 HELPS: B - A:"))
    );
    let body = "With 6 repetitions a single mean or quantile that differs may not be shown, however large: that takes at least 8.";
    assert_eq!(result.notes, [body]);
    // New runs alone confirm.
    let confirmed = result.confirmation[0].comparison.as_ref().unwrap();
    assert_eq!((confirmed.a.runs.len(), confirmed.b.runs.len()), (6, 6));
    assert!(confirmed.a.runs.iter().all(|run| run.id.parse::<usize>().unwrap() >= 24));
    let reread: CampaignResult = serde_json::from_str(&result.to_json()).unwrap();
    assert_eq!(reread.answers.len(), 3);
}

#[test]
fn with_too_few_repetitions_nothing_is_shown_and_a_note_says_so() {
    let mut simulated = Simulated::new(5);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    let result = simulated.conclude();
    assert!(result.answers.iter().all(|answer| answer.state == AnswerState::NoDifferenceShown));
    assert!(result.notes.iter().any(|note| note.contains("With 5 repetitions no difference can be shown")));
    assert_eq!(simulated.winners(), Vec::<usize>::new());
}

#[test]
fn figures_hold_all_samples_of_each_condition() {
    let mut simulated = Simulated::new(2);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    let result = simulated.conclude();
    let figure = &result.figures[0];
    assert_eq!((figure.title.as_str(), figure.bars.len()), ("m", 4));
    let [baseline, good, bad, none] = [0, 1, 2, 3].map(|place| &figure.bars[place]);
    assert!(figure.bars.iter().all(|bar| bar.samples == 2_000 && bar.runs == 2 && bar.maxima_ns.len() == 2));
    assert_eq!(baseline.condition, "baseline");
    assert!(good.mean_ns < baseline.mean_ns && baseline.mean_ns < bad.mean_ns);
    assert!(none.min_ns >= 10_000 && baseline.sd_ns.unwrap() > 1_000.0);
    assert_eq!(baseline.max_ns, *baseline.maxima_ns.iter().max().unwrap());
}

#[test]
fn unusable_runs_are_left_out_and_counted_in_a_note() {
    let mut simulated = Simulated::new(2);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    simulated.state.take(Event::Ran {
        visit: layout.visits[0].number,
        measurement: 0,
        file: "runs/again.json".to_owned(),
        validity: ValidityState::Invalid,
        lasted_ns: 1,
        unusable: None,
    });
    let result = simulated.conclude();
    assert_eq!((result.conditions[0].unusable, result.figures[0].bars[0].runs), (1, 1));
    assert!(result.notes.iter().any(|note| note.starts_with("Left out") && note.contains("1 of 2 of baseline")));
}

#[test]
fn conditions_with_equal_settings_are_marked() {
    let mut simulated = Simulated::new(2);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    for visit in &layout.visits {
        let same = Event::Ready { visit: visit.number, boot_id: "b".into(), changed: vec![], refused: vec![] };
        simulated.state.take(same);
    }
    let result = simulated.conclude();
    assert!(result.answers.iter().all(|answer| answer.is_set_apart == Some(false)));
    assert!(result.answers[0].sentence.contains("no other settings than for the first condition"));
}

#[test]
fn negative_latencies_keep_their_sign() {
    let mut simulated = Simulated::new(1);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    let mut below = Histogram::new();
    below.record_n(500, 1_000);
    let record = simulated.records.get_mut(&(0, 0)).unwrap();
    let mut above = Histogram::new();
    above.record_n(500, 1_000);
    (record.series[0].histogram, record.series[0].below_zero) = (above, Some(below));
    let bar = &simulated.conclude().figures[0].bars[0];
    assert_eq!((bar.min_ns, bar.max_ns, bar.samples), (-500, 500, 2_000));
    assert!(bar.mean_ns.abs() < 1.0 && (bar.sd_ns.unwrap() - 500.0).abs() < 1.0, "{bar:?}");
}

#[test]
fn one_measurement_is_enough_to_confirm_winners() {
    use AnswerState::{Harms, Helps, HelpsBody, NoDifferenceShown, NotMeasured, Trade};
    let mut simulated = Simulated::new(2);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    let mut result = simulated.conclude();
    let template = result.answers[0].clone();
    let mut confirmed = |states: &[AnswerState]| {
        result.confirmation = states.iter().map(|state| Answer { state: *state, ..template.clone() }).collect();
        result.is_confirmed()
    };
    assert_eq!(confirmed(&[NoDifferenceShown, Helps]), Some(true));
    assert_eq!(confirmed(&[Helps, Harms]), Some(false));
    assert_eq!(confirmed(&[Helps, Trade]), Some(false));
    assert_eq!(confirmed(&[NoDifferenceShown, NotMeasured]), Some(false));
    assert_eq!((confirmed(&[NotMeasured]), confirmed(&[])), (None, None));
    // A condition that helped the worst case and did not win by it need not be confirmed.
    result.confirmation = vec![Answer { state: HelpsBody, ..template.clone() }];
    result.answers[1].state = Helps;
    assert_eq!((template.condition.as_str(), result.is_confirmed()), ("good=1", Some(true)));
    result.answers[0].state = Helps;
    assert_eq!(result.is_confirmed(), Some(false));
}

#[test]
fn a_worse_body_elsewhere_excludes_levels_that_only_help_bodies() {
    use AnswerState::{Harms, HarmsBody, Helps, HelpsBody, NoDifferenceShown, Trade};
    for (states, is_winner) in [
        ([Helps, HarmsBody], true),
        ([HelpsBody, NoDifferenceShown], true),
        ([HelpsBody, HarmsBody], false),
        ([Helps, Harms], false),
        ([Helps, Trade], false),
        ([NoDifferenceShown, NoDifferenceShown], false),
    ] {
        assert_eq!(wins(&states), is_winner, "{states:?}");
    }
}

#[test]
fn the_better_level_removes_more_of_the_deciding_quantity() {
    let mut simulated = Simulated::new(2);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    let mut comparison = simulated.conclude().answers[0].comparison.clone().unwrap();
    comparison.worst.median_difference_percent = Some(20.0);
    assert!((removed_percent(&comparison.worst) + 20.0).abs() < 1e-9);
    // Nine of ten late periods are gone; the few that remain are later.
    comparison.worst.rate = Some(analysis::compare::RateComparison {
        deadline_ns: 100_000,
        a_beyond: vec![6, 4],
        a_exposure: vec![1_000, 1_000],
        b_beyond: vec![1, 0],
        b_exposure: vec![1_000, 1_000],
        missed_beyond: [0, 0],
        part_ns: None,
        text: String::new(),
        p: None,
        p_together: None,
    });
    assert!((removed_percent(&comparison.worst) - 90.0).abs() < 1e-9);
}

#[test]
fn one_run_of_each_says_nothing_of_conditions() {
    let mut simulated = Simulated::new(1);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    // Long runs with many pieces: a comparison of just two runs would use those.
    for record in simulated.records.values_mut() {
        let whole = record.series[0].histogram.clone();
        let interval = |place: u64| record::Interval {
            start_offset_ns: place * 1_000_000_000,
            length_ns: 1_000_000_000,
            missed_periods: 0,
            histogram: whole.clone(),
            ..record::Interval::default()
        };
        record.series[0].intervals = (0..60).map(interval).collect();
        (0..59).for_each(|_| record.series[0].histogram.merge(&whole));
    }
    let result = simulated.conclude();
    assert!(result.answers.iter().all(|answer| answer.state == AnswerState::NotMeasured), "{:#?}", result.answers);
    assert_eq!(result.headline, "Nothing can be concluded about 3 conditions. So far: 4 of 4 runs.");
    assert_eq!(result.lines, ["Cannot be told: good=1, bad=1, none=1."]);
    assert_eq!(simulated.winners(), Vec::<usize>::new());
}

#[test]
fn runs_of_one_condition_raise_no_more_alarms_than_stated() {
    let campaign = campaign(6);
    let pool: Vec<Record> = (0..40).map(|id| run(id, 10_000)).collect();
    let rehearsal = rehearse(&campaign, &pool, 40, 1).unwrap();
    assert!(rehearsal.alarms <= rehearsal.most_expected, "{rehearsal:?}");
    assert_eq!(rehearse(&campaign, &pool, 40, 1).unwrap(), rehearsal, "the same seed gives the same result");
    let error = rehearse(&campaign, &pool[..20], 40, 1).unwrap_err();
    assert_eq!(error, RehearsalError::TooFew { runs: 20, needed: 24 });
}

#[test]
fn a_rehearsal_that_can_show_nothing_says_so() {
    let pool: Vec<Record> = (0..40).map(|id| run(id, 10_000)).collect();
    let rehearsal = rehearse(&campaign(2), &pool, 5, 1).unwrap();
    assert_eq!(rehearsal.alarms, 0);
    let why = rehearsal.cannot_show.unwrap();
    assert!(why.starts_with("with 2 repetitions no difference can be shown, however large"), "{why}");
    // The least number that the message names is enough.
    let least = campaign(2).least_repetitions();
    assert!(why.ends_with(&format!("(--repetitions {least})")), "{why}");
    assert_eq!(rehearse(&campaign(least), &pool, 1, 1).unwrap().cannot_show, None);
}

#[test]
fn a_rehearsal_uses_each_run_of_its_kind_once_and_reports_what_was_not_compared() {
    let campaign = campaign(6);
    let mut pool: Vec<Record> = (0..24).map(|id| run(id, 10_000)).collect();
    let clock = Record { measurement: Measurement::Clock, ..run(99, 10_000) };
    pool.extend([clock, pool[3].clone(), pool[4].clone()]);
    let rehearsal = rehearse(&campaign, &pool, 3, 1).unwrap();
    assert_eq!((rehearsal.runs, rehearsal.cannot_show), (24, None));
    let error = rehearse(&campaign, &pool[1..], 3, 1).unwrap_err();
    assert_eq!(error, RehearsalError::TooFew { runs: 23, needed: 24 });
    // Runs of another latency than the compared one raise no alarm, which proves nothing.
    let mut others = pool.clone();
    others.iter_mut().for_each(|run| "woke_to_done".clone_into(&mut run.series[0].name));
    let rehearsal = rehearse(&campaign, &others, 3, 1).unwrap();
    let why = rehearsal.cannot_show.unwrap();
    assert!(rehearsal.alarms == 0 && why.starts_with("runs were not compared, and so raised no alarm: "), "{why}");
    // Runs without samples are skipped.
    pool.iter_mut().for_each(|run| run.series[0].histogram = Histogram::new());
    assert_eq!(rehearse(&campaign, &pool, 3, 1).unwrap_err(), RehearsalError::TooFew { runs: 0, needed: 24 });
}

#[test]
fn a_rehearsal_detects_too_many_false_alarms() {
    // Every comparison has the whole probability, so that all together exceed the stated one by far.
    let mut careless = campaign(6);
    careless.false_alarms = 0.5;
    let pool: Vec<Record> = (0..40).map(|id| run(id, 10_000)).collect();
    let rehearsal = rehearse(&careless, &pool, 40, 1).unwrap();
    assert!(rehearsal.alarms > most_of_one_percent(), "{rehearsal:?}");
}

/// The number of alarms that 40 campaigns at 1 % do not exceed.
fn most_of_one_percent() -> u64 {
    2
}

#[test]
fn a_large_difference_is_shown_when_exchanges_are_drawn_at_random() {
    // 12 comparisons of 10 and 10 runs: 184,756 ways each, a level of 0.0008.
    let mut simulated = Simulated::new(10);
    simulated.campaign.false_alarms = 0.01 * 4.0 / 12.0;
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    let states: Vec<AnswerState> = simulated.conclude().answers.iter().map(|answer| answer.state).collect();
    assert_eq!(states, [AnswerState::Helps, AnswerState::Harms, AnswerState::NoDifferenceShown]);
}

/// Simulates PREEMPT_RT: a fiftieth of the worst case, and a slightly later body.
fn realtime(simulated: &mut Simulated, place: usize, level_ns: u64) {
    let layout = simulated.campaign.layout(None);
    for visit in layout.visits.iter().filter(|visit| visit.phase == Phase::Main) {
        let (level_ns, worst_ns) = if visit.condition == place { (level_ns, 48_000) } else { (5_000, 2_700_000) };
        let record = simulated.records.get_mut(&(visit.number, 0)).unwrap();
        let mut histogram = Histogram::new();
        let own = 13 * (visit.number as u64 * 7 % 11);
        (0..9_999).for_each(|sample| histogram.record_n(level_ns + own + sample % 97, 1));
        histogram.record_n(worst_ns + 100 * own, 1);
        record.series[0].histogram = histogram;
    }
}

#[test]
fn the_worst_case_decides_and_a_trade_is_named_and_not_confirmed() {
    let mut simulated = Simulated::new(8);
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    realtime(&mut simulated, 3, 5_300);
    let result = simulated.conclude();
    assert_eq!(result.answers[2].state, AnswerState::Helps, "{}", result.answers[2].sentence);
    assert!(result.answers[2].sentence.contains("within the margin of 1.0 us"), "{}", result.answers[2].sentence);
    assert_eq!(simulated.winners(), [3]);
    // Twice as late in the body: both numbers are shown, and the user decides.
    realtime(&mut simulated, 3, 10_000);
    let result = simulated.conclude();
    assert_eq!(result.answers[2].state, AnswerState::Trade, "{}", result.answers[2].sentence);
    assert!(result.headline.contains("none=1 trades the worst case against the body"), "{}", result.headline);
    assert!(result.notes.iter().any(|note| note.contains("A TRADE is not measured again")), "{:?}", result.notes);
    assert_eq!(simulated.winners(), Vec::<usize>::new());
    simulated.campaign.margin = Some(crate::Duration(units::Ns::from_us(20)));
    assert_eq!(simulated.winners(), [3], "the margin is the user's");
    // The name that an earlier version used for this state is still read.
    assert_eq!(serde_json::from_str::<AnswerState>("\"mixed\"").unwrap(), AnswerState::Trade);
}
