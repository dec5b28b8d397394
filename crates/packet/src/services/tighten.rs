//! The error of delays, where the services of both nodes allow less than the exchange of messages.

use record::{ClockRelation, PacketRun, Place, Series, TrackPoint, Uncertainty};
use sync::bound::OffsetBound;

use super::bounds::Bounds;
use crate::relation::intersection;

/// What is known of the clocks of a node and its partner during an interval.
struct During {
    /// The lowest and the highest offset that delays were computed with (ns).
    used_ns: (i64, i64),
    /// What the services allow.
    services: OffsetBound,
}

/// Narrows the errors of delays of each flow to what the exchange and the services both allow. `started_ns` is when the run began on
/// the system clock of a node, by its name. Where they exclude each other, or the services do not cover an interval, nothing is
/// changed. The errors of intervals stay what the exchange says: they were handed on, and are final.
pub fn tighten(run: &PacketRun, series: &mut [Series], started_ns: impl Fn(&str) -> Option<i64>) {
    for one in series.iter_mut().filter(|one| one.uncertainty.is_some()) {
        let is_between_interfaces = one.name == "hw_transmitted_to_hw_arrived";
        // The error of the others is that of one node's clocks, of which services say nothing.
        if !is_between_interfaces && !["sent_to_received", "transmitted_to_arrived"].contains(&one.name.as_str()) {
            continue;
        }
        let Place::Flow { flow, .. } = &one.place else { continue };
        let Some(flow) = run.flows.iter().find(|known| known.flow == *flow) else { continue };
        let relation = run.clocks.iter().find(|relation| relation.node == flow.to && relation.partner == flow.from);
        let (Some(relation), Some(started_ns)) = (relation, started_ns(&flow.to)) else { continue };
        let reading_error_ns =
            if is_between_interfaces { relation.hw_reading_error_ns } else { relation.reading_error_ns };
        tighten_series(one, relation, started_ns, reading_error_ns);
    }
}

fn tighten_series(series: &mut Series, relation: &ClockRelation, started_ns: i64, reading_error_ns: u64) {
    let services: Vec<Bounds> = relation.services.iter().map(|one| Bounds::of_track(&one.track)).collect();
    if services.is_empty() {
        return;
    }
    let mut widest: Option<Uncertainty> = None;
    let mut is_whole = true;
    for interval in &series.intervals {
        let Some(before) = interval.uncertainty else {
            is_whole &= interval.taken() == 0;
            continue;
        };
        let at = |offset_ns: u64| started_ns.saturating_add(i64::try_from(offset_ns).unwrap_or(i64::MAX));
        let from_ns = at(interval.start_offset_ns);
        let to_ns = at(interval.start_offset_ns.saturating_add(interval.length_ns));
        let narrowed = during(relation, &services, (from_ns, to_ns))
            .map_or(before, |during| narrowed(before, &during, reading_error_ns));
        widest = Some(widest.map_or(narrowed, |widest| widest.widest(narrowed)));
    }
    if let (Some(widest), true) = (widest, is_whole) {
        series.uncertainty = Some(widest);
    }
}

fn during(relation: &ClockRelation, services: &[Bounds], during_ns: (i64, i64)) -> Option<During> {
    let allowed = services.iter().filter_map(|bounds| bounds.within(during_ns, relation.max_drift_ppb));
    let services = allowed.reduce(intersection)?;
    let track = &relation.track;
    let at_ns = |point: &TrackPoint| point.at.realtime.as_ns();
    // The offset is taken from a line between two exchanges.
    let first = track.partition_point(|point| at_ns(point) <= during_ns.0).saturating_sub(1);
    let last = track.partition_point(|point| at_ns(point) < during_ns.1);
    let covering = track.get(first..=last.min(track.len().checked_sub(1)?))?;
    let lowest_ns = covering.iter().filter_map(|point| point.lowest_ns).min()?;
    let highest_ns = covering.iter().filter_map(|point| point.highest_ns).max()?;
    Some(During { used_ns: (lowest_ns, highest_ns), services })
}

/// A delay is lower than computed by as much as the true offset is higher than the one that it was computed with.
fn narrowed(before: Uncertainty, during: &During, reading_error_ns: u64) -> Uncertainty {
    let below = during.services.upper_ns.checked_sub(during.used_ns.0);
    let above = during.used_ns.1.checked_sub(during.services.lower_ns);
    let is_inside = during.services.lower_ns <= during.used_ns.0 && during.used_ns.1 <= during.services.upper_ns;
    let room = |ns: Option<i64>| u64::try_from(ns?).ok()?.checked_add(reading_error_ns);
    match (room(below), room(above)) {
        (Some(below_ns), Some(above_ns)) if is_inside => Uncertainty {
            below_ns: before.below_ns.min(below_ns),
            above_ns: before.above_ns.min(above_ns),
            spread_ns: before.spread_ns,
        },
        _ => before,
    }
}
