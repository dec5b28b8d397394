//! What is known of nodes, in memory: shared by all who read a store in one process, and read again of those nodes alone that have changed.
//!
//! A node's number `changed` grows in the same transaction that changes something of it. So what was computed under one number is what
//! anybody would compute who sees that number, whenever it was put here, and by whom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::people;
use super::summary::{Summary, summary};
use crate::{Maxima, Node};

/// What is known of a node.
#[derive(Debug)]
pub(super) struct KnownNode {
    /// The number that it is of.
    changed: i64,
    pub(super) node: Arc<Node>,
    pub(super) summary: Summary,
    /// Those of the summary, for rows to share.
    pub(super) maxima_ns: Maxima,
    pub(super) half_hours_ns: Maxima,
}

/// What is known of nodes, by their numbers in the store.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<i64, Arc<KnownNode>>>);

impl Known {
    /// A node as it is under its present number: as it is known, as it was kept, or computed.
    pub(super) fn node(&self, db: &Connection, id: i64, changed: i64) -> Result<Arc<KnownNode>, Fault> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(known) = known.filter(|known| known.changed == changed) {
            return Ok(known);
        }
        // Without the lock: others read meanwhile.
        let node = people::node_numbered(db, id)?.ok_or(Fault::Damaged("a node is gone"))?;
        let mut find = db.prepare_cached("SELECT body FROM summary WHERE node = ?1 AND changed = ?2")?;
        let kept: Option<String> = find.query_row([id, changed], |row| row.get(0)).optional()?;
        let kept = kept.as_deref().and_then(Summary::from_json).filter(|kept| !kept.lacks_condition);
        let summary = match kept {
            Some(summary) => summary,
            None => summary(db, id)?,
        };
        let (maxima_ns, half_hours_ns) = (summary.maxima_ns.clone().into(), summary.half_hours_ns.clone().into());
        let fresh = Arc::new(KnownNode { changed, node: Arc::new(node), summary, maxima_ns, half_hours_ns });
        if fresh.summary.lacks_condition {
            return Ok(fresh);
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Who reads an earlier moment takes nothing away from those who read a later one.
        if all.get(&id).is_none_or(|known| known.changed < changed) {
            all.insert(id, Arc::clone(&fresh));
        }
        Ok(fresh)
    }
}
