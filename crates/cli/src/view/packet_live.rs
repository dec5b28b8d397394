//! Packets between two nodes on a terminal, while they are measured.

use std::fmt::Write as _;
use std::io;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::packet::LivePackets;
use record::{End, Uncertainty};
use units::format;

use terminal::output;

const BAR_COLUMNS: usize = 40;

/// Draws on a terminal, is silent elsewhere.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
}

impl Live {
    pub(crate) fn new(end: End) -> Self {
        let bar = output::draws_on(&io::stderr()).then(|| {
            let length = match end {
                End::After(duration) => u64::try_from(duration.0 / 1_000_000).ok(),
                End::Samples(_) | End::WhenTold => None,
            };
            let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(4));
            let template = format!("packet\n[{{bar:{BAR_COLUMNS}}}] {{msg}}");
            // The library accepts this template; its own default would do as well.
            let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
            bar
        });
        Self { bar }
    }

    pub(crate) fn show(&self, so_far: &LivePackets) {
        let Some(bar) = &self.bar else { return };
        if let Some(duration_ns) = so_far.duration_ns {
            bar.set_length(duration_ns / 1_000_000);
        }
        bar.set_position(so_far.elapsed_ns / 1_000_000);
        let mut text = format::span(so_far.elapsed_ns / 1_000_000_000 * 1_000_000_000).replace("0 ns", "0 s");
        for flow in &so_far.flows {
            let delays = &flow.delays;
            // Before the first one there is none, and not one of 0.
            let known = |ns: String| if delays.samples > 0 { ns } else { "-".to_owned() };
            let (last, worst) = (known(format::latency(delays.last_ns)), known(format::latency(delays.max_ns)));
            // Writing to a string does not fail.
            let _ = if flow.is_received {
                let lost = flow.sent.saturating_sub(flow.arrived);
                let error = flow.error.map_or_else(|| "error unknown".to_owned(), Uncertainty::in_words);
                write!(
                    text,
                    "\n  received {:>9}   not arrived {lost:>4}   delay {last:>9} {error}   worst {worst:>9}",
                    format::count(flow.arrived)
                )
            } else {
                write!(text, "\n  sent     {:>9}   late by {last:>9}   worst {worst:>9}", format::count(flow.sent))
            };
        }
        if let Some((offset_ns, (lower_ns, upper_ns))) = so_far.offset {
            let _ = write!(
                text,
                "\n  clocks   {} apart, within {} to {}",
                format::latency(offset_ns),
                format::latency(lower_ns),
                format::latency(upper_ns)
            );
        }
        bar.set_message(output::shown(&text));
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
