//! What the time services of two nodes say together: each states how far its node's clock is from a reference, and where both
//! have the same one, the clocks of the nodes are bounded by that too, beside the exchange of the two programs.

mod bounds;
mod tighten;

use record::{
    ClockRelation, Moment, NodeServices, PacketRun, Place, Reason, ReasonCode, ServiceRelation, SyncService,
    SyncSource, SyncState, TrackPoint,
};
use sync::bound::OffsetBound;
use units::format::{latency, span};
use units::{ClockId, ClockName, Ns};

use self::bounds::Bounds;
pub use self::tighten::tighten;
use crate::relation::intersection;

/// A source that stands for its node's system clock.
struct Standing<'a> {
    source: &'a SyncSource,
    /// The system clock less the reference over time, on the node's own axis.
    bounds: Bounds,
    /// What has to be true.
    trusts: Vec<String>,
}

/// Whether a source is a service that a clock follows: not the kernel's account of one, nor a bare clock.
#[must_use]
pub const fn is_service(source: &SyncSource) -> bool {
    matches!(
        source.service,
        SyncService::Linuxptp | SyncService::Chrony | SyncService::Clockbound | SyncService::Fbclock
    )
}

/// Whether a service was followed: it showed an offset, is locked, or is the reference of others.
#[must_use]
pub fn is_followed(source: &SyncSource) -> bool {
    let is_steady = |state: SyncState| matches!(state, SyncState::Locked | SyncState::Reference);
    is_service(source) && (source.spread.is_some() || source.states.iter().any(|change| is_steady(change.state)))
}

fn is_reference(source: &SyncSource) -> bool {
    source.states.last().is_some_and(|last| last.state == SyncState::Reference)
}

fn trusts(source: &SyncSource) -> Option<String> {
    match &source.bound {
        record::HardBound::Stated { trusts, .. } => Some(trusts.clone()),
        record::HardBound::Missing { .. } => None,
    }
}

/// A source's clock less its reference; the clock itself where it is the reference of others.
fn own_bounds(source: &SyncSource) -> Option<Bounds> {
    if is_reference(source) {
        return Some(Bounds::always(0));
    }
    let bounds = Bounds::of_track(&source.track);
    (!bounds.is_empty()).then_some(bounds)
}

/// A service of a node that bounds its system clock: by itself, or by way of the hardware clock that it steers.
fn standing_of<'a>(source: &'a SyncSource, node: &NodeServices, max_drift_ppb: u32) -> Option<Standing<'a>> {
    let own = own_bounds(source).filter(|_| is_service(source))?;
    let mut said: Vec<String> = trusts(source).into_iter().collect();
    let bounds = match &source.clock {
        Some(ClockName::System(ClockId::Realtime)) => own,
        Some(ClockName::Phc(name)) => {
            let place = Place::Port { port: name.clone(), domain: None };
            let is_it = |one: &&SyncSource| one.service == SyncService::Phc && one.place == place;
            let hardware = node.run.sources.iter().find(is_it)?;
            said.extend(trusts(hardware));
            own.less(&Bounds::of_track(&hardware.track), max_drift_ppb)
        }
        _ => return None,
    };
    (!bounds.is_empty()).then_some(Standing { source, bounds, trusts: said })
}

fn standing(node: &NodeServices, max_drift_ppb: u32) -> Vec<Standing<'_>> {
    node.run.sources.iter().filter_map(|source| standing_of(source, node, max_drift_ppb)).collect()
}

/// The reference that two sources share, in words; `None` if there is none, or nobody knows.
fn shared(own: (&SyncSource, &NodeServices), partner: (&SyncSource, &NodeServices)) -> Option<String> {
    let is_ntp = |source: &SyncSource| source.service != SyncService::Linuxptp;
    match (own.0, partner.0) {
        // Two that claim to be one reference are not one clock: one of them has the other's identity.
        (one, other) if is_reference(one) && is_reference(other) => None,
        (one, other) if !is_ntp(one) && !is_ntp(other) => {
            let same = one.reference_id.as_ref().filter(|id| Some(*id) == other.reference_id.as_ref())?;
            Some(format!("PTP clock {same}"))
        }
        (one, other) if is_ntp(one) && is_ntp(other) => {
            let serves = |server: (&SyncSource, &NodeServices), client: &SyncSource| {
                is_reference(server.0) && client.reference_id.as_ref().is_some_and(|id| server.1.addresses.contains(id))
            };
            match (is_reference(one), is_reference(other)) {
                (false, false) => Some("true time, as their servers have it".to_owned()),
                _ if serves(own, other) => Some(format!("the clock of {}", own.1.node)),
                _ if serves(partner, one) => Some(format!("the clock of {}", partner.1.node)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whole seconds by which two time scales may differ: stamps of one service can be of TAI, those of the other of UTC.
fn scale_shift_ns(apart_ns: i64, tai_less_utc_s: &[i64]) -> i64 {
    let shifts = tai_less_utc_s.iter().flat_map(|seconds| [*seconds, -*seconds]).chain([0]);
    let in_ns = shifts.map(|seconds| seconds.saturating_mul(1_000_000_000));
    in_ns
        .min_by_key(|shift_ns| (apart_ns.saturating_sub(*shift_ns).unsigned_abs(), shift_ns.unsigned_abs()))
        .unwrap_or(0)
}

/// Where the exchange and the services exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The node whose comparison it is.
    pub node: String,
    /// The node that it was compared with.
    pub partner: String,
    /// The moment, on that node.
    pub at: Moment,
    /// What both say, as a sentence.
    pub words: String,
}

/// Puts what the services of both nodes say together beside the exchange of each node, in the place of what stood there, and returns where
/// they first exclude each other, for each pair of services. `tai_less_utc_s` are the offsets that the nodes' kernels have.
pub fn relate(run: &mut PacketRun, tai_less_utc_s: &[i64]) -> Vec<Contradiction> {
    let mut contradictions = Vec::new();
    let PacketRun { clocks, services, .. } = run;
    for relation in clocks {
        // A run of several nodes is joined once for each.
        relation.services.clear();
        let of_node = |name: &str| services.iter().find(|one| one.node == name);
        let (Some(own), Some(partner), Some(offset)) =
            (of_node(&relation.node), of_node(&relation.partner), relation.offset)
        else {
            continue;
        };
        let drift_ppb = relation.max_drift_ppb;
        let partners = standing(partner, drift_ppb);
        for one in standing(own, drift_ppb) {
            for other in &partners {
                let Some(reference) = shared((one.source, own), (other.source, partner)) else { continue };
                // The partner's moments, on this node's axis.
                let moved = other.bounds.moved(offset.median_ns);
                let apart = one.bounds.less(&moved, drift_ppb);
                // One that contradicts itself says nothing of the other clock; its own node has said so.
                let Some(middle_ns) = apart.middle_ns().filter(|_| !apart.is_contradiction()) else { continue };
                let apart = apart.shifted(scale_shift_ns(middle_ns.saturating_sub(offset.median_ns), tai_less_utc_s));
                contradictions.extend(contradiction(relation, &apart, (one.source, other.source), drift_ppb));
                relation.services.push(ServiceRelation {
                    reference,
                    source: one.source.name(),
                    partner_source: other.source.name(),
                    trusts: one.trusts.iter().chain(&other.trusts).cloned().collect(),
                    track: track_of(&apart, relation),
                });
            }
        }
    }
    contradictions
}

fn track_of(apart: &Bounds, relation: &ClockRelation) -> Vec<TrackPoint> {
    // The monotonic clock of a moment is that of the node, as far ahead of its system clock as at the nearest exchange.
    let first = relation.track.first().map(|point| point.at).unwrap_or_default();
    let moment = |ns: i64| first.plus(Ns(ns.saturating_sub(first.realtime.as_ns())));
    apart
        .points(
            relation
                .track
                .first()
                .zip(relation.track.last())
                .map(|(first, last)| (first.at.realtime.as_ns(), last.at.realtime.as_ns())),
        )
        .map(|(at_ns, bound)| TrackPoint::bound_alone(moment(at_ns), bound.into()))
        .collect()
}

fn contradiction(
    relation: &ClockRelation,
    apart: &Bounds,
    (own, partner): (&SyncSource, &SyncSource),
    drift_ppb: u32,
) -> Option<Contradiction> {
    let excluded = relation.track.windows(2).find_map(|pair| {
        let [point, next] = pair else { return None };
        // What the exchange allows from this point until the next one.
        let exchange = OffsetBound::from(point.bound_ns?).hull(next.bound_ns?.into());
        let during = (point.at.realtime.as_ns(), next.at.realtime.as_ns());
        let services = apart.within(during, drift_ppb)?;
        intersection(exchange, services).is_contradiction().then_some((point.at, exchange, services))
    })?;
    let (at, exchange, services) = excluded;
    let range = |bound: OffsetBound| format!("{} to {}", latency(bound.lower_ns), latency(bound.upper_ns));
    Some(Contradiction {
        node: relation.node.clone(),
        partner: relation.partner.clone(),
        at,
        words: format!(
            "the exchange of messages says that the clock of {} less that of {} is {}, {} there and {} here say {}",
            relation.node,
            relation.partner,
            range(exchange),
            partner.name(),
            own.name(),
            range(services)
        ),
    })
}

/// What the services make of a run's validity, once [`relate`] was called and all halves are there: at most one reason of each kind, about
/// each pair of nodes once, whichever of them was joined first. `started` is when the run began on each node, by its name.
#[must_use]
pub fn judge(run: &PacketRun, contradictions: &[Contradiction], started: &[(String, Moment)]) -> Vec<Reason> {
    let mut pairs: Vec<[&str; 2]> = Vec::new();
    for relation in &run.clocks {
        let pair = [&*relation.node, &*relation.partner];
        // The comparison of the other node is the mirror image.
        if !pairs.iter().any(|other| is_pair(pair, other)) {
            pairs.push(pair);
        }
    }
    let excluded = pairs.iter().filter_map(|pair| {
        let one = contradictions.iter().find(|one| is_pair([&one.node, &one.partner], pair))?;
        let begun = started.iter().find(|(name, _)| *name == one.node).map(|(_, begun)| begun.monotonic);
        let into_run = begun.map_or(0, |begun| one.at.monotonic.since(begun).0.max(0));
        Some(format!("from {} into the run on {}", span(into_run), one.words))
    });
    let apart = pairs.iter().filter_map(|pair| not_compared(run, *pair));
    [(ReasonCode::BoundsContradict, excluded.collect::<Vec<_>>()), (ReasonCode::NoTimeService, apart.collect())]
        .into_iter()
        .filter(|(_, details)| !details.is_empty())
        .map(|(code, details)| Reason { code, detail: details.join("; ") })
        .collect()
}

fn is_pair(one: [&str; 2], other: &[&str; 2]) -> bool {
    one == *other || one == [other[1], other[0]]
}

/// That what the services of two nodes say cannot be held against each other, although both follow one.
fn not_compared(run: &PacketRun, pair: [&str; 2]) -> Option<String> {
    let services = pair.map(|name| run.services.iter().find(|one| one.node == name));
    let [Some(own), Some(partner)] = services else { return None };
    let nodes = [own, partner];
    let both_follow = nodes.iter().all(|node| node.run.sources.iter().any(is_followed));
    let relations = || run.clocks.iter().filter(|relation| is_pair([&relation.node, &relation.partner], &pair));
    let is_compared = relations().any(|relation| !relation.services.is_empty());
    let was_exchanged = relations().any(|relation| relation.offset.is_some());
    if !both_follow || is_compared || !was_exchanged {
        return None;
    }
    let said = nodes.map(|node| {
        let sources = node.run.sources.iter().filter(|source| is_followed(source));
        let words = sources.map(|source| match &source.bound {
            record::HardBound::Missing { reason } if !is_reference(source) => {
                format!("{} has no bound ({reason})", source.name())
            }
            _ if source.reference.is_empty() => source.name(),
            _ => format!("{} follows {}", source.name(), source.reference),
        });
        format!("{}: {}", node.node, words.collect::<Vec<_>>().join(", "))
    });
    Some(format!("what the services of both nodes say cannot be held against each other ({})", said.join("; ")))
}

#[cfg(test)]
mod tests;
