//! What `assess` has to conclude, and what it may advise.

use record::{CauseClass, Certainty, Owner, ReasonCode, Record};
use summary::{Answer, Assessment, AssessmentInput, Part, assess};
use units::Random;

use super::{Case, blame};
use crate::draw::{Plan, run};
use crate::outcome::{Concluded, Fault, Judgment};
use crate::truth::{Disturbance, Process, SECOND_NS};

pub(super) const DEADLINE_NS: u64 = 100_000;

/// The parts of an assessment: 24 s idle and 30 s under load, on two CPUs; `held` is the part with idle states
/// disabled.
struct Parts {
    idle: Record,
    held: Option<Record>,
    loaded: Result<Record, &'static str>,
}

pub(super) fn idle_plan() -> Plan {
    Plan::seconds(24).on(2).with_deadline(DEADLINE_NS).explained()
}

pub(super) fn load_plan() -> Plan {
    Plan::seconds(30).on(2).with_deadline(DEADLINE_NS).under("hard").explained()
}

/// Delays far beyond the deadline, about one a second.
fn far_beyond(name: &'static str) -> Disturbance {
    Disturbance::bounded(name, 4_000.0, 150.0, 400.0)
}

impl Parts {
    fn new(idle: &Process, loaded: &Process, random: &mut Random) -> Self {
        Self { idle: run(idle, &idle_plan(), random), held: None, loaded: Ok(run(loaded, &load_plan(), random)) }
    }

    fn quiet(random: &mut Random) -> Self {
        Self::new(&Process::quiet(), &Process::quiet().shifted(3_000.0), random)
    }

    fn input(&self) -> AssessmentInput<'_> {
        AssessmentInput {
            deadline_ns: DEADLINE_NS,
            idle: Part::Measured(&self.idle),
            held: self.held.as_ref().map_or(Part::NotAsked, Part::Measured),
            loaded: Part::from_result(self.loaded.as_ref().map_err(|why| *why)),
            ..AssessmentInput::default()
        }
    }

    fn assess(&self) -> Assessment {
        assess(&self.input())
    }
}

/// Compares the answer with the right one.
pub(super) fn judge(assessment: &Assessment, right: Answer) -> Concluded {
    let judgment = match (assessment.answer, right) {
        (found, right) if found == right => Judgment::Right,
        (Answer::CannotBeTold, _) => Judgment::Refused,
        (Answer::Holds, _) => Judgment::Wrong(Fault::FalsePass),
        (Answer::DoesNotHold, _) => Judgment::Wrong(Fault::FalseBroken),
    };
    Concluded::new(judgment, &assessment.sentence)
}

/// All text about causes and changes, in lower case.
pub(super) fn all_text(assessment: &Assessment) -> String {
    let changes =
        assessment.changes.iter().flat_map(|change| [&change.title, &change.why].into_iter().chain(&change.how));
    assessment.lines.iter().chain(changes).map(|text| text.to_lowercase()).collect::<Vec<_>>().join("\n")
}

/// Wrong if the first advice does not contain this word.
pub(super) fn judge_first_advice(assessment: &Assessment, word: &str) -> Concluded {
    let first = assessment.changes.first();
    let is_right = first.is_some_and(|change| {
        let finding = change.finding.as_deref().unwrap_or_default();
        format!("{} {} {finding}", change.title, change.why).to_lowercase().contains(word)
    });
    let text = first.map_or_else(|| "no advice".to_owned(), |change| format!("{}: {}", change.title, change.why));
    Concluded::new(if is_right { Judgment::Right } else { Judgment::Wrong(Fault::WrongAdvice) }, text)
}

/// Wrong if the assessment contains these words, which cannot be right.
pub(super) fn judge_never(assessment: &Assessment, words: &str) -> Concluded {
    let all_text = all_text(assessment);
    let line = all_text.lines().find(|line| line.contains(words)).unwrap_or(&assessment.sentence);
    let judgment = if all_text.contains(words) { Judgment::Wrong(Fault::WrongAdvice) } else { Judgment::Right };
    Concluded::new(judgment, line)
}

/// Wrong if something is advised without evidence.
pub(super) fn judge_not_advised(assessment: &Assessment, words: &str) -> Concluded {
    let advised = assessment.changes.iter().find(|change| change.title.to_lowercase().contains(words));
    let judgment = if advised.is_some() { Judgment::Wrong(Fault::WrongAdvice) } else { Judgment::Right };
    Concluded::new(judgment, advised.map_or(&assessment.sentence, |change| &change.why))
}

/// A run under load that is ended before its time.
fn ended_early(took_ns: u64) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let mut parts = Parts::quiet(random);
        parts.loaded = Ok(run(&Process::quiet(), &load_plan().ended_after(took_ns), random));
        judge(&parts.assess(), Answer::CannotBeTold)
    }
}

/// A run under load that is invalid.
fn invalid_load(code: ReasonCode) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let mut parts = Parts::quiet(random);
        if let Ok(loaded) = &mut parts.loaded {
            loaded.validity.add(code, "seen");
        }
        judge(&parts.assess(), Answer::CannotBeTold)
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = answers();
    cases.extend(advice());
    cases.extend(blame::cases());
    cases
}

fn answers() -> Vec<Case> {
    vec![
        Case::answerable("quiet, idle and under load", |random| judge(&Parts::quiet(random).assess(), Answer::Holds)),
        Case::answerable("disturbances below the deadline", |random| {
            let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 4_000.0, 40.0, 70.0));
            judge(&Parts::new(&Process::quiet(), &process, random).assess(), Answer::Holds)
        }),
        Case::answerable("delays beyond the deadline under load", |random| {
            let process = Process::quiet().with(far_beyond("irq/24-eth0"));
            judge(&Parts::new(&Process::quiet(), &process, random).assess(), Answer::DoesNotHold)
        }),
        Case::answerable("delays beyond the deadline only when idle", |random| {
            let process = Process::quiet().with(far_beyond("irq/24-eth0"));
            judge(&Parts::new(&process, &Process::quiet(), random).assess(), Answer::DoesNotHold)
        }),
        Case::answerable("a single delay beyond the deadline", |random| {
            let mut parts = Parts::quiet(random);
            if let Ok(loaded) = &mut parts.loaded {
                loaded.series[1].histogram.record_n(DEADLINE_NS + 1_000, 1);
                loaded.series[1].counters.samples += 1;
            }
            judge(&parts.assess(), Answer::DoesNotHold)
        }),
        Case::open("ended by Ctrl-C after two wake-ups under load", ended_early(2_000_000)),
        Case::open("ended by Ctrl-C before the first wake-up under load", ended_early(0)),
        Case::open("ended by Ctrl-C after a tenth of the time under load", ended_early(3 * SECOND_NS)),
        Case::answerable("ended by Ctrl-C after a tenth of the time, already broken", |random| {
            let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 40_000.0, 150.0, 400.0));
            let mut parts = Parts::quiet(random);
            parts.loaded = Ok(run(&process, &load_plan().ended_after(3 * SECOND_NS), random));
            judge(&parts.assess(), Answer::DoesNotHold)
        }),
        Case::open("idle part ended by Ctrl-C after two wake-ups, load quiet", |random| {
            let mut parts = Parts::quiet(random);
            parts.idle = run(&Process::quiet(), &idle_plan().ended_after(2_000_000), random);
            judge(&parts.assess(), Answer::CannotBeTold)
        }),
        Case::open("no load generator on this machine", |random| {
            let mut parts = Parts::quiet(random);
            parts.loaded = Err("stress-ng is not installed");
            judge(&parts.assess(), Answer::CannotBeTold)
        }),
        Case::open("ended by Ctrl-C before the part with a thread that never sleeps", |random| {
            let parts = Parts::quiet(random);
            let noise = Part::Missing("the assessment was ended before it");
            judge(&assess(&AssessmentInput { noise, ..parts.input() }), Answer::CannotBeTold)
        }),
        Case::open("one of two CPUs gave no sample under load", |random| {
            let mut parts = Parts::quiet(random);
            if let Ok(loaded) = &mut parts.loaded {
                loaded.series.truncate(1);
            }
            judge(&parts.assess(), Answer::CannotBeTold)
        }),
        Case::open("one of two CPUs gave ten samples under load", |random| {
            let mut parts = Parts::quiet(random);
            if let Ok(loaded) = &mut parts.loaded {
                let few = run(&Process::quiet(), &load_plan().ended_after(10_000_000), random);
                loaded.series[1] = few.series[1].clone();
            }
            judge(&parts.assess(), Answer::CannotBeTold)
        }),
        Case::open("real-time throttling under load", invalid_load(ReasonCode::RtThrottled)),
        Case::open("the load did nothing", invalid_load(ReasonCode::LoadNotAchieved)),
        Case::open("suspended under load", invalid_load(ReasonCode::Suspended)),
        Case::open("priority refused", |random| {
            let mut parts = Parts::quiet(random);
            parts.idle.validity.add(ReasonCode::SchedulingNotGranted, "EPERM");
            judge(&parts.assess(), Answer::CannotBeTold)
        }),
    ]
}

fn advice() -> Vec<Case> {
    vec![
        Case::answerable("the host causes all late samples, idle states only matter below the deadline", |random| {
            let host = far_beyond("host").with_class(CauseClass::Steal, Certainty::Likely);
            let idle = Process::quiet().shifted(30_000.0).with(host.clone());
            let mut parts = Parts::new(&idle, &Process::quiet().with(host.clone()), random);
            parts.held = Some(run(&Process::quiet().with(host), &Plan::seconds(9).on(2), random));
            judge_first_advice(&parts.assess(), "host")
        }),
        Case::answerable("one interrupt breaks the deadline often, another once", |random| {
            let process = Process::quiet().with(far_beyond("irq/24-eth0")).with(Disturbance::bounded(
                "irq/30-sda",
                120.0,
                300.0,
                450.0,
            ));
            judge_first_advice(&Parts::new(&Process::quiet(), &process, random).assess(), "irq/24-eth0")
        }),
        Case::answerable("only idle states break the deadline", |random| {
            let exit = far_beyond("C6").with_class(CauseClass::IdleExit, Certainty::Shown);
            let mut parts = Parts::new(&Process::quiet().with(exit), &Process::quiet(), random);
            parts.held = Some(run(&Process::quiet(), &Plan::seconds(9).on(2), random));
            // The word "idle" alone is in the reason of everything that was found in the idle part.
            judge_first_advice(&parts.assess(), "deep-idle-states")
        }),
        Case::answerable("a cause that stays below the deadline gives no advice", |random| {
            let below = Disturbance::bounded("irq/30-sda", 4_000.0, 30.0, 70.0);
            let process = Process::quiet().with(far_beyond("irq/24-eth0")).with(below);
            let assessment = Parts::new(&Process::quiet(), &process, random).assess();
            judge_not_advised(&assessment, "irq/30-sda")
        }),
        Case::answerable("no cause of lateness is named if the deadline holds", |random| {
            let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 4_000.0, 30.0, 70.0));
            judge_never(&Parts::new(&Process::quiet(), &process, random).assess(), "what makes it late")
        }),
        Case::answerable("fewer late samples with idle states disabled, by chance", |random| {
            // About a dozen samples of the idle part, and four or five of the shorter one, exceed half of the deadline.
            // Their cause is unknown: a known cause would be evidence against idle states.
            let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 2_000.0, 20.0, 60.0));
            let mut parts = Parts::new(&process, &process, random);
            parts.idle = run(&process, &Plan::seconds(24).on(2), random);
            parts.held = Some(run(&process, &Plan::seconds(9).on(2), random));
            judge_not_advised(&parts.assess(), "idle states")
        }),
        Case::answerable("a thread of the load kept preemption off", |random| {
            let of_load = far_beyond("stress-ng-iomix (other)").with_class(CauseClass::PreemptionOff, Certainty::Shown);
            let mut parts = Parts::new(&Process::quiet(), &Process::quiet().with(of_load), random);
            if let Ok(loaded) = &mut parts.loaded {
                loaded.manifest_mut().load.commands = vec![vec!["/usr/bin/stress-ng".to_owned(), "--iomix".to_owned()]];
            }
            judge_never(&parts.assess(), "keep that thread off")
        }),
        Case::answerable("a thread of this program kept preemption off", |random| {
            let own = far_beyond("punctual (other)").with_class(CauseClass::PreemptionOff, Certainty::Shown);
            let mut parts = Parts::new(&Process::quiet(), &Process::quiet().with(own), random);
            // The recorder knows its own threads.
            let explanation = parts.loaded.iter_mut().filter_map(|loaded| loaded.late_samples.explanation.as_mut());
            explanation.flat_map(|of| &mut of.causes).for_each(|cause| cause.owner = Owner::Instrument);
            judge_not_advised(&parts.assess(), "punctual")
        }),
        Case::answerable("a thread of another measurement, which has this program's names", |random| {
            let other = far_beyond("punctual-w0 (fifo 99)").with_class(CauseClass::Thread, Certainty::Shown);
            let parts = Parts::new(&Process::quiet(), &Process::quiet().with(other), random);
            judge_first_advice(&parts.assess(), "punctual-w0")
        }),
    ]
}
