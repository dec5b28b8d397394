//! `punctual lab analyzer`: how far apart two machines act, by the host's clock.

use std::path::Path;

use ::lab::analyzer::{Comparison, DEFAULT_WINDOW_NS, NodeResult, recorded, until_pairs, whole_log};
use ::lab::running::{self, Lab};
use anyhow::Context as _;
use units::{Ns, format, round_u64};

use super::expect::{self, Expectation, Found};
use crate::exit::Exit;
use terminal::output;

/// Measure which of two machines acts later, and by how much, from pulses on their parallel ports by the host's clock
///
/// The nodes have 'analyzer = true' in the scenario, and 'punctual-proof inject pulse' writes pulses in them. Each pulse has a
/// label. Two pulses belong together if they have the same label, are nearest to each other, and are no farther apart than
/// the window. The result says when the emulated machines acted. It includes the host's scheduling of their CPUs: the
/// median of some tens of pulses describes the machines, and the extremes describe the host. With --copy nothing is measured: what was
/// recorded is copied for 'punctual pulse shift', which takes edges of any program.
#[derive(clap::Args)]
pub(super) struct AnalyzerArgs {
    /// Name of the lab.
    lab: String,
    /// The two machines; the shift is how much later the second one is. The same machine twice: only its own pulses.
    #[arg(long, num_args = 2, value_names = ["A", "B"], required_unless_present = "copy")]
    between: Vec<String>,
    /// Instead, copy what was recorded of these machines since the lab was started, each to NODE.analyzer.
    #[arg(
        long,
        value_name = "NODE,...",
        value_delimiter = ',',
        requires = "to",
        conflicts_with_all = ["between", "pairs", "expect", "json"]
    )]
    copy: Vec<String>,
    /// The folder that copies go to, here or on a machine of the lab.
    #[arg(long, value_name = "[NODE:]FOLDER", requires = "copy")]
    to: Option<String>,
    /// Record from now on until there are this many pairs; without it all recorded pulses count.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pairs: Option<u32>,
    /// How long the pairs may take.
    #[arg(long, value_name = "D", default_value = "60s", requires = "pairs")]
    patience: Ns,
    /// Pulses farther apart than this do not belong together: below half of 128 intervals.
    #[arg(long, value_name = "D", default_value_t = Ns(DEFAULT_WINDOW_NS))]
    window: Ns,
    /// Exit 1 unless a number lies between two bounds: NAME=LEAST..MOST, with NAME one of pairs, median, min, max,
    /// alternation, drift-ppm, unmatched-a, unmatched-b, period-a, period-b.
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true)]
    expect: Vec<Expectation>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

impl AnalyzerArgs {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let lab = running::find(&self.lab)?;
        if let Some(to) = &self.to {
            return copy(&lab, &self.copy, to, "analyzer", &|node| Ok(whole_log(&lab, node)?));
        }
        let [a, b] = self.between.as_slice() else { anyhow::bail!("--between takes two nodes") };
        let found = match self.pairs {
            Some(pairs) => until_pairs(&lab, a, b, self.window.0, usize::try_from(pairs)?, self.patience.to_std())?,
            None => recorded(&lab, a, b, self.window.0)?,
        };
        if self.json {
            output::data(&format!("{}\n", serde_json::to_string_pretty(&json(&found, a, b))?));
        } else {
            output::data(&in_words(&found, a, b));
        }
        let faults = expect::faults(&self.expect, &numbers(&found))?;
        faults.iter().for_each(|fault| output::note(fault));
        Ok(if faults.is_empty() { Exit::Holds } else { Exit::Broken })
    }
}

/// Copies what was recorded of machines to a folder, of one of them if it is written `NODE:FOLDER`: each to a file with its name and this
/// ending.
pub(super) fn copy(
    lab: &Lab,
    nodes: &[String],
    to: &str,
    ending: &str,
    log: &dyn Fn(&str) -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<Exit> {
    let inside = to.split_once(':').filter(|(node, _)| lab.nodes().iter().any(|own| own == node));
    for node in nodes {
        let (log, name) = (log(node)?, format!("{node}.{ending}"));
        match inside {
            Some((at, folder)) => running::put(lab, at, &format!("{}/{name}", folder.trim_end_matches('/')), log)?,
            None => {
                let path = Path::new(to).join(name);
                std::fs::write(&path, log).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
    }
    Ok(Exit::Holds)
}

fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn period(node: &NodeResult) -> Option<Ns> {
    node.period_ns.map(|period_ns| Ns(i64::try_from(round_u64(period_ns)).unwrap_or(i64::MAX)))
}

fn numbers(found: &Comparison) -> Vec<(String, Found)> {
    let shift = found.shift();
    [
        ("pairs", Found::Count(count(found.pairs.len()))),
        ("median", Found::Time(shift.map(|shift| Ns(shift.median_ns)))),
        ("min", Found::Time(shift.map(|shift| Ns(shift.min_ns)))),
        ("max", Found::Time(shift.map(|shift| Ns(shift.max_ns)))),
        ("alternation", Found::Time(found.alternation_ns().map(Ns))),
        ("drift-ppm", Found::Number(found.drift_ppm())),
        ("unmatched-a", Found::Count(count(found.a.unmatched))),
        ("unmatched-b", Found::Count(count(found.b.unmatched))),
        ("period-a", Found::Time(period(&found.a))),
        ("period-b", Found::Time(period(&found.b))),
    ]
    .map(|(name, found)| (name.to_owned(), found))
    .to_vec()
}

fn json(found: &Comparison, a: &str, b: &str) -> serde_json::Value {
    serde_json::json!({
        "between": [a, b],
        "window_ns": found.window_ns,
        "shift": found.shift(),
        "alternation_ns": found.alternation_ns(),
        "drift_ppm": found.drift_ppm(),
        "a": found.a,
        "b": found.b,
        "pairs": found.pairs,
    })
}

fn in_words(found: &Comparison, a: &str, b: &str) -> String {
    let one = |name: &str, node: &NodeResult| {
        let NodeResult { pulses, unmatched, ambiguous, .. } = node;
        let period = node.period_ns.map_or_else(String::new, |period_ns| format!(", {:.4} ms apart", period_ns / 1e6));
        format!("{name}: {pulses} pulses{period}, {unmatched} without partner, {ambiguous} ambiguous\n")
    };
    if a == b {
        return one(a, &found.a);
    }
    let mut text = match found.shift() {
        Some(shift) => format!(
            "{b} acts {} later than {a}: median of {} pairs of pulses, {} to {}\n",
            format::latency(shift.median_ns),
            found.pairs.len(),
            format::latency(shift.min_ns),
            format::latency(shift.max_ns)
        ),
        None => format!("no pulses of {a} and {b} belong together\n"),
    };
    if let Some(alternation_ns) = found.alternation_ns() {
        let more = format::latency(alternation_ns);
        text += &format!("{more} more at pulses with odd labels than at those with even ones\n");
    }
    if let Some(drift_ppm) = found.drift_ppm() {
        text += &format!("{b}'s pulses are {drift_ppm:.1} ppm farther apart than {a}'s\n");
    }
    text + &one(a, &found.a) + &one(b, &found.b)
}
