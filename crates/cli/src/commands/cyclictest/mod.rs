//! `punctual cyclictest`: the engine behind cyclictest's own flags and output, for scripts that know no other.
//!
//! Lines on standard output start with `T:` or `#` as the original's do; whatever else there is to say goes to
//! standard error. The exit code is the original's: 0 for a run that was made, whatever it found, 1 where the kernel
//! did not let it begin; usage errors exit 2.

mod args;
mod config;
mod describe;
mod histogram;
mod json;
mod text;

use std::ffi::OsString;

use anyhow::Context as _;
use jiff::Zoned;
use record::{Reason, ReasonCode, Record, Request as Measured, RunRequest, Validity, ValidityState};
use run::{Anyway, Beside, DmaLatencyHold, Explaining, LinearHistogram, Machine, SampleTap, Stop, Surroundings, Taps};
use units::format;

use self::args::{DmaLatency, Options, Request};
use self::config::Setup;
use self::text::{Screen, Shown, Status};
use crate::exit::Exit;
use crate::{manual, save, session};
use terminal::output;

pub(crate) use self::describe::documented;

/// The options for people; manual page and completions are made of it.
const HELP: &str = include_str!("help.txt");
/// Samples of `-v` that may wait for the terminal.
const WAITING_SAMPLES: usize = 65_536;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct CyclictestArgs {
    /// cyclictest's own options; see punctual cyclictest --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    words: Vec<OsString>,
}

/// One thread of a finished run.
struct ThreadResult<'a> {
    number: u32,
    tid: u32,
    priority: u32,
    interval_us: u64,
    cpu: u32,
    /// Schedules that passed during late wake-ups, and so are in no sample.
    missed_periods: u64,
    /// When the largest latency ended, on the monotonic clock.
    max_at_ns: Option<i64>,
    linear: &'a LinearHistogram,
}

impl ThreadResult<'_> {
    fn status(&self) -> Status {
        Status {
            thread: self.number,
            tid: self.tid,
            priority: self.priority,
            interval_us: self.interval_us,
            cycles: self.linear.samples(),
            min: self.linear.min(),
            actual: self.linear.last(),
            average: self.linear.mean(),
            max: self.linear.max().unwrap_or(0),
        }
    }
}

impl CyclictestArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match args::parse(self.words)? {
            Request::Help => {
                output::data(HELP);
                if let Some(page) = manual::pages::find("cyclictest") {
                    output::data(&format!("{}\nFor a verdict: punctual measure wakeup.\n", manual::exits(page)));
                }
                Ok(Exit::Holds)
            }
            Request::Run(options) => run(&options),
        }
    }
}

fn run(options: &Options) -> anyhow::Result<Exit> {
    let available = kernel::sched::affinity_of(0).context("cannot read which CPUs this process may use")?;
    let Setup { config, bins, policy_words, notes } = config::setup(options, &available)?;
    let threads = config.threads.unwrap_or(1);
    let intervals_us: Vec<u64> = (0..threads).map(|thread| config.interval_of(thread).unsigned() / 1_000).collect();
    let priorities: Vec<u32> = (0..threads).map(|thread| config.priority_of(thread)).collect();
    let (machine, own_program) = (Machine::read(), session::own_program()?);
    // What the kernel refuses is said below, in the original's words.
    let anyway = Anyway { is_wanted: true, warn: &|_| () };
    let surroundings = Surroundings { machine: &machine, own_program: &own_program, anyway, part: None };
    let asked = RunRequest { request: Measured::Wakeup(config), load: None, partner: Vec::new() };
    let prepared = run::prepare(asked, Explaining::Known(None), &surroundings)?;
    for file in options.json_file.iter().chain(options.histogram_file.as_ref()) {
        save::check_file(file)?;
    }
    if options.verbose {
        output::data(&text::verbose_head(machine.present.len(), machine.online.len()));
    }
    notes.iter().for_each(|note| output::note(note));
    if let Some(Err(error)) = prepared.about().policy.map(run::try_policy) {
        output::note(&format!("Unable to change scheduling policy: {error}"));
        output::note(
            "Run as root, raise the limit RLIMIT_RTPRIO, or give the capability: setcap cap_sys_nice,cap_ipc_lock+ep punctual",
        );
        return Ok(Exit::NotBegun);
    }
    // Held until this function ends, which is after the run.
    let _dma_latency = hold_dma_latency(options.dma_latency);

    let stop = Stop::on_signals()?;
    let shown = shown(options);
    let mut screen = Screen::new(shown, options.nanoseconds, policy_words, stop.clone());
    (screen.loops, screen.duration) = (options.loops, options.loops.and(options.duration));
    let (tap, samples) = (shown == Shown::Samples).then(|| SampleTap::new(WAITING_SAMPLES)).unzip();
    screen.samples = samples;
    if options.verbose {
        screen.head = text::verbose_intervals(intervals_us.iter().copied());
    }
    let mut taps = Taps { samples: tap, bins: Some(bins), ..Taps::default() };
    let started = Zoned::now();
    let context = session::context("");
    let beside = Beside { taps: Some(&mut taps), ..Beside::new(&context, &stop, &mut screen) };
    let record = match prepared.run(&surroundings, beside) {
        Ok(record) => record,
        Err(error) => {
            output::error(&error.into());
            return Ok(Exit::NotBegun);
        }
    };
    let ended = Zoned::now();

    let threads = results(&record, &taps.histograms, &intervals_us, &priorities);
    print_end(options, &mut screen, &threads)?;
    if let Some(file) = &options.json_file {
        let command: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let run = json::Run { command: &command, started: &started, ended: &ended, nanoseconds: options.nanoseconds };
        write_file(file, &json::document(&run, &threads))?;
    }
    report_lost(taps.samples.as_ref(), &threads);
    objections(&record.validity).iter().for_each(|objection| output::note(objection));
    Ok(Exit::Holds)
}

fn hold_dma_latency(wanted: DmaLatency) -> DmaLatencyHold {
    let wanted_us = match wanted {
        DmaLatency::Hold(us) => Some(us),
        DmaLatency::Laptop => {
            output::note("WARN: /dev/cpu_dma_latency is left alone, to save battery power");
            None
        }
        DmaLatency::DefaultSystem => {
            output::note("WARN: /dev/cpu_dma_latency is left alone, to see the system as it is");
            None
        }
    };
    let hold = DmaLatencyHold::take(wanted_us);
    if let (Some(us), true) = (wanted_us, hold.is_held()) {
        output::data(&format!("# /dev/cpu_dma_latency set to {us}us\n"));
    } else if let Some(why) = &hold.state().refused {
        output::note(&format!("WARN: idle states are not limited: {why}"));
    }
    hold
}

fn shown(options: &Options) -> Shown {
    // As in the original, -v prints even where -q is given.
    if options.verbose {
        Shown::Samples
    } else if options.quiet {
        Shown::Nothing
    } else if options.refresh_on_max {
        Shown::NewMaxima
    } else {
        Shown::Status
    }
}

fn results<'a>(
    record: &'a Record,
    histograms: &'a [LinearHistogram],
    intervals_us: &[u64],
    priorities: &[u32],
) -> Vec<ThreadResult<'a>> {
    let effective = record.manifest().effective.iter();
    let threads = histograms.iter().zip(&record.series).zip(effective);
    let planned = intervals_us.iter().zip(priorities);
    threads
        .zip(planned)
        .map(|(((linear, series), effective), (&interval_us, &priority))| ThreadResult {
            number: series.place.thread_number().unwrap_or(0),
            tid: effective.tid,
            priority,
            interval_us,
            cpu: series.place.cpu().unwrap_or(0),
            // The original leaves nothing out.
            missed_periods: series.counters.missed_periods.saturating_add(series.spoiled.missed_periods),
            max_at_ns: series.max_at.filter(|_| series.spoiled.count == 0).map(|at| at.monotonic.as_ns()),
            linear,
        })
        .collect()
}

fn print_end(options: &Options, screen: &mut Screen, threads: &[ThreadResult<'_>]) -> anyhow::Result<()> {
    let status: Vec<Status> = threads.iter().map(ThreadResult::status).collect();
    match screen.shown {
        Shown::Status | Shown::NewMaxima => screen.draw(&status),
        // Where a histogram follows, it is the summary.
        Shown::Nothing if options.histogram_bins.is_none() => {
            output::data(&status.iter().map(|thread| thread.line(options.nanoseconds)).collect::<String>());
        }
        Shown::Nothing | Shown::Samples => {}
    }
    if options.histogram_bins.is_some() {
        let table = histogram::table(threads, options.histogram_summary);
        match &options.histogram_file {
            Some(file) => write_file(file, &table)?,
            None => output::data(&table),
        }
    }
    if let Some(limit) = options.break_above {
        output::data(&text::break_lines(threads, limit));
    }
    Ok(())
}

/// Writes a file that was asked for; only where it went elsewhere is there something to say.
fn write_file(file: &std::path::Path, text: &str) -> anyhow::Result<()> {
    let saved = save::write_or_fall_back(file, text.as_bytes())?;
    if saved.path != file {
        saved.announce();
    }
    Ok(())
}

/// How many periods are in no sample, where there are any: cyclictest goes on with the next schedule that lies ahead.
fn missed_line(threads: &[ThreadResult<'_>]) -> Option<String> {
    let missed: u64 = threads.iter().map(|thread| thread.missed_periods).fold(0, u64::saturating_add);
    if missed == 0 {
        return None;
    }
    let samples = threads.iter().map(|thread| thread.linear.samples()).fold(missed, u64::saturating_add);
    let each =
        |thread: &ThreadResult<'_>| format!("thread {}: {}", thread.number, format::count(thread.missed_periods));
    let each: Vec<String> = threads.iter().filter(|thread| thread.missed_periods > 0).map(each).collect();
    Some(format!(
        "# punctual: {} of {} periods were missed during late wake-ups and are in no sample ({})",
        format::count(missed),
        format::count(samples),
        each.join(", ")
    ))
}

/// Says which samples the output above does not hold.
fn report_lost(tap: Option<&SampleTap>, threads: &[ThreadResult<'_>]) {
    let unprinted = tap.map_or(0, SampleTap::lost);
    if unprinted > 0 {
        output::note(&format!("# punctual: {unprinted} samples were not printed: the reader of -v is too slow"));
    }
    missed_line(threads).iter().for_each(|line| output::note(line));
    let below_zero: u64 = threads.iter().map(|thread| thread.linear.below_zero()).sum();
    if below_zero > 0 {
        output::note(&format!(
            "# punctual: {below_zero} samples lie below zero and are in no bin: the clock went back"
        ));
    }
}

/// Why the numbers on standard output do not mean what was asked, a line for each reason.
fn objections(validity: &Validity) -> Vec<String> {
    let objection = |reason: &Reason| {
        let info = reason.code.info();
        if info.state == ValidityState::Invalid {
            let meaning = info.meaning.trim().trim_end_matches('.');
            Some(format!("# punctual: invalid: {meaning}: {}", reason.detail))
        } else if reason.code == ReasonCode::MemoryNotLocked {
            // -m asked for it, and nothing that was asked is left away in silence.
            Some(format!("# punctual: -m was refused: {}", reason.detail))
        } else {
            None
        }
    };
    validity.reasons().iter().filter_map(objection).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_periods_are_counted_in_one_line_with_their_threads() {
        let bins = run::LinearBins { width_ns: 1_000, bins: 10, kept_overflows: 0 };
        let linear = LinearHistogram::new(bins);
        let thread = |number, missed_periods| ThreadResult {
            number,
            tid: 1,
            priority: 98,
            interval_us: 200,
            cpu: 0,
            missed_periods,
            max_at_ns: None,
            linear: &linear,
        };
        assert_eq!(missed_line(&[thread(0, 0), thread(1, 0)]), None);
        assert_eq!(
            missed_line(&[thread(0, 0), thread(1, 500), thread(2, 3)]).unwrap(),
            "# punctual: 503 of 503 periods were missed during late wake-ups and are in no sample \
             (thread 1: 500, thread 2: 3)"
        );
    }

    #[test]
    fn an_invalid_run_is_told_in_a_line_for_each_reason() {
        let mut validity = Validity::default();
        assert!(objections(&validity).is_empty());
        validity.add(ReasonCode::VirtualMachine, "kvm".to_owned());
        validity.add(ReasonCode::SamplesDropped, "thread 0: 5 samples found no place".to_owned());
        validity.add(ReasonCode::MemoryNotLocked, "Operation not permitted".to_owned());
        assert_eq!(
            objections(&validity),
            [
                "# punctual: invalid: Samples were lost between the measuring thread and the record: \
                 thread 0: 5 samples found no place",
                "# punctual: -m was refused: Operation not permitted",
            ]
        );
    }
}
