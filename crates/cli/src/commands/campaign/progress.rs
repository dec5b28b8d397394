//! What people see while a campaign goes on.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use conduct::{Next, Watcher};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::Live;
use units::{Ns, format};

use terminal::output;

/// A time for people: whole seconds.
pub(super) fn span(time: Duration) -> String {
    let whole = i64::try_from(time.as_secs()).unwrap_or(i64::MAX / 1_000_000_000);
    if whole == 0 { "0 s".to_owned() } else { format::span(Ns::from_s(whole).0) }
}

/// The worst of a run so far, in words; `None` before its first sample, and where clocks are compared.
fn worst(live: &Live) -> Option<String> {
    let worst = live.series.iter().filter_map(|series| series.figures).map(|figures| figures.max_ns).max()?;
    Some(format!("worst so far {}", format::latency(i64::try_from(worst).unwrap_or(i64::MAX))))
}

/// The line that moves on a terminal; elsewhere one line for each run.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(4));
            // The template is a constant that the library accepts; its own default would do as well.
            let style = ProgressStyle::with_template("[{bar:30}] {pos} of {len} runs  {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
            bar
        });
        Self { bar }
    }
}

impl Watcher for Progress {
    fn begins(&self, next: &Next<'_>) {
        let Next { done, all, what, left } = *next;
        match &self.bar {
            Some(bar) => {
                bar.set_length(all);
                bar.set_position(done);
                bar.set_message(output::shown(&format!("{what}  {} left", span(left))));
            }
            None => output::note(&format!("[{}/{all}] {what} (about {} to go)", done + 1, span(left))),
        }
    }

    fn goes_on(&self, what: &str, left: Duration, live: Option<&Live>) {
        if let Some(bar) = &self.bar {
            let worst = live.and_then(worst).map_or_else(String::new, |worst| format!("  {worst}"));
            bar.set_message(output::shown(&format!("{what}{worst}  {} left", span(left))));
        }
    }

    fn warns(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::warning(text)),
            None => output::warning(text),
        }
    }

    fn ends(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
