//! What else runs during a measurement: started under a guard, measured, always ended.

pub(crate) mod guard;
pub(crate) mod guarded;
mod spec;
pub(crate) mod tree;

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use record::{AchievedLoad, LoadManifest, ReasonCode, Record, ToolVersion};
use units::{CpuSet, approx_f64};

pub use self::guard::guard;
use self::guard::{Answer, Orders};
use self::guarded::Guarded;
pub use self::spec::{Bursts, LoadCommand, LoadSpec, LoadSpecError};
use self::tree::TreeUsage;
pub(crate) use self::tree::owner_of;
use crate::machine::Machine;
use crate::witness::{NS_PER_TICK, Stat};

/// The hidden command by which the program starts itself as a guard.
pub const GUARD_COMMAND: &str = "__load-guard";

/// How long it gets to reach its strength before the measurement begins.
const WARM_UP: Duration = Duration::from_millis(1_500);
/// Below this part of the wanted CPU time a load counts as not achieved.
const LEAST_SHARE: f64 = 0.5;
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
    /// These.
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

/// Why a load cannot run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The wanted CPUs are none.
    #[error("the load has no CPU to run on: all {measured} are measured; use --load-cpus all")]
    NoCpu {
        /// The measured CPUs.
        measured: CpuSet,
    },
    /// A CPU that cannot be used.
    #[error("the load cannot run on CPUs {absent}: usable are {usable}")]
    CpuNotUsable {
        /// Those that cannot be used.
        absent: CpuSet,
        /// Those that can.
        usable: CpuSet,
    },
    /// The guard could not be started.
    #[error("cannot start the load's guard: {0}")]
    Guard(io::Error),
    /// The external program is not installed.
    #[error("{program} is not installed; it makes the load. Install it with: apt-get install {program}")]
    Missing {
        /// Its name.
        program: String,
    },
    /// A program could not be started.
    #[error("cannot start {program} for the load: {error}")]
    Start {
        /// Its name.
        program: String,
        /// The reason.
        error: String,
    },
}

/// A load that runs.
#[derive(Debug)]
pub struct RunningLoad {
    spec: LoadSpec,
    cpus: CpuSet,
    program: Option<ToolVersion>,
    guard: Guarded,
    window: Option<Window>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    usage: TreeUsage,
    stat: Option<Stat>,
    network_bytes: Option<u64>,
}

/// Chooses the CPUs of a load.
///
/// # Errors
/// Where none is left, or one that was asked cannot be used.
pub fn choose_cpus(wanted: &LoadCpus, measured: &CpuSet, machine: &Machine) -> Result<CpuSet, LoadError> {
    let usable = machine.allowed.intersection(&machine.online);
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
    pub fn start(spec: LoadSpec, cpus: CpuSet, program: &Path) -> Result<Self, LoadError> {
        let orders = Orders { spec: spec.clone(), cpus: cpus.clone(), held: false };
        let guard = Guarded::start(&orders, program, Stdio::null()).map_err(LoadError::Guard)?;
        match guard.first_answer().map_err(LoadError::Guard)? {
            Answer::Failed { program, missing: true, .. } => Err(LoadError::Missing { program }),
            Answer::Failed { program, error, .. } => Err(LoadError::Start { program, error }),
            Answer::Started | Answer::EndedEarly { .. } => {
                let program = version_of(&spec);
                std::thread::sleep(WARM_UP);
                Ok(Self { spec, cpus, program, guard, window: None })
            }
        }
    }

    /// From here on counts what the load achieves.
    pub fn begin_window(&mut self) {
        self.window = Some(Window {
            began: Instant::now(),
            usage: TreeUsage::of(self.guard.id()),
            stat: Stat::read(),
            network_bytes: network_bytes(),
        });
    }

    /// Writes into a record what ran and what it achieved since [`begin_window`](Self::begin_window), and makes the
    /// run invalid where that is too little; then judges the deadline again.
    pub fn write_into(&mut self, record: &mut Record) {
        let achieved = self.window.take().map(|window| self.achieved(&window));
        let early: Vec<String> = self
            .guard
            .answers()
            .filter_map(|answer| match answer {
                Answer::EndedEarly { program, how } => Some(format!("{program} ended by itself ({how})")),
                Answer::Started | Answer::Failed { .. } => None,
            })
            .collect();
        if !early.is_empty() {
            record
                .validity
                .add(ReasonCode::LoadNotAchieved, format!("load '{}': {}", self.spec.name, early.join(", ")));
        }
        if let Some(achieved) = &achieved {
            if let Some(why) = too_little(achieved) {
                record.validity.add(ReasonCode::LoadNotAchieved, format!("load '{}': {why}", self.spec.name));
            }
        }
        record.manifest.load = LoadManifest {
            name: self.spec.name.clone(),
            cpus: self.cpus.clone(),
            program: self.program.clone(),
            commands: self
                .spec
                .command
                .iter()
                .map(|command| std::iter::once(&command.program).chain(&command.arguments).cloned().collect())
                .collect(),
            achieved,
        };
        if let Some(deadline_ns) = record.manifest.requested.deadline_ns {
            record.verdict = Some(analyse::verdict(record, deadline_ns));
        }
    }

    fn achieved(&self, window: &Window) -> AchievedLoad {
        let elapsed_s = window.began.elapsed().as_secs_f64().max(1e-9);
        let now = TreeUsage::of(self.guard.id());
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
            share_of_wanted: self.spec.wanted_cpu.map(|wanted| cpu_used / wanted),
        }
    }

    /// Ends the load and waits until nothing of it is left.
    pub fn stop(self) {
        drop(self);
    }
}

/// Why what ran is not the load that was asked.
fn too_little(achieved: &AchievedLoad) -> Option<String> {
    let used = achieved.cpu_used;
    if used < NO_CPU && achieved.io_bytes_per_s.unwrap_or(0.0) < 1.0 {
        return Some("nothing of it used the CPU or did I/O".to_owned());
    }
    let share = achieved.share_of_wanted.filter(|share| *share < LEAST_SHARE)?;
    Some(format!("it used {used:.2} CPUs, {:.0} % of what it should", share * 100.0))
}

/// Bytes through all interfaces since boot (Documentation/filesystems/proc.rst, 1.4).
fn network_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/net/dev").ok()?;
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
    let program = &spec.command.first()?.program;
    if program == "sh" {
        return None;
    }
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(ToolVersion { name: program.clone(), version: version.trim_end_matches(',').to_owned() })
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
    }
}
