//! The stretch of time that a page shows.

use super::chart::MOST_POINTS;

/// A grid that ends of windows are put on (ns): five minutes, as long as an interval. A page stays the same until one has passed.
const GRID_NS: i64 = 300 * 1_000_000_000;
/// Spans that can be chosen: a word in the URL, and days.
pub(crate) const SPANS: [(&str, &str, i64); 7] = [
    ("1h", "hour", 1),
    ("6h", "6 hours", 6),
    ("1d", "day", 24),
    ("7d", "week", 7 * 24),
    ("30d", "30 days", 30 * 24),
    ("112d", "112 days", 112 * 24),
    ("1y", "year", 366 * 24),
];
/// The span that is shown where none was chosen.
pub(crate) const USUAL_SPAN: &str = "1d";
/// The longest span whose histograms stand on the page (ns): 31 days.
const MOST_HISTOGRAMS_NS: i64 = 31 * 86_400 * 1_000_000_000;

/// The stretch of time that a page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// From when (ns since 1970).
    pub(crate) from_utc_ns: i64,
    /// Until when (ns since 1970).
    pub(crate) to_utc_ns: i64,
    /// The span that was chosen, in the words of the URL; empty where a place of its own was asked for.
    pub(crate) span: &'static str,
}

impl Window {
    /// The last so and so long, or what lies between two moments.
    pub(crate) fn new(now_utc_ns: i64, last: Option<&str>, from_to: Option<(i64, i64)>) -> Self {
        if let Some((from_utc_ns, to_utc_ns)) = from_to.filter(|(from, to)| from < to) {
            return Self { from_utc_ns, to_utc_ns, span: "" };
        }
        let chosen = SPANS.iter().find(|(word, ..)| last == Some(*word));
        let (span, _, hours) =
            chosen.or_else(|| SPANS.iter().find(|(word, ..)| *word == USUAL_SPAN)).copied().unwrap_or(SPANS[0]);
        let to_utc_ns = now_utc_ns.saturating_sub(now_utc_ns.rem_euclid(GRID_NS)).saturating_add(GRID_NS);
        let from_utc_ns = to_utc_ns.saturating_sub(hours.saturating_mul(3_600 * 1_000_000_000));
        Self { from_utc_ns, to_utc_ns, span }
    }

    /// Whether it is short enough for its histograms to be added up while somebody waits for the page: thousands of hours are not.
    pub(crate) const fn is_short(&self) -> bool {
        self.to_utc_ns.saturating_sub(self.from_utc_ns) <= MOST_HISTOGRAMS_NS
    }

    /// What a store is asked for it.
    pub(crate) const fn asked(&self) -> store::HistoryAsked {
        store::HistoryAsked { from_utc_ns: self.from_utc_ns, to_utc_ns: self.to_utc_ns, most_points: MOST_POINTS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_on_the_grid_and_an_empty_one_is_the_usual_one() {
        let now = 1_795_000_000_000_000_123;
        let window = Window::new(now, Some("7d"), None);
        assert!(window.to_utc_ns > now && window.to_utc_ns - now <= GRID_NS && window.to_utc_ns % GRID_NS == 0);
        assert_eq!(window.to_utc_ns - window.from_utc_ns, 7 * 86_400 * 1_000_000_000);
        assert_eq!(Window::new(now, None, Some((5, 5))), Window::new(now, Some(USUAL_SPAN), None));
        assert_eq!(Window::new(now, None, Some((5, 9))), Window { from_utc_ns: 5, to_utc_ns: 9, span: "" });
    }
}
