//! Converts what nodes did that act together to the view.

use record::{LatencyRole, PacketFlow, Record, Series};
use summary::packet::series_of;
use summary::pulse::{ActingNode, CELLS, summary};

use crate::exact::Exact;
use crate::view::{ActingNodeView, ActingRowView, PulseView};

/// The view of nodes that act; `None` if the run is of another kind.
pub(crate) fn view(record: &Record) -> Option<PulseView> {
    let run = record.pulses()?;
    let said = summary(record)?;
    let nodes = said.nodes.iter().zip(&run.nodes).map(|(said, node)| acting(said, node.flow, record)).collect();
    Some(PulseView {
        ordered: said.ordered,
        lead_ns: run.lead_ns.into(),
        tolerance_ns: run.tolerance_ns.into(),
        nodes,
        counted: CELLS.map(str::to_owned).to_vec(),
        trials: said.trials,
        bursts: said.bursts,
        apart: said.apart,
    })
}

fn acting(said: &ActingNode, flow: u32, record: &Record) -> ActingNodeView {
    let kind = record.measurement.kind();
    let flow = PacketFlow { flow, ..PacketFlow::default() };
    let of_role = |role: LatencyRole| kind.by_role(role).and_then(|latency| series_of(record, &flow, latency.name));
    let index = |series: Option<&Series>| {
        let series = series.filter(|series| series.taken() > 0)?;
        u32::try_from(record.series.iter().position(|one| std::ptr::eq(one, series))?).ok()
    };
    let rows = said.rows.iter().map(|row| ActingRowView {
        words: row.words.clone(),
        count: row.figures.samples.into(),
        lowest_ns: row.figures.lowest_ns.map(Exact::from),
        median_ns: row.median_ns.map(Exact::from),
        p99_9_ns: row.figures.quantile_ns(0.999).map(Exact::from),
        worst_ns: row.worst_ns.map(Exact::from),
    });
    ActingNodeView {
        node: said.node.clone(),
        output: said.output.clone(),
        counts: summary::pulse::counts(&said.orders).map(Exact::from).to_vec(),
        rows: rows.collect(),
        needed: said.needed.clone(),
        within: said.within.clone(),
        act_series: index(of_role(LatencyRole::OrderedAct)),
        needed_series: index(of_role(LatencyRole::NeededLead)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_each_node_with_its_counts_and_the_series_that_are_drawn() {
        let record = samples::pulses(|run| run.nodes[1].orders.lost = 3);
        let view = view(&record).unwrap();
        assert_eq!(view.nodes.len(), 2);
        let node = &view.nodes[1];
        let at = |what: &str| view.counted.iter().position(|word| word == what).unwrap();
        assert_eq!(serde_json::to_value(node.counts[at("lost")]).unwrap(), 3);
        for (index, name) in [(node.act_series, "ordered_to_acted"), (node.needed_series, "scheduled_to_armed")] {
            let series = &record.series[usize::try_from(index.unwrap()).unwrap()];
            assert_eq!((&*series.name, &*series.node), (name, "c"));
        }
        assert!(super::view(&samples::run(record::Validity::default())).is_none());
    }
}
