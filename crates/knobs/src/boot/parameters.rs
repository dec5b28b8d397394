//! Parameters of the kernel's command line that are known.

use profile::Profile;
use profile::cmdline::{self, Param};
use units::CpuSet;

use super::Standing;
use crate::Form;
use crate::catalogue::Values;
use crate::intent::KnobValue;

/// A parameter that an intent can name in `[boot]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// As it stands on the command line.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What it costs; empty where nothing is known.
    pub cost: &'static str,
    /// What may stand after `=`; `None` where nothing does.
    pub values: Option<Values>,
}

/// All of them (Documentation/admin-guide/kernel-parameters.txt).
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threadirqs",
        about: "interrupts are served by threads, whose priority can be chosen (PREEMPT_RT does so anyway)",
        cost: "throughput",
        values: None,
    },
    Parameter {
        name: "skew_tick",
        about: "1: the CPUs' ticks come one after the other over half of a period, not all at once",
        cost: "power: a machine that idles wakes more often",
        values: Some(Values::Integer(0, 1)),
    },
    Parameter {
        name: "intel_idle.max_cstate",
        about: "the deepest idle state of Intel's driver; 0: that driver is not used at all, and ACPI's is",
        cost: "power",
        values: Some(Values::Integer(0, 9)),
    },
    Parameter {
        name: "processor.max_cstate",
        about: "the deepest idle state of ACPI's driver",
        cost: "power",
        values: Some(Values::Integer(0, 9)),
    },
    Parameter {
        name: "idle",
        about: "x86: with poll an idle CPU never stops, with halt it stops by HLT alone",
        cost: "power: with poll all CPUs are busy all the time, and the processor has no room left to boost",
        values: Some(Values::Words(&["poll", "halt", "nomwait"])),
    },
    Parameter {
        name: "nosmt",
        about: "one thread a core",
        cost: "throughput: the second threads are lost",
        values: None,
    },
    Parameter {
        name: "mitigations",
        about: "whether the kernel works around faults of the processor that programs can spy through",
        cost: "SECURITY: with off any program can read what it should not; only where all programs are trusted",
        values: Some(Values::Words(&["auto", "auto,nosmt", "off"])),
    },
    Parameter {
        name: "tsc",
        about: "reliable: the time-stamp counter is not checked against other clocks; nowatchdog: not while it runs",
        cost: "safety: a counter that goes wrong is not noticed",
        values: Some(Values::Words(&["reliable", "nowatchdog", "unstable", "noirqtime"])),
    },
    Parameter {
        name: "nmi_watchdog",
        about: "0: the hard lock-up detector is off, and with it the non-maskable interrupt that it may use",
        cost: "safety: hard lock-ups go unnoticed",
        values: Some(Values::Integer(0, 1)),
    },
    Parameter {
        name: "nowatchdog",
        about: "neither watchdog looks for lock-ups",
        cost: "safety: lock-ups go unnoticed",
        values: None,
    },
    Parameter {
        name: "transparent_hugepage",
        about: "whether pages are joined to huge ones behind a program's back",
        cost: "throughput of programs with much memory",
        values: Some(Values::Words(&["always", "madvise", "never"])),
    },
    Parameter {
        name: "rcu_nocb_poll",
        about: "the threads that do RCU's work for other CPUs look by themselves, and need not be woken by these",
        cost: "power",
        values: None,
    },
    Parameter {
        name: "preempt",
        about: "the preemption model, where the kernel can choose (CONFIG_PREEMPT_DYNAMIC); lazy since 6.13; none and \
                voluntary are gone from most architectures since 7.0",
        cost: "throughput",
        values: Some(Values::Words(&["none", "voluntary", "full", "lazy"])),
    },
];

impl Parameter {
    /// As it stands on the command line with a value that a user typed; `None` where it is to be left out.
    ///
    /// # Errors
    /// With the bound, in words that follow "it".
    pub fn accept(&self, value: &KnobValue) -> Result<Option<String>, String> {
        match (self.values, value) {
            (None, KnobValue::Switch(on)) => Ok(on.then(|| self.name.to_owned())),
            (None, _) => Err("is there or not: true or false".to_owned()),
            (Some(values), value) => {
                let text = values.accept(&value.text(), Form::Text)?;
                Ok(Some(format!("{}={text}", self.name)))
            }
        }
    }
}

/// The names of the parameters that set CPUs apart.
const ISOLATING: [&str; 4] = ["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity"];

/// Whether a parameter can be one that a plan of ours has written.
pub(super) fn can_be_written(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    ISOLATING.contains(&name) || PARAMETERS.iter().any(|parameter| parameter.name == name)
}

/// The parameters that set CPUs apart.
pub(crate) fn isolating(cpus: &CpuSet, rest: &CpuSet, profile: &Profile) -> Vec<String> {
    let mut parameters = vec![format!("isolcpus=managed_irq,domain,{cpus}")];
    // Unknown is not off: then the kernel is asked, and ignores what it cannot do.
    if profile.kernel.has_config("CONFIG_NO_HZ_FULL") != Some(false) {
        parameters.push(format!("nohz_full={cpus}"));
    }
    if profile.kernel.has_config("CONFIG_RCU_NOCB_CPU") != Some(false) {
        parameters.push(format!("rcu_nocbs={cpus}"));
    }
    parameters.push(format!("irqaffinity={rest}"));
    parameters
}

/// A parameter of the user's that is also among ours, with another value: on the running kernel's command line and not from
/// us, or where it is set for the next boot.
pub(crate) fn given_elsewhere(wanted: &[String], standing: &Standing, profile: &Profile) -> Option<String> {
    let name = |text: &str| text.split('=').next().unwrap_or(text).to_owned();
    let running = profile.kernel.params.iter().map(Param::text).filter(|text| !standing.ours.contains(text));
    let mut others = running.chain(standing.others.iter().cloned()).filter(|text| !wanted.contains(text));
    others.find(|text| wanted.iter().any(|ours| cmdline::same_name(&name(ours), &name(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_stand_on_a_command_line_is_refused() {
        let accept = |name: &str, value: KnobValue| {
            PARAMETERS.iter().find(|parameter| parameter.name == name).unwrap().accept(&value)
        };
        let text = |text: &str| KnobValue::Text(text.to_owned());
        assert_eq!(accept("threadirqs", KnobValue::Switch(true)), Ok(Some("threadirqs".to_owned())));
        assert_eq!(accept("threadirqs", KnobValue::Switch(false)), Ok(None));
        assert!(accept("threadirqs", text("yes")).is_err());
        assert_eq!(accept("idle", text("poll")), Ok(Some("idle=poll".to_owned())));
        assert!(accept("idle", text("poll quiet")).is_err() && accept("mitigations", text("off\"; rm")).is_err());
        assert_eq!(accept("skew_tick", KnobValue::Number(1)), Ok(Some("skew_tick=1".to_owned())));
        let cpus = |text: &str| text.parse::<CpuSet>().unwrap();
        let written = isolating(&cpus("2-3"), &cpus("0-1"), &Profile::default());
        assert!(written.len() == ISOLATING.len() && written.iter().all(|text| can_be_written(text)), "{written:?}");
        for parameter in PARAMETERS {
            assert!(
                cmdline::parse(parameter.name).len() == 1
                    && can_be_written(parameter.name)
                    && !parameter.about.is_empty()
            );
        }
    }

    #[test]
    fn what_others_gave_is_noticed_and_what_we_gave_is_not() {
        let ours = |texts: &[&str]| Standing {
            ours: texts.iter().map(|&text| text.to_owned()).collect(),
            ..Standing::default()
        };
        let mut profile = Profile::default();
        profile.kernel.params = cmdline::parse("quiet isolcpus=1 nohz_full=2-3");
        let wanted = ["isolcpus=managed_irq,domain,2-3".to_owned(), "nohz-full=2-3".to_owned()];
        assert_eq!(given_elsewhere(&wanted, &ours(&[]), &profile), Some("isolcpus=1".to_owned()));
        assert_eq!(given_elsewhere(&wanted[1..], &ours(&["nohz_full=2-3"]), &profile), None);
        assert_eq!(given_elsewhere(&wanted[1..], &ours(&[]), &profile), Some("nohz_full=2-3".to_owned()));
        assert_eq!(given_elsewhere(&["nohz_full=2-3".to_owned()], &ours(&[]), &profile), None);
        let standing = Standing { others: vec!["rcu-nocbs=1".to_owned()], ..Standing::default() };
        assert_eq!(given_elsewhere(&["rcu_nocbs=2".to_owned()], &standing, &profile), Some("rcu-nocbs=1".to_owned()));
    }
}
