//! The options by which a command runs a load beside its measurement.

use anyhow::bail;
use record::LoadRequest;
use run::load::LoadCpus;

use crate::names;

#[derive(clap::Args)]
pub(crate) struct LoadArgs {
    /// What else runs: none, hard, paper, osadl ('punctual load list' says what they do), or a load file (TOML)
    #[arg(long, value_name = "NAME|FILE", default_value = NONE, conflicts_with = "load_cmd", value_parser = names::load_or_none(), hide_possible_values = true)]
    load: String,
    #[command(flatten)]
    choice: LoadChoice,
}

/// The name that stands for no load.
const NONE: &str = "none";

/// What a user chooses of a load besides its name.
#[derive(Default, clap::Args)]
pub(crate) struct LoadChoice {
    /// Run this command as the load, by the shell, in place of a named one
    #[arg(long, value_name = "COMMAND")]
    load_cmd: Option<String>,
    /// CPUs of the load: all, others (not the measured ones), or a list
    /// [default: others where the measured CPUs are isolated, else all]
    #[arg(long, value_name = "WHERE", value_parser = load_cpus)]
    load_cpus: Option<String>,
    /// Leave these parts of the load out: memory, reclaim, scheduler, timers, file-system, network
    #[arg(long, value_name = "PART,…", value_delimiter = ',')]
    without: Vec<String>,
    /// Let the load's parts run one after the other and then together, and say which of them made it late
    #[arg(long)]
    rotate: bool,
}

/// The words for the CPUs of a load, checked.
fn load_cpus(text: &str) -> Result<String, String> {
    text.parse::<LoadCpus>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

impl LoadChoice {
    /// The load that is asked for: the user's own command, else the one of this name.
    pub(crate) fn request(&self, name: &str) -> LoadRequest {
        LoadRequest {
            name: self.load_cmd.is_none().then(|| name.into()),
            command: self.load_cmd.clone().map(Into::into),
            cpus: self.load_cpus.clone(),
            without: self.without.clone(),
            rotate: self.rotate,
        }
    }
}

impl LoadArgs {
    /// The load that is asked for, if any.
    pub(crate) fn request(&self) -> anyhow::Result<Option<LoadRequest>> {
        if self.choice.load_cmd.is_some() || self.load != NONE {
            return Ok(Some(self.choice.request(&self.load)));
        }
        if self.choice.load_cpus.is_some() {
            bail!("--load-cpus needs a load: add --load hard or --load-cmd COMMAND");
        }
        if self.choice.rotate || !self.choice.without.is_empty() {
            bail!("--rotate and --without need a load that is made of parts: add --load hard");
        }
        Ok(None)
    }
}
