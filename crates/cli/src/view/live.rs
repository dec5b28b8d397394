//! The run while it goes on: a line of what happens, a bar with the time left, the worst so far, the live histogram.

use std::fmt::Write as _;
use std::io;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::{LiveView, Observer};
use units::format;

use super::blocks;
use terminal::output;
use terminal::wrap;

/// Threads that have a line of their own; of more, the worst are shown.
const SHOWN_THREADS: usize = 8;
const HISTOGRAM_COLUMNS: usize = 48;
const BAR_COLUMNS: usize = 40;
/// Columns of the words beside the bar.
const TIME_COLUMNS: usize = 30;
/// Columns of a thread's whole line; on a narrower terminal each thread has two.
const THREAD_COLUMNS: usize = 84;

/// Draws on a terminal, is silent elsewhere.
pub(crate) struct LiveTerminal {
    bar: Option<ProgressBar>,
    head: String,
}

impl LiveTerminal {
    /// For any run that reports its progress.
    pub(crate) fn with_head(head: &str, duration_ns: Option<u64>) -> Self {
        let width = wrap::row_width_of_stderr();
        let head = wrap::between_words(head, width);
        let bar = output::draws_on(&io::stderr()).then(|| {
            let bar = ProgressBar::with_draw_target(
                duration_ns.map(|ns| ns / 1_000_000),
                ProgressDrawTarget::stderr_with_hz(8),
            );
            let columns = width.saturating_sub(TIME_COLUMNS).clamp(8, BAR_COLUMNS);
            let template = match duration_ns {
                Some(_) => format!("{{prefix}}\n[{{bar:{columns}}}] {{msg}}"),
                None => "{prefix}\n{msg}".to_owned(),
            };
            // The library accepts these templates; its own default would do as well.
            let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
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
        bar.set_message(message(view, wrap::row_width_of_stderr()));
    }
}

fn span(ns: u64) -> String {
    // Whole seconds: a clock that jumps in tenths distracts.
    let whole_s = ns / 1_000_000_000 * 1_000_000_000;
    format::span(whole_s).replace("0 ns", "0 s")
}

fn message(view: &LiveView, width: usize) -> String {
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
        // Before the first one there is none, and not one of 0.
        let known = |ns: i64| if thread.samples > 0 { format::latency(ns) } else { "-".to_owned() };
        let [now, mean, worst] = [thread.last_ns, mean, worst].map(known);
        let missed = format::count(thread.missed_periods);
        // Writing to a string does not fail.
        let _ = if width >= THREAD_COLUMNS {
            write!(text, "\n  {place}  now {now:>10}   mean {mean:>10}   worst {worst:>10}   missed {missed}")
        } else {
            let below = " ".repeat(place.chars().count());
            write!(text, "\n  {place} worst {worst:>9}  missed {missed}\n  {below} now   {now:>9} mean {mean:>9}")
        };
    }
    if let (Some(first), Some(last)) = (view.bins.first(), view.bins.last()) {
        let (low, high) = (i64::try_from(first.from_ns), i64::try_from(last.to_ns));
        let ends = (format::latency(low.unwrap_or(i64::MAX)), format::latency(high.unwrap_or(i64::MAX)));
        let taken = ends.0.chars().count() + ends.1.chars().count() + "    ".len();
        let columns = width.saturating_sub(taken).min(HISTOGRAM_COLUMNS);
        let drawn = blocks::histogram(&view.bins, first.from_ns, last.to_ns, columns);
        let _ = write!(text, "\n  {} {drawn} {}", ends.0, ends.1);
    }
    text
}

#[cfg(test)]
mod tests {
    use measure::LiveThread;
    use record::Bin;

    use super::*;

    #[test]
    fn no_line_is_longer_than_a_narrow_terminal() {
        let thread = LiveThread {
            cpu: Some(1),
            last_ns: 412_345,
            mean_ns: 31_234.0,
            max_ns: 40_880_000,
            missed_periods: 1_776,
            ..LiveThread::default()
        };
        let bin = |ns| Bin { from_ns: ns, to_ns: ns, count: 3 };
        let view = LiveView {
            elapsed_ns: 59_000_000_000,
            duration_ns: Some(3_600_000_000_000),
            threads: vec![thread],
            bins: vec![bin(8_200), bin(40_880_000)],
        };
        let longest = |width| message(&view, width).lines().map(|line| line.chars().count()).max();
        for width in [40, 60, 80, 100] {
            assert!(longest(width) <= Some(width), "{}", message(&view, width));
            assert!(message(&view, width).contains(&format::latency(40_880_000_i64)), "the worst is always there");
        }
        assert_eq!(message(&view, 100).lines().count() + 1, message(&view, 60).lines().count());
    }
}
