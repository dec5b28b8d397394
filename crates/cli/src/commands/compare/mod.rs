//! `punctual compare`: two runs, or two groups of runs.

mod limit;
mod profiles;
mod show;

use std::path::PathBuf;

use analysis::compare::{self, CompareOptions, Comparison, ComparisonState, Gate, GateAnswer, Group};
use anyhow::{Context as _, bail};
use record::{KINDS, Measurement, Record};
use report::ComparisonInput;
use units::Ns;

use crate::exit::Exit;
use crate::records::{self, Condition, Found, RecordArgs};
use crate::{reporting, save};
use terminal::output;
use terminal::wrap;

/// Compare two runs, or two groups of runs: by how much they differ, how sure that is, and what else differs
///
/// Names one record or folder for each side, or groups of repetitions by --a and --b. All differences are B - A; a lower
/// latency is better. The worst case decides, or the rate beyond the deadline where one is stated; the body (mean, quantiles
/// up to p99.9) counts where it changes by more than --margin. Samples are not independent, so whole intervals and whole runs
/// are drawn again, never samples; worst cases are compared by the maxima of repetitions. "No difference shown" says what the
/// runs could have shown.
///
/// One run on each side can never decide a question. At --level 0.05 a question about the worst case takes 3 runs of each or
/// more, worse-body 5, a verdict 4 and 5.
#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    /// The record, other program's result, or folder of them to compare with
    #[arg(value_name = "A", required_unless_present = "a", conflicts_with_all = ["a", "b"], requires = "second")]
    first: Option<PathBuf>,
    /// The record, other program's result, or folder of them that is compared
    #[arg(value_name = "B")]
    second: Option<PathBuf>,
    /// Repetitions of the first condition: records, other programs' results, or folders of them
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "b")]
    a: Vec<PathBuf>,
    /// Repetitions of the second condition
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "a")]
    b: Vec<PathBuf>,
    /// Take the runs with this label out of folders: 'idle', 'under paper load'
    #[arg(long)]
    label: Option<String>,
    /// Take the runs with this label out of A's folders: for two conditions in one folder, as a campaign's are
    #[arg(long, value_name = "LABEL", conflicts_with = "label")]
    label_a: Option<String>,
    /// Take the runs with this label out of B's folders
    #[arg(long, value_name = "LABEL", conflicts_with = "label")]
    label_b: Option<String>,
    /// Take the runs of this measurement out of folders
    #[arg(long, value_name = "KIND", default_value = "wakeup", value_parser = measurement)]
    measurement: Measurement,
    /// The profile of A's machine ('punctual profile --json'), to show what differs [default: the one beside the records]
    #[arg(long, value_name = "FILE")]
    profile_a: Option<PathBuf>,
    /// The profile of B's machine
    #[arg(long, value_name = "FILE")]
    profile_b: Option<PathBuf>,
    #[command(flatten)]
    read: RecordArgs,
    /// Exit with 1 if B is shown to be worse (by more than SIZE), with 3 if these runs cannot decide; repeatable
    ///
    /// 'worse' asks of the worst case, or of the rate beyond the deadline where one is stated and SIZE is no time:
    /// worse, worse:20us, worse:10%. With SIZE nothing passes that was seen to be worse by it, without one nothing that was
    /// seen to be over twice as bad, shown or not. 'worse-body' asks of mean and quantiles up to p99.9; its SIZE is --margin
    /// where absent.
    #[arg(long, value_name = "worse[-body][:SIZE]", value_parser = limit::fail_on)]
    fail_on: Vec<Gate>,
    /// Exit with 0 only where B is shown not to be worse by SIZE, with 1 where it is shown to be, else with 3; repeatable
    ///
    /// not-worse:20us, not-worse:10% (the worst case), not-worse-body:2us (mean and quantiles up to p99.9).
    #[arg(long, value_name = "not-worse[-body]:SIZE", value_parser = limit::pass_on)]
    pass_on: Vec<Gate>,
    /// The change of the body that counts: one below it never outweighs the worst case [default: 1us or 10 % of A's median, the larger]
    #[arg(long, value_name = "TIME")]
    margin: Option<Ns>,
    /// The deadline: how often it was exceeded decides, in the place of the worst case [default: that of the records, if all state one]
    #[arg(long, value_name = "TIME")]
    deadline: Option<Ns>,
    /// State how much longer to measure to see a difference of this size [default: 5 % of A]
    #[arg(long, value_name = "TIME")]
    see: Option<Ns>,
    /// The probability of showing a difference where there is none, over all rows together (0.0001 to 0.5)
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = level)]
    level: f64,
    /// How often to resample
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    resamples: u32,
    /// Where the random numbers begin; the same seed gives the same output
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Say also how it was judged, and what difference could have been seen
    #[arg(short, long)]
    verbose: bool,
    /// Write the comparison as one HTML page
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "comparison.html")]
    report: Option<PathBuf>,
    /// Print the comparison as JSON (schema punctual/comparison)
    #[arg(long)]
    json: bool,
}

fn measurement(text: &str) -> Result<Measurement, String> {
    Measurement::by_name(text).ok_or_else(|| {
        let compared = KINDS.iter().filter(|kind| kind.compared.is_some());
        let names: Vec<&str> = compared.map(|kind| kind.name).collect();
        format!("'{text}' is no measurement; those that can be compared: {}", names.join(", "))
    })
}

fn level(text: &str) -> Result<f64, String> {
    let level: f64 = text.parse().map_err(|_| format!("'{text}' is no number: write for example 0.05"))?;
    if (0.0001..=0.5).contains(&level) { Ok(level) } else { Err(format!("{text} is not within 0.0001 to 0.5")) }
}

impl CompareArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.see.is_some_and(|see| see <= Ns::ZERO) {
            bail!("--see takes a difference above 0, for example --see 1us");
        }
        if self.margin.is_some_and(|margin| margin < Ns::ZERO) {
            bail!("--margin takes no change below 0, for example --margin 1us");
        }
        if self.deadline.is_some_and(|deadline| deadline <= Ns::ZERO) {
            bail!("--deadline takes a time above 0, for example --deadline 100us");
        }
        if let Some(page) = &self.report {
            save::check_file(page)?;
        }
        let (a_paths, b_paths) = match (&self.first, &self.second) {
            (Some(a), Some(b)) => (vec![a.clone()], vec![b.clone()]),
            _ => (self.a.clone(), self.b.clone()),
        };
        let a = self.records(&a_paths, self.label_a.as_deref())?;
        let b = self.records(&b_paths, self.label_b.as_deref())?;
        let [a, b] = records::distinguish_sides(a, b);
        let options = CompareOptions {
            level: self.level,
            resamples: self.resamples,
            seed: self.seed,
            wanted_ns: self.see.map(Ns::unsigned),
            margin_ns: self.margin.map(Ns::unsigned),
            deadline_ns: self.deadline.map(Ns::unsigned),
        };
        let groups = [group(&a_paths, &a, self.label_a.as_deref()), group(&b_paths, &b, self.label_b.as_deref())];
        let mut comparison = compare::compare(&groups[0], &groups[1], &options)?;
        for question in self.fail_on.iter().chain(&self.pass_on) {
            comparison.gates.push(compare::gate(&groups[0], &groups[1], &options, question)?);
        }
        let profiles = [(&self.profile_a, &a_paths, &a), (&self.profile_b, &b_paths, &b)];
        if let [Some(a), Some(b)] = profiles.map(|(file, paths, runs)| profiles::find(file.as_deref(), paths, runs)) {
            comparison.profiles = Some(compare::profile_differences(&a?, &b?));
        }
        let text = if self.json {
            serde_json::to_string_pretty(&comparison).context("cannot write the comparison as JSON")? + "\n"
        } else {
            show::show(&comparison, self.verbose, wrap::width(), output::color_stdout())
        };
        output::data(&text);
        records::warn_of_invalid(a.iter().chain(&b));
        let exit = exit_of(&comparison);
        if let Some(page) = &self.report {
            let title = format!("{} against {}", comparison.b.name, comparison.a.name);
            let html = reporting::render_comparison(title, ComparisonInput { comparison, a, b });
            save::write_or_fall_back(page, html.as_bytes())?.announce();
        }
        Ok(exit)
    }

    /// The records of one side. A folder gives those of the wanted measurement and label.
    fn records(&self, paths: &[PathBuf], label: Option<&str>) -> anyhow::Result<Vec<Found>> {
        let condition = Condition {
            label: label.or(self.label.as_deref()),
            is_measured: &|run| run.measurement == self.measurement,
            without: format!("one of '{}': choose with --measurement", self.measurement.name()),
            choice: "--label: {}; or one of each side with --label-a and --label-b",
        };
        self.read.of_condition(paths, &condition)
    }
}

/// The gravest of what was asked; an invalid run outranks everything.
fn exit_of(comparison: &Comparison) -> Exit {
    let of_gate = |answer| match answer {
        GateAnswer::Holds => Exit::Holds,
        GateAnswer::Broken => Exit::Broken,
        GateAnswer::CannotTell => Exit::Invalid,
    };
    match comparison.verdict.state {
        ComparisonState::Invalid => Exit::Invalid,
        // What is shown to be worse is worse, whatever else is undecided.
        _ if comparison.gates.iter().any(|gate| gate.answer == GateAnswer::Broken) => Exit::Broken,
        _ => comparison.gates.iter().map(|gate| of_gate(gate.answer)).fold(Exit::Holds, Exit::graver),
    }
}

/// A group named after its label, else after its files.
fn group<'a>(paths: &[PathBuf], runs: &'a [Record], label: Option<&str>) -> Group<'a> {
    let name = |path: &PathBuf| path.display().to_string();
    let name = match paths {
        [one] => name(one),
        [first, rest @ ..] => format!("{} and {} more", name(first), rest.len()),
        [] => String::new(),
    };
    Group { name: label.map_or(name, str::to_owned), runs: runs.iter().collect() }
}
