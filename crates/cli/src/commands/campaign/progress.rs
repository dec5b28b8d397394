//! How far a campaign is, and how long it still takes.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use campaign::journal::State;
use campaign::{Campaign, Layout};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use units::{Ns, format};

use crate::output;

/// What a run needs beside its measuring time, until runs have shown it.
const ABOUT_A_RUN: Duration = Duration::from_millis(500);
/// What a restart takes, until it is known: firmware, boot loader, kernel and services.
const ABOUT_A_RESTART: Duration = Duration::from_secs(60);

/// Time that a campaign still takes, by what its runs have taken so far.
pub(super) fn left(campaign: &Campaign, layout: &Layout, state: &State, restarts: bool) -> Duration {
    let mut left = Duration::ZERO;
    for visit in &layout.visits {
        let open = (0..campaign.measurement.len()).filter(|one| !state.is_done(visit.number, *one, 1));
        let runs: Vec<Duration> = open.map(|one| one_run(campaign, state, one)).collect();
        if !runs.is_empty() {
            left += runs.iter().sum::<Duration>() + campaign.warm_up.to_std();
            left += if restarts { ABOUT_A_RESTART } else { Duration::ZERO };
        }
    }
    left
}

/// What a run of a measurement takes.
fn one_run(campaign: &Campaign, state: &State, measurement: usize) -> Duration {
    let past = state.ran.iter().filter(|((_, one), _)| *one == measurement).flat_map(|(_, all)| all);
    let lasted: Vec<u64> = past.map(|ran| ran.lasted_ns).collect();
    match u64::try_from(lasted.len()) {
        Ok(runs) if runs > 0 => Duration::from_nanos(units::total(lasted) / runs),
        _ => {
            let takes = campaign.measurement.get(measurement).and_then(campaign::Measurement::takes);
            takes.map_or(Duration::ZERO, Ns::to_std) + ABOUT_A_RUN
        }
    }
}

/// A time for people: whole seconds.
pub(super) fn span(time: Duration) -> String {
    let whole = i64::try_from(time.as_secs()).unwrap_or(i64::MAX / 1_000_000_000);
    if whole == 0 { "0 s".to_owned() } else { format::span(Ns::from_s(whole).0) }
}

/// The line that moves on a terminal; elsewhere one line for each run.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(runs: u64) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::stderr_with_hz(4));
            // The template is a constant that the library accepts; its own default would do as well.
            let style = ProgressStyle::with_template("[{bar:30}] {pos} of {len} runs  {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
            bar
        });
        Self { bar }
    }

    /// A run, or what comes before it, begins.
    pub(super) fn begins(&self, done: u64, all: u64, what: &str, left: Duration) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(all);
                bar.set_position(done);
                bar.set_message(format!("{what}  {} left", span(left)));
            }
            None => output::note(&format!("[{}/{all}] {what} (about {} to go)", done + 1, span(left))),
        }
    }

    /// It goes on.
    pub(super) fn ticks(&self, what: &str, left: Duration) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{what}  {} left", span(left)));
        }
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Says something above the line.
    pub(super) fn warn(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::warning(text)),
            None => output::warning(text),
        }
    }
}
