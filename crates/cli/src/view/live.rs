//! The run while it goes on: a line of what happens, a bar with the time left, the worst so far, the live histogram.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::wakeup::Plan;
use measure::{LiveView, Observer};
use units::format;

use super::blocks;

/// Threads that have a line of their own; of more, the worst are shown.
const SHOWN_THREADS: usize = 8;
const HISTOGRAM_COLUMNS: usize = 48;

/// Draws on a terminal, is silent elsewhere.
pub(crate) struct LiveTerminal {
    bar: Option<ProgressBar>,
    head: String,
}

impl LiveTerminal {
    /// For a run that is about to start.
    pub(crate) fn new(name: &str, plan: &Plan) -> Self {
        let requested = plan.requested();
        let place = if requested.pinned { format!("CPU {}", plan.measured) } else { "unpinned".to_owned() };
        let policy = if requested.priority > 0 {
            format!("{} {}", requested.policy, requested.priority)
        } else {
            requested.policy.clone()
        };
        let interval = format::span(plan.config.interval.0);
        Self::with_head(format!("{name}  {place}  {policy}  every {interval}"), plan.duration_ns)
    }

    /// For any run that reports its progress.
    pub(crate) fn with_head(head: String, duration_ns: Option<u64>) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(
                duration_ns.map(|ns| ns / 1_000_000),
                ProgressDrawTarget::stderr_with_hz(8),
            );
            let template = if duration_ns.is_some() { "{prefix}\n[{bar:40}] {msg}" } else { "{prefix}\n{msg}" };
            // The template is a constant that the library accepts; its own default would do as well.
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
            bar.set_prefix(head.clone());
            bar
        });
        Self { bar, head }
    }

    /// Whether anybody can see it.
    pub(crate) fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Takes the picture away; the result follows.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for LiveTerminal {
    fn observe(&mut self, view: &LiveView) {
        let Some(bar) = &self.bar else { return };
        if let Some(duration) = view.duration_ns {
            bar.set_position((view.elapsed_ns / 1_000_000).min(duration / 1_000_000));
        }
        bar.set_prefix(self.head.clone());
        bar.set_message(message(view));
    }
}

fn span(ns: u64) -> String {
    // Whole seconds: a clock that jumps in tenths distracts.
    let whole_s = ns / 1_000_000_000 * 1_000_000_000;
    format::span(whole_s).replace("0 ns", "0 s")
}

fn message(view: &LiveView) -> String {
    let mut text = match view.duration_ns {
        Some(duration) => {
            format!(
                "{} of {}, {} left",
                span(view.elapsed_ns),
                span(duration),
                span(duration.saturating_sub(view.elapsed_ns))
            )
        }
        None => format!("{}, Ctrl-C ends", span(view.elapsed_ns)),
    };
    let mut threads: Vec<_> = view.threads.iter().collect();
    if threads.len() > SHOWN_THREADS {
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.max_ns));
        threads.truncate(SHOWN_THREADS);
    }
    for thread in threads {
        let place = thread.cpu.map_or_else(|| format!("thread {:<3}", thread.thread), |cpu| format!("CPU {cpu:<3}"));
        let mean = i64::try_from(units::round_u64(thread.mean_ns)).unwrap_or(i64::MAX);
        let worst = i64::try_from(thread.max_ns).unwrap_or(i64::MAX);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n  {place}  now {:>10}   mean {:>10}   worst {:>10}   missed {}",
            format::latency(thread.last_ns),
            format::latency(mean),
            format::latency(worst),
            format::count(thread.missed_periods)
        );
    }
    if let (Some(first), Some(last)) = (view.bins.first(), view.bins.last()) {
        let drawn = blocks::histogram(&view.bins, first.from_ns, last.to_ns, HISTOGRAM_COLUMNS);
        let (low, high) = (i64::try_from(first.from_ns), i64::try_from(last.to_ns));
        let ends = (format::latency(low.unwrap_or(i64::MAX)), format::latency(high.unwrap_or(i64::MAX)));
        let _ = write!(text, "\n  {} {drawn} {}", ends.0, ends.1);
    }
    text
}
