//! `punctual pulse sweep`: the smallest lead that suffices, at each cycle, confirmed by fresh orders.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use pulse::sweep::{Claim, Outcome, Step, Sweep, SweepPlan, SweepVerdict};
use record::{ActsBy, Measurement, PacketPath, PulseRequest, PulseShape, Record, RunEnd};
use run::{Machine, Stop, Surroundings};
use summary::sweep::{SweepDocument, SweepRun, SweepStep, forecast, of_cycle, sentence};
use units::Ns;
use units::format::{latency, span};

use super::send::{Followed, by, carry_out_once, connect_all, prepare, shape, tokens};
use crate::begin::AnywayArgs;
use crate::commands::packet::{ThreadArgs, path};
use crate::exit::Exit;
use crate::other_node::OtherNode;
use crate::save;
use crate::session;
use crate::view::live::LiveRun;
use terminal::{output, wrap};

/// Where a sweep's folder has what it came to.
pub(super) const SWEEP_FILE: &str = "sweep.json";
/// How often a run that shows nothing, as one whose clock was set, is carried out again.
const MOST_TRIES: u32 = 3;

/// Find the smallest lead at which nodes act on every order, at each of some cycles, and confirm it by fresh orders
///
/// With a generous lead every order shows the lead that it needed, so one run answers for all leads, and only the cycle is varied.
/// What is claimed rests on fresh orders at exactly that lead and cycle, none of which was missed. Each 'punctual listen' has to
/// serve several runs: start it without --once.
#[derive(clap::Args)]
pub(crate) struct SweepArgs {
    /// A node that is to act, and the file with the token that its 'punctual listen' wrote; once for each node
    #[arg(long, value_name = "HOST[:PORT]=TOKENFILE", required = true)]
    to: Vec<OtherNode>,
    /// The cycles to try
    #[arg(short, long, value_name = "D,…", value_delimiter = ',', default_value = "1ms")]
    interval: Vec<Ns>,
    /// The share of orders that may be missed (1e-9 to 0.1)
    #[arg(long, value_name = "SHARE", default_value = "1e-5")]
    max_miss: f64,
    /// How sure all that is claimed has to be together (50% to 99.9999%)
    #[arg(long, value_name = "PERCENT", default_value = "99%", value_parser = confidence)]
    confidence: f64,
    /// The largest lead that is of use
    #[arg(long, value_name = "D", default_value = "10ms")]
    max_lead: Ns,
    /// What is added to the worst lead that was needed
    #[arg(long, value_name = "D", default_value = "10us")]
    margin: Ns,
    /// How long to look for the lead, at each cycle and twice
    #[arg(long, value_name = "D", default_value = "60s")]
    explore: Ns,
    /// How long all of it may take
    #[arg(long, value_name = "D", default_value = "6h")]
    budget: Ns,
    /// What else runs on the nodes meanwhile, in words: the claim holds for this load alone
    #[arg(long, value_name = "TEXT", default_value = "none")]
    load: String,
    /// The output that each node switches, by the name in its policy file; 'none' switches nothing
    #[arg(long, value_name = "NAME", default_value = "none")]
    output_name: String,
    /// What the output does
    #[arg(long, value_name = "SHAPE", default_value = "pulse", value_parser = shape())]
    shape: PulseShape,
    /// How long a pulse takes [default: a quarter of the interval, at most 1ms]
    #[arg(long, value_name = "D")]
    width: Option<Ns>,
    /// Make every N-th pulse of a confirmation twice as long, and spell its number by the 24 after it: one capture of the whole sweep then
    /// shows 'punctual pulse shift' which pulses are of the run that confirmed a lead
    #[arg(long, value_name = "N")]
    mark: Option<u32>,
    /// By which clock the nodes act: each by its own, as its time service has it, or by this node's, as the exchange of messages with it shows it
    #[arg(long, value_name = "CLOCK", default_value = "service", value_parser = by())]
    by: ActsBy,
    /// An act that is later than this is a miss
    #[arg(long, visible_alias = "limit", value_name = "D", default_value = "100us")]
    tolerance: Ns,
    /// The way of the packets through all systems
    #[arg(long, value_name = "PATH", default_value = "udp", value_parser = path())]
    path: PacketPath,
    /// Do not ask time services how far the clocks are apart: the exchange of the programs alone says it
    #[arg(long)]
    no_sync: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    anyway: AnywayArgs,
    /// Keep the record of each run and what all of it came to in this folder, which is made and has no other sweep in it: 'punctual report'
    /// shows it
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Print the conclusion as JSON
    #[arg(long)]
    json: bool,
}

fn confidence(text: &str) -> Result<f64, String> {
    let number =
        text.strip_suffix('%').map_or_else(|| text.parse::<f64>(), |percent| percent.parse().map(|p: f64| p / 100.0));
    number.map_err(|_| format!("'{text}' is no confidence: for example 99%"))
}

impl SweepArgs {
    fn request(&self, interval_ns: u64, lead_ns: u64, orders: u64, mark: Option<u32>) -> PulseRequest {
        let (cpu, sched_priority) = self.threads.choice();
        let ns = |ns: u64| Ns(i64::try_from(ns).unwrap_or(i64::MAX));
        PulseRequest {
            path: self.path,
            interval: ns(interval_ns),
            lead: ns(lead_ns),
            end: RunEnd::Samples(orders),
            output: self.output_name.clone(),
            shape: self.shape,
            width: self.width,
            mark,
            by: self.by,
            tolerance: self.tolerance,
            cpu,
            sched_priority,
            sync: !self.no_sync,
            ..PulseRequest::default()
        }
    }

    fn plan(&self) -> SweepPlan {
        SweepPlan {
            cycles_ns: self.interval.iter().map(|interval| interval.unsigned()).collect(),
            max_miss: self.max_miss,
            confidence: self.confidence,
            margin_ns: self.margin.unsigned(),
            max_lead_ns: self.max_lead.unsigned(),
            explore_ns: self.explore.unsigned(),
            budget_ns: self.budget.unsigned(),
            nodes: self.to.len(),
            load: self.load.clone(),
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let mut sweep = Sweep::new(self.plan())?;
        let program = session::own_program()?;
        let machine = Machine::read();
        let surroundings =
            Surroundings { machine: &machine, own_program: &program, anyway: self.anyway.choice(), part: None };
        // What cannot be ordered at one of the cycles is said before the first.
        for interval in &self.interval {
            let largest = self.request(interval.unsigned(), self.max_lead.unsigned(), 1, self.mark);
            prepare(&largest, &self.to, &surroundings)
                .with_context(|| format!("at a cycle of {interval} with the largest lead (--max-lead)"))?;
        }
        if let Some(folder) = &self.output {
            prepare_folder(folder)?;
        }
        for line in forecast(&sweep.forecast(), self.max_miss) {
            output::note(&line);
        }
        let stop = Stop::on_signals().context("cannot handle signals")?;
        let mut confirmed: Vec<(u64, u64, Record)> = Vec::new();
        let mut runs: Vec<SweepRun> = Vec::new();
        let (mut tries, mut ended) = (0, None);
        loop {
            let step = sweep.next().clone();
            let Some(run) = step.run().copied() else { break };
            let (step, about) = match &step {
                Step::Explore { .. } => (SweepStep::Explore, "to find the lead"),
                _ => (SweepStep::Confirm, "to confirm it"),
            };
            let word = step.word();
            let (cycle, lead) = (span(run.cycle_ns), span(run.lead_ns));
            output::note(&format!("run {}: cycle {cycle}, lead {lead}, {} orders {about}", run.number, run.orders));
            // An exploration without marks is never taken for the confirmation that a capture shows beside it.
            let mark = self.mark.filter(|_| step == SweepStep::Confirm);
            let request = self.request(run.cycle_ns, run.lead_ns, run.orders, mark);
            let record = match self.once(&request, &surroundings, &format!("{word} {cycle} {lead}"), &stop) {
                Ok(record) => record,
                // Before anything was shown it is an error like any other.
                Err(error) if runs.is_empty() => return Err(error),
                Err(error) => {
                    ended = Some(format!("run {} did not take place: {error:#}", run.number));
                    break;
                }
            };
            let name = format!("{:03}-{word}.json", run.number);
            let file = self.output.as_ref().filter(|folder| is_kept(&folder.join(&name), &record)).map(|_| name);
            if stop.ended_early() {
                ended = Some("it was ended on this node".to_owned());
                break;
            }
            let taken = Outcome::of_record(&record, run.number)
                .map_err(anyhow::Error::from)
                .and_then(|outcome| sweep.take(&outcome).map_err(anyhow::Error::from));
            match taken {
                Ok(()) => {
                    tries = 0;
                    output::note(&what_came(&record));
                    runs.push(SweepRun {
                        number: run.number,
                        step,
                        cycle_ns: run.cycle_ns,
                        lead_ns: run.lead_ns,
                        record: record.id.clone(),
                        file,
                    });
                    if step == SweepStep::Confirm {
                        confirmed.push((run.cycle_ns, run.lead_ns, record));
                    }
                }
                Err(error) if tries < MOST_TRIES => {
                    tries += 1;
                    output::warning(&format!("run {} shows nothing and is carried out again: {error:#}", run.number));
                    sweep.discard(run.time_ns());
                }
                Err(error) => {
                    ended = Some(format!("run {} shows nothing, after {MOST_TRIES} others: {error:#}", run.number));
                    break;
                }
            }
        }
        if let Some(why) = &ended {
            output::warning(&format!("the sweep ends here: {why}"));
            sweep.stop(why);
        }
        let Step::Done(conclusion) = sweep.next() else { bail!("the sweep has not ended") };
        let within = |claim: &Claim| {
            let run = confirmed
                .iter()
                .rfind(|(cycle_ns, lead_ns, _)| (*cycle_ns, *lead_ns) == (claim.cycle_ns, claim.lead_ns));
            let nodes = &run?.2.pulses()?.nodes;
            let within = nodes.iter().map(record::PulseNode::within_ns).collect::<Option<Vec<u64>>>()?;
            within.into_iter().max().map(latency)
        };
        let sentence = sentence(conclusion, within);
        let document = SweepDocument::new(sentence.clone(), (**conclusion).clone(), runs);
        let json = serde_json::to_string_pretty(&document)?;
        if let Some(folder) = &self.output {
            // Hours of orders are not lost for want of a place: it is printed all the same.
            match save::write_or_fall_back(&folder.join(SWEEP_FILE), json.as_bytes()) {
                Ok(saved) => {
                    saved.announce();
                    output::note(&format!("'punctual report {}' shows what it came to", folder.display()));
                }
                Err(error) => output::error(&error),
            }
        }
        if self.json {
            output::data(&format!("{json}\n"));
        } else {
            let cycles = conclusion.cycles.iter().map(|cycle| of_cycle(cycle, conclusion.max_miss));
            let all: String =
                cycles.chain([String::new(), sentence]).map(|text| wrap::paragraph(&text, "", wrap::width())).collect();
            output::data(&format!("{}\n", all.trim_end()));
        }
        Ok(match conclusion.verdict() {
            SweepVerdict::Holds => Exit::Holds,
            SweepVerdict::Broken => Exit::Broken,
            SweepVerdict::CannotTell => Exit::Invalid,
        })
    }

    fn once(
        &self,
        request: &PulseRequest,
        surroundings: &Surroundings<'_>,
        label: &str,
        stop: &Stop,
    ) -> anyhow::Result<Record> {
        let prepared = prepare(request, &self.to, surroundings)?;
        let channels = connect_all(&self.to, &tokens(&self.to)?)?;
        let mut seen = LiveRun::new(Measurement::Pulse, label, prepared.about());
        let followed = Followed { watch: &mut seen, sink: None };
        let record = carry_out_once(request, (&self.to, channels), prepared, (surroundings, label, stop), followed);
        seen.finish();
        record
    }
}

/// Makes the folder of a sweep. One that has another sweep in it would show runs of both.
fn prepare_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    save::check_folder(folder)?;
    let files = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names = files.filter_map(|file| Some(file.ok()?.file_name().to_string_lossy().into_owned()));
    if let Some(name) = names.filter(|name| is_of_a_sweep(name)).min() {
        bail!("{} has a sweep in it already ({name}): name another folder, or remove that one", folder.display());
    }
    Ok(())
}

/// Whether a sweep would write a file of this name: "sweep.json", "001-explore.json".
fn is_of_a_sweep(name: &str) -> bool {
    let is_run = |(number, word): (&str, &str)| {
        let is_word =
            [SweepStep::Explore, SweepStep::Confirm].iter().any(|step| word == format!("{}.json", step.word()));
        is_word && !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    };
    name == SWEEP_FILE || name.split_once('-').is_some_and(is_run)
}

/// Keeps the record of a run; whether it lies where it was asked for. What the sweep shows does not rest on the file, so that it goes on
/// without: what was confirmed in hours is not lost with it.
fn is_kept(file: &Path, record: &Record) -> bool {
    match save::write_elsewhere_if_need_be(file, record.to_json().as_bytes()) {
        Ok(saved) if saved.path == file => true,
        Ok(saved) => {
            saved.announce();
            false
        }
        Err(error) => {
            output::warning(&format!("{error:#}; the sweep goes on without it"));
            false
        }
    }
}

/// What a run came to, in a line.
fn what_came(record: &Record) -> String {
    let Some(run) = record.pulses() else { return String::new() };
    let needed = summary::pulse::summary(record).into_iter().flat_map(|summary| summary.nodes);
    let needed: Vec<String> = needed.filter_map(|node| Some(format!("{}: {}", node.node, node.needed?))).collect();
    format!(
        "{} of {} schedules missed{}{}",
        units::format::count(run.trials.missed),
        units::format::count(run.trials.scheduled),
        if needed.is_empty() { "" } else { "; " },
        needed.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_has_another_sweep_in_it_is_refused_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let sweep = folder.path().join("night");
        prepare_folder(&sweep).unwrap();
        for name in ["shift.json", "notes-explore.json", "001-explore.txt", "-confirm.json", "capture.sr"] {
            std::fs::write(sweep.join(name), "").unwrap();
        }
        prepare_folder(&sweep).unwrap();
        for name in ["1000-confirm.json", "004-explore.json", "sweep.json"] {
            let file = sweep.join(name);
            std::fs::write(&file, "precious").unwrap();
            let error = prepare_folder(&sweep).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("name another folder"), "{error}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
            std::fs::remove_file(&file).unwrap();
        }
    }
}
