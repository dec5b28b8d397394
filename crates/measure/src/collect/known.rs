//! What an explainer has to know of the samples that were collected.

use super::Collector;
use crate::explain::Known;

impl Collector {
    /// What an explainer has to know of the samples so far; `typical_ns` is the known value, `None` to compute it again.
    pub(crate) fn known(&self, followed: usize, typical_ns: Option<i64>) -> Known {
        let median = || self.histogram().quantile_ns(0.5).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
        Known {
            samples: self.samples(),
            typical_ns: typical_ns.unwrap_or_else(median),
            worst_above_ns: self.standing.nth_worst_ns(followed, &self.current_worst).unwrap_or(i64::MAX),
            worst_of_open_ns: self.current_max.map_or(0, |(worst_ns, _)| worst_ns),
        }
    }
}
