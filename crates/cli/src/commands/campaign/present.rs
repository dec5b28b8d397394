//! How campaigns look on a terminal.

use std::fmt::Write as _;
use std::time::Duration;

use campaign::journal::State;
use campaign::result::{Answer, AnswerState, CampaignResult, Figure, Rehearsal};
use campaign::{Campaign, Planned};
use knobs::Step;
use serde::Serialize;

use super::progress;
use terminal::output;
use terminal::table::{Table, known};
use terminal::wrap;

/// Columns of a picture of a figure.
const DRAWN: usize = 40;
/// Changes of a condition that are named; more are counted.
const SHOWN_CHANGES: usize = 4;

pub(super) fn list(all: &[(&str, String)], width: usize) -> String {
    let mut text = String::new();
    for (name, about) in all {
        let _ = writeln!(text, "{name}");
        text.push_str(&wrap::paragraph(about, "    ", width));
    }
    text
}

/// What a campaign would do.
#[derive(Serialize)]
pub(super) struct Outline {
    name: String,
    about: String,
    conditions: Vec<OutlinedCondition>,
    measurements: Vec<String>,
    repetitions: u32,
    least_repetitions: u32,
    least_repetitions_body: u32,
    /// What it will be able to see, a sentence for each part.
    will_see: Vec<String>,
    /// Why it is not run as it stands; null where it can show something.
    refusal: Option<String>,
    comparisons: usize,
    false_alarms: f64,
    runs: usize,
    pub(super) restarts: usize,
    takes_s: u64,
    left_out: Vec<String>,
    same_as_first: Vec<String>,
}

#[derive(Serialize)]
struct OutlinedCondition {
    name: String,
    changes: Vec<String>,
    conflicts: Vec<knobs::Conflict>,
}

impl Outline {
    /// A short form is there to be seen running, and is not refused for what it cannot show.
    pub(super) fn new(campaign: &Campaign, planned: &[Planned], is_short: bool) -> Self {
        let layout = campaign.layout(None);
        let sight = campaign.sight();
        let confirmed = campaign.confirm.map_or(0, |confirm| confirm.repetitions as usize * 2);
        let visits = layout.visits.len() + confirmed;
        let once = campaign.time_left(&layout, &State::default());
        let takes =
            once * u32::try_from(visits).unwrap_or(u32::MAX) / u32::try_from(layout.visits.len()).unwrap_or(1).max(1);
        let conditions = planned.iter().map(|one| OutlinedCondition {
            name: one.name.clone(),
            changes: one.plan.steps.iter().map(Step::in_words).collect(),
            conflicts: one.plan.conflicts.clone(),
        });
        Self {
            name: campaign.name.clone(),
            about: campaign.about.clone(),
            conditions: conditions.collect(),
            measurements: campaign.measurement.iter().map(|one| campaign::in_words(&one.run)).collect(),
            repetitions: campaign.repetitions,
            least_repetitions: campaign.least_repetitions(),
            least_repetitions_body: sight.map_or(0, |sight| sight.least_for_body),
            will_see: sight.map(|sight| sight.sentences()).unwrap_or_default(),
            refusal: sight.filter(|_| !is_short).and_then(|sight| sight.refusal()),
            comparisons: campaign.comparisons(),
            false_alarms: campaign.false_alarms,
            runs: visits * campaign.measurement.len(),
            restarts: if campaign.restarts() { visits + 1 } else { 0 },
            takes_s: takes.as_secs(),
            left_out: campaign.left_out.clone(),
            same_as_first: same_as_first(campaign, planned),
        }
    }

    /// What the user has to know before the start.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.left_out.iter().map(|what| format!("left out: {what}")).collect();
        for condition in &self.same_as_first {
            lines.push(format!("{condition} is on this machine the same as the first condition: nothing else is set"));
        }
        lines
    }

    /// Why it should not begin; `None` where it can show something.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// What it will be able to see, in the order of importance.
    pub(super) fn will_see(&self) -> Vec<String> {
        let each = self.will_see.iter().map(|sentence| format!("will see: {sentence}"));
        let shared = format!("(false alarms {} over {} comparisons)", self.false_alarms, self.comparisons);
        each.map(|line| format!("{line} {shared}")).collect()
    }
}

/// Conditions that ask for something else than the first and would come out the same.
fn same_as_first(campaign: &Campaign, planned: &[Planned]) -> Vec<String> {
    let conditions = campaign.conditions();
    let asks = |place: usize| conditions.get(place).and_then(|one| campaign.intent_of(one).ok());
    let Some(first) = planned.first() else { return Vec::new() };
    let others = planned.iter().enumerate().skip(1);
    let is_same = |place: usize, one: &Planned| {
        one.plan.conflicts.is_empty() && one.plan.steps == first.plan.steps && asks(place) != asks(0)
    };
    let same = others.filter(|(place, one)| is_same(*place, one));
    same.map(|(_, one)| one.name.clone()).collect()
}

pub(super) fn outline(outline: &Outline, width: usize) -> String {
    let mut text = format!("{}\n", outline.name);
    text.push_str(&wrap::paragraph(&outline.about, "  ", width));
    text.push('\n');
    for condition in &outline.conditions {
        let _ = writeln!(text, "{}", condition.name);
        if condition.changes.is_empty() && condition.conflicts.is_empty() {
            text.push_str("    nothing is changed\n");
        }
        for change in condition.changes.iter().take(SHOWN_CHANGES) {
            text.push_str(&wrap::paragraph(change, "    ", width));
        }
        if condition.changes.len() > SHOWN_CHANGES {
            let _ = writeln!(text, "    and {} more", condition.changes.len() - SHOWN_CHANGES);
        }
        for conflict in &condition.conflicts {
            let line = format!("CONFLICT {}: {}; {}", conflict.about, conflict.why, conflict.remedy);
            text.push_str(&wrap::paragraph(&line, "    ", width));
        }
    }
    text.push('\n');
    for measurement in &outline.measurements {
        text.push_str(&wrap::paragraph(&format!("measures {measurement}"), "  ", width));
    }
    let restarts = if outline.restarts > 0 { format!(", {} restarts", outline.restarts) } else { String::new() };
    let _ = writeln!(
        text,
        "  {} runs, {} of each condition and measurement{restarts}; about {}",
        outline.runs,
        outline.repetitions,
        progress::span(Duration::from_secs(outline.takes_s))
    );
    for line in outline.will_see().into_iter().chain(outline.warnings()) {
        text.push_str(&wrap::paragraph(&line, "  ", width));
    }
    if let Some(refusal) = outline.refusal() {
        text.push_str(&wrap::paragraph(&format!("REFUSED: {refusal}"), "  ", width));
    }
    text
}

/// How far a campaign is.
#[derive(Serialize)]
pub(super) struct Status {
    name: String,
    state: &'static str,
    runs: usize,
    done: usize,
    unusable: usize,
    restarts: u32,
    left_s: u64,
    applied: Vec<String>,
}

impl Status {
    pub(super) fn new(campaign: &Campaign, state: &State) -> Self {
        let layout = campaign.layout(state.winners.as_deref());
        let left = campaign.time_left(&layout, state);
        Self {
            name: campaign.name.clone(),
            state: if state.is_ended { "ended" } else { "not ended" },
            runs: layout.visits.len() * campaign.measurement.len(),
            done: state.ran.len(),
            unusable: state
                .ran
                .keys()
                .filter(|key| state.counted(key.0, key.1).is_some_and(|ran| !ran.is_usable()))
                .count(),
            restarts: state.restarts,
            left_s: if state.is_ended { 0 } else { left.as_secs() },
            applied: state.transactions.iter().map(|(id, _)| id.clone()).collect(),
        }
    }
}

pub(super) fn status(status: &Status) -> String {
    let mut text = format!("{}: {}, {} of {} runs", status.name, status.state, status.done, status.runs);
    if status.unusable > 0 {
        let _ = write!(text, ", {} of them not used", status.unusable);
    }
    if status.restarts > 0 {
        let _ = write!(text, ", {} restarts", status.restarts);
    }
    if status.left_s > 0 {
        let _ = write!(text, ", about {} to go", progress::span(Duration::from_secs(status.left_s)));
    }
    text.push('\n');
    for transaction in &status.applied {
        let _ = writeln!(text, "  in force: {transaction}");
    }
    text
}

pub(super) fn result(result: &CampaignResult, width: usize, color: bool) -> String {
    let mut text = format!("{} on {}\n", result.name, result.node);
    text.push_str(&wrap::paragraph(&result.about, "  ", width));
    for figure in &result.figures {
        text.push('\n');
        text.push_str(&drawn(figure));
    }
    text.push('\n');
    if !result.answers.is_empty() {
        text.push_str("Against the first condition:\n");
        for answer in &result.answers {
            text.push_str(&one(answer, result, width, color));
        }
        if !result.confirmation.is_empty() {
            text.push_str("Measured again, the winners together:\n");
        }
        for answer in &result.confirmation {
            text.push_str(&one(answer, result, width, color));
        }
        text.push('\n');
    }
    // Painted after it was wrapped: what paints has no width.
    let headline = wrap::paragraph(&result.headline, "", width);
    let _ = writeln!(text, "{}", output::paint(color, "1", headline.trim_end()));
    for note in &result.notes {
        text.push_str(&wrap::paragraph(note, "", width));
    }
    if !result.answers.is_empty() {
        let how = format!(
            "All {} comparisons together raise a false alarm with a probability of at most {}; each by permuting whole runs.",
            result.comparisons, result.false_alarms
        );
        text.push_str(&wrap::paragraph(&how, "", width));
    }
    text
}

fn one(answer: &Answer, result: &CampaignResult, width: usize, color: bool) -> String {
    let style = match answer.state {
        AnswerState::Helps => "1;32",
        AnswerState::Harms | AnswerState::HarmsBody => "1;31",
        AnswerState::Trade => "1;33",
        AnswerState::HelpsBody => "1",
        AnswerState::NotBeyondMargin | AnswerState::NoDifferenceShown | AnswerState::NotMeasured => "0",
    };
    let several = result.answers.iter().any(|other| other.measurement != answer.measurement);
    let of = if several { format!(", {}", answer.measurement) } else { String::new() };
    let head = format!("  {}{of}: {}\n", answer.condition, output::paint(color, style, answer.state.word()));
    head + &wrap::paragraph(&answer.sentence, "      ", width)
}

/// A table with a picture: from the smallest to the largest on a logarithmic axis, with the mean in it.
fn drawn(figure: &Figure) -> String {
    let mut text = format!("{} ({})\n", figure.title, figure.series);
    let smallest = figure.bars.iter().map(|bar| bar.min_ns).min().unwrap_or(1).max(1);
    let largest = figure.bars.iter().map(|bar| bar.max_ns).max().unwrap_or(1).max(smallest + 1);
    let column = |ns: f64| {
        let (low, high) = (units::approx_f64_i64(smallest).ln(), units::approx_f64_i64(largest).ln());
        let share = (ns.max(1.0).ln() - low) / (high - low);
        usize::try_from(units::round_u64(share.clamp(0.0, 1.0) * units::approx_f64(DRAWN as u64 - 1))).unwrap_or(0)
    };
    let mut table = Table::new(&["", "runs", "samples", "min", "mean", "sd", "max", "min to max, mean |, logarithmic"]);
    for (bar, row) in figure.bars.iter().zip(summary::campaign::bars(figure)) {
        let (from, mean, to) =
            (column(units::approx_f64_i64(bar.min_ns)), column(bar.mean_ns), column(units::approx_f64_i64(bar.max_ns)));
        let picture: String = (0..DRAWN)
            .map(|at| match at {
                _ if at == mean => '|',
                _ if at < from || at > to => ' ',
                _ => '-',
            })
            .collect();
        let sd = known(row.sd.as_deref());
        table.row(vec![row.condition, row.runs, row.samples, row.min, row.mean, sd, row.max, picture]);
    }
    text.push_str(&table.render());
    text
}

pub(super) fn rehearsal(rehearsal: &Rehearsal, width: usize) -> String {
    let mut text = String::new();
    for shown in &rehearsal.shown {
        text.push_str(&wrap::paragraph(&format!("false: {shown}"), "  ", width));
    }
    let (alarms, most_expected) = (rehearsal.alarms, rehearsal.most_expected);
    let judged = match &rehearsal.cannot_show {
        _ if alarms > most_expected => format!("TOO MANY (up to {most_expected} are to be expected)"),
        Some(why) => format!("this says nothing, since {why}"),
        None => format!("as stated (up to {most_expected} are to be expected)"),
    };
    let line = format!(
        "{alarms} of {} campaigns of {} runs of one condition showed something, where each states a probability of at most {}: \
         {judged}.",
        rehearsal.campaigns, rehearsal.runs, rehearsal.stated
    );
    text + &wrap::paragraph(&line, "", width)
}
