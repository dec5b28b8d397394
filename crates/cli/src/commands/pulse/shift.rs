//! `punctual pulse shift`: what a logic analyzer saw of nodes that act together, beside what they say of themselves.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use codecs::logic::{LogicCapture, LogicChannel, qemu_port, read};
use pulse::edges::ActiveLevel;
use pulse::witness::{CaptureReading, LineOfNode, witness_run};
use record::{NO_OUTPUT, PulseNode, PulseRun, Record};
use summary::shift::{NamedLine, ShiftDocument, WitnessVerdict, summary};
use summary::sweep::{SWEEP_SCHEMA, SweepDocument};
use units::Ns;

use super::sweep::SWEEP_FILE;
use crate::exit::Exit;
use crate::save;
use crate::view::shift as view;
use terminal::output;

/// No capture that can be read in a few seconds is larger (bytes).
const MOST_BYTES: u64 = 1 << 30;

/// See how far apart nodes switched, by what a logic analyzer captured of their outputs
///
/// Finds the edge of each order on the line of each node, and how much later each node's is than the first one's; splits the mean of
/// that into what the nodes' clocks, their acting and their outputs explain, by the run's record, and what is left. If that is more
/// than all errors together, or a node says that it acted and no edge is there, the witness contradicts the node, and the result is
/// invalid. A run with --mark has its orders told by their numbers, wherever the capture begins; of one without, edges are paired by
/// time, where the record leaves no doubt, and whether one is missing cannot always be told. It cannot see channels that were swapped:
/// name them with care.
#[derive(clap::Args)]
pub(crate) struct ShiftArgs {
    /// The record of 'punctual pulse send'; or the folder that 'punctual pulse sweep' wrote, of which the run counts that confirmed the
    /// shortest cycle
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// What a logic analyzer captured meanwhile: Saleae's and sigrok's exports, a value change dump, QEMU's log of a parallel port
    #[arg(value_name = "CAPTURE", required = true)]
    captures: Vec<PathBuf>,
    /// The channel of a node, with its file where several have one of that name; once for each node [default: all channels, in the order of the record's nodes]
    #[arg(long = "line", value_name = "NODE=[FILE:]CHANNEL")]
    lines: Vec<String>,
    /// Several captures have one clock, as the channels of one analyzer that writes a file for each
    #[arg(long)]
    one_clock: bool,
    /// The line of this node is low during a pulse; once for each such node
    #[arg(long, value_name = "NODE")]
    active_low: Vec<String>,
    /// Edges closer together than this are one edge that bounces [default: a quarter of the width of a pulse]
    #[arg(long, value_name = "D")]
    hold_off: Option<Ns>,
    /// The time between two samples, where the capture does not state it or states less
    #[arg(long, value_name = "D")]
    resolution: Option<Ns>,
    /// Exit 1 if a node switched earlier or later than the first one by more than this
    #[arg(long, value_name = "D")]
    limit: Option<Ns>,
    /// Keep all of it as JSON in this file: 'punctual report' shows it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

/// A channel of one of the captures.
struct NamedChannel {
    /// Its file as the user named it; `None` if all channels are of one capture.
    file: Option<PathBuf>,
    channel: LogicChannel,
}

impl NamedChannel {
    /// As it is named where its name alone does not suffice.
    fn words(&self) -> String {
        let Self { file, channel } = self;
        file.as_ref().map_or_else(|| channel.name.clone(), |file| format!("{}:{}", file.display(), channel.name))
    }

    fn is_called(&self, name: &str) -> bool {
        let with_file = |file: &PathBuf| {
            let last = Path::new(file.file_name().unwrap_or_default());
            [file.as_path(), last].iter().any(|file| format!("{}:{}", file.display(), self.channel.name) == name)
        };
        self.channel.name == name || self.file.as_ref().is_some_and(with_file)
    }
}

impl ShiftArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if let Some(file) = &self.output {
            save::check_file(file)?;
        }
        let record = self.read_run()?;
        let Some(run) = record.pulses() else {
            let kind = record.measurement.name();
            bail!("{} is a run of '{kind}': it takes the record of 'punctual pulse send'", self.run.display());
        };
        self.check(run)?;
        let (channels, resolution_ps) = self.read_captures()?;
        let chosen = self.choose(run, &channels)?;
        let stated_ps = self.resolution.map(|resolution| resolution.0.saturating_mul(1_000));
        let reading = CaptureReading {
            // What the user states holds where it is coarser: a file can be exact to the nanosecond and its samples are not.
            resolution_ps: stated_ps.map_or(resolution_ps, |stated| Some(resolution_ps.unwrap_or(0).max(stated))),
            hold_off_ps: self.hold_off.map(|hold_off| hold_off.0.saturating_mul(1_000)),
        };
        let lines: Vec<LineOfNode<'_>> = chosen
            .iter()
            .map(|(node, channel)| LineOfNode {
                node,
                channel: &channel.channel,
                active: if self.active_low.contains(&node.node) { ActiveLevel::Low } else { ActiveLevel::High },
            })
            .collect();
        for (node, _) in &chosen {
            let is_low = node.output_words.as_ref().is_some_and(|words| words.contains(", active low"));
            if is_low && !self.active_low.contains(&node.node) {
                let name = &node.node;
                output::note(&format!(
                    "{name} has its output active low: unless something inverts it, add --active-low {name}"
                ));
            }
        }
        let seen = witness_run(&record, run, &lines, reading);
        let named: Vec<NamedLine<'_>> =
            chosen.iter().map(|(node, channel)| NamedLine { node, channel: channel.words() }).collect();
        let shift = summary(&record, run, &named, &seen, self.limit.map(|limit| limit.0));
        let verdict = shift.verdict;
        let document = ShiftDocument::new(shift);
        let json = serde_json::to_string_pretty(&document)?;
        if let Some(file) = &self.output {
            save::write_or_fall_back(file, json.as_bytes())?.announce();
        }
        if self.json {
            output::data(&format!("{json}\n"));
        } else {
            output::data(&format!("{}\n", view::text(&document.shift).trim_end()));
        }
        Ok(match verdict {
            WitnessVerdict::Holds => Exit::Holds,
            WitnessVerdict::Broken => Exit::Broken,
            WitnessVerdict::CannotTell | WitnessVerdict::Invalid => Exit::Invalid,
        })
    }

    /// The record, or of a sweep that of the run that confirmed the shortest cycle.
    fn read_run(&self) -> anyhow::Result<Record> {
        let file = if self.run.is_dir() { self.run.join(SWEEP_FILE) } else { self.run.clone() };
        if self.run.is_dir() && !file.exists() {
            bail!(
                "{} has no {SWEEP_FILE}: name the folder of a sweep ('punctual pulse sweep -o'), or the record of a run",
                self.run.display()
            );
        }
        if !is_sweep(&file) {
            return Ok(run::read_record(&file)?);
        }
        let document = SweepDocument::from_json(&run::read_text(&file)?)
            .with_context(|| format!("{} cannot be used", file.display()))?;
        let claim = document.conclusion.shortest_cycle().with_context(|| {
            format!("{} confirmed no lead, so no run of it counts: name the record of one", file.display())
        })?;
        let (of, name) = document
            .confirming(claim)
            .and_then(|of| Some((of, of.file.as_ref()?)))
            .with_context(|| format!("{} does not say in which file its confirming run is: name it", file.display()))?;
        // A document says what lies beside it, and nothing elsewhere.
        if Path::new(name).file_name() != Some(name.as_ref()) {
            bail!("{} names '{name}', which is no file beside it: name the record", file.display());
        }
        let beside = file.with_file_name(name);
        let record = run::read_record(&beside)?;
        if record.id != of.record {
            bail!(
                "{} is another run than the one that {} names: name the record of the capture",
                beside.display(),
                file.display()
            );
        }
        let (cycle, lead) = (units::format::span(claim.cycle_ns), units::format::span(claim.lead_ns));
        output::note(&format!("the run that confirmed a lead of {lead} at a cycle of {cycle}: {}", beside.display()));
        Ok(record)
    }

    /// Whether what was asked can be of this run.
    fn check(&self, run: &PulseRun) -> anyhow::Result<()> {
        if run.interval_ns == 0 || run.width_ns == 0 {
            bail!("{} does not say how often and for how long its nodes were to act", self.run.display());
        }
        for name in &self.active_low {
            node_called(run, name).context("--active-low")?;
        }
        // The narrowest pulse that counts as one has five eighths of its width.
        let most_ns = i64::try_from(run.width_ns).unwrap_or(i64::MAX).saturating_mul(5) / 8;
        match self.hold_off {
            Some(hold_off) if hold_off.0 < 0 || hold_off.0 >= most_ns => {
                let width = units::format::span(run.width_ns);
                bail!("--hold-off {hold_off}: pulses of {width} take one of 0 to {}", units::format::span(most_ns - 1))
            }
            _ => {}
        }
        for (option, value) in [("--resolution", self.resolution), ("--limit", self.limit)] {
            if let Some(value) = value.filter(|value| value.0 < 0) {
                bail!("{option} {value}: it takes a time of 0 or more");
            }
        }
        Ok(())
    }

    /// The channels of all captures, and how exact the least exact of them is (ps); `None` if one does not say that.
    fn read_captures(&self) -> anyhow::Result<(Vec<NamedChannel>, Option<i64>)> {
        if self.captures.len() > 1 && !self.one_clock {
            bail!(
                "{} captures: nobody knows whether their clocks are one, and a shift between two clocks means nothing. If they are of \
                 one acquisition, say so: --one-clock",
                self.captures.len()
            );
        }
        let files: Vec<(&PathBuf, Vec<u8>)> =
            self.captures.iter().map(|file| Ok((file, bytes(file)?))).collect::<anyhow::Result<_>>()?;
        if let Some(together) = logs_of_qemu(&files)? {
            let named = |channel| NamedChannel { file: None, channel };
            return Ok((together.channels.into_iter().map(named).collect(), together.resolution_ps));
        }
        let (mut channels, mut coarsest_ps) = (Vec::new(), Some(0));
        for (file, bytes) in &files {
            let capture = read(bytes, &stem(file)).with_context(|| format!("no capture: {}", file.display()))?;
            coarsest_ps = coarsest_ps.zip(capture.resolution_ps).map(|(one, other): (i64, i64)| one.max(other));
            let file = (files.len() > 1).then(|| PathBuf::from(file));
            channels.extend(capture.channels.into_iter().map(|channel| NamedChannel { file: file.clone(), channel }));
        }
        Ok((channels, coarsest_ps))
    }

    /// Which channel is which node's, in the order of the record's nodes.
    fn choose<'a>(
        &self,
        run: &'a PulseRun,
        channels: &'a [NamedChannel],
    ) -> anyhow::Result<Vec<(&'a PulseNode, &'a NamedChannel)>> {
        let switching: Vec<&PulseNode> = run.nodes.iter().filter(|node| node.output != NO_OUTPUT).collect();
        if switching.len() < 2 {
            bail!(
                "{} of the {} nodes of {} switch something: a shift takes two",
                switching.len(),
                run.nodes.len(),
                self.run.display()
            );
        }
        if self.lines.is_empty() {
            if switching.len() != channels.len() {
                bail!(
                    "{} nodes and {} channels: say which is which, --line NODE=CHANNEL. Nodes: {}; channels: {}",
                    switching.len(),
                    channels.len(),
                    list(switching.iter().map(|node| node.node.clone())),
                    list(channels.iter().map(NamedChannel::words))
                );
            }
            let chosen: Vec<_> = switching.into_iter().zip(channels).collect();
            let pairs = chosen.iter().map(|(node, channel)| format!("{} on {}", node.node, channel.words()));
            output::note(&format!("channels are taken in the order of the record's nodes: {}", list(pairs)));
            return Ok(chosen);
        }
        let mut chosen: Vec<(&PulseNode, &NamedChannel)> = Vec::new();
        for line in &self.lines {
            let (node, channel) =
                line.split_once('=').with_context(|| format!("--line '{line}' has the form NODE=CHANNEL"))?;
            let node = node_called(run, node).with_context(|| format!("--line {line}"))?;
            if node.output == NO_OUTPUT {
                bail!("--line {line}: {} switched nothing in this run (its output is '{NO_OUTPUT}')", node.node);
            }
            let channel = channel_called(channels, channel).with_context(|| format!("--line {line}"))?;
            if chosen.iter().any(|(other, _)| other.node == node.node) {
                bail!("--line {line}: {} has a channel already", node.node);
            }
            if let Some((other, _)) = chosen.iter().find(|(_, other)| std::ptr::eq(*other, channel)) {
                bail!("--line {line}: that is the channel of {}", other.node);
            }
            chosen.push((node, channel));
        }
        if chosen.len() < 2 {
            bail!("one --line alone: a shift takes the lines of two nodes");
        }
        chosen.sort_by_key(|(node, _)| run.nodes.iter().position(|other| other.node == node.node));
        Ok(chosen)
    }
}

/// Whether a file is the document of a sweep.
fn is_sweep(file: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let head = run::read_text(file).ok().and_then(|text| serde_json::from_str::<Head>(&text).ok());
    head.is_some_and(|head| head.schema == SWEEP_SCHEMA)
}

fn node_called<'a>(run: &'a PulseRun, name: &str) -> anyhow::Result<&'a PulseNode> {
    let found = run.nodes.iter().find(|node| node.node == name);
    found.with_context(|| {
        format!("the run has no node '{name}', but {}", list(run.nodes.iter().map(|node| node.node.clone())))
    })
}

fn channel_called<'a>(channels: &'a [NamedChannel], name: &str) -> anyhow::Result<&'a NamedChannel> {
    let mut found = channels.iter().filter(|channel| channel.is_called(name));
    match (found.next(), found.next()) {
        (Some(channel), None) => Ok(channel),
        (Some(one), Some(other)) => {
            bail!("several channels are called '{name}': write {}, or {}", one.words(), other.words())
        }
        (None, _) => {
            bail!("there is no channel '{name}', but {}", list(channels.iter().map(NamedChannel::words)))
        }
    }
}

fn list(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<String>>().join(", ")
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The bytes of a capture.
fn bytes(file: &Path) -> anyhow::Result<Vec<u8>> {
    let cannot = || format!("cannot read {}", file.display());
    let length = std::fs::metadata(file).with_context(cannot)?.len();
    if length > MOST_BYTES {
        bail!("{} has more than {}, more than is read", file.display(), units::format::bytes(MOST_BYTES));
    }
    std::fs::read(file).with_context(cannot)
}

/// Several logs of QEMU as one capture: each alone would have a zero of its own. `None` if one is something else.
fn logs_of_qemu(files: &[(&PathBuf, Vec<u8>)]) -> anyhow::Result<Option<LogicCapture>> {
    if files.len() < 2 || !files.iter().all(|(_, bytes)| qemu_port::is_log(bytes.trim_ascii_start())) {
        return Ok(None);
    }
    let stems: Vec<String> = files.iter().map(|(file, _)| stem(file)).collect();
    // Files of one name lie in folders of their own.
    let is_name = stems.iter().enumerate().all(|(at, name)| !stems.iter().take(at).any(|other| other == name));
    let paths = || files.iter().map(|(file, _)| file.display().to_string()).collect();
    let names: Vec<String> = if is_name { stems } else { paths() };
    let logs: Vec<(&[u8], &str)> = files.iter().zip(&names).map(|((_, bytes), name)| (&**bytes, &**name)).collect();
    qemu_port::parse(&logs).map(Some).context("these logs cannot be read together")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(second: u64) -> Vec<u8> {
        format!("7@{second}.299807:parallel_ioport_write write [SW] addr 0x00 val 0xaa\n").into_bytes()
    }

    #[test]
    fn logs_of_one_file_name_are_told_apart_by_their_folders() {
        let names = |one: &str, other: &str| {
            let (one, other) = (PathBuf::from(one), PathBuf::from(other));
            let files = [(&one, log(1_795_315_738)), (&other, log(1_795_315_739))];
            let read = logs_of_qemu(&files).unwrap().unwrap();
            (read.channels[0].name.clone(), read.channels[8].name.clone())
        };
        let of = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(names("lab/one.log", "lab/two.log"), of("one D0", "two D0"));
        assert_eq!(names("one/port.log", "two/port.log"), of("one/port.log D0", "two/port.log D0"));
    }

    #[test]
    fn logs_that_cannot_be_read_together_are_not_read_each_by_itself() {
        let (one, other) = (PathBuf::from("one.log"), PathBuf::from("two.log"));
        let far = logs_of_qemu(&[(&one, log(1_795_315_738)), (&other, log(1_495_315_738))]);
        assert!(format!("{:#}", far.unwrap_err()).contains("more than 106 days apart"));
        assert!(logs_of_qemu(&[(&one, log(1_795_315_738)), (&other, b"$timescale".to_vec())]).unwrap().is_none());
    }
}
