//! What a verdict says of orders to act.

use record::{OrderCounts, Place, PulseRun, Record};
use units::format;

/// What became of the orders that were not carried out, each with its number: "3 lost, 2 too late"; empty if all were.
pub(super) fn fates(orders: &OrderCounts) -> String {
    let fates: Vec<String> =
        orders.not_carried_out().map(|(number, what)| format!("{} {what}", format::count(number))).collect();
    fates.join(", ")
}

/// Why a run is broken of which no order was carried out: each is a miss, and that is the worst that a run can show. `None` of others.
pub(super) fn none_carried_out(orders: &OrderCounts) -> Option<String> {
    let is_none = orders.acted == 0 && orders.missed() > 0;
    let known = if orders.unknown > 0 { "is known to have been" } else { "was" };
    let all = format::count_of(orders.scheduled, "order", "orders");
    is_none.then(|| format!("none of {all} {known} carried out: {}", fates(orders)))
}

/// Where a sample was, as the end of a sentence: of an order, the node that carried it out.
pub(super) fn where_it_was(record: &Record, place: &Place) -> String {
    let node_of = |run: &PulseRun| match place {
        Place::Flow { flow, .. } => {
            run.nodes.iter().find(|node| node.flow == *flow).map(|node| format!(" on {}", node.node))
        }
        _ => None,
    };
    record.pulses().and_then(node_of).unwrap_or_else(|| place.clause())
}

#[cfg(test)]
mod tests {
    use crate::verdict;

    #[test]
    fn of_orders_the_node_is_named_and_no_number_of_a_flow() {
        let reason = verdict(&samples::pulses(|_| {}), 100_000).reason;
        assert!(reason.contains("orders 23.0 us on c, within 100 us"), "{reason}");
    }
}
