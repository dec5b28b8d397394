//! Campaigns over synthetic runs.

use std::collections::BTreeMap;

use campaign::journal::{Event, State};
use campaign::result::Evidence;
use campaign::{Campaign, Choice, Condition, Layout, Visit};
use record::{Histogram, ReasonCode, Record, Validity};
use report::CampaignInput;

use crate::plan;
use crate::synthetic::{LOADED, Plan, START_REALTIME_NS, Shape, clock, wakeup};

const KNOBS: [(&str, &str); 6] = [
    ("governor", "performance"),
    ("idle-states", "shallow"),
    ("ksm", "on"),
    ("irqs", "here"),
    ("watchdog", "off"),
    ("rt-throttling", "on"),
];

/// The distribution of a condition: the first two knobs help, the third harms, the fourth does both, the others nothing.
fn shape_of(condition: &Condition) -> Shape {
    let mut shape = LOADED;
    for (knob, _) in condition.levels.iter().enumerate().filter(|(_, level)| **level > 0) {
        match knob {
            0 => shape.mode_us *= 0.78,
            1 => (shape.mode_us, shape.tail_us) = (shape.mode_us * 0.78, shape.tail_us * 0.55),
            2 => (shape.mode_us, shape.tail_us) = (shape.mode_us * 1.12, shape.tail_us * 1.5),
            3 => (shape.mode_us, shape.hump_us, shape.hump_share) = (shape.mode_us * 0.9, shape.hump_us * 1.9, 0.09),
            _ => {}
        }
    }
    shape
}

/// # Panics
/// Never: the text is a campaign.
fn campaign(knobs: &[(&str, &str)], design: &str, repetitions: u32, has_clock: bool) -> Campaign {
    let confirm = match design {
        "factorial" => String::new(),
        _ => format!("confirm = {{ repetitions = {repetitions} }}"),
    };
    let mut text = format!(
        "name = \"which-knob\"\nabout = \"which of these settings makes wake-ups earlier, by how much, and how sure that \
         is\"\ndesign = \"{design}\"\nrepetitions = {repetitions}\n{confirm}\n\
         [[measurement]]\nname = \"wakeup\"\ntitle = \"Wake-up latency under load\"\nrequest.kind = \"wakeup\"\n\
         duration = \"60s\"\n"
    );
    if has_clock {
        text += "[[measurement]]\nname = \"clock\"\ntitle = \"Cost of reading clocks\"\nrequest.kind = \"clock\"\n";
    }
    for (knob, level) in knobs {
        text += &format!("[[factor]]\nname = \"{knob}\"\n[[factor.level]]\nname = \"asis\"\n");
        text += &format!("[[factor.level]]\nname = \"{level}\"\n[factor.level.intent.file]\n\"/sys/{knob}\" = 1\n");
    }
    Campaign::from_toml(&text, &Choice::default()).expect("the text is a campaign")
}

struct Simulated {
    campaign: Campaign,
    state: State,
    records: BTreeMap<(usize, usize), Record>,
    files: BTreeMap<String, Record>,
}

impl Simulated {
    fn new(campaign: Campaign) -> Self {
        let mut state = State::default();
        let begin =
            Event::Begin { version: 1, realtime_ns: START_REALTIME_NS, boot_id: "b".into(), program: "0.1.0".into() };
        state.take(begin);
        Self { campaign, state, records: BTreeMap::new(), files: BTreeMap::new() }
    }

    fn measure(&mut self, visits: &[Visit], layout: &Layout) {
        for visit in visits {
            let Some(condition) = layout.conditions.get(visit.condition) else { continue };
            let set = condition.levels.iter().zip(&self.campaign.factor).filter(|(level, _)| **level > 0);
            let changed = set.map(|(_, factor)| format!("file: /sys/{}: 0 -> 1", factor.name)).collect();
            let is_throttled = condition.levels.get(5).is_some_and(|level| *level > 0);
            let refused =
                if is_throttled { vec!["/sys/rt-throttling: the kernel kept 950000".to_owned()] } else { Vec::new() };
            self.state.take(Event::Ready { visit: visit.number, boot_id: "b".into(), changed, refused });
            let mut validity = Validity::default();
            if is_throttled {
                validity.add(ReasonCode::RtThrottled, "CPU 1, 3 times");
            } else if visit.number % 9 == 4 {
                validity.add(ReasonCode::VirtualMachineSteal, format!("{} ms on CPU 0", 10 + visit.number));
            }
            let spoilt = (visit.number == 3).then(|| "somebody else changed /sys/ksm meanwhile".to_owned());
            let mut runs = vec![self.wakeup(visit, condition, validity)];
            if self.campaign.measurement.len() > 1 {
                runs.push(drifting(clock(60 * visit.number as u64), visit.number as u64));
            }
            for (measurement, record) in runs.into_iter().enumerate() {
                let file = format!("runs/{:04}-{}.json", visit.number + 1, self.campaign.measurement[measurement].name);
                let ran = Event::Ran {
                    visit: visit.number,
                    measurement,
                    file: file.clone(),
                    validity: record.validity.state(),
                    lasted_ns: 60_000_000_000,
                    unusable: spoilt.clone().filter(|_| measurement == 0),
                };
                self.state.take(ran);
                self.files.insert(file, record.clone());
                self.records.insert((visit.number, measurement), record);
            }
        }
    }

    fn wakeup(&self, visit: &Visit, condition: &Condition, validity: Validity) -> Record {
        let shape = shape_of(condition);
        // Runs of one condition differ slightly, as real runs do.
        let mode_us = shape.mode_us * (1.0 + 0.006 * units::approx_f64(visit.number as u64 * 7 % 5));
        let plan = Plan {
            shape: Shape { mode_us, ..shape },
            seed: visit.number as u64 + 100,
            duration_s: 60,
            intervals: 12,
            starts_after_s: visit.number as u64 * 70,
            ..plan("under paper load", if self.campaign.measurement.len() > 1 { 2 } else { 1 })
        };
        wakeup(&plan, validity)
    }

    fn by_visit(&self) -> BTreeMap<(usize, usize), &Record> {
        self.records.iter().map(|(key, record)| (*key, record)).collect()
    }

    fn evidence<'a>(&'a self, records: &'a BTreeMap<(usize, usize), &'a Record>) -> Evidence<'a> {
        Evidence { campaign: &self.campaign, state: &self.state, records, resamples: 1_000 }
    }

    fn finish(self) -> CampaignInput {
        let result = self.evidence(&self.by_visit()).conclude();
        CampaignInput { result, records: self.files }
    }
}

/// Clock readings with a maximum that differs from run to run, and one clock that sometimes appears to go back.
fn drifting(mut record: Record, run: u64) -> Record {
    record.id = format!("clock-{run}");
    for series in &mut record.series {
        series.histogram.record_n(4_000 + 977 * (run * 5 % 7), 1);
        if series.variant.contains("within") {
            let mut below = Histogram::new();
            below.record_n(20 + run % 5, 40);
            series.below_zero = Some(below);
        }
    }
    record
}

/// A complete campaign with confirmed winners.
pub(crate) fn complete() -> CampaignInput {
    let mut simulated = Simulated::new(campaign(&KNOBS, "one-at-a-time", 8, true));
    let first = simulated.campaign.layout(None);
    simulated.measure(&first.visits, &first);
    let winners = simulated.evidence(&simulated.by_visit()).winners();
    simulated.state.take(Event::Winners { conditions: winners.clone() });
    let all = simulated.campaign.layout(Some(&winners));
    simulated.measure(&all.visits[first.visits.len()..], &all);
    simulated.state.take(Event::End);
    simulated.finish()
}

/// A campaign that is half done: some conditions have two runs, some one.
pub(crate) fn running() -> CampaignInput {
    let mut simulated = Simulated::new(campaign(&KNOBS, "one-at-a-time", 8, true));
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits[..11], &layout);
    simulated.finish()
}

/// A campaign without measurements yet.
pub(crate) fn nothing() -> CampaignInput {
    Simulated::new(campaign(&KNOBS, "one-at-a-time", 8, true)).finish()
}

/// A factorial campaign with too few repetitions to show any difference.
pub(crate) fn many() -> CampaignInput {
    let mut simulated = Simulated::new(campaign(&KNOBS[..5], "factorial", 2, false));
    let layout = simulated.campaign.layout(None);
    simulated.measure(&layout.visits, &layout);
    simulated.state.take(Event::Winners { conditions: Vec::new() });
    simulated.state.take(Event::End);
    simulated.finish()
}
