//! cyclictest's histogram: a row for each whole unit, a column for each thread, then a foot of `#` lines.
//!
//! The row `# Total:` counts what lies inside the bins, not the overflows; the numbers at the end are those of the
//! first cycles beyond the last bin.

use std::fmt::Write as _;

use super::ThreadResult;
use super::text::shown_minimum;

/// The whole table; with `summary` a last column over all threads, where there are several.
pub(super) fn table(threads: &[ThreadResult<'_>], summary: bool) -> String {
    let summary = summary && threads.len() > 1;
    let bins = threads.iter().map(|thread| thread.linear.counts().len()).max().unwrap_or(0);
    let mut text = String::with_capacity(16 * (bins + 16) * threads.len().max(1));
    text.push_str("# Histogram\n");
    for bin in 0..bins {
        let counts: Vec<u64> = threads.iter().map(|t| t.linear.counts().get(bin).copied().unwrap_or(0)).collect();
        let all = summary.then(|| counts.iter().sum::<u64>());
        let columns: Vec<String> = counts.into_iter().chain(all).map(|count| format!("{count:06}")).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{bin:06} {}", columns.join("\t"));
    }
    let mut foot = |name: &str, width: usize, value: fn(&ThreadResult<'_>) -> u64, all: Option<fn(u64, u64) -> u64>| {
        let values: Vec<u64> = threads.iter().map(value).collect();
        let last = all.filter(|_| summary).and_then(|all| values.iter().copied().reduce(all));
        let _ = write!(text, "# {name}:");
        for value in values.into_iter().chain(last) {
            let _ = write!(text, " {value:0width$}");
        }
        text.push('\n');
    };
    foot("Total", 9, |t| t.linear.in_range(), Some(|a, b| a + b));
    foot("Min Latencies", 5, |t| shown_minimum(t.linear.min()), None);
    foot("Avg Latencies", 5, |t| t.linear.mean(), None);
    foot("Max Latencies", 5, |t| t.linear.max().unwrap_or(0), Some(u64::max));
    foot("Histogram Overflows", 5, |t| t.linear.overflows(), Some(|a, b| a + b));
    text.push_str("# Histogram Overflow at cycle number:\n");
    for thread in threads {
        let _ = write!(text, "# Thread {}:", thread.number);
        let kept = thread.linear.overflow_samples();
        for cycle in kept {
            let _ = write!(text, " {cycle:05}");
        }
        let others = thread.linear.overflows() - u64::try_from(kept.len()).unwrap_or(u64::MAX);
        if others > 0 {
            let _ = write!(text, " # {others:05} others");
        }
        text.push('\n');
    }
    text.push('\n');
    text
}
