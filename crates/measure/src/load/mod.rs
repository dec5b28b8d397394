//! What else runs during a measurement: started under a guard, measured, always ended.

mod error;
mod group;
pub(crate) mod guard;
pub(crate) mod guarded;
mod part;
mod resources;
mod running;
mod said;
mod spec;
mod stress;
pub(crate) mod tree;
mod turns;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use record::{AchievedLoad, DroppedPart, LoadManifest, LoadPart, ReasonCode, Record, ToolVersion};
use units::{CpuSet, Ns, approx_f64};

use self::error::EndedEarly;
pub use self::error::LoadError;
pub use self::guard::guard;
use self::guard::{Answer, Orders, Word};
use self::guarded::Guarded;
use self::part::STRESS_NG;
pub use self::part::{Need, Part, PartMemory, Stressor};
pub use self::spec::{Bursts, LoadCommand, LoadSpec, LoadSpecError};
use self::tree::TreeUsage;
pub(crate) use self::tree::owner_of;
use crate::machine::Machine;
use crate::witness::{NS_PER_TICK, Stat};

/// The hidden command by which the program starts itself as a guard.
pub const GUARD_COMMAND: &str = "__load-guard";

/// How long it gets to reach its strength before the measurement begins.
pub const WARM_UP: Duration = Duration::from_millis(1_500);
/// Below this part of the wanted CPU time a load counts as not achieved.
const LEAST_SHARE: f64 = 0.5;
/// A CPU that was busy for this part of the time had none left for a load.
const BUSY: f64 = 0.95;
/// Below this CPU time (in CPUs) and without any I/O nothing ran at all.
const NO_CPU: f64 = 0.001;

/// Where a load may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadCpus {
    /// The others where all measured CPUs are isolated, else all.
    Default,
    /// All online CPUs.
    All,
    /// The CPUs that are not measured.
    Others,
    /// The CPUs of this list.
    List(CpuSet),
}

impl std::str::FromStr for LoadCpus {
    type Err = units::CpuSetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            "others" => Ok(Self::Others),
            list => list.parse().map(Self::List),
        }
    }
}

/// A load that runs.
#[derive(Debug)]
pub struct RunningLoad {
    spec: LoadSpec,
    cpus: CpuSet,
    program: Option<ToolVersion>,
    guard: Guarded,
    /// Its parts as they came up; what they did replaces them at the end.
    parts: Vec<LoadPart>,
    /// What ended by itself before the measurement began.
    ended_at_once: Vec<EndedEarly>,
    window: Option<Window>,
}

/// What a user chooses of a load that is made of parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartChoice {
    /// The parts that are left out, by their names.
    pub without: Vec<String>,
    /// Whether the parts run one after the other and then together.
    pub rotate: bool,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    usage: TreeUsage,
    stat: Option<Stat>,
    network_bytes: Option<u64>,
    takes_turns: bool,
}

/// Chooses the CPUs of a load.
///
/// # Errors
/// Where none is left, or one that was asked cannot be used.
pub fn choose_cpus(wanted: &LoadCpus, measured: &CpuSet, machine: &Machine) -> Result<CpuSet, LoadError> {
    let usable = machine.usable();
    let others = usable.difference(measured);
    let cpus = match wanted {
        LoadCpus::All => usable.clone(),
        LoadCpus::Others => others,
        LoadCpus::Default if measured.is_subset(&machine.isolated) && !others.is_empty() => others,
        LoadCpus::Default => usable.clone(),
        LoadCpus::List(cpus) => cpus.clone(),
    };
    if cpus.is_empty() {
        return Err(LoadError::NoCpu { measured: measured.clone() });
    }
    let absent = cpus.difference(&usable);
    if !absent.is_empty() {
        return Err(LoadError::CpuNotUsable { absent, usable });
    }
    Ok(cpus)
}

impl RunningLoad {
    /// Starts a load under a guard (`program` is this program's own file) and waits until it has come up.
    ///
    /// # Errors
    /// Where the guard or one of the load's programs cannot be started; nothing is left running then.
    pub fn start(spec: LoadSpec, without: &[String], cpus: CpuSet, program: &Path) -> Result<Self, LoadError> {
        Self::start_for(WARM_UP, spec, without, cpus, program)
    }

    /// The same, and waits for `warm_up` in place of the time that a load needs to reach its strength.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_for(
        warm_up: Duration,
        spec: LoadSpec,
        without: &[String],
        cpus: CpuSet,
        program: &Path,
    ) -> Result<Self, LoadError> {
        let orders = Orders { spec: spec.clone(), cpus: cpus.clone(), held: false, without: without.to_vec() };
        let guard = Guarded::start(&orders, program, Stdio::null()).map_err(LoadError::Guard)?;
        match guard.first_answer().map_err(LoadError::Guard)? {
            Answer::Failed { program, missing: true, .. } => Err(LoadError::Missing { program }),
            Answer::Failed { program, error, .. } => Err(LoadError::Start { program, error }),
            started @ (Answer::Started { .. } | Answer::Ended { .. } | Answer::EndedEarly { .. }) => {
                let parts = if let Answer::Started { parts } = started { parts } else { Vec::new() };
                let mut load = Self {
                    program: version_of(&spec),
                    spec,
                    cpus,
                    guard,
                    parts,
                    ended_at_once: Vec::new(),
                    window: None,
                };
                load.warm_up(warm_up);
                Ok(load)
            }
        }
    }

    /// Waits for the time in which the load reaches its strength, or until a program of it has ended by itself.
    fn warm_up(&mut self, time: Duration) {
        let began = Instant::now();
        while let Some(answer) = self.guard.next_answer(time.saturating_sub(began.elapsed())) {
            if let Answer::EndedEarly { program, how, status, said } = answer {
                let after_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(0).saturating_add(1);
                let what = self.spec.describe_program(&program);
                self.ended_at_once.push(EndedEarly { what, how, status, said, after: Some(Ns::from_ms(after_ms)) });
                return;
            }
        }
    }

    /// Why a run under this load would be invalid, where a program of it has ended already.
    #[must_use]
    pub fn ended_at_once(&self) -> Option<LoadError> {
        self.ended_at_once.first().map(EndedEarly::to_error)
    }

    /// The parts of the load that do not run, with the reasons in words, those that nobody asked to leave out alone.
    pub fn dropped_by_machine(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().filter_map(|part| match &part.dropped {
            Some(DroppedPart::Machine { why }) => Some((part.name.as_str(), why.as_str())),
            Some(DroppedPart::Request) | None => None,
        })
    }

    /// From here on counts what the load achieves; where the length of the run is given (ns), its parts take turns in it.
    pub fn begin_window(&mut self, rotate_over_ns: Option<u64>) {
        self.guard.say(&Word::Begin { rotate_over_ns });
        self.window = Some(Window {
            began: Instant::now(),
            usage: TreeUsage::read(self.guard.id()),
            stat: Stat::read(),
            network_bytes: network_bytes(),
            takes_turns: rotate_over_ns.is_some(),
        });
    }

    /// Ends the load, writes into a record what ran and what it achieved since [`begin_window`](Self::begin_window), and
    /// makes the run invalid where that is too little; then judges the deadline again. Nothing of the load is left then.
    pub fn finish_into(mut self, record: &mut Record) {
        let achieved = self.window.take().map(|window| self.achieved(&window));
        let mut windows = Vec::new();
        let mut early: Vec<String> = self.ended_at_once.iter().map(EndedEarly::describe).collect();
        let mut gave_account = false;
        for answer in self.guard.end() {
            match answer {
                Answer::EndedEarly { program, how, status, said } => {
                    let what = self.spec.describe_program(&program);
                    early.push(EndedEarly { what, how, status, said, after: None }.describe());
                }
                Answer::Ended { parts, windows: seen } => {
                    (self.parts, windows, gave_account) = (parts, seen, true);
                }
                Answer::Started { .. } | Answer::Failed { .. } => {}
            }
        }
        // What ended the guard ended the load with it, and nobody knows when.
        if early.is_empty() && !gave_account {
            early.push("its guard gave no account of it".to_owned());
        }
        let name = &self.spec.name;
        for why in faults(&early, achieved.as_ref(), &self.parts) {
            record.validity.add(ReasonCode::LoadNotAchieved, format!("load '{name}': {why}"));
        }
        for (part, why) in self.dropped_by_machine() {
            record.validity.add(ReasonCode::LoadPartDropped, format!("part '{part}' of load '{name}': {why}"));
        }
        if let Some(names) = parts_without_turn(&self.parts).filter(|_| early.is_empty()) {
            let detail = format!("load '{name}': the run ended before the turn of {names}");
            record.validity.add(ReasonCode::LoadPartDropped, detail);
        }
        let of_spec = self
            .spec
            .command
            .iter()
            .map(|command| std::iter::once(&command.program).chain(&command.arguments).cloned().collect());
        let of_parts = self.parts.iter().map(|part| part.command.clone()).filter(|command| !command.is_empty());
        let load_used = achieved.as_ref().map(|achieved| achieved.cpu_used);
        let manifest = record.manifest_mut();
        // Until here the load counts among the others; without its own count, the others' is not known.
        manifest.others_cpu_used = manifest.others_cpu_used.zip(load_used).map(|(all, load)| (all - load).max(0.0));
        manifest.load = LoadManifest {
            name: self.spec.name.clone(),
            cpus: self.cpus.clone(),
            program: self.program.clone(),
            commands: of_spec.chain(of_parts).collect(),
            achieved,
            share: self.spec.share,
            parts: self.parts.clone(),
            windows,
        };
        if let Some(deadline_ns) = record.manifest().requested.deadline_ns {
            record.verdict = Some(analysis::verdict(record, deadline_ns));
        }
    }

    fn achieved(&self, window: &Window) -> AchievedLoad {
        let elapsed_s = window.began.elapsed().as_secs_f64().max(1e-9);
        let now = TreeUsage::read(self.guard.id());
        let rate = |before: u64, after: u64| approx_f64(after.saturating_sub(before)) / elapsed_s;
        let cpu_used = rate(window.usage.ticks, now.ticks) * approx_f64(NS_PER_TICK) / 1e9;
        let stat = window.stat.as_ref().zip(Stat::read());
        AchievedLoad {
            cpu_used,
            cpu_busy: stat
                .iter()
                .flat_map(|(before, after)| after.busy_since(before))
                .map(|(cpu, share)| (cpu.to_string(), share))
                .collect(),
            interrupts_per_s: stat.as_ref().map_or(0.0, |(b, a)| rate(b.interrupts, a.interrupts)),
            context_switches_per_s: stat.as_ref().map_or(0.0, |(b, a)| rate(b.context_switches, a.context_switches)),
            io_bytes_per_s: (now.io_bytes > 0).then(|| rate(window.usage.io_bytes, now.io_bytes)),
            network_bytes_per_s: window.network_bytes.zip(network_bytes()).map(|(before, after)| rate(before, after)),
            share_of_wanted: wanted_cpu(&self.spec, &self.cpus, &self.parts, window.takes_turns)
                .map(|wanted| cpu_used / wanted),
        }
    }
}

/// CPU time that a load should use at least, in CPUs: what it states, or its share of its CPUs. Parts that take turns need
/// not fill them one by one, nor those that are left where others do not run.
fn wanted_cpu(spec: &LoadSpec, cpus: &CpuSet, parts: &[LoadPart], takes_turns: bool) -> Option<f64> {
    let all_at_once = !takes_turns && parts.iter().all(|part| part.dropped.is_none());
    let cpus = f64::from(u32::try_from(cpus.len()).unwrap_or(u32::MAX));
    spec.wanted_cpu.or_else(|| spec.share.filter(|_| all_at_once).map(|share| share * cpus))
}

/// Why what ran is not the load that was asked. What ended early has nothing left that could be counted, and did nothing
/// of what it would have done: that it ended says all.
fn faults(early: &[String], achieved: Option<&AchievedLoad>, parts: &[LoadPart]) -> Vec<String> {
    if !early.is_empty() {
        return vec![early.join(", ")];
    }
    achieved.and_then(too_little).into_iter().chain(idle_parts(parts)).collect()
}

/// The names of the parts that were started and never had their turn.
fn parts_without_turn(parts: &[LoadPart]) -> Option<String> {
    let had_none = |part: &&LoadPart| part.dropped.is_none() && part.cpu_used.is_none();
    let names: Vec<String> = parts.iter().filter(had_none).map(|part| format!("'{}'", part.name)).collect();
    (!names.is_empty()).then(|| format!("{} {}", if names.len() == 1 { "part" } else { "parts" }, names.join(", ")))
}

/// Parts that ran and did nothing, in words.
fn idle_parts(parts: &[LoadPart]) -> Option<String> {
    let did_nothing = |part: &&LoadPart| {
        let bytes = part.achieved.iter().find(|rate| rate.unit == "bytes/s").map_or(0.0, |rate| rate.value);
        part.cpu_used.is_some_and(|used| used < NO_CPU) && bytes < 1.0
    };
    let idle: Vec<String> = parts.iter().filter(did_nothing).map(|part| format!("'{}'", part.name)).collect();
    (!idle.is_empty()).then(|| format!("part {} ran and used no CPU", idle.join(", ")))
}

/// That the load used less of the CPUs than it should, in words.
fn too_little(achieved: &AchievedLoad) -> Option<String> {
    let used = achieved.cpu_used;
    if used < NO_CPU && achieved.io_bytes_per_s.unwrap_or(0.0) < 1.0 {
        return Some("nothing of it used the CPU or did I/O".to_owned());
    }
    let share = achieved.share_of_wanted.filter(|share| *share < LEAST_SHARE)?;
    let idle = achieved.cpu_busy.values().any(|busy| *busy < BUSY);
    let others = if idle || achieved.cpu_busy.is_empty() { "" } else { "; other programs kept the CPUs busy" };
    Some(format!("it used {used:.2} CPUs, {:.0} % of what it should{others}", share * 100.0))
}

/// Bytes through all interfaces since boot (Documentation/filesystems/proc.rst, 1.4).
fn network_bytes() -> Option<u64> {
    let text = crate::kernel_text::read("/proc/net/dev").ok()?;
    let lines = text.lines().skip(2);
    Some(
        lines
            .filter_map(|line| {
                let numbers: Vec<u64> =
                    line.split_once(':')?.1.split_ascii_whitespace().map(|n| n.parse().unwrap_or(0)).collect();
                Some(numbers.first()?.saturating_add(*numbers.get(8)?))
            })
            .sum(),
    )
}

/// The external program's own word on its version.
fn version_of(spec: &LoadSpec) -> Option<ToolVersion> {
    let uses_stress_ng = spec.part.iter().any(|part| !part.stressor.is_empty());
    let program = if uses_stress_ng { STRESS_NG } else { &spec.command.first()?.program };
    if program == "sh" {
        return None;
    }
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(ToolVersion { name: program.to_owned(), version: version.trim_end_matches(',').to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let set = |text: &str| text.parse::<CpuSet>().unwrap();
        Machine {
            online: set("0-3"),
            present: set("0-3"),
            isolated: set("2-3"),
            allowed: set("0-3"),
            timer_resolution_ns: 1,
            available_bytes: 1 << 30,
        }
    }

    #[test]
    fn a_load_keeps_off_isolated_cpus_and_else_loads_all() {
        let check = |wanted: LoadCpus, measured: &str, expected: &str| {
            let cpus = choose_cpus(&wanted, &measured.parse().unwrap(), &machine()).unwrap();
            assert_eq!(cpus.to_string(), expected);
        };
        check(LoadCpus::Default, "2-3", "0-1");
        check(LoadCpus::Default, "0-1", "0-3");
        check(LoadCpus::All, "2-3", "0-3");
        check(LoadCpus::Others, "1", "0,2-3");
        check(LoadCpus::List("3".parse().unwrap()), "2", "3");
        assert!(matches!(
            choose_cpus(&LoadCpus::Others, &"0-3".parse().unwrap(), &machine()),
            Err(LoadError::NoCpu { .. })
        ));
        assert!(matches!(
            choose_cpus(&LoadCpus::List("9".parse().unwrap()), &"0".parse().unwrap(), &machine()),
            Err(LoadError::CpuNotUsable { .. })
        ));
    }

    #[test]
    fn too_little_is_told_and_enough_is_not() {
        let load = |cpu_used, io: Option<f64>, share| AchievedLoad {
            cpu_used,
            io_bytes_per_s: io,
            share_of_wanted: share,
            ..AchievedLoad::default()
        };
        assert!(too_little(&load(0.0, None, None)).is_some());
        assert!(too_little(&load(0.0, Some(5_000.0), None)).is_none());
        assert!(too_little(&load(0.2, None, Some(0.27))).is_some());
        assert!(too_little(&load(0.9, None, Some(1.2))).is_none());
        let busy = |share: f64| AchievedLoad {
            cpu_busy: [("0".to_owned(), 1.0), ("1".to_owned(), share)].into(),
            ..load(0.2, None, Some(0.27))
        };
        assert!(too_little(&busy(0.99)).unwrap().contains("other programs"), "why it could not be more");
        assert!(!too_little(&busy(0.5)).unwrap().contains("other programs"));
    }

    #[test]
    fn only_a_load_whose_parts_all_run_at_once_has_to_fill_its_share() {
        let cpus = "0-3".parse().unwrap();
        let (hard, paper) = (LoadSpec::built_in("hard").unwrap(), LoadSpec::built_in("paper").unwrap());
        let mut parts = vec![LoadPart::default(), LoadPart::default()];
        assert_eq!(wanted_cpu(&hard, &cpus, &parts, false), Some(3.0));
        assert_eq!(wanted_cpu(&hard, &cpus, &parts, true), None);
        parts[1].dropped = Some(DroppedPart::Request);
        assert_eq!(wanted_cpu(&hard, &cpus, &parts, false), None);
        assert_eq!(wanted_cpu(&paper, &cpus, &[], false), Some(0.75));
    }

    #[test]
    fn a_part_that_ran_and_did_nothing_is_named_and_one_that_did_not_run_is_not() {
        let part = |name: &str, cpu_used, bytes: f64| LoadPart {
            name: name.to_owned(),
            cpu_used,
            achieved: vec![record::PartRate { metric: String::new(), value: bytes, unit: "bytes/s".to_owned() }],
            ..LoadPart::default()
        };
        assert_eq!(idle_parts(&[part("a", Some(0.5), 0.0), part("b", Some(0.0), 5_000.0), part("c", None, 0.0)]), None);
        let why = idle_parts(&[part("a", Some(0.5), 0.0), part("b", Some(0.0), 0.0)]).unwrap();
        assert!(why.contains("'b'") && !why.contains("'a'"), "{why}");
    }

    #[test]
    fn a_load_that_ended_early_is_not_said_to_have_done_nothing_besides() {
        let nothing = AchievedLoad::default();
        let idle = [LoadPart { name: "files".to_owned(), cpu_used: Some(0.0), ..LoadPart::default() }];
        assert_eq!(faults(&[], Some(&nothing), &idle).len(), 2);
        let early = ["all of it ended by itself (memory became short)".to_owned()];
        assert_eq!(faults(&early, Some(&nothing), &idle), early);
        let busy = AchievedLoad { cpu_used: 0.9, ..AchievedLoad::default() };
        assert_eq!(faults(&[], Some(&busy), &[]), Vec::<String>::new());
    }

    #[test]
    fn parts_whose_turn_never_came_are_named() {
        let part = |name: &str, cpu_used, dropped| LoadPart {
            name: name.to_owned(),
            cpu_used,
            dropped,
            ..LoadPart::default()
        };
        let had = part("memory", Some(0.7), None);
        let left_out = part("network", None, Some(DroppedPart::Request));
        assert_eq!(parts_without_turn(&[had.clone(), left_out.clone()]), None);
        let all = [had, part("timers", None, None), left_out, part("files", None, None)];
        assert_eq!(parts_without_turn(&all).unwrap(), "parts 'timers', 'files'");
        assert_eq!(parts_without_turn(&all[..3]).unwrap(), "part 'timers'");
    }
}
