//! What enrolled nodes have cost by messages of which nothing was taken.
//!
//! What is taken counts against the quotas that the store keeps. A message that is refused once it was opened leaves nothing there, and
//! was as much work: this much of it is borne with in a day, and then no more of the node's messages are opened. It is not kept: after a
//! start a node may cost as much again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use farm::stream::NodeKey;

/// A day (ns).
const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// A node has cost as much as it may in a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes of this node's messages were opened today and refused, of at most {most_bytes}")]
pub struct SpentAll {
    bytes: u64,
    most_bytes: u64,
}

/// What was spent on each node.
#[derive(Debug, Default)]
pub struct Spent(Mutex<HashMap<NodeKey, (i64, u64)>>);

impl Spent {
    /// Looks whether a node may cost more on the day of a time (ns since 1970).
    ///
    /// # Errors
    /// Where it has cost so many bytes.
    pub fn check(&self, node: NodeKey, most_bytes: u64, now_wall_ns: i64) -> Result<(), SpentAll> {
        let day = now_wall_ns.div_euclid(DAY_NS);
        let spent = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&node).copied();
        match spent {
            Some((of, bytes)) if of == day && bytes >= most_bytes => Err(SpentAll { bytes, most_bytes }),
            _ => Ok(()),
        }
    }

    /// Counts an enrolled node's message that was opened, and of which nothing was taken.
    pub fn add(&self, node: NodeKey, bytes: usize, now_wall_ns: i64) {
        let day = now_wall_ns.div_euclid(DAY_NS);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = all.entry(node).or_insert((day, 0));
        if spent.0 != day {
            *spent = (day, 0);
        }
        spent.1 = spent.1.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_has_cost_enough_waits_for_the_next_day() {
        let spent = Spent::default();
        let (node, other) = (NodeKey([1; 32]), NodeKey([2; 32]));
        spent.add(node, 60, 5);
        assert!(spent.check(node, 100, 6).is_ok());
        spent.add(node, 40, DAY_NS - 1);
        assert!(spent.check(node, 100, DAY_NS - 1).is_err() && spent.check(other, 100, DAY_NS - 1).is_ok());
        assert!(spent.check(node, 100, DAY_NS).is_ok());
        spent.add(node, 99, DAY_NS);
        assert!(spent.check(node, 100, DAY_NS).is_ok());
    }
}
