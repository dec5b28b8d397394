//! The parts of a load inside the guard: started in what they need, let run and stopped in their turns, counted.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kernel::clock::KernelClock;
use kernel::confine::{Confinement, spawn_confined};
use kernel::process::Signal;
use record::{DroppedPart, LoadPart, LoadWindow, PartRate};
use units::{ClockId, approx_f64};

use super::group::MemoryGroup;
use super::part::{MemoryBudget, Part, Resources, ScaledPart};
use super::said::Said;
use super::stress;
use super::tree::{self, Processes};
use super::turns::{Rotation, Turn};
use crate::witness::{NS_PER_TICK, Stat};

/// How often processes are looked for that have to stop: those that are there, those that they started meanwhile, and
/// once more.
const LOOKS: u32 = 3;

/// A part that was started.
#[derive(Debug)]
struct RunningPart {
    report: LoadPart,
    child: Child,
    said: Said,
    group: Option<MemoryGroup>,
    own_network: bool,
    is_let_run: bool,
    /// How long it has had its turn, since it was started and since the run began.
    turn: Duration,
    turn_in_run: Duration,
    before: Counts,
}

/// What a part has done so far, each since some moment of the past.
#[derive(Clone, Debug, Default)]
struct Counts {
    ticks: u64,
    io_bytes: u64,
    context_switches: u64,
    reclaimed_pages: Option<u64>,
    packets: Option<u64>,
}

/// The parts of a load that runs.
#[derive(Debug)]
pub(super) struct RunningParts {
    /// In the order of the load's parts.
    parts: Vec<RunningPart>,
    /// Those that do not run, by their place among all parts.
    dropped: BTreeMap<usize, LoadPart>,
    rotation: Option<(Instant, Rotation)>,
    turn: Turn,
    turn_began: Instant,
    /// The window that is open; only with a rotation.
    window: Option<OpenWindow>,
    windows: Vec<LoadWindow>,
}

/// A window that has begun.
#[derive(Debug)]
struct OpenWindow {
    start_ns: i64,
    stat: Option<Stat>,
}

fn monotonic_ns() -> i64 {
    kernel::clock::now_ns(KernelClock::from(ClockId::Monotonic))
}

impl RunningParts {
    /// Starts all parts but those that are left out; those that cannot run here are noted, with the reason.
    pub(super) fn start(parts: &[Part], without: &[String], resources: &Resources, scratch: &Path) -> Self {
        let mut budget = MemoryBudget::new(resources);
        let (mut running, mut dropped) = (Vec::new(), BTreeMap::new());
        for (index, part) in parts.iter().enumerate() {
            let report = LoadPart { name: part.name.clone(), ..LoadPart::default() };
            if without.contains(&part.name) {
                dropped.insert(index, LoadPart { dropped: Some(DroppedPart::Request), ..report });
                continue;
            }
            match part.scale(resources, &mut budget).and_then(|scaled| start_part(report.clone(), scaled, scratch)) {
                Ok(started) => running.push(started),
                Err(why) => {
                    dropped.insert(index, LoadPart { dropped: Some(DroppedPart::Machine { why }), ..report });
                }
            }
        }
        Self {
            parts: running,
            dropped,
            rotation: None,
            turn: Turn::All,
            turn_began: Instant::now(),
            window: None,
            windows: Vec::new(),
        }
    }

    /// Whether no part runs.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What is known of each part now, in the order of the load's parts.
    pub(super) fn reports(&self) -> Vec<LoadPart> {
        let mut running = self.parts.iter().map(|part| part.report.clone());
        let all = self.parts.len() + self.dropped.len();
        (0..all).filter_map(|index| self.dropped.get(&index).cloned().or_else(|| running.next())).collect()
    }

    /// Which parts ran when.
    pub(super) fn windows(&self) -> Vec<LoadWindow> {
        self.windows.clone()
    }

    /// The processes that were started, with the names of their parts, and what they wrote on standard error.
    pub(super) fn children(&mut self) -> impl Iterator<Item = (String, &mut Child, &Said)> {
        self.parts.iter_mut().map(|part| (format!("part '{}'", part.report.name), &mut part.child, &part.said))
    }

    /// The run begins: from here on is counted, and turns are taken where the run has a length to share.
    pub(super) fn begin(&mut self, rotate_over: Option<Duration>) {
        self.account_turn();
        let processes = Processes::read();
        for part in &mut self.parts {
            part.turn_in_run = Duration::ZERO;
            part.before = part.counts(&processes);
        }
        self.rotation = rotate_over.map(|run| (Instant::now(), Rotation::new(run, self.parts.len())));
        if let Some((_, rotation)) = &self.rotation {
            self.turn = rotation.turn(Duration::ZERO);
        }
        self.take_turn(true);
    }

    /// Lets run whose turn it is, and stops the others; `shall_run` is false while all stand still.
    pub(super) fn take_turn(&mut self, shall_run: bool) {
        let turn = self.rotation.as_ref().map_or(Turn::All, |(began, rotation)| rotation.turn(began.elapsed()));
        if turn != self.turn {
            self.account_turn();
            self.close_window();
            self.turn = turn;
        }
        let wanted = |index: usize| shall_run && turn.has(index);
        if self.parts.iter().enumerate().any(|(index, part)| part.is_let_run != wanted(index)) {
            // Those that have to stop do so before others begin. Who stands still starts nobody; whom he started between
            // the look and the signal is found by the next look.
            for _ in 0..LOOKS {
                let processes = Processes::read();
                self.parts.iter().enumerate().filter(|(index, _)| !wanted(*index)).for_each(|(_, part)| {
                    part.signal(Signal::Stop, &processes);
                });
            }
            let processes = Processes::read();
            for (index, part) in self.parts.iter_mut().enumerate() {
                let shall_run = wanted(index);
                if shall_run && !part.is_let_run {
                    part.signal(Signal::Continue, &processes);
                }
                part.is_let_run = shall_run;
            }
        }
        // Only now does nobody else run.
        if self.rotation.is_some() && self.window.is_none() {
            self.window = Some(OpenWindow { start_ns: monotonic_ns(), stat: Stat::read() });
        }
    }

    fn account_turn(&mut self) {
        let (now, turn) = (Instant::now(), self.turn);
        let took = now.duration_since(self.turn_began);
        for (_, part) in self.parts.iter_mut().enumerate().filter(|(index, _)| turn.has(*index)) {
            part.turn += took;
            part.turn_in_run += took;
        }
        self.turn_began = now;
    }

    fn close_window(&mut self) {
        let Some(window) = self.window.take() else { return };
        let end_ns = monotonic_ns();
        let seconds = units::approx_f64_i64(end_ns.saturating_sub(window.start_ns).max(1)) / 1e9;
        let stat = window.stat.zip(Stat::read());
        let rate = |of: fn(&Stat) -> u64| {
            stat.as_ref().map(|(before, after)| approx_f64(of(after).saturating_sub(of(before))) / seconds)
        };
        let names = self.parts.iter().enumerate().filter(|(index, _)| self.turn.has(*index));
        self.windows.push(LoadWindow {
            parts: names.map(|(_, part)| part.report.name.clone()).collect(),
            start_monotonic_ns: window.start_ns,
            end_monotonic_ns: end_ns,
            interrupts_per_s: rate(|stat| stat.interrupts),
            context_switches_per_s: rate(|stat| stat.context_switches),
        });
    }

    /// The run has ended: counts what each part did in it, while its processes are still there.
    pub(super) fn count(&mut self) {
        self.account_turn();
        self.close_window();
        let processes = Processes::read();
        for part in &mut self.parts {
            part.count(&processes);
        }
    }

    /// Adds what stress-ng counted itself; it writes that once its stressors have ended.
    pub(super) fn add_operations(&mut self, scratch: &Path) {
        for part in &mut self.parts {
            let text = crate::kernel_text::read(scratch.join(format!("{}.yaml", part.report.name))).unwrap_or_default();
            let seconds = part.turn.as_secs_f64();
            if seconds > 0.0 {
                let operations = stress::parse_operations(&text).into_iter();
                part.report.achieved.extend(operations.map(|(metric, count)| PartRate {
                    metric,
                    value: approx_f64(count) / seconds,
                    unit: "operations/s".to_owned(),
                }));
            }
        }
    }
}

impl RunningPart {
    fn signal(&self, signal: Signal, processes: &Processes) {
        for pid in self.family(processes) {
            // One that has just ended needs no signal.
            let _ = kernel::process::signal(pid, signal);
        }
    }

    fn family(&self, processes: &Processes) -> Vec<u32> {
        let mut family = processes.below(self.child.id());
        family.push(self.child.id());
        family
    }

    fn counts(&self, processes: &Processes) -> Counts {
        let usage = processes.usage_of_family(self.child.id());
        let switches = self.family(processes).into_iter().filter_map(tree::context_switches);
        Counts {
            ticks: usage.ticks,
            io_bytes: usage.io_bytes,
            context_switches: units::total(switches),
            reclaimed_pages: self.group.as_ref().and_then(MemoryGroup::reclaimed_pages),
            packets: self.own_network.then(|| packets(self.child.id())).flatten(),
        }
    }

    fn count(&mut self, processes: &Processes) {
        let (before, now) = (std::mem::take(&mut self.before), self.counts(processes));
        let seconds = self.turn_in_run.as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        let rate = |before: u64, now: u64| approx_f64(now.saturating_sub(before)) / seconds;
        self.report.cpu_used = Some(rate(before.ticks, now.ticks) * approx_f64(NS_PER_TICK) / 1e9);
        let mut add = |metric: &str, unit: &str, value: f64| {
            self.report.achieved.push(PartRate { metric: metric.to_owned(), value, unit: unit.to_owned() });
        };
        if let Some((before, now)) = before.packets.zip(now.packets) {
            add("packets received", "1/s", rate(before, now));
        }
        if let (Some(group), Some((before, now))) = (&self.group, before.reclaimed_pages.zip(now.reclaimed_pages)) {
            add(group.counts(), "1/s", rate(before, now));
        }
        // What every part has some of; without any it says nothing of the part.
        for (metric, unit, value) in [
            ("context switches", "1/s", rate(before.context_switches, now.context_switches)),
            ("bytes read and written", "bytes/s", rate(before.io_bytes, now.io_bytes)),
        ] {
            if value > 0.0 {
                add(metric, unit, value);
            }
        }
    }
}

/// Starts a part in what it needs.
fn start_part(report: LoadPart, scaled: ScaledPart, scratch: &Path) -> Result<RunningPart, String> {
    let group = scaled.group_bytes.map(MemoryGroup::make).transpose()?;
    if let Some(bytes) = scaled.sparse_file_bytes {
        fs::File::create(scratch.join("sparse"))
            .and_then(|file| file.set_len(bytes))
            .map_err(|error| format!("no sparse file can be made in {}: {error}", scratch.display()))?;
    }
    let groups = group.iter().map(MemoryGroup::processes).collect::<io::Result<Vec<_>>>();
    let groups = groups.map_err(|error| format!("its memory control group cannot be joined: {error}"))?;
    let mut words = scaled.command.iter().map(|argument| argument.replace("{scratch}", &scratch.to_string_lossy()));
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).current_dir(scratch);
    let confinement = Confinement { groups, nice: scaled.nice, own_network: scaled.own_network };
    let mut child = spawn_confined(&mut command, confinement).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{program} is not installed"),
        _ if scaled.own_network => format!("no network namespace of its own: {error}"),
        _ => format!("{program} cannot be started: {error}"),
    })?;
    // Where the kernel shares CPUs out among sessions, the session's nice level counts (sched(7), The autogroup feature).
    let _ = fs::write(format!("/proc/{}/autogroup", child.id()), scaled.nice.to_string());
    let said = Said::listen_to(&mut child);
    Ok(RunningPart {
        report: LoadPart { command: scaled.command, lacks: scaled.lacks, ..report },
        child,
        said,
        group,
        own_network: scaled.own_network,
        is_let_run: true,
        turn: Duration::ZERO,
        turn_in_run: Duration::ZERO,
        before: Counts::default(),
    })
}

/// Packets that a process's loopback received (`/proc/PID/net/dev`: the process's own network namespace).
fn packets(pid: u32) -> Option<u64> {
    let text = crate::kernel_text::read(format!("/proc/{pid}/net/dev")).ok()?;
    let numbers = text.lines().find_map(|line| line.trim().strip_prefix("lo:"))?;
    numbers.split_ascii_whitespace().nth(1)?.parse().ok()
}
