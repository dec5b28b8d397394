//! Nodes that act together as witnesses and sweeps show them.

use pulse::numbering::NumberedPulse;
use pulse::shift::{CaptureError, NodeMeans, Part, Shift, split};
use pulse::sweep::{Outcome, Step, Sweep, SweepPlan};
use pulse::witness::{
    EdgesClaimed, LineSeen, NotSplit, PairSeen, Pairing, RunSeen, SplitShift, WitnessError, Witnessed,
};
use record::{Detail, Node, Nodes, PulseNode, Record};
use report::{Page, Results, TogetherInput};
use summary::shift::{NamedLine, ShiftSummary, summary};
use summary::sweep::{SweepDocument, SweepRun, SweepStep, sentence};
use summary::together::{NamedShift, NamedSweep};
use units::{Random, round_i64};

use crate::{orders, synthetic};

const NS: i64 = 1_000;
/// Orders of a capture, a millisecond apart.
const ORDERS: u32 = 120_000;

fn pulses(late_ps: impl FnMut(u32) -> Option<i64>) -> Vec<NumberedPulse> {
    let mut late_ps = late_ps;
    let pulse = |number: u32| {
        let start_ps = i64::from(number) * 1_000_000 * NS + late_ps(number)?;
        Some(NumberedPulse { number: number.into(), start_ps })
    };
    (0..ORDERS).filter_map(pulse).collect()
}

/// How fast the clock of each capture goes against the server's (parts per billion).
const CAPTURE_RATE_PPB: i64 = -1_840;

/// How a node lies against the first one: its mean (us), how its clock swings (us), a tail, and one order that is far off (us).
struct Planted {
    mean_us: f64,
    swing_us: f64,
    tail_us: f64,
    far_us: f64,
}

fn shifted(node: &Planted, seed: u64) -> Shift {
    let mut random = Random::new(seed);
    let late = |number: u32| {
        let swing = node.swing_us * (f64::from(number) / 9_000.0).sin();
        let tail = if number % 700 == 3 { -node.tail_us * (1.0 - random.unit()).ln() } else { 0.0 };
        let far = if number == 81_234 { node.far_us } else { 0.0 };
        let us = node.mean_us + swing + 1.6 * (random.unit() - 0.5) + tail + far;
        Some(round_i64(us * 1_000_000.0))
    };
    let capture = CaptureError { resolution_ps: Some(10 * NS), rate_ppb: Some(CAPTURE_RATE_PPB) };
    Shift::between(&pulses(|_| Some(0)), &pulses(late), capture).expect("they have orders in common")
}

/// What the nodes' records explain of a mean: the clocks most of it, within `clock_us` to either side.
fn explained(shift: &Shift, explained_share: f64, clock_us: f64) -> SplitShift {
    let ps = |us: f64| round_i64(us * 1_000_000.0);
    let mean_ps = round_i64(shift.mean_ps);
    let of = |error_ps: i64, spread_ps: i64, returned: i64| {
        let ahead = Part { ps: round_i64(shift.mean_ps * explained_share), error_ps };
        let first = NodeMeans { clock_ahead: ahead, acted_to_returned_ps: returned, ..NodeMeans::default() };
        let second = NodeMeans {
            clock_ahead: Part { ps: 0, error_ps: 0 },
            ordered_to_acted: Part { ps: ps(0.9), error_ps: spread_ps },
            acted_to_returned_ps: returned + ps(0.8),
        };
        split(Part { ps: mean_ps, error_ps: error_ps / 100 }, &first, &second)
    };
    SplitShift { likely: of(0, 0, ps(1.4)), bounds: of(ps(clock_us), ps(0.05), ps(1.4)) }
}

fn line() -> LineSeen {
    LineSeen {
        pulses: ORDERS.into(),
        bounces: 0,
        glitches: 0,
        cut: 0,
        odd: 0,
        numbered: Some(ORDERS.into()),
        counts: Some(pulse::numbering::NumberingCounts::default()),
        faults: Vec::new(),
        claimed: Some(EdgesClaimed { covered: ORDERS.into(), without_edge: 0, not_carried_out: 0 }),
    }
}

fn pair(shift: Shift, parts: Result<SplitShift, NotSplit>) -> PairSeen {
    let witnessed =
        Witnessed { pairing: Pairing::Numbers, lines: None, shift, capture_rate_ppb: Some(CAPTURE_RATE_PPB) };
    PairSeen { witnessed: Ok(witnessed), parts: Some(parts) }
}

/// A run of three nodes that act, as of two.
fn of_three(label: &str) -> Record {
    let mut record = orders::labeled(label);
    let mut nodes: Vec<Node> = record.nodes.clone().into();
    if let Some(mut third) = nodes.last().cloned() {
        "press-3".clone_into(&mut third.name);
        nodes.push(third);
    }
    record.nodes = Nodes::try_from(nodes).expect("four names");
    let of_second = record.series.iter().filter(|series| series.node == "press-2").cloned();
    let third = of_second.map(|mut series| {
        "press-3".clone_into(&mut series.node);
        if let record::Place::Flow { flow, .. } = &mut series.place {
            *flow = 2;
        }
        series
    });
    let third: Vec<record::Series> = third.collect();
    record.series.extend(third);
    if let Detail::Pulse(run) = &mut record.detail {
        run.mark = Some(1_000);
        let node = run.nodes.last().map(|node| PulseNode { node: "press-3".to_owned(), flow: 2, ..node.clone() });
        run.nodes.extend(node);
        let flow = run.packets.flows.last().cloned();
        run.packets.flows.extend(flow.map(|mut flow| {
            flow.flow = 2;
            "press-3".clone_into(&mut flow.to);
            flow
        }));
    }
    record
}

fn said(record: &Record, pairs: Vec<PairSeen>, limit_ns: Option<i64>) -> ShiftSummary {
    let run = record.pulses().expect("a run of orders");
    let named = run.nodes.iter().zip(["D0", "D1", "D2"]).take(pairs.len() + 1);
    let lines: Vec<NamedLine<'_>> = named.map(|(node, name)| NamedLine { node, channel: name.to_owned() }).collect();
    let seen = RunSeen { lines: vec![line(); lines.len()], pairs };
    summary(record, run, &lines, &seen, limit_ns)
}

fn named(shift: ShiftSummary) -> NamedShift {
    NamedShift { name: shift.label.clone(), shift }
}

fn together(shifts: Vec<NamedShift>, sweeps: Vec<NamedSweep>, runs: Vec<Record>) -> Page {
    Page::together(TogetherInput { shifts, sweeps, results: Results { runs, ..Results::default() } })
}

/// A witness of three nodes that contradicts none of them.
pub(crate) fn witnessed() -> Page {
    let record = of_three("three presses");
    let near = shifted(&Planted { mean_us: 4.2, swing_us: 2.5, tail_us: 5.0, far_us: 31.0 }, 5);
    let far = shifted(&Planted { mean_us: -9.0, swing_us: 1.2, tail_us: 3.0, far_us: 0.0 }, 6);
    let pairs = [(near, 0.7), (far, 1.1)].map(|(shift, share)| {
        let parts = explained(&shift, share, 2.4);
        pair(shift, Ok(parts))
    });
    let shift = said(&record, pairs.into(), Some(50_000));
    together(vec![named(shift)], Vec::new(), vec![record])
}

/// A witness that contradicts a node: 38 us are left without a reason.
pub(crate) fn contradicted() -> Page {
    let record = orders::labeled("a clock that is off");
    let shift = shifted(&Planted { mean_us: 41.0, swing_us: 0.4, tail_us: 1.0, far_us: 0.0 }, 7);
    let parts = explained(&shift, 0.02, 1.0);
    let shift = said(&record, vec![pair(shift, Ok(parts))], Some(50_000));
    together(vec![named(shift)], Vec::new(), vec![record])
}

/// A witness by time alone whose capture does not say how exact it is, and one of which nothing can be said.
pub(crate) fn unknown() -> Page {
    let plain = orders::labeled("without marks");
    let shift = shifted(&Planted { mean_us: -0.6, swing_us: 0.3, tail_us: 2.0, far_us: 0.0 }, 8);
    let shift = Shift { error_ps: None, ..shift };
    let witnessed = Witnessed {
        pairing: Pairing::Time(pulse::numbering::NumberingError::Unmarked),
        lines: None,
        shift,
        capture_rate_ppb: None,
    };
    let known = said(&plain, vec![PairSeen { witnessed: Ok(witnessed), parts: Some(Err(NotSplit::Resolution)) }], None);
    let silent = orders::labeled("no common order");
    let none = WitnessError::Disjoint { first_from: 0, first_to: 11_999, second_from: 60_000, second_to: 119_999 };
    let silent = said(&silent, vec![PairSeen { witnessed: Err(none), parts: None }], None);
    together(vec![named(known), named(silent)], Vec::new(), Vec::new())
}

/// Witnesses of several scenarios, and what writing the line costs: the paper's figures 9 and 10.
pub(crate) fn scenarios() -> Page {
    let scenario = |(place, label): (u64, &str)| {
        let record = orders::labeled(label);
        let tail_us = [16.0, 9.0, 4.0, 3.0][usize::try_from(place).unwrap_or(0)];
        let node =
            Planted { mean_us: 1.1 - 0.2 * units::approx_f64(place), swing_us: 0.5, tail_us, far_us: 3.0 * tail_us };
        let shift = shifted(&node, 20 + place);
        let parts = explained(&shift, 0.5, 2.0);
        named(said(&record, vec![pair(shift, Ok(parts))], None))
    };
    let labels = ["RT-SMS", "RT-MBS", "CPUSET-SMS", "CPUSET-MBS"];
    together((0..).zip(labels).map(scenario).collect(), Vec::new(), vec![synthetic::gpio(1_400)])
}

/// Neither a witness nor a run: a sweep that confirmed nothing, whose records are elsewhere.
pub(crate) fn nothing() -> Page {
    let (sweep, _) = swept("losses", plan(vec![500_000]), |step, number| {
        let confirms = matches!(step, Step::Confirm { .. });
        Some(orders::of_sweep(number, step.run()?, confirms, confirms, false))
    });
    together(Vec::new(), vec![sweep], Vec::new())
}

fn plan(cycles_ns: Vec<u64>) -> SweepPlan {
    SweepPlan {
        cycles_ns,
        max_miss: 1e-4,
        confidence: 0.99,
        margin_ns: 10_000,
        max_lead_ns: 10_000_000,
        explore_ns: 20_000_000_000,
        budget_ns: 3_600_000_000_000,
        nodes: 2,
        load: "compile jobs".to_owned(),
    }
}

/// Carries a sweep out on made runs; `shows` makes the record of each.
fn swept(
    name: &str,
    plan: SweepPlan,
    mut shows: impl FnMut(&Step, u32) -> Option<Record>,
) -> (NamedSweep, Vec<Record>) {
    let mut sweep = Sweep::new(plan).expect("a plan that can be carried out");
    let (mut records, mut runs) = (Vec::new(), Vec::new());
    while let Some(run) = sweep.next().run().copied() {
        let step = if matches!(sweep.next(), Step::Explore { .. }) { SweepStep::Explore } else { SweepStep::Confirm };
        let record = shows(sweep.next(), run.number).expect("the run is made");
        let outcome = Outcome::of_record(&record, run.number).expect("the run shows something");
        sweep.take(&outcome).expect("the outcome can be");
        runs.push(SweepRun {
            number: run.number,
            step,
            cycle_ns: run.cycle_ns,
            lead_ns: run.lead_ns,
            record: record.id.clone(),
            file: Some(format!("{:03}-{}.json", run.number, step.word())),
        });
        records.push(record);
    }
    let Step::Done(conclusion) = sweep.next() else { unreachable!("it has no run left") };
    let sentence = sentence(conclusion, |_| Some("53.0 us".to_owned()));
    let document = SweepDocument::new(sentence, (**conclusion).clone(), runs);
    (NamedSweep { name: name.to_owned(), document }, records)
}

/// A sweep over three cycles: the shortest loses orders, the second is confirmed at its second lead, the third at its first.
pub(crate) fn sweep() -> Page {
    let mut attempts = 0;
    let (sweep, records) = swept("three cycles", plan(vec![250_000, 500_000, 1_000_000]), |step, number| {
        let run = step.run()?;
        let confirms = matches!(step, Step::Confirm { .. });
        attempts += u32::from(confirms && run.cycle_ns == 500_000);
        let fails = confirms && run.cycle_ns == 500_000 && attempts == 1;
        Some(orders::of_sweep(number, run, confirms, run.cycle_ns == 250_000 && confirms, fails))
    });
    together(Vec::new(), vec![sweep], records)
}
