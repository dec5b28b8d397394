//! The run while it goes on, of whatever kind: a bar with the time left, a line for each thread, flow or clock, the live histogram.

use std::fmt::Write as _;
use std::io;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::{Live, LiveDetail, LiveFigures, LiveSeries, Measurement, SyncState, Uncertainty};
use run::{About, Watch};
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
pub(crate) struct LiveRun {
    bar: Option<ProgressBar>,
    head: String,
}

impl LiveRun {
    /// For a run that is about to start.
    pub(crate) fn new(measurement: Measurement, label: &str, about: &About) -> Self {
        let kind = measurement.name();
        let name = if label.is_empty() || label == kind { kind.to_owned() } else { format!("{kind} {label}") };
        Self::with_head(&format!("{name}  {}", about.heading), about.length_ns)
    }

    /// With words of one's own above it, and the time that it will take (ns), where that is known.
    pub(crate) fn with_head(head: &str, duration_ns: Option<u64>) -> Self {
        let width = wrap::row_width_of_stderr();
        let head = wrap::between_words(head.trim_end(), width);
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
    pub(crate) const fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Draws the run so far.
    pub(crate) fn show(&self, so_far: &Live) {
        let Some(bar) = &self.bar else { return };
        if let Some(duration) = so_far.duration_ns {
            bar.set_position((so_far.elapsed_ns / 1_000_000).min(duration / 1_000_000));
        }
        bar.set_prefix(self.head.clone());
        bar.set_message(output::shown(&message(so_far, wrap::row_width_of_stderr())));
    }

    /// Takes the picture away; the result follows.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for LiveRun {
    fn live(&mut self, so_far: &Live) {
        self.show(so_far);
    }

    fn wants_bins(&self) -> bool {
        self.is_shown()
    }
}

fn span(ns: u64) -> String {
    // Whole seconds: a clock that jumps in tenths distracts.
    let whole_s = ns / 1_000_000_000 * 1_000_000_000;
    format::span(whole_s).replace("0 ns", "0 s")
}

fn message(so_far: &Live, width: usize) -> String {
    let mut text = match so_far.duration_ns {
        Some(duration) => {
            format!(
                "{} of {}, {} left",
                span(so_far.elapsed_ns),
                span(duration),
                span(duration.saturating_sub(so_far.elapsed_ns))
            )
        }
        None => format!("{}, Ctrl-C ends", span(so_far.elapsed_ns)),
    };
    let mut all: Vec<&LiveSeries> = so_far.series.iter().collect();
    if all.len() > SHOWN_THREADS {
        all.sort_by_key(|series| std::cmp::Reverse(series.max_ns()));
        all.truncate(SHOWN_THREADS);
    }
    for series in all {
        text.push_str(&line(series, width));
    }
    if let (Some(first), Some(last)) = (so_far.bins.first(), so_far.bins.last()) {
        let (low, high) = (i64::try_from(first.from_ns), i64::try_from(last.to_ns));
        let ends = (format::latency(low.unwrap_or(i64::MAX)), format::latency(high.unwrap_or(i64::MAX)));
        let taken = ends.0.chars().count() + ends.1.chars().count() + "    ".len();
        let columns = width.saturating_sub(taken).min(HISTOGRAM_COLUMNS);
        let drawn = blocks::histogram(&so_far.bins, first.from_ns, last.to_ns, columns);
        let _ = write!(text, "\n  {} {drawn} {}", ends.0, ends.1);
    }
    text
}

/// What is shown of one place, after a break.
fn line(series: &LiveSeries, width: usize) -> String {
    let LiveSeries { place, detail, figures, missed_periods, .. } = series;
    let known = |of: fn(&LiveFigures) -> i64| {
        figures.as_ref().map_or_else(|| "-".to_owned(), |figures| format::latency(of(figures)))
    };
    let now = known(|figures| figures.last_ns);
    let worst = known(|figures| i64::try_from(figures.max_ns).unwrap_or(i64::MAX));
    match detail {
        LiveDetail::Thread { .. } => {
            let mean = known(|figures| i64::try_from(units::round_u64(figures.mean_ns)).unwrap_or(i64::MAX));
            let missed = format::count(*missed_periods);
            let of = match place {
                record::Place::Thread { cpu: Some(cpu), .. } => format!("CPU {cpu:<3}"),
                record::Place::Thread { thread, .. } => format!("thread {thread:<3}"),
                other => other.to_string(),
            };
            if width >= THREAD_COLUMNS {
                return format!("\n  {of}  now {now:>10}   mean {mean:>10}   worst {worst:>10}   missed {missed}");
            }
            let below = " ".repeat(of.chars().count());
            format!("\n  {of} worst {worst:>9}  missed {missed}\n  {below} now   {now:>9} mean {mean:>9}")
        }
        LiveDetail::Sent { sent } => {
            format!("\n  sent     {:>9}   late by {now:>9}   worst {worst:>9}", format::count(*sent))
        }
        LiveDetail::Received { sent, arrived } => {
            let error = figures.and_then(|figures| figures.uncertainty);
            format!(
                "\n  received {:>9}   not arrived {:>4}   delay {now:>9} {}   worst {worst:>9}",
                format::count(*arrived),
                sent.saturating_sub(*arrived),
                error.map_or_else(|| "error unknown".to_owned(), Uncertainty::in_words)
            )
        }
        LiveDetail::Clock { name, state, offset_ns, bound_ns } => {
            let state = state.map_or("", SyncState::word);
            let offset = offset_ns.map_or_else(|| "-".to_owned(), format::latency);
            let bound = bound_ns.map_or_else(String::new, |(lower_ns, upper_ns)| {
                format!("   within {} to {}", format::latency(lower_ns), format::latency(upper_ns))
            });
            format!("\n  {name:<14} {state:<9} offset {offset:>10}{bound}")
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{Bin, Place};

    use super::*;

    #[test]
    fn no_line_is_longer_than_a_narrow_terminal() {
        let figures = LiveFigures { last_ns: 412_345, mean_ns: 31_234.0, max_ns: 40_880_000, ..LiveFigures::default() };
        let thread = LiveSeries {
            place: Place::thread(0, Some(1)),
            detail: LiveDetail::Thread { tid: 7, priority: 80, interval_ns: 1_000_000 },
            samples: 9,
            figures: Some(figures),
            missed_periods: 1_776,
        };
        let bin = |ns| Bin { from_ns: ns, to_ns: ns, count: 3 };
        let view = Live {
            elapsed_ns: 59_000_000_000,
            duration_ns: Some(3_600_000_000_000),
            series: vec![thread],
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
