//! Which machine to look at: what is beyond its limit, by how far; what is unusual against its own history; what is not measured at
//! all; then the rest by maxima.

use std::cmp::Reverse;

use store::{AgainstItself, FleetRow, NodeState};

/// Of this many of a node's earlier intervals one at most was as bad: an interval like that is unusual.
const ONE_OF: u64 = 100;

/// Where a node stands in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// An interval of the last day was beyond its limit, by so much (ns).
    Beyond(Reverse<u64>),
    /// Its latest interval is unusual for it: so many of a million earlier ones were as bad.
    Unusual(u64),
    /// Nothing is known of how it does now.
    NotMeasured,
    /// It is monitored; its latest maximum (ns).
    Maximum(Reverse<i64>),
    /// Nothing is expected of it: stopped on purpose, new, or retired.
    AtRest,
}

/// Of how many of a million earlier intervals a node's latest one was no worse, where that is unusual.
#[must_use]
pub(crate) fn unusual(against: AgainstItself) -> Option<u64> {
    let (as_large, of) = (against.as_large.saturating_add(1), against.intervals.saturating_add(1));
    let is_unusual = as_large.saturating_mul(ONE_OF) <= of;
    is_unusual.then(|| as_large.saturating_mul(1_000_000) / of)
}

/// Where a node stands in the list.
#[must_use]
pub(crate) fn rank(row: &FleetRow) -> Rank {
    if row.state == NodeState::Retired {
        return Rank::AtRest;
    }
    // Neither silence nor a start of the agent makes that untrue.
    if let Some(beyond) = &row.beyond {
        return Rank::Beyond(Reverse(beyond.by_ns));
    }
    let is_measured = match row.state {
        NodeState::Monitoring => true,
        NodeState::Silent { .. }
        | NodeState::Behind { .. }
        | NodeState::NotMonitored { .. }
        | NodeState::NoPriority
        | NodeState::Invalid { .. } => false,
        NodeState::Stopped { .. } | NodeState::Waiting | NodeState::Retired => return Rank::AtRest,
    };
    if !is_measured {
        return Rank::NotMeasured;
    }
    if let Some(of_a_million) = row.against_itself.and_then(unusual) {
        return Rank::Unusual(of_a_million);
    }
    // Without a maximum that stands it is no better than the worst.
    row.latest.as_ref().map_or(Rank::NotMeasured, |latest| Rank::Maximum(Reverse(latest.maximum_ns)))
}

/// Sorts nodes by what to look at first; of equal ones by their latest maxima, then by their names.
pub(crate) fn sort(rows: &mut [FleetRow]) {
    rows.sort_by_cached_key(|row| {
        let maximum = row.latest.as_ref().map(|latest| latest.maximum_ns);
        (rank(row), Reverse(maximum), row.node.name.clone())
    });
}

#[cfg(test)]
pub(crate) mod tests {
    use farm::monitor::GapReason;
    use farm::stream::NodeKey;
    use store::{Beyond, Maximum, Node, Placed, PlacedBy};

    use super::*;

    pub(crate) const fn placed(utc_ns: i64) -> Placed {
        Placed { utc_ns, error_ns: 1_000, by: PlacedBy::OwnClock }
    }

    pub(crate) const fn maximum(maximum_ns: i64) -> Maximum {
        Maximum { maximum_ns, cpu: 1, at: Some(placed(1_794_990_000_000_000_000)), cause: None }
    }

    /// The same node, with an interval that was so far beyond its limit.
    pub(crate) fn beyond_by(by_ns: u64, is_latest: bool, row: FleetRow) -> FleetRow {
        let maximum = maximum(100_000_i64.saturating_add_unsigned(by_ns));
        FleetRow { beyond: Some(Beyond { by_ns, limit_ns: 100_000, maximum, is_latest }), ..row }
    }

    /// A node whose latest maximum is so large.
    pub(crate) fn row(name: &str, maximum_ns: i64, state: NodeState) -> FleetRow {
        let node = Node {
            key: NodeKey([name.len().try_into().unwrap_or(0); 32]),
            name: name.to_owned(),
            labels: std::collections::BTreeMap::new(),
            place: None,
            enrolled_wall_ns: 1_790_000_000_000_000_000,
            seen_wall_ns: Some(1_795_000_000_000_000_000),
            version: "0.1.0".to_owned(),
            revoked_wall_ns: None,
            retired_wall_ns: None,
            replaces: None,
        };
        FleetRow {
            node: node.into(),
            state,
            condition: None,
            limit_ns: Some(100_000),
            latest: Some(maximum(maximum_ns)),
            measured_until: Some(placed(1_795_000_000_000_000_000)),
            day: Some(maximum(maximum_ns)),
            beyond: None,
            ever: Some(maximum(maximum_ns)),
            maxima_ns: vec![Some(maximum_ns), None, Some(maximum_ns / 2)].into(),
            half_hours_ns: vec![Some(maximum_ns), None, Some(maximum_ns / 2)].into(),
            against_itself: None,
            profile: None,
            isolated_and_not_monitored: Vec::new(),
            sources: Vec::new(),
        }
    }

    #[test]
    fn what_is_beyond_its_limit_comes_first_and_what_nobody_measured_before_what_is_good() {
        let monitoring = NodeState::Monitoring;
        let unusual = |name, as_large| FleetRow {
            against_itself: Some(AgainstItself { intervals: 300, as_large }),
            ..row(name, 20_000, NodeState::Monitoring)
        };
        let mut rows = vec![
            row("retired", 900_000, NodeState::Retired),
            row("stopped", 900_000, NodeState::Stopped { why: GapReason::Stopped, at: None }),
            row("calm", 9_000, monitoring.clone()),
            row("busy", 90_000, monitoring.clone()),
            unusual("usual", 30),
            unusual("its-record", 0),
            unusual("nearly", 2),
            row("silent", 1_000, NodeState::Silent { since_wall_ns: 1 }),
            row("invalid", 1_000, NodeState::Invalid { reasons: vec!["throttled".to_owned()] }),
            beyond_by(1_000, true, row("a-little", 101_000, monitoring.clone())),
            // The limits differ: what counts is by how far, and not whether it is over.
            beyond_by(50_000, false, row("far", 60_000, monitoring.clone())),
            beyond_by(
                40_000,
                false,
                row("far-and-stopped", 6_000, NodeState::Stopped { why: GapReason::Stopped, at: None }),
            ),
            beyond_by(90_000, false, row("far-and-retired", 6_000, NodeState::Retired)),
            row("behind", 500, NodeState::Behind { measured_until: placed(1) }),
            FleetRow { latest: None, ..row("nothing-stands", 0, monitoring) },
        ];
        sort(&mut rows);
        let names: Vec<&str> = rows.iter().map(|row| row.node.name.as_str()).collect();
        let order = [
            "far",
            "far-and-stopped",
            "a-little",
            "its-record",
            "nearly",
            "invalid",
            "silent",
            "behind",
            "nothing-stands",
            "busy",
            "usual",
            "calm",
            "retired",
            "stopped",
            "far-and-retired",
        ];
        assert_eq!(names, order);
    }
}
