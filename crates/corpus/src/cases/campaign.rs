//! What a campaign has to conclude about each factor: the factors are simulated, so their true effect is known.

use std::collections::BTreeMap;

use campaign::journal::{Event, State};
use campaign::result::{AnswerState, CampaignResult, Evidence};
use campaign::{Campaign, Choice};
use record::{Record, ValidityState};
use units::Random;

use super::Case;
use crate::draw::{Plan, run};
use crate::outcome::{Concluded, Fault, Judgment};
use crate::truth::{Disturbance, Process};

/// The share of campaigns with at least one false alarm that is allowed (0 to 1).
const FALSE_ALARMS: f64 = 0.01;
const RESAMPLES: u32 = 500;

/// A campaign of one factor, `knob`, with a second one that does nothing.
fn campaign(repetitions: u32) -> Campaign {
    let mut text = format!(
        "name = \"corpus\"\nabout = \"planted factors\"\nrepetitions = {repetitions}\n\
         [[measurement]]\nname = \"wakeup\"\nrequest.kind = \"wakeup\"\nduration = \"20s\"\n"
    );
    for name in ["knob", "nothing"] {
        text +=
            &format!("[[factor]]\nname = \"{name}\"\n[[factor.level]]\nname = \"0\"\n[[factor.level]]\nname = \"1\"\n");
        text += &format!("[factor.level.intent.file]\n\"/sys/{name}\" = 1\n");
    }
    Campaign::from_toml(&text, &Choice::default()).expect("the campaign's file is well formed")
}

/// Simulates the campaign: the machine behaves as `before`, and as `after` in visits with the knob turned.
fn simulate(before: &Process, after: &Process, repetitions: u32, random: &mut Random) -> CampaignResult {
    let campaign = campaign(repetitions);
    let layout = campaign.layout(None);
    let mut state = State::default();
    state.take(Event::Begin { version: 1, realtime_ns: 1, boot_id: "boot".into(), program: "1".into() });
    let mut records: BTreeMap<(usize, usize), Record> = BTreeMap::new();
    for visit in &layout.visits {
        let turned = layout.conditions[visit.condition].levels[0] == 1;
        let changed = vec![format!("condition {}", visit.condition)];
        state.take(Event::Ready { visit: visit.number, boot_id: "boot".into(), changed, refused: vec![] });
        state.take(Event::Ran {
            visit: visit.number,
            measurement: 0,
            file: format!("runs/{}.json", visit.number),
            validity: ValidityState::Valid,
            lasted_ns: 1,
            unusable: None,
        });
        let process = if turned { after } else { before };
        records.insert((visit.number, 0), run(process, &Plan::seconds(20), random));
    }
    state.take(Event::End);
    let borrowed = records.iter().map(|(key, record)| (*key, record)).collect();
    Evidence { campaign: &campaign, state: &state, records: &borrowed, resamples: RESAMPLES }.conclude()
}

/// Compares the answer about the knob with the truth; the answer about the other factor must be that it does nothing.
fn judge(result: &CampaignResult, right: AnswerState) -> Concluded {
    use AnswerState::{Harms, HarmsBody, Helps, HelpsBody, NoDifferenceShown, NotMeasured, Trade};
    let [knob, nothing] = [0, 1].map(|at| result.answers[at].state);
    let is_opposite = match right {
        Helps | HelpsBody => matches!(knob, Harms | HarmsBody | Trade),
        Harms | HarmsBody => matches!(knob, Helps | HelpsBody | Trade),
        Trade => matches!(knob, Helps | Harms),
        _ => false,
    };
    let judgment = match knob {
        _ if !matches!(nothing, NoDifferenceShown | NotMeasured) => Judgment::Wrong(Fault::FalseAlarm),
        _ if knob == right => Judgment::Right,
        _ if is_opposite => Judgment::Wrong(Fault::WrongDirection),
        // By chance the worst cases seem to differ too; the level allows that.
        Helps | Harms if matches!(right, HelpsBody | HarmsBody) => Judgment::Wrong(Fault::FalseAlarm),
        _ if right == NoDifferenceShown => Judgment::Wrong(Fault::FalseAlarm),
        _ => Judgment::Refused,
    };
    Concluded::new(judgment, &result.headline)
}

fn usual() -> Process {
    Process { between_runs: 0.02, ..Process::quiet() }.with(Disturbance::bounded("irq/24-eth0", 6_000.0, 20.0, 40.0))
}

fn stalling() -> Process {
    usual().with(Disturbance::bounded("kworker", 1_500.0, 1_000.0, 2_700.0))
}

fn planted(
    before: fn() -> Process,
    after: fn() -> Process,
    repetitions: u32,
    right: AnswerState,
) -> impl Fn(&mut Random) -> Concluded {
    move |random| judge(&simulate(&before(), &after(), repetitions, random), right)
}

pub(super) fn cases() -> Vec<Case> {
    use AnswerState::{Harms, HarmsBody, Helps, HelpsBody, NoDifferenceShown, Trade};
    let all = vec![
        Case::open("factors that do nothing, six repetitions", planted(stalling, stalling, 6, NoDifferenceShown)),
        Case::open("factors that do nothing, ten repetitions", planted(usual, usual, 10, NoDifferenceShown)),
        Case::answerable(
            "removes the stalls, median 0.3 us higher",
            planted(stalling, || usual().shifted(300.0), 8, Helps),
        ),
        Case::answerable("brings stalls", planted(usual, stalling, 8, Harms)),
        Case::answerable(
            "removes the stalls, body 4 us worse",
            planted(stalling, || usual().shifted(4_000.0), 8, Trade),
        ),
        Case::answerable(
            "makes the body 4 us better, the same stalls",
            planted(|| stalling().shifted(4_000.0), stalling, 8, HelpsBody),
        ),
        Case::answerable(
            "makes the body 4 us worse, the same stalls",
            planted(stalling, || stalling().shifted(4_000.0), 8, HarmsBody),
        ),
        Case::open("removes the stalls, three repetitions", planted(stalling, usual, 3, Helps)),
    ];
    all.into_iter().map(|case| case.at_level(FALSE_ALARMS)).collect()
}
