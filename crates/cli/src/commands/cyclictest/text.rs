//! cyclictest's lines: the status of each thread, refreshed in place, every sample with `-v`, and what `-b` found.
//!
//! ```text
//! policy: fifo: loadavg: 0.12 0.10 0.09 1/215 4711
//!
//! T: 0 ( 4712) P:98 I:200 C:   5000 Min:      7 Act:   10 Avg:    9 Max:      55
//! ```

use std::fmt::Write as _;
use std::sync::mpsc::Receiver;

use record::{Live, LiveDetail, LiveSeries, Place};
use run::{Stop, TappedSample, Watch};
use units::Ns;

use super::ThreadResult;
use terminal::output;

/// What the original shows as the minimum while there is no sample.
const NO_MINIMUM: u64 = 1_000_000;

/// One thread's numbers, in units of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) thread: u32,
    pub(super) tid: u32,
    pub(super) priority: u32,
    pub(super) interval_us: u64,
    pub(super) cycles: u64,
    pub(super) min: Option<u64>,
    pub(super) actual: u64,
    pub(super) average: u64,
    pub(super) max: u64,
}

impl Status {
    /// The line, with its end.
    pub(super) fn line(&self, nanoseconds: bool) -> String {
        let Self { thread, tid, priority, interval_us, cycles, actual, average, max, .. } = self;
        let min = self.min.unwrap_or(NO_MINIMUM);
        let wide = if nanoseconds { 8 } else { 5 };
        format!(
            "T:{thread:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} \
             Min:{min:7} Act:{actual:wide$} Avg:{average:wide$} Max:{max:8}\n"
        )
    }
}

/// The smallest latency as the histogram's foot shows it.
pub(super) fn shown_minimum(min: Option<u64>) -> u64 {
    min.unwrap_or(NO_MINIMUM)
}

/// The head of a status block; ten spaces wipe what a longer load average left on the line.
pub(super) fn head(policy_words: &str) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("policy: {policy_words}: loadavg: {}          \n\n", load.trim_end())
}

/// The cursor back to the head of a block of so many threads.
fn cursor_up(threads: usize) -> String {
    output::steering(&format!("{}A", threads + 2))
}

/// One sample of `-v`.
fn verbose_line(sample: &TappedSample, unit_ns: u64) -> String {
    let value = u64::try_from(sample.latency_ns).unwrap_or(0) / unit_ns;
    format!("{:8}:{:8}:{value:8}\n", sample.thread, sample.sample)
}

/// What `-v` says before anything else, and what it says before the first sample.
pub(super) fn verbose_head(configured: usize, online: usize) -> String {
    format!("Max CPUs = {configured}\nOnline CPUs = {online}\n")
}

/// What `-v` says before the first sample.
pub(super) fn verbose_intervals(intervals_us: impl IntoIterator<Item = u64>) -> String {
    intervals_us.into_iter().enumerate().fold(String::new(), |mut text, (thread, interval_us)| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "Thread {thread} Interval: {interval_us}");
        text
    })
}

/// What `-b` adds at the end: every thread, and the first that went above the limit.
pub(super) fn break_lines(threads: &[ThreadResult<'_>], limit: u64) -> String {
    let mut text = "# Thread Ids:".to_owned();
    for thread in threads {
        // Writing to a string does not fail.
        let _ = write!(text, " {:05}", thread.tid);
    }
    text.push('\n');
    let broke = threads
        .iter()
        .filter_map(|thread| thread.linear.max().filter(|&max| max > limit).map(|max| (thread, max)))
        .min_by_key(|(thread, _)| thread.max_at_ns);
    if let Some((thread, max)) = broke {
        let _ = write!(text, "# Break thread: {}\n# Break value: {max}\n", thread.tid);
    }
    text
}

/// What is printed while the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// No text while it runs (`-q`).
    Nothing,
    /// Status lines, refreshed in place.
    Status,
    /// Status lines, whenever there is a new maximum (`-M`).
    NewMaxima,
    /// Every sample (`-v`).
    Samples,
}

/// Shows the run, and ends it by the original's rules where the engine's differ.
pub(super) struct Screen {
    pub(super) shown: Shown,
    pub(super) nanoseconds: bool,
    pub(super) policy_words: String,
    /// Printed as the run begins.
    pub(super) head: String,
    pub(super) samples: Option<Receiver<TappedSample>>,
    /// The first thread to take this many samples ends the run for all.
    pub(super) loops: Option<u64>,
    /// Ends the run where loops are counted as well.
    pub(super) duration: Option<Ns>,
    pub(super) stop: Stop,
    drawn: bool,
    max_ns: u64,
}

impl Screen {
    pub(super) fn new(shown: Shown, nanoseconds: bool, policy_words: String, stop: Stop) -> Self {
        Self {
            shown,
            nanoseconds,
            policy_words,
            head: String::new(),
            samples: None,
            loops: None,
            duration: None,
            stop,
            drawn: false,
            max_ns: 0,
        }
    }

    const fn unit_ns(&self) -> u64 {
        if self.nanoseconds { 1 } else { 1_000 }
    }

    /// Draws a block over the last one.
    pub(super) fn draw(&mut self, threads: &[Status]) {
        let up = if self.drawn { cursor_up(threads.len()) } else { String::new() };
        let lines: String = threads.iter().map(|thread| thread.line(self.nanoseconds)).collect();
        output::data(&format!("{up}{}{lines}", head(&self.policy_words)));
        self.drawn = true;
    }

    fn status(&self, view: &Live) -> Vec<Status> {
        let unit_ns = self.unit_ns();
        view.series
            .iter()
            .filter_map(|series| {
                let (Place::Thread { thread, .. }, LiveDetail::Thread { tid, priority, interval_ns }) =
                    (&series.place, &series.detail)
                else {
                    return None;
                };
                let figures = series.figures.unwrap_or_default();
                Some(Status {
                    thread: *thread,
                    tid: *tid,
                    priority: *priority,
                    interval_us: interval_ns / 1_000,
                    cycles: series.samples,
                    min: series.figures.map(|figures| figures.min_ns / unit_ns),
                    actual: u64::try_from(figures.last_ns).unwrap_or(0) / unit_ns,
                    average: units::round_u64(figures.mean_ns.floor()) / unit_ns,
                    max: figures.max_ns / unit_ns,
                })
            })
            .collect()
    }

    fn has_ended(&self, view: &Live) -> bool {
        let counted = self.loops.is_some_and(|loops| view.series.iter().any(|thread| thread.samples >= loops));
        counted || self.duration.is_some_and(|duration| view.elapsed_ns >= duration.unsigned())
    }

    fn print_samples(&self) {
        if let Some(samples) = &self.samples {
            let lines: String = samples.try_iter().map(|sample| verbose_line(&sample, self.unit_ns())).collect();
            if !lines.is_empty() {
                output::data(&lines);
            }
        }
    }
}

impl Watch for Screen {
    fn begins(&mut self) {
        output::data(&self.head);
    }

    fn live(&mut self, view: &Live) {
        if self.has_ended(view) {
            self.stop.end_early();
        }
        self.print_samples();
        if view.series.is_empty() {
            return;
        }
        let max_ns = view.series.iter().map(LiveSeries::max_ns).max().unwrap_or(0);
        let new_maximum = max_ns > self.max_ns;
        self.max_ns = self.max_ns.max(max_ns);
        if self.shown == Shown::Status || (self.shown == Shown::NewMaxima && new_maximum) {
            self.draw(&self.status(view));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: Status = Status {
        thread: 0,
        tid: 12_345,
        priority: 98,
        interval_us: 200,
        cycles: 5_000,
        min: Some(7),
        actual: 10,
        average: 9,
        max: 55,
    };

    #[test]
    fn columns_are_where_parsers_look_for_them() {
        assert_eq!(
            STATUS.line(false),
            "T: 0 (12345) P:98 I:200 C:   5000 Min:      7 Act:   10 Avg:    9 Max:      55\n"
        );
        assert_eq!(
            STATUS.line(true),
            "T: 0 (12345) P:98 I:200 C:   5000 Min:      7 Act:      10 Avg:       9 Max:      55\n"
        );
        let nothing = Status { tid: 77, priority: 0, cycles: 0, min: None, actual: 0, average: 0, max: 0, ..STATUS };
        assert_eq!(
            nothing.line(false),
            "T: 0 (   77) P: 0 I:200 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n"
        );
    }

    #[test]
    fn a_sample_is_thread_count_and_value() {
        let sample = TappedSample { thread: 1, sample: 42, latency_ns: 93_999 };
        assert_eq!(verbose_line(&sample, 1_000), "       1:      42:      93\n");
        assert_eq!(verbose_line(&sample, 1), "       1:      42:   93999\n");
    }
}
