//! `punctual tune`: changes the settings of a machine by a plan that one reads first, and takes them back exactly.

mod diff;
mod show;
mod tuner;

use std::path::PathBuf;

use anyhow::Context as _;
use knobs::{Intent, KnobValue, Owner, Site, boot, catalogue, isolation, propose, tuned};
use terminal::output;
use units::CpuSet;

use crate::exit::Exit;
use crate::node;

pub(crate) use self::tuner::{Tuner, Wish};

/// Change the settings that matter: read the plan, apply it, verify it, take it back
///
/// An intent, a TOML file, says what is wanted; without one it is proposed from what this machine is. What stood there
/// before is written to a journal first, so that `revert` restores it after whatever happened.
#[derive(clap::Args)]
pub(crate) struct TuneArgs {
    #[command(subcommand)]
    command: TuneCommand,
    /// Change a tree of files, a folder with proc/ and sys/ in it, instead of this machine
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Show each change of many that are alike, as those of all interrupts, in a line of its own
    #[arg(short, long, global = true)]
    verbose: bool,
}

/// What is wanted of the machine.
#[derive(clap::Args)]
struct WantedArgs {
    /// The intent, a TOML file, or the name of one of TuneD's profiles, such as realtime; without it, one is proposed
    intent: Option<PathBuf>,
    /// Isolate these CPUs and nothing else, for example 2-3: the intent for that is made and shown
    #[arg(long, value_name = "LIST", conflicts_with = "intent")]
    isolate: Option<CpuSet>,
    /// Set this knob, for example vm.swappiness=10, beside what else is wanted, or alone; 'punctual tune knobs' lists
    /// knobs; repeatable
    #[arg(long, value_name = "KNOB=VALUE", value_parser = setting)]
    set: Vec<Setting>,
}

/// A knob, or a parameter of the kernel's command line, and what to set it to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    name: String,
    value: KnobValue,
    is_at_boot: bool,
}

fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not KNOB=VALUE"))?;
    let name = name.trim();
    if let Some(knob) = catalogue::find(name) {
        knob.accept(value).map_err(|bound| format!("{name} {bound}"))?;
        return Ok(Setting { name: name.to_owned(), value: KnobValue::Text(value.to_owned()), is_at_boot: false });
    }
    if boot::PARAMETERS.iter().any(|parameter| parameter.name == name) {
        let value = match value {
            "on" | "true" => KnobValue::Switch(true),
            "off" | "false" => KnobValue::Switch(false),
            text => text.parse().map_or_else(|_| KnobValue::Text(text.to_owned()), KnobValue::Number),
        };
        return Ok(Setting { name: name.to_owned(), value, is_at_boot: true });
    }
    let last = name.rsplit(['.', '-', '/', '_']).next().unwrap_or(name);
    let like: Vec<&str> =
        catalogue::all().map(|knob| knob.name).filter(|known| !last.is_empty() && known.contains(last)).collect();
    let near = if like.is_empty() { String::new() } else { format!("did you mean {}? ", like.join(" or ")) };
    Err(format!("there is no knob '{name}': {near}'punctual tune knobs' lists all"))
}

impl WantedArgs {
    /// What is wanted beside single settings; `None` if nothing is.
    fn besides_settings(&self, site: &Site) -> anyhow::Result<Option<Intent>> {
        if let Some(cpus) = &self.isolate {
            if cpus.is_empty() {
                anyhow::bail!("--isolate names no CPU; write for example --isolate 2-3");
            }
            return Ok(Some(isolation(site, cpus)));
        }
        let Some(path) = &self.intent else { return Ok(None) };
        if let Some(profile) = self.tuned_profile() {
            match tuned::counterpart(profile, site) {
                Some(Ok(intent)) => return Ok(Some(intent)),
                Some(Err(what)) => anyhow::bail!(
                    "TuneD's profile '{profile}' is for {what}: 'punctual tune plan' without a name proposes what makes this \
                     machine more punctual"
                ),
                None if !path.exists() => anyhow::bail!(
                    "there is no file '{profile}', and TuneD has no profile of that name: name a TOML file ('punctual tune \
                     propose' prints a start), or one of realtime, cpu-partitioning, latency-performance"
                ),
                None => {}
            }
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Some(Intent::from_toml(&text).with_context(|| format!("{}", path.display()))?))
    }

    /// The name in the place of a file, where there is no such file.
    fn tuned_profile(&self) -> Option<&str> {
        let name = self.intent.as_deref()?;
        name.to_str().filter(|text| !name.exists() && !text.contains(['/', '.']))
    }
}

impl Wish for WantedArgs {
    /// The intent of the file or of the options, or the proposed one.
    fn intent(&self, site: &Site) -> anyhow::Result<Intent> {
        let mut intent = match self.besides_settings(site)? {
            Some(intent) => intent,
            None if self.set.is_empty() => propose(site),
            None => Intent::default(),
        };
        for Setting { name, value, is_at_boot } in &self.set {
            let table = if *is_at_boot { &mut intent.boot } else { &mut intent.knob };
            table.insert(name.clone(), value.clone());
        }
        Ok(intent)
    }

    fn origin(&self) -> Option<&'static str> {
        match (&self.intent, &self.isolate) {
            (Some(_), _) if self.tuned_profile().is_some() => Some("what TuneD's profile is for, as an intent:"),
            (Some(_), _) if self.set.is_empty() => None,
            (None, None) if self.set.is_empty() => Some("no intent was given, so this one is proposed:"),
            _ => Some("the intent, to keep and to change as a file:"),
        }
    }
}

#[derive(clap::Subcommand)]
enum TuneCommand {
    /// Show what would be changed, where, from what to what, why, and what it costs; changes nothing
    Plan {
        #[command(flatten)]
        wanted: WantedArgs,
    },
    /// Print a proposed intent for this machine, as TOML to start from
    Propose,
    /// Apply the plan; if a change fails, all of them are reverted
    Apply {
        #[command(flatten)]
        wanted: WantedArgs,
        /// Exactly this plan, which `plan --json` has written; nothing is changed if the machine differs from it
        #[arg(long, value_name = "FILE", conflicts_with_all = ["intent", "isolate", "set"])]
        plan: Option<PathBuf>,
        /// Keep the other changes if one fails
        #[arg(long)]
        keep_going: bool,
    },
    /// Apply the intent at each boot, by a systemd unit; `revert` removes that, too
    Persist {
        #[command(flatten)]
        wanted: WantedArgs,
    },
    #[command(flatten)]
    Standing(StandingCommand),
    /// The single knobs that an intent or --set can name, with what each stands at now
    Knobs {
        /// Only those whose names contain this
        name: Option<String>,
    },
}

/// What can be asked and done about changes that were applied, by 'tune' and by 'sync'.
#[derive(clap::Subcommand)]
pub(crate) enum StandingCommand {
    /// Check that everything that was applied is still in force: what is not comes first
    Verify {
        /// List also what is in force
        #[arg(long)]
        all: bool,
    },
    /// Show what has been applied and not reverted
    Status,
    /// Revert everything that was applied
    Revert {
        /// Also revert what someone else has changed meanwhile
        #[arg(long)]
        force: bool,
    },
}

impl StandingCommand {
    pub(crate) fn run(self, tuner: &Tuner) -> anyhow::Result<Exit> {
        match self {
            Self::Verify { all } => tuner.verify(all),
            Self::Status => tuner.status(),
            Self::Revert { force } => tuner.revert(force),
        }
    }
}

impl TuneArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        output::set_verbose(self.verbose);
        let root = node::root(self.root.as_deref())?;
        let tuner = Tuner::new(root, self.json, Owner::Tune);
        match self.command {
            TuneCommand::Plan { wanted } => tuner.plan(&wanted),
            TuneCommand::Propose => tuner.propose(),
            TuneCommand::Apply { wanted, plan, keep_going } => tuner.apply(&wanted, plan.as_deref(), keep_going),
            TuneCommand::Persist { wanted } => tuner.persist(&wanted),
            TuneCommand::Standing(command) => command.run(&tuner),
            TuneCommand::Knobs { name } => tuner.knobs(name.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_names_a_knob_or_a_parameter_of_the_command_line() {
        let read = |text: &str| setting(text).unwrap();
        assert_eq!(read("vm.swappiness=10").value, KnobValue::Text("10".to_owned()));
        assert_eq!((read("threadirqs=on").value, read("threadirqs=on").is_at_boot), (KnobValue::Switch(true), true));
        assert!(setting("swappiness=10").unwrap_err().contains("did you mean vm.swappiness?"));
        assert!(setting("vm.swappiness").unwrap_err().contains("KNOB=VALUE"));
        assert!(setting("no-such=1").unwrap_err().contains("punctual tune knobs"));
    }
}
