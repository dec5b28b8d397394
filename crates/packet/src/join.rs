//! Makes one record of the halves of two nodes.

use crate::services;
use record::{Detail, LateSamples, Moment, Node, Nodes, PacketFlow, PacketRun, PulseRun, ReasonCode, Record, Validity};

/// TAI less UTC since 2017-01-01 (IERS Bulletin C 52; s).
const TAI_LESS_UTC_S: i64 = 37;
/// Worst samples of a record.
const MOST_WORST: usize = 64;

/// Why two halves are no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The halves are of different kinds of run.
    #[error("the halves are not of one kind of run")]
    Kind,
    /// The nodes cannot be told apart.
    #[error("{0}")]
    Nodes(String),
}

/// Joins the half of the node that asked for the run, or a record that already holds further halves, with that of a partner. Both keep
/// their validity: what makes one half invalid makes the run invalid.
///
/// # Errors
/// If the halves are not of one run.
pub fn join(initiator: Record, partner: Record) -> Result<Record, JoinError> {
    let (mut run, pulses) = packets(initiator.detail).ok_or(JoinError::Kind)?;
    let (other, other_pulses) = packets(partner.detail).ok_or(JoinError::Kind)?;
    if pulses.is_some() != other_pulses.is_some() {
        return Err(JoinError::Kind);
    }
    let mut nodes: Vec<Node> = initiator.nodes.into();
    let others: Vec<Node> = partner.nodes.into();
    nodes.extend(others);
    let nodes = Nodes::try_from(nodes).map_err(JoinError::Nodes)?;
    run.clocks.extend(other.clocks);
    run.services.extend(other.services);
    run.hardware.extend(other.hardware);
    run.explanations.extend(other.explanations);
    join_flows(&mut run, other.flows);
    let mut series = initiator.series;
    series.extend(partner.series);
    for one in series.iter_mut().filter(|one| one.judged) {
        let flow = run.flows.iter().find(|flow| is_of(one, flow));
        one.counters.lost = flow.and_then(|flow| flow.lost);
    }
    let contradictions = services::relate(&mut run, &tai_less_utc_s(&nodes));
    let started = started(&nodes);
    if contradictions.is_empty() {
        services::tighten(&run, &mut series, |name| {
            started.iter().find(|(node, _)| node == name).map(|(_, at)| at.realtime.as_ns())
        });
    }
    let mut worst = initiator.worst;
    worst.extend(partner.worst);
    worst.sort_by_key(|one| std::cmp::Reverse(one.latency_ns));
    worst.truncate(MOST_WORST);
    let mut rows = initiator.rows;
    rows.extend(partner.rows);
    // What was joined before says itself of which node each of its reasons is.
    let first = if nodes.iter().count() > 2 { "" } else { &*nodes.first().name };
    let last = nodes.iter().last().map_or("", |node| &*node.name);
    let mut validity = join_validity([&initiator.validity, &partner.validity], [first, last]);
    // Of orders further halves may be joined with it: they are judged together.
    if pulses.is_none() {
        for reason in services::judge(&run, &contradictions, &started) {
            validity.add(reason.code, reason.detail);
        }
    }
    Ok(Record {
        id: initiator.id,
        measurement: initiator.measurement,
        label: initiator.label,
        validity,
        verdict: None,
        nodes,
        series,
        worst,
        rows,
        // Each node explains its own, with the packets.
        late_samples: LateSamples::default(),
        detail: match pulses {
            Some(mut pulses) => {
                pulses.nodes.extend(other_pulses.into_iter().flat_map(|other| other.nodes));
                Detail::Pulse(PulseRun { packets: run, ..pulses })
            }
            None => Detail::Packet(run),
        },
    })
}

/// Says what the time services make of the validity of a run of orders, once all halves are joined that are there.
pub fn judge_services(record: &mut Record) {
    let (tai_less_utc_s, started) = (tai_less_utc_s(&record.nodes), started(&record.nodes));
    let Detail::Pulse(PulseRun { packets, .. }) = &mut record.detail else { return };
    let contradictions = services::relate(packets, &tai_less_utc_s);
    for reason in services::judge(packets, &contradictions, &started) {
        record.validity.add(reason.code, reason.detail);
    }
}

/// When the run began on each node, by its name.
fn started(nodes: &Nodes) -> Vec<(String, Moment)> {
    nodes.iter().map(|node| (node.name.clone(), node.manifest.started)).collect()
}

/// The packets of a half, and where they bring orders what else is known of these; `None` if it has none.
fn packets(detail: Detail) -> Option<(PacketRun, Option<PulseRun>)> {
    match detail {
        Detail::Packet(run) => Some((run, None)),
        Detail::Pulse(mut run) => Some((std::mem::take(&mut run.packets), Some(run))),
        _ => None,
    }
}

/// A detail with the node that it is of, where it does not say that itself.
fn of_node(name: &str, detail: &str) -> String {
    if name.is_empty() { detail.to_owned() } else { format!("{name}: {detail}") }
}

/// What both halves say, said once; each detail with the node that it is about, save where it is the same.
fn join_validity(halves: [&Validity; 2], names: [&str; 2]) -> Validity {
    let named = || halves.into_iter().zip(names);
    let details = |code: ReasonCode| {
        let of_half = |validity: &Validity| -> Vec<String> {
            validity.reasons().iter().filter(|one| one.code == code).map(|one| one.detail.clone()).collect()
        };
        let [first, second] = halves.map(of_half);
        if first == second {
            return first.join("; ");
        }
        let all = named().zip([first, second]).filter(|(_, details)| !details.is_empty());
        all.map(|((_, name), details)| of_node(name, &details.join("; "))).collect::<Vec<_>>().join("; ")
    };
    let mut validity = Validity::default();
    for reason in halves.into_iter().flat_map(Validity::reasons) {
        if !validity.has(reason.code) {
            validity.add(reason.code, details(reason.code));
        }
    }
    for (half, name) in named() {
        for what in half.not_observable() {
            validity.add_not_observable(what.what, of_node(name, &what.detail));
        }
    }
    validity
}

/// The offsets of CLOCK_TAI that the nodes' kernels have, and the one that holds since 2017 where one of them was never told.
fn tai_less_utc_s(nodes: &Nodes) -> Vec<i64> {
    nodes.iter().filter_map(|node| node.clocks.tai_less_utc_s).map(i64::from).chain([TAI_LESS_UTC_S]).collect()
}

fn is_of(series: &record::Series, flow: &PacketFlow) -> bool {
    matches!(series.place, record::Place::Flow { flow: number, .. } if number == flow.flow)
}

/// Fills in what only the other node knows of each flow.
fn join_flows(run: &mut PacketRun, others: Vec<PacketFlow>) {
    for other in others {
        let Some(own) = run.flows.iter_mut().find(|flow| flow.flow == other.flow) else {
            run.flows.push(other);
            continue;
        };
        // The receiver's half says how it received, whether or not it knows how many arrived.
        let receives = own.received_by.is_some();
        let (sender, receiver) = if receives { (&other, own.clone()) } else { (&*own, other.clone()) };
        *own = PacketFlow {
            sent: sender.sent.or(receiver.sent),
            skipped: sender.skipped.or(receiver.skipped),
            refused: sender.refused.or(receiver.refused),
            sent_by: sender.sent_by.clone().or_else(|| receiver.sent_by.clone()),
            launch: sender.launch.clone().or_else(|| receiver.launch.clone()),
            ..receiver.clone()
        };
        own.lost = own.lost_of();
    }
    run.flows.sort_by_key(|flow| flow.flow);
}

#[cfg(test)]
mod tests {
    use record::{Counters, Direction, HardwareStamps, Manifest, Measurement, NodeIdentity, Place, Series};

    use super::*;

    fn half(name: &str, flow: PacketFlow, series: Vec<Series>) -> Record {
        let manifest = Manifest {
            node: NodeIdentity { hostname: name.to_owned(), ..NodeIdentity::default() },
            ..Manifest::default()
        };
        let mut record = Record::empty(format!("of-{name}"), Measurement::Packet, manifest);
        record.series = series;
        record.detail = Detail::Packet(PacketRun { flows: vec![flow], ..PacketRun::default() });
        record.with_node_named()
    }

    fn flow() -> PacketFlow {
        PacketFlow { from: "a".to_owned(), to: "b".to_owned(), ..PacketFlow::default() }
    }

    fn halves() -> (Record, Record) {
        let sender = PacketFlow {
            sent: Some(100),
            skipped: Some(2),
            refused: Some(0),
            sent_by: Some("UDP".to_owned()),
            ..flow()
        };
        let receiver =
            PacketFlow { arrived: Some(97), doubled: 1, forged: 5, received_by: Some("UDP".to_owned()), ..flow() };
        let place = Place::Flow { flow: 0, direction: Direction::Received, queue: None };
        let series =
            Series { name: "sent_to_received".to_owned(), place, counters: Counters::default(), ..Series::default() };
        (half("a", sender, Vec::new()), half("b", receiver, vec![series]))
    }

    #[test]
    fn what_each_node_counted_of_a_flow_stands_together_and_the_lost_ones_are_exact() {
        let (sender, receiver) = halves();
        for (one, other) in [(sender.clone(), receiver.clone()), (receiver, sender)] {
            let joined = join(one, other).unwrap();
            let Detail::Packet(run) = &joined.detail else { panic!("no packets") };
            let [flow] = &run.flows[..] else { panic!("{:?}", run.flows) };
            assert_eq!((flow.sent, flow.skipped, flow.arrived, flow.lost), (Some(100), Some(2), Some(97), Some(3)));
            assert_eq!((flow.doubled, flow.forged), (1, 5));
            assert_eq!((flow.sent_by.as_deref(), flow.received_by.as_deref()), (Some("UDP"), Some("UDP")));
            assert_eq!(joined.series[0].counters.lost, Some(3));
            assert_eq!(joined.nodes.iter().count(), 2);
        }
    }

    #[test]
    fn the_record_has_what_the_interfaces_of_both_nodes_stamped() {
        let (mut sender, mut receiver) = halves();
        for half in [&mut sender, &mut receiver] {
            let node = half.nodes.first().name.clone();
            let Detail::Packet(run) = &mut half.detail else { panic!("no packets") };
            run.hardware = vec![HardwareStamps { node, sent: true, ..HardwareStamps::default() }];
            run.flows[0].without_hw_transmitted = u64::from(run.flows[0].arrived.is_some()) * 5;
        }
        for joined in [join(sender.clone(), receiver.clone()), join(receiver, sender)].map(Result::unwrap) {
            let run = joined.packets().unwrap();
            let mut nodes: Vec<&str> = run.hardware.iter().map(|one| one.node.as_str()).collect();
            nodes.sort_unstable();
            assert_eq!((nodes, run.flows[0].without_hw_transmitted), (vec!["a", "b"], 5));
            let said = run.hardware[0].in_words();
            assert!(said.contains("stamped sent packets"), "{said}");
        }
    }

    #[test]
    fn what_makes_one_half_invalid_makes_the_run_invalid() {
        let (sender, mut receiver) = halves();
        receiver.validity.add(ReasonCode::ClockStepped, "by 1 s");
        let joined = join(sender.clone(), receiver.clone()).unwrap().validity;
        assert!(joined.is_invalid());
        assert_eq!(joined.reasons()[0].detail, "b: by 1 s");
        let mut sender = sender;
        for half in [&mut sender, &mut receiver] {
            half.validity.add(ReasonCode::NoTimeService, "none was asked");
        }
        receiver.validity.add(ReasonCode::NoTimeService, "and none was there");
        sender.validity.add(ReasonCode::VirtualMachine, "kvm");
        receiver.validity.add(ReasonCode::VirtualMachine, "kvm");
        let details: Vec<String> =
            join(sender, receiver).unwrap().validity.reasons().iter().map(|reason| reason.detail.clone()).collect();
        assert!(details.contains(&"kvm".to_owned()), "{details:?}");
        assert!(
            details.contains(&"a: none was asked; b: none was asked; and none was there".to_owned()),
            "{details:?}"
        );
    }

    #[test]
    fn halves_of_something_else_are_refused() {
        let (sender, receiver) = halves();
        assert!(matches!(join(sender.clone(), sender.clone()), Err(JoinError::Nodes(_))), "the same node twice");
        let other = Record { detail: Detail::None, ..receiver };
        assert_eq!(join(sender, other), Err(JoinError::Kind));
    }
}
