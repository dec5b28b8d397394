//! Makes one record of the halves of a server and of the nodes that acted.

use packet::join::JoinError;
use record::{Detail, OrderCounts, PacketFlow, PulseNode, PulseRun, ReasonCode, Record};

use crate::account::{NodeNumbers, Obeyed, Sent, orders, trials};
use crate::numbers::OrderNumbers;

/// Joins the server's half, or a record that already holds the halves of other nodes, with the half of a node.
///
/// # Errors
/// If they are not of one run.
pub fn join(first: Record, node: Record) -> Result<Record, JoinError> {
    let mut joined = packet::join::join(first, node)?;
    let Detail::Pulse(run) = &mut joined.detail else { return Err(JoinError::Kind) };
    for contradiction in join_nodes(run) {
        joined.validity.add(ReasonCode::OrdersContradict, contradiction);
    }
    let not_kept: Vec<(u32, Option<u64>)> = run
        .nodes
        .iter()
        .map(|node| {
            let OrderCounts { scheduled, acted, unknown, .. } = node.orders;
            // Whatever was not carried out did not arrive in time, whichever way it failed.
            (node.flow, (unknown == 0).then(|| scheduled.saturating_sub(acted)))
        })
        .collect();
    for series in joined.series.iter_mut().filter(|series| series.judged) {
        let record::Place::Flow { flow, .. } = series.place else { continue };
        series.counters.lost = not_kept.iter().find(|(of, _)| *of == flow).and_then(|(_, lost)| *lost);
    }
    Ok(joined)
}

/// Marks a node's half as one that it told while its run went on: of the orders behind the last one that it tells of, nothing is
/// known.
pub fn goes_on(half: &mut Record) {
    let Detail::Pulse(run) = &mut half.detail else { return };
    for node in &mut run.nodes {
        node.known_below = Some(last_told(node));
    }
}

/// The numbers of orders that a half has as text.
fn numbers_of(text: Option<&String>) -> Option<OrderNumbers> {
    OrderNumbers::from_text(text?).ok()
}

/// The number behind the last order that a node's half tells of.
fn last_told(node: &PulseNode) -> u64 {
    let end = |text: &Option<String>| numbers_of(text.as_ref()).map_or(0, |numbers| numbers.end());
    end(&node.kept).max(end(&node.too_late))
}

/// The number of the first order that a node's half does not tell of.
fn first_untold(node: &PulseNode) -> u64 {
    let all = [&node.kept, &node.too_late].map(|text| numbers_of(text.as_ref()).unwrap_or_default());
    let [kept, too_late] = all;
    let told = kept.or(&too_late);
    told.missing_below(told.end().saturating_add(1)).first().unwrap_or(0)
}

/// What a record has once all halves are joined that are there: the schedules as trials of all nodes, and what their time services say of
/// each other.
pub fn conclude(record: &mut Record) {
    packet::join::judge_services(record);
    let Detail::Pulse(run) = &mut record.detail else { return };
    let of_node = |node: &mut PulseNode| {
        let (kept, too_late) = (numbers_of(node.kept.take().as_ref()), numbers_of(node.too_late.take().as_ref()));
        Some(NodeNumbers { kept: kept?, too_late: too_late?, known_below: node.known_below.take() })
    };
    let nodes: Vec<Option<NodeNumbers>> = run.nodes.iter_mut().map(of_node).collect();
    // Who lacks the server's word has counted what arrived, and the numbers of these go farther.
    let ends = nodes.iter().flatten().flat_map(|node| [node.kept.end(), node.too_late.end()]);
    let scheduled = run.nodes.iter().map(|node| node.orders.scheduled).chain(ends).max().unwrap_or(0);
    run.trials = trials(scheduled, run.interval_ns, &nodes);
}

/// Makes one of what the server and the node itself say of it; the contradictions between both.
fn join_nodes(run: &mut PulseRun) -> Vec<String> {
    let mut contradictions = Vec::new();
    let mut joined: Vec<PulseNode> = Vec::new();
    for node in std::mem::take(&mut run.nodes) {
        let Some(by_server) = joined.iter_mut().find(|one| one.flow == node.flow) else {
            joined.push(node);
            continue;
        };
        // The node itself knows what it did, and how long it takes to get ready.
        let (server, own) =
            if node.arming_ns.is_some() { (by_server.orders, node) } else { (node.orders, by_server.clone()) };
        let flow = run.packets.flows.iter().find(|flow| flow.flow == own.flow);
        let goes_on = own.known_below.is_some();
        let mut own = own;
        // Without the server's word how many it sent there is no such entry: what it does not know stands as unknown.
        let obeyed = Obeyed {
            acted: own.orders.acted,
            beyond: own.orders.beyond,
            too_late: own.orders.too_late,
            refused: own.orders.refused,
            dropped: own.orders.dropped,
        };
        // Orders that arrived, and of which the node does not say what became: since its account of them was lost, or since it was
        // over before it had taken all. Neither is lost on the way, and of none is known that it was missed.
        let untold = flow.is_some_and(|flow| flow.arrived.is_none_or(|arrived| arrived > obeyed.arrived()));
        if untold && !goes_on {
            let is_whole = flow.is_some_and(|flow| flow.arrived.is_some());
            own.known_below = Some(if is_whole { first_untold(&own) } else { last_told(&own) });
        }
        let may_still_come = goes_on || untold || flow.is_some_and(|flow| flow.may_still_come || flow.too_old > 0);
        // While both go on, the server may not have counted yet what the node has received.
        let least = if goes_on { obeyed.arrived() } else { 0 };
        let sent = Sent { sent: server.unknown.max(least), skipped: server.skipped, refused: server.refused };
        let both = if flow.is_some_and(did_not_say) { None } else { Some(sent) };
        match orders(both, Some(obeyed), may_still_come) {
            Ok(orders) => *by_server = PulseNode { orders, ..own },
            Err(contradiction) => {
                contradictions.push(format!("{}: {contradiction}", own.node));
                *by_server = own;
            }
        }
    }
    run.nodes = joined;
    contradictions
}

/// Whether the sender did not say what it sent.
fn did_not_say(flow: &PacketFlow) -> bool {
    flow.sent.is_none()
}

#[cfg(test)]
mod tests {
    use record::{Direction, Manifest, Measurement, NodeIdentity, PacketRun, Place, Series};

    use super::*;

    fn half(name: &str, nodes: Vec<PulseNode>, flows: Vec<PacketFlow>) -> Record {
        let manifest = Manifest {
            node: NodeIdentity { hostname: name.to_owned(), ..NodeIdentity::default() },
            ..Manifest::default()
        };
        let mut record = Record::empty(format!("of-{name}"), Measurement::Pulse, manifest);
        let packets = PacketRun { flows, ..PacketRun::default() };
        record.detail = Detail::Pulse(PulseRun { packets, nodes, interval_ns: 1_000_000, ..PulseRun::default() });
        record.with_node_named()
    }

    fn of_server() -> Record {
        let node = |flow: u32| {
            let sent = Sent { sent: 98, skipped: 1, refused: 1 };
            let (node, orders) = (format!("n{flow}"), orders(Some(sent), None, false).unwrap());
            PulseNode { node, flow, orders, ..PulseNode::default() }
        };
        let flow = |flow: u32| PacketFlow {
            flow,
            sent: Some(98),
            skipped: Some(1),
            refused: Some(1),
            ..PacketFlow::default()
        };
        half("server", vec![node(0), node(1)], vec![flow(0), flow(1)])
    }

    /// A node that missed some orders: the server skipped 5 and did not get 6 away.
    fn of_node(flow: u32, missed: &[u64]) -> Record {
        let mut kept = OrderNumbers::default();
        (0..100)
            .filter(|number| ![5, 6].contains(number) && !missed.contains(number))
            .for_each(|number| kept.push(number));
        let obeyed = Obeyed { acted: kept.count(), ..Obeyed::default() };
        let node = PulseNode {
            node: format!("n{flow}"),
            flow,
            arming_ns: Some(2_000),
            orders: orders(None, Some(obeyed), false).unwrap(),
            kept: Some(kept.to_text()),
            too_late: Some(OrderNumbers::default().to_text()),
            ..PulseNode::default()
        };
        let arrived = Some(kept.count());
        let of_flow = PacketFlow { flow, arrived, received_by: Some("UDP".to_owned()), ..PacketFlow::default() };
        let mut record = half(&format!("n{flow}"), vec![node], vec![of_flow]);
        let place = Place::Flow { flow, direction: Direction::Received, queue: None };
        record.series = vec![Series { name: "ordered_to_acted".to_owned(), place, judged: true, ..Series::default() }];
        record
    }

    #[test]
    fn the_halves_of_three_nodes_are_one_run_in_which_each_order_is_counted_once() {
        let two = join(of_server(), of_node(0, &[7, 8])).unwrap();
        let mut three = join(two, of_node(1, &[8, 50])).unwrap();
        conclude(&mut three);
        assert!(three.validity.reasons().is_empty(), "{:?}", three.validity);
        assert_eq!(three.nodes.iter().count(), 3);
        let run = three.pulses().unwrap();
        let expected =
            OrderCounts { scheduled: 100, skipped: 1, acted: 96, lost: 2, refused: 1, ..OrderCounts::default() };
        assert_eq!(run.nodes.iter().map(|node| node.orders).collect::<Vec<_>>(), [expected; 2]);
        assert_eq!((run.trials.kept, run.trials.missed, run.trials.unknown), (95, 5, 0));
        assert_eq!((run.trials.bursts, run.trials.longest_burst), (1, 5));
        assert!(run.nodes.iter().all(|node| node.kept.is_none()));
        let lost: Vec<_> = three.series.iter().map(|series| series.counters.lost).collect();
        assert_eq!(lost, [Some(4); 2], "whatever was not carried out");
    }

    #[test]
    fn of_a_node_that_does_not_tell_nothing_is_known() {
        let mut two = join(of_server(), of_node(0, &[])).unwrap();
        conclude(&mut two);
        let run = two.pulses().unwrap();
        assert_eq!(
            run.nodes[1].orders,
            OrderCounts { scheduled: 100, skipped: 1, refused: 1, unknown: 98, ..OrderCounts::default() }
        );
        assert_eq!((run.trials.kept, run.trials.missed, run.trials.unknown), (0, 2, 98));
        assert_eq!(two.series[0].counters.lost, Some(2));
    }

    #[test]
    fn of_a_node_that_was_lost_is_known_what_it_told_and_the_rest_is_not_called_lost() {
        let (mut lost, whole) = (of_node(0, &[7, 8, 60]), of_node(1, &[8, 80]));
        let Detail::Pulse(run) = &mut lost.detail else { panic!() };
        // It told of orders up to 69, of which it carried out 65, and did more until it was lost.
        let mut kept = OrderNumbers::default();
        (0..70).filter(|number| ![5, 6, 7, 8, 60].contains(number)).for_each(|number| kept.push(number));
        let obeyed = Obeyed { acted: kept.count(), ..Obeyed::default() };
        run.nodes[0].orders = orders(None, Some(obeyed), false).unwrap();
        run.nodes[0].kept = Some(kept.to_text());
        goes_on(&mut lost);
        let mut three = join(join(of_server(), lost).unwrap(), whole).unwrap();
        conclude(&mut three);
        assert!(three.validity.reasons().is_empty(), "{:?}", three.validity);
        let run = three.pulses().unwrap();
        let expected =
            OrderCounts { scheduled: 100, skipped: 1, acted: 65, refused: 1, unknown: 33, ..OrderCounts::default() };
        assert_eq!(run.nodes[0].orders, expected);
        assert_eq!(run.nodes[1].orders, OrderCounts { acted: 96, lost: 2, unknown: 0, ..expected });
        // Missed are 5, 6, 7, 8 and 60, and 80 by the other node; of the others from 70 on nobody knows.
        assert_eq!((run.trials.scheduled, run.trials.kept, run.trials.missed, run.trials.unknown), (100, 65, 6, 29));
        assert!(run.nodes.iter().all(|node| node.known_below.is_none() && node.kept.is_none()));
        let lost: Vec<_> = three.series.iter().map(|series| series.counters.lost).collect();
        assert_eq!(lost, [None, Some(4)], "how many were lost is not known");
    }

    #[test]
    fn an_order_that_arrived_is_not_called_lost_where_the_node_does_not_say_what_became_of_it() {
        // 98 arrived; of 7, 8 and 90 the account was lost on its way to the record.
        let mut half = of_node(0, &[7, 8, 90]);
        let Detail::Pulse(run) = &mut half.detail else { panic!() };
        run.packets.flows[0].arrived = Some(98);
        let mut three = join(join(of_server(), half).unwrap(), of_node(1, &[50])).unwrap();
        conclude(&mut three);
        let run = three.pulses().unwrap();
        let expected =
            OrderCounts { scheduled: 100, skipped: 1, acted: 95, refused: 1, unknown: 3, ..OrderCounts::default() };
        assert_eq!(run.nodes[0].orders, expected);
        assert_eq!(run.packets.flows[0].lost, Some(0), "what the packets say is the same");
        // From the first gap in what it tells on, 5, nobody knows; 5, 6 and 50 were missed by the other one.
        assert_eq!((run.trials.kept, run.trials.missed, run.trials.unknown), (5, 3, 92));
        assert_eq!(three.series[0].counters.lost, None);
    }

    #[test]
    fn orders_that_were_sent_after_a_node_s_half_had_ended_are_of_unknown_fate() {
        // Its watchdog ended it after order 49.
        let mut half = of_node(0, &(50..100).chain([20]).collect::<Vec<_>>());
        let Detail::Pulse(run) = &mut half.detail else { panic!() };
        run.packets.flows[0].arrived = None;
        let mut three = join(join(of_server(), half).unwrap(), of_node(1, &[50])).unwrap();
        conclude(&mut three);
        let run = three.pulses().unwrap();
        assert_eq!((run.nodes[0].orders.lost, run.nodes[0].orders.unknown), (0, 51));
        // Missed are 5, 6 and 20 before it ended, and 50 by the other one.
        assert_eq!((run.trials.kept, run.trials.missed, run.trials.unknown), (47, 4, 49));
    }

    #[test]
    fn without_the_server_s_word_all_orders_that_a_node_tells_of_are_trials() {
        let mut alone = of_node(0, &[7, 90]);
        conclude(&mut alone);
        let run = alone.pulses().unwrap();
        assert_eq!((run.nodes[0].orders.scheduled, run.nodes[0].orders.acted), (96, 96), "what arrived");
        // Up to the last one that it tells of, 99: 5, 6, 7 and 90 are missing.
        assert_eq!((run.trials.scheduled, run.trials.kept, run.trials.missed), (100, 96, 4));
    }

    #[test]
    fn counts_that_contradict_each_other_make_the_run_invalid() {
        let mut server = of_server();
        let Detail::Pulse(run) = &mut server.detail else { panic!() };
        run.nodes[0].orders = orders(Some(Sent { sent: 5, skipped: 0, refused: 0 }), None, false).unwrap();
        let joined = join(server, of_node(0, &[])).unwrap();
        assert!(joined.validity.has(ReasonCode::OrdersContradict) && joined.validity.is_invalid());
        let detail = &joined.validity.reasons()[0].detail;
        assert!(detail.contains("n0: 98 orders arrived and 5 were sent"), "{detail}");
        // Counts that no sum holds are one, too.
        let mut half = of_node(0, &[]);
        let Detail::Pulse(run) = &mut half.detail else { panic!() };
        (run.nodes[0].orders.acted, run.nodes[0].orders.too_late) = (u64::MAX, 1);
        let mut joined = join(of_server(), half).unwrap();
        conclude(&mut joined);
        assert!(joined.validity.has(ReasonCode::OrdersContradict), "{:?}", joined.validity);
    }
}
