//! `punctual sync`: time services by a plan that one reads first; the short way to the part `[time]` of an intent.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use knobs::time::{Stamps, TimeIntent, TimeProfile, TimeRole};
use knobs::{Intent, Owner, Site};
use terminal::output;
use units::CpuSet;

use super::tune::{StandingCommand, Tuner, Wish};
use crate::exit::Exit;
use crate::node;

/// Have this machine follow, or give, the time: read the plan, apply it, verify it, take it back
///
/// Configures and runs linuxptp or chrony from files of its own; what the user or the distribution configured is stopped
/// where it would steer the same clock, is not rewritten, and runs again after `revert`.
/// `punctual measure sync` measures how far the clocks are apart.
#[derive(clap::Args)]
pub(crate) struct SyncArgs {
    #[command(subcommand)]
    command: SyncCommand,
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

#[derive(clap::Subcommand)]
enum SyncCommand {
    /// Show what would be changed, where, from what to what, and why; changes nothing
    Plan {
        #[command(flatten)]
        wanted: TimeArgs,
    },
    /// Apply the plan; if a change fails, all of them are reverted
    Apply {
        #[command(flatten)]
        wanted: TimeArgs,
    },
    /// Apply it at each boot, by a systemd unit; `revert` removes that, too
    Persist {
        #[command(flatten)]
        wanted: TimeArgs,
    },
    #[command(flatten)]
    Standing(StandingCommand),
}

/// The wanted time service.
#[derive(clap::Args)]
struct TimeArgs {
    /// An intent with a part [time], a TOML file; without it, the options say what is wanted
    #[arg(conflicts_with_all = ["profile", "role", "interfaces", "domain", "stamps", "servers", "allow", "priority", "cpus", "keep_system_clock", "tai_less_utc"])]
    intent: Option<PathBuf>,
    /// The protocol: gptp (IEEE 802.1AS), ptp-udp, ptp-ethernet or ntp
    #[arg(long, value_name = "PROFILE", value_parser = by_name(&TimeProfile::ALL))]
    profile: Option<TimeProfile>,
    /// The part of this node: slave or client (follows), master or server (gives), best-master
    #[arg(long, value_name = "ROLE", default_value = "follow", hide_default_value = true, value_parser = by_name(&TimeRole::ALL))]
    role: TimeRole,
    /// Network interfaces: the ports of PTP; with NTP those that stamp in hardware
    #[arg(long = "interface", visible_alias = "interfaces", short, value_name = "NAME", value_delimiter = ',')]
    interfaces: Vec<String>,
    /// Domain of PTP
    #[arg(long, value_name = "N", default_value_t = 0)]
    domain: u8,
    /// Where packets are stamped: auto takes hardware where every interface can
    #[arg(long, value_name = "WHERE", default_value = "auto", value_parser = by_name(&STAMPS))]
    stamps: Stamps,
    /// Servers of NTP
    #[arg(long = "server", visible_alias = "servers", value_name = "HOST", value_delimiter = ',')]
    servers: Vec<String>,
    /// Networks whose clients an NTP server answers [default: all]
    #[arg(long, value_name = "NETWORK", value_delimiter = ',')]
    allow: Vec<String>,
    /// Run the services in the class SCHED_FIFO, at this priority
    #[arg(long, value_name = "N")]
    priority: Option<u8>,
    /// CPUs for the services [default: those that are not isolated]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// With a card that has a clock of its own: leave the system clock as it is
    #[arg(long)]
    keep_system_clock: bool,
    /// TAI less UTC in seconds, by which CLOCK_TAI is to be ahead [default: what the machine's list of leap seconds states]
    #[arg(long, value_name = "S")]
    tai_less_utc: Option<u8>,
}

const STAMPS: [(&str, Stamps); 3] =
    [("auto", Stamps::Auto), ("hardware", Stamps::Hardware), ("software", Stamps::Software)];

/// A parser of the words of a table.
fn by_name<T: Copy + Send + Sync + PartialEq + 'static>(
    table: &'static [(&'static str, T)],
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(table.iter().map(|(name, _)| *name)).try_map(move |word| {
        let known = table.iter().find(|(name, _)| *name == word);
        known.map(|(_, value)| *value).ok_or_else(|| format!("'{word}' is not known"))
    })
}

impl Wish for TimeArgs {
    fn intent(&self, site: &Site) -> anyhow::Result<Intent> {
        let time = match &self.intent {
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
                let intent = Intent::from_toml(&text).with_context(|| format!("{}", path.display()))?;
                let Some(mut time) = intent.time else {
                    bail!("{} has no part [time]; 'punctual tune apply' applies its other parts", path.display());
                };
                if let (Some(isolated), None) = (&intent.isolate, &time.cpus) {
                    time.cpus = site.profile.cpus.online.as_ref().map(|online| online.difference(isolated));
                }
                time
            }
            None => self.time()?,
        };
        Ok(Intent { time: Some(time), ..Intent::default() })
    }

    fn origin(&self) -> Option<&'static str> {
        self.intent.is_none().then_some("the intent, to keep and to change as a file:")
    }
}

impl TimeArgs {
    fn time(&self) -> anyhow::Result<TimeIntent> {
        let Some(profile) = self.profile else {
            let names: Vec<&str> = TimeProfile::ALL.iter().map(|(name, _)| *name).collect();
            bail!("name the protocol by --profile ({}), or a file with a part [time]", names.join(", "));
        };
        Ok(TimeIntent {
            role: self.role,
            interfaces: self.interfaces.clone(),
            domain: self.domain,
            stamps: self.stamps,
            system_clock: !self.keep_system_clock,
            tai_less_utc_s: self.tai_less_utc,
            servers: self.servers.clone(),
            allow: self.allow.clone(),
            priority: self.priority,
            cpus: self.cpus.clone(),
            ..TimeIntent::new(profile)
        })
    }
}

impl SyncArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        output::set_verbose(self.verbose);
        let tuner = Tuner::new(node::root(self.root.as_deref())?, self.json, Owner::Sync);
        match self.command {
            SyncCommand::Plan { wanted } => tuner.plan(&wanted),
            SyncCommand::Apply { wanted } => tuner.apply(&wanted, None, false),
            SyncCommand::Persist { wanted } => tuner.persist(&wanted),
            SyncCommand::Standing(command) => command.run(&tuner),
        }
    }
}
