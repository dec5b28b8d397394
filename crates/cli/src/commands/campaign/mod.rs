//! `punctual campaign`: which setting helped, by how much, and how sure that is.

mod choose;
mod present;
mod progress;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use campaign::ab::Pair;
use campaign::result::{CampaignResult, ResultState, rehearse};
use campaign::{Campaign, Planned, shipped};
use conduct::{Conducted, Conductor, Folder, Held, Setting, guard};
use host::Root;
use kernel::sched::Policy;
use report::CampaignInput;
use run::Stop;
use units::{CpuSet, Ns};

use self::choose::CampaignChoice;
use self::progress::Progress;
use crate::begin::AnywayArgs;
use crate::exit::Exit;
use crate::records::RecordArgs;
use crate::{names, node, reporting, save};
use terminal::output;
use terminal::wrap;

/// What came of a campaign, in its folder: the document, and the page.
const RESULT: &str = "result.json";
const PAGE: &str = "campaign.html";

/// Measure conditions repeatedly in a designed order, and say which setting helps, by how much, and how sure that is
///
/// A campaign, built in or a TOML file, names what is varied, what is measured and how often. Each visit sets the machine
/// up, measures, and reverts everything. A campaign that was ended or killed, or whose machine rebooted, continues where it
/// was.
#[derive(clap::Args)]
pub(crate) struct CampaignArgs {
    #[command(subcommand)]
    command: CampaignCommand,
    /// Change a tree of files, a folder with proc/ and sys/ in it, instead of this machine
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum CampaignCommand {
    /// List the built-in campaigns
    List,
    /// Print the file of a campaign, as a start for your own
    Show {
        /// Name of the campaign
        #[arg(value_name = "CAMPAIGN", value_parser = names::campaign())]
        campaign: String,
    },
    /// Show what would be measured and changed, and how long it takes; changes nothing
    Check {
        #[command(flatten)]
        choice: CampaignChoice,
    },
    /// Run a campaign
    Run {
        #[command(flatten)]
        choice: CampaignChoice,
        /// The folder for its records [default: its name and the time, here]
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
        /// Allow reboots between conditions that need other boot parameters
        #[arg(long)]
        restart: bool,
        /// Run it even with too few repetitions to show any difference
        #[arg(long)]
        without_conclusion: bool,
        #[command(flatten)]
        anyway: AnywayArgs,
    },
    /// Compare two settings of one knob within a stated time: which is more punctual, and by how much
    Ab(Ab),
    /// Continue a campaign that was ended or killed, or whose machine was rebooted
    Resume {
        /// Folder of the campaign
        folder: PathBuf,
    },
    /// Show the progress of a campaign
    Status {
        /// Folder of the campaign
        folder: PathBuf,
    },
    /// Print the results so far, and write the page
    Report {
        /// Folder of the campaign
        folder: PathBuf,
    },
    /// Measure a campaign's rate of false alarms, on runs of a single condition that are dealt at random to all its conditions
    Rehearse {
        #[command(flatten)]
        choice: CampaignChoice,
        /// Runs of one condition: records, or folders of them, at least as many as the campaign takes
        #[arg(long, value_name = "RUN", num_args = 1.., required = true)]
        runs: Vec<PathBuf>,
        #[command(flatten)]
        read: RecordArgs,
        /// How many campaigns are made of them
        #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
        campaigns: u64,
    },
}

/// One knob, two settings, one time.
#[derive(clap::Args)]
struct Ab {
    /// The knob with both settings, or with one against the machine as it is; 'punctual tune knobs' lists knobs
    #[arg(long, value_name = "KNOB=A,B", value_parser = names::read::<Pair>)]
    knob: Pair,
    /// How long it may take, set-up and all
    #[arg(long, visible_alias = "duration", value_name = "TIME", default_value = "5m")]
    time: Ns,
    /// The load beside all runs
    #[arg(long, value_name = "NAME", default_value = "paper", value_parser = names::load_or_none())]
    load: String,
    /// CPUs to measure [default: those that 'punctual tune propose' would isolate]
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Decides every order that is drawn
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// Print the campaign's file and change nothing
    #[arg(long)]
    show: bool,
    /// The folder for its records [default: its name and the time, here]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    anyway: AnywayArgs,
}

impl Ab {
    fn run(&self, command: &Commander) -> anyhow::Result<Exit> {
        let cpus = self.cpus.as_ref().map_or_else(|| "auto:isolate".to_owned(), ToString::to_string);
        let text = campaign::ab::text(&self.knob, self.time, &self.load, &cpus)?;
        if self.show {
            output::data(&text);
            return Ok(Exit::Holds);
        }
        let choice = CampaignChoice::made("ab", text, self.seed);
        command.run(&choice, self.output.as_deref(), Insisted::default(), self.anyway)
    }
}

impl CampaignArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let root = node::root(self.root.as_deref())?;
        let command = Commander { root, json: self.json };
        match self.command {
            CampaignCommand::List => command.list(),
            CampaignCommand::Show { campaign } => {
                output::data(&choose::text(&campaign)?);
                Ok(Exit::Holds)
            }
            CampaignCommand::Check { choice } => command.check(&choice),
            CampaignCommand::Run { choice, output, restart, without_conclusion, anyway } => {
                command.run(&choice, output.as_deref(), Insisted { restart, without_conclusion }, anyway)
            }
            CampaignCommand::Ab(ab) => ab.run(&command),
            CampaignCommand::Resume { folder } => command.resume(&folder),
            CampaignCommand::Status { folder } => command.status(&folder),
            CampaignCommand::Report { folder } => command.report(&folder),
            CampaignCommand::Rehearse { choice, runs, read, campaigns } => {
                let pool = read.all(&runs)?;
                command.rehearse(&choice, &pool, campaigns)
            }
        }
    }
}

/// What a user allows that a campaign does not do by itself.
#[derive(Clone, Copy, Debug, Default)]
struct Insisted {
    /// To reboot this machine for what boot parameters set.
    restart: bool,
    /// To measure although the plan is too small for a conclusion.
    without_conclusion: bool,
}

struct Commander {
    root: Root,
    json: bool,
}

impl Commander {
    fn print<T: serde::Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let text = if self.json { serde_json::to_string_pretty(value)? + "\n" } else { text() };
        output::data(&text);
        Ok(())
    }

    fn list(&self) -> anyhow::Result<Exit> {
        let about = |text: &str| {
            let table: toml::Table = text.parse().ok()?;
            table.get("about")?.as_str().map(str::to_owned)
        };
        let all: Vec<(&str, String)> =
            shipped::SHIPPED.iter().map(|(name, text)| (*name, about(text).unwrap_or_default())).collect();
        self.print(&all, || present::list(&all, wrap::width()))?;
        Ok(Exit::Holds)
    }

    fn check(&self, choice: &CampaignChoice) -> anyhow::Result<Exit> {
        let (campaign, planned) = choice.resolve(&mut Setting::look(&self.root)?)?;
        let outline = present::Outline::new(&campaign, &planned, choice.is_short());
        self.print(&outline, || present::outline(&outline, wrap::width()))?;
        Ok(if conflicts(&planned).next().is_none() && outline.refusal().is_none() { Exit::Holds } else { Exit::Usage })
    }

    fn run(
        &self,
        choice: &CampaignChoice,
        folder: Option<&Path>,
        insisted: Insisted,
        anyway: AnywayArgs,
    ) -> anyhow::Result<Exit> {
        let stop = Stop::on_signals().context("cannot take over SIGINT and SIGTERM")?;
        let mut setting = Setting::look(&self.root)?;
        let (campaign, planned) = choice.resolve(&mut setting)?;
        if campaign.sets_anything() {
            setting = Setting::open(&self.root)?;
            if let Some(unfinished) = setting.unfinished()? {
                bail!(
                    "the transaction {unfinished} was neither finished nor reverted: 'punctual tune revert' reverts it"
                );
            }
        }
        if let Some((condition, conflict)) = conflicts(&planned).next() {
            bail!("{condition}: {}: {}; {}", conflict.about, conflict.why, conflict.remedy);
        }
        let outline = present::Outline::new(&campaign, &planned, choice.is_short());
        if let Some(refusal) = outline.refusal().filter(|_| !insisted.without_conclusion) {
            bail!("{refusal}");
        }
        if outline.restarts > 0 && !insisted.restart {
            bail!(
                "this machine would be rebooted {} times to change boot parameters: allow that with --restart",
                outline.restarts
            );
        }
        if outline.restarts > 0 {
            self.restart_is_possible()?;
        }
        check_policies(&campaign, anyway)?;
        for line in outline.will_see() {
            output::note(&line);
        }
        for line in outline.warnings() {
            output::warning(&line);
        }
        let path = folder.map_or_else(|| default_folder(&campaign.name), Path::to_owned);
        let mut folder = Folder::create(&path, campaign)?;
        if let Ok(profile) = serde_json::to_vec_pretty(&setting.site().profile) {
            save::write_or_fall_back(&folder.path.join("profile.json"), &profile)?;
        }
        self.go_on(&mut folder, &mut setting, &stop)
    }

    fn resume(&self, path: &Path) -> anyhow::Result<Exit> {
        let stop = Stop::on_signals().context("cannot take over SIGINT and SIGTERM")?;
        let mut folder = Folder::open(path)?;
        if folder.held.state.is_ended {
            output::note("all of it is measured already");
            return self.present(&folder.path, &folder.held);
        }
        if !folder.held.campaign.sets_anything() {
            return self.go_on(&mut folder, &mut Setting::look(&self.root)?, &stop);
        }
        let mut setting = Setting::open(&self.root)?;
        let own: Vec<String> = folder.held.state.transactions.iter().map(|(id, _)| id.clone()).collect();
        if let Some(other) = setting.unfinished()?.filter(|unfinished| !own.contains(unfinished)) {
            bail!("the transaction {other} was neither finished nor reverted: 'punctual tune revert' reverts it");
        }
        self.go_on(&mut folder, &mut setting, &stop)
    }

    fn go_on(&self, folder: &mut Folder, setting: &mut Setting, stop: &Stop) -> anyhow::Result<Exit> {
        let program = std::env::current_exe().context("the path of this program")?;
        let mut conductor = Conductor {
            folder,
            setting,
            stop,
            watcher: &Progress::new(),
            program: &program,
            restart: self.root.is_live().then_some(&restart_machine),
        };
        let conducted = conductor.conduct();
        let wants_restart = conductor.wants_restart();
        let path = folder.path.display().to_string();
        let conducted = conducted.with_context(|| format!("'punctual campaign resume {path}' goes on with it"))?;
        match conducted {
            Conducted::Restarting => {
                output::note("the machine starts again now; the campaign goes on by itself");
                return Ok(Exit::Holds);
            }
            Conducted::Stopped => {
                output::note(&format!(
                    "ended before its end; the machine is as it was, and 'punctual campaign resume {path}' goes on"
                ));
            }
            Conducted::Ended => {}
        }
        let exit = self.present(&folder.path, &folder.held)?;
        if wants_restart {
            if conducted == Conducted::Ended {
                output::note("the machine starts again once more, to be as it was");
                restart_machine()?;
            } else {
                output::warning("what the kernel was started with stays until this machine starts again");
            }
        }
        Ok(if conducted == Conducted::Stopped { Exit::Invalid } else { exit })
    }

    /// Checks beforehand whether this machine can be rebooted and the campaign continued.
    fn restart_is_possible(&self) -> anyhow::Result<()> {
        if !self.root.is_live() {
            bail!("a tree of files cannot be rebooted");
        }
        if !Path::new("/run/systemd/system").is_dir() {
            bail!("systemd does not run here, so nothing would go on with the campaign after a restart");
        }
        Ok(())
    }

    fn status(&self, path: &Path) -> anyhow::Result<Exit> {
        let held = conduct::look(path)?;
        let status = present::Status::new(&held.campaign, &held.state);
        self.print(&status, || present::status(&status))?;
        Ok(Exit::Holds)
    }

    fn report(&self, path: &Path) -> anyhow::Result<Exit> {
        let held = conduct::look(path)?;
        self.present(path, &held)
    }

    fn rehearse(&self, choice: &CampaignChoice, pool: &[record::Record], campaigns: u64) -> anyhow::Result<Exit> {
        let (campaign, _) = choice.resolve(&mut Setting::look(&self.root)?)?;
        let rehearsal = rehearse(&campaign, pool, campaigns, u64::from(campaign.seed))?;
        self.print(&rehearsal, || present::rehearsal(&rehearsal, wrap::width()))?;
        if let Some(why) = &rehearsal.cannot_show {
            output::warning(why);
        }
        Ok(match rehearsal.cannot_show {
            _ if rehearsal.alarms > rehearsal.most_expected => Exit::Broken,
            Some(_) => Exit::Invalid,
            None => Exit::Holds,
        })
    }

    /// Concludes, prints what came of it, and writes it beside the records, as a document and as a page.
    fn present(&self, path: &Path, held: &Held) -> anyhow::Result<Exit> {
        let records = conduct::records(path, held)?;
        let result = conduct::evidence(held, &conduct::borrowed(&records)).conclude();
        save::write_or_fall_back(&path.join(RESULT), result.to_json().as_bytes())?;
        self.print(&result, || present::result(&result, wrap::width(), output::color_stdout()))?;
        Folder::tidy(path);
        output::note(&format!("the records are in {}", path.display()));
        let exit = exit_of(&result);
        let page = reporting::render_campaign(CampaignInput { records: conduct::by_file(path, held, records), result });
        save::write_or_fall_back(&path.join(PAGE), page.as_bytes())?.announce();
        Ok(exit)
    }
}

fn exit_of(result: &CampaignResult) -> Exit {
    if result.state == ResultState::Running { Exit::Invalid } else { Exit::Holds }
}

/// Refuses a campaign whose runs will not get their priority. What comes later, such as a load that ends, is in each run's
/// record: the runs themselves are made whatever is known of them.
fn check_policies(campaign: &Campaign, anyway: AnywayArgs) -> anyhow::Result<()> {
    let asked = campaign.measurement.iter().filter_map(|measurement| measurement.run.request.real_time_priority());
    asked.max().map_or(Ok(()), |highest| anyway.check_policy(Policy::Fifo(highest)))
}

fn conflicts(planned: &[Planned]) -> impl Iterator<Item = (&str, &knobs::Conflict)> {
    planned.iter().flat_map(|one| one.plan.conflicts.iter().map(move |conflict| (one.name.as_str(), conflict)))
}

/// The default folder of a campaign.
fn default_folder(name: &str) -> PathBuf {
    Path::new(".").join(format!("{name}-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S")))
}

fn restart_machine() -> io::Result<()> {
    let status = Command::new("systemctl").arg("reboot").status()?;
    let refused = || io::Error::other(format!("'systemctl reboot' ended with {status}"));
    status.success().then_some(()).ok_or_else(refused)
}

/// What the guard of a campaign does, a process of its own: it reverts the settings if the campaign was killed.
pub(crate) fn guard() -> io::Result<()> {
    let restored = guard::wait(std::env::args_os().skip(2), &output::warning);
    let error = match restored {
        Ok(None) => return Ok(()),
        Ok(Some(folder)) => {
            output::note(&format!(
                "the campaign was killed; its settings are reverted, and 'punctual campaign resume {}' continues it",
                folder.display()
            ));
            return Ok(());
        }
        Err(error) => anyhow::Error::from(error),
    };
    Err(io::Error::other(format!("{error:#}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_campaign_has_a_line_in_the_list() {
        for (name, text) in shipped::SHIPPED {
            let table: toml::Table = text.parse().unwrap();
            assert_eq!(table["name"].as_str(), Some(name));
            assert!(table["about"].as_str().is_some_and(|about| about.len() > 20));
        }
    }
}
