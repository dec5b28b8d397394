//! What a pipeline asks of a comparison: one question of one side, with an answer that is an exit code.
//!
//! A gate that passes because it cannot see is no pass. So there are three answers: broken, where what was asked against is
//! shown; holds, where the runs could have shown it and did not; and cannot be told, which is neither. `--fail-on` asks
//! whether B is shown to be worse by more than a size, `--pass-on` whether it is shown not to be (non-inferiority, which is
//! the stricter question). Without a size `--fail-on worse` refuses to pass where B was seen to be over twice as bad: its
//! largest value of all or the median of its maxima, or its rate beyond the deadline by five periods and more. Equal groups
//! whose worst cases are bounded and come in most runs are not refused by that; some with heavy tails are (decision 0007
//! says how many), since so few runs do not show how far these reach.
//! The sizes are tested by taking A's values to be later by the size (Good, 2005): B is worse by more than 20 us where it is
//! worse than A with 20 us more. One gate is one test, one-sided, at the level.

use std::fmt;
use std::ops::Range;
use units::format::{difference, latency};

use record::{Measurement, Record, ValidityState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{approx_f64, format};

use super::decisive::{Maxima, Rates, median};
use super::document::Unit;
use super::exchange::{self, Dealt, Units};
use super::judge::{self, Cut};
use super::resolution::{self, Steps};
use super::table::{Quantity, Shift, Table};
use super::verdict::{level_text, p_text};
use super::{CompareError, CompareOptions, Group, clock_error, context, least};

/// What is held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GatePart {
    /// The worst case, or how often the deadline was exceeded where one is stated.
    WorstCase,
    /// Mean and quantiles up to p99.9.
    Body,
}

/// What is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateKind {
    /// It fails where B is shown to be worse.
    FailOnWorse,
    /// It passes only where B is shown not to be worse by the size.
    PassOnNotWorse,
}

/// The difference that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateSize {
    /// As a latency (ns), above 0.
    Ns(u64),
    /// As a part of A's value (per cent), above 0.
    Percent(f64),
}

/// A question that a pipeline asks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Whether worse is to be shown, or not worse.
    pub kind: GateKind,
    /// The part of the comparison that the question is about.
    pub part: GatePart,
    /// The difference that counts; absent for any at all, and in the body for one beyond the margin.
    pub size: Option<GateSize>,
}

/// The answer to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateAnswer {
    /// `--fail-on`: worse is not shown, nor was anything seen that speaks for it (by more than the size; without one, over
    /// twice A's). `--pass-on`: not worse is shown. Exit code 0.
    Holds,
    /// B is shown to be worse: exit code 1.
    Broken,
    /// These runs cannot decide: exit code 3.
    CannotTell,
}

/// The answer to a gate, with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// The question as on the command line: `--fail-on worse:20us`.
    pub question: String,
    /// The question in its parts.
    pub gate: Gate,
    /// What the exit code follows from.
    pub answer: GateAnswer,
    /// What the answer is drawn from, with the numbers.
    pub reason: String,
    /// The one-sided probability that decides it; absent where no test was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The probability of a wrong `broken`, or of a wrong pass where the pass is what has to be shown.
    pub level: f64,
    /// The least repetitions of each side with which this question can be answered at all.
    pub least_runs: u32,
}

impl fmt::Display for GateAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Broken => "broken",
            Self::CannotTell => "cannot be told",
        })
    }
}

impl fmt::Display for GateSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Without the space: as it is written on a command line.
            Self::Ns(ns) => f.write_str(&latency(*ns).replace(' ', "")),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            GateKind::FailOnWorse => "--fail-on worse",
            GateKind::PassOnNotWorse => "--pass-on not-worse",
        })?;
        if self.part == GatePart::Body {
            f.write_str("-body")?;
        }
        self.size.map_or(Ok(()), |size| write!(f, ":{size}"))
    }
}

/// Answers one question of a pipeline about two groups of runs.
///
/// # Errors
/// The same errors as [`super::compare`].
pub fn gate(a: &Group<'_>, b: &Group<'_>, options: &CompareOptions, gate: &Gate) -> Result<GateResult, CompareError> {
    let measurement = super::common_measurement(a, b)?;
    let latency = super::latency_of(measurement, &[a, b])?;
    let steps = Steps::of([&a.runs, &b.runs], latency);
    let on_grid = [a, b].map(|group| steps.alike(&group.runs, latency));
    let [a, b] = [(a, &on_grid[0]), (b, &on_grid[1])]
        .map(|(group, runs)| Group { name: group.name.clone(), runs: runs.iter().map(AsRef::as_ref).collect() });
    let (a, b) = (&a, &b);
    let ask = |a: &Group<'_>, b: &Group<'_>| {
        let cut = Cut::new(a, b, latency, super::deadline_of(a, b, options, measurement));
        Asked { a, b, options, gate: *gate, measurement, latency, cut: &cut, step_ns: steps.limit_ns() }.answer()
    };
    let answered = against_clocks(ask(a, b), [a, b], latency, ask);
    let (answer, p, reason) = against_steps(answered, [a, b], latency, steps, gate, ask);
    Ok(GateResult {
        question: gate.to_string(),
        gate: *gate,
        answer,
        reason,
        p,
        level: options.level,
        least_runs: least::least_runs_for_gate(gate.kind, gate.part, options.level, measurement),
    })
}

type Answered = (GateAnswer, Option<f64>, String);

/// An answer stands only if it is the same however the errors of the nodes' clocks went, which a record states for delays between
/// nodes: for "worse" if B's delays were as short as they can have been and A's as long, for a pass the other way round.
fn against_clocks(
    answered: Answered,
    groups: [&Group<'_>; 2],
    latency: &str,
    ask: impl Fn(&Group<'_>, &Group<'_>) -> Answered,
) -> Answered {
    let errors_ns = groups.map(|group| clock_error::error_ns(&group.runs, latency));
    let direction = match answered.0 {
        GateAnswer::Broken => 1,
        GateAnswer::Holds => -1,
        GateAnswer::CannotTell => return answered,
    };
    if errors_ns.iter().sum::<f64>() <= 0.0 {
        return answered;
    }
    let against = clock_error::Against::claim(direction, groups, latency);
    let [a, b] = against.groups();
    if ask(&a, &b).0 == answered.0 {
        return answered;
    }
    let [of_a, of_b] = errors_ns.map(|ns| format::latency(units::round_u64(ns)));
    let reason = format!(
        "the clocks of the nodes decide this, whose error is {of_a} for A's delays and {of_b} for B's on average: with them against          it the answer would be another. What was seen: {}",
        answered.2
    );
    (GateAnswer::CannotTell, answered.1, reason)
}

/// An answer stands only if the steps that the sources counted in leave no other: "worse" if A's samples were a step later, and
/// "not worse by a size" if B's were.
fn against_steps(
    answered: Answered,
    groups: [&Group<'_>; 2],
    latency: &str,
    steps: Steps,
    gate: &Gate,
    ask: impl Fn(&Group<'_>, &Group<'_>) -> Answered,
) -> Answered {
    let step_ns = steps.common_ns;
    let step = format::latency(step_ns);
    if step_ns <= 1 || answered.0 == GateAnswer::CannotTell {
        return answered;
    }
    if matches!(gate.size, Some(GateSize::Ns(ns)) if ns < step_ns) {
        let reason =
            format!("the sources know their samples to {step}, and a size below that cannot be told: {}", answered.2);
        return (GateAnswer::CannotTell, answered.1, reason);
    }
    let direction = match (answered.0, gate.kind) {
        (GateAnswer::Broken, _) => 1,
        (_, GateKind::PassOnNotWorse) => -1,
        // That nothing is shown is true of what was counted, however coarse it is.
        _ => return answered,
    };
    let against = resolution::Against::claim(direction, groups, latency, steps);
    let [a, b] = against.groups();
    if ask(&a, &b).0 == answered.0 {
        return answered;
    }
    let reason = format!(
        "the sources know their samples to {step}, and with that against it the answer would be another. What was seen: {}",
        answered.2
    );
    (GateAnswer::CannotTell, answered.1, reason)
}

fn cannot_tell(reason: String) -> Answered {
    (GateAnswer::CannotTell, None, reason)
}

/// One question with all that its answer is drawn from.
struct Asked<'a> {
    a: &'a Group<'a>,
    b: &'a Group<'a>,
    options: &'a CompareOptions,
    gate: Gate,
    measurement: Measurement,
    latency: &'a str,
    cut: &'a Cut,
    /// The step that samples are known to (ns); 0 where that is a nanosecond.
    step_ns: f64,
}

/// What shows more where all of each run counts.
const MORE: &str = "take more repetitions";

/// The values of both sides, and what was seen of them.
struct GateEvidence {
    /// By how much B is worse, in the unit of the size; positive is worse.
    excess: f64,
    /// The same of the largest of all, or where there is none of the sum.
    largest_excess: f64,
    /// Why B does not pass without a size though nothing is shown: far more was seen of it than of A. Never of the body,
    /// which has its margin.
    far_worse: Option<String>,
    /// What would show more.
    remedy: &'static str,
    text: String,
}

impl Asked<'_> {
    fn answer(&self) -> Answered {
        let runs = || self.a.runs.iter().chain(&self.b.runs).copied();
        let is_unusable = |run: &&Record| run.validity.state() == ValidityState::Invalid;
        let unusable = runs().filter(is_unusable).count();
        if unusable > 0 {
            return cannot_tell(format!("{unusable} of {} runs do not mean what was asked", runs().count()));
        }
        // Noise without a gap is a CPU that lost nothing.
        let is_quiet = self.measurement.kind().sampling.is_quiet_without_samples();
        if !is_quiet && runs().any(|run| super::samples_of(run, self.latency) == 0) {
            return cannot_tell("a run holds no sample".to_owned());
        }
        if let Some(why) = context::different_loads(&self.a.runs, &self.b.runs) {
            return cannot_tell(why);
        }
        let mut sides = [self.a, self.b].into_iter();
        if sides.any(|side| clock_error::error_ns(&side.runs, self.latency).is_infinite()) {
            return cannot_tell(
                "nothing is known of the error of the nodes' clocks, which alone could make any difference".to_owned(),
            );
        }
        let pieces = self.cut.pieces();
        let groups = self.cut.run_groups();
        let units = [groups[0].len(), groups[1].len()];
        let is_single = self.cut.unit == Unit::Block;
        let (kind, part) = (self.gate.kind, self.gate.part);
        let least = least::least_runs_for_gate(kind, part, self.options.level, self.measurement);
        let few = if is_single {
            Some(format!(
                "one run on each side cannot show how much repetitions of one setting differ; take {least} repetitions of \
                 each"
            ))
        } else {
            (!least::can_see(kind, part, units, self.options.level, self.measurement)).then(|| {
                format!(
                    "{} and {} runs are too few to show anything of this at level {}; take at least {least} of each",
                    units[0],
                    units[1],
                    level_text(self.options.level)
                )
            })
        };
        let answered = match self.gate.part {
            GatePart::Body => self.body(&groups, &pieces, few.is_some()),
            GatePart::WorstCase => self.worst_case(&groups, &pieces),
        };
        match few {
            // What differs in every run is shown also where a row that differs alone would not be; never by single runs.
            Some(_) if answered.0 == GateAnswer::Broken && !is_single => answered,
            Some(few) => cannot_tell(format!("{few}. What was seen: {}", answered.2)),
            None => answered,
        }
    }

    /// A rate is no time: a size that is one asks for the worst case also where a deadline is stated.
    fn worst_case(&self, groups: &[Vec<Range<usize>>; 2], pieces: &[&super::pieces::Piece]) -> Answered {
        let deadline_ns = super::deadline_of(self.a, self.b, self.options, self.measurement);
        if let Some(deadline_ns) = deadline_ns.filter(|_| !matches!(self.gate.size, Some(GateSize::Ns(_)))) {
            let are_missed_counted = super::are_missed_counted(&[self.a, self.b], self.latency);
            return self.rate(&Rates::new(
                deadline_ns,
                groups,
                pieces,
                Unit::Run,
                self.measurement,
                are_missed_counted,
            ));
        }
        // One run on each side is one maximum each, and not those of its pieces.
        let maxima = Maxima::new(groups, pieces, Unit::Run, self.measurement);
        if let Some(problem) = &maxima.problem {
            return cannot_tell(format!("the worst cases were not compared: {problem}"));
        }
        let [a, b] = [median(&maxima.maxima_ns[0]), median(&maxima.maxima_ns[1])];
        let shift = self.shift();
        let later = |ns: u64| units::round_u64(shift.apply(approx_f64(ns)));
        let values: Vec<u64> =
            maxima.maxima_ns[0].iter().map(|&ns| later(ns)).chain(maxima.maxima_ns[1].iter().copied()).collect();
        let [a_largest, b_largest] = maxima.largest_ns.map(approx_f64);
        let what = if self.cut.unit == Unit::Block { "worst case" } else { "median of maxima" };
        let mut text = format!("{what} {} of A, {} of B ({})", latency(a), latency(b), difference(b - a));
        if self.cut.unit == Unit::Run {
            text += &format!(", largest of all {} and {}", latency(a_largest), latency(b_largest));
        }
        if let Some(part_ns) = maxima.part_ns {
            let part = format::span(part_ns);
            text += &format!(", maxima of the first {part} of each run");
        }
        let (excess, largest_excess) = (b - shift.apply(a), b_largest - shift.apply(a_largest));
        let seen = GateEvidence { excess, largest_excess, far_worse: maxima.far_worse(), remedy: MORE, text };
        let contradiction = maxima.contradiction(1);
        self.judge_ranks(&values, maxima.maxima_ns[0].len(), &seen, contradiction, "worst case")
    }

    fn rate(&self, rates: &Rates) -> Answered {
        if let Some(problem) = &rates.problem {
            return cannot_tell(format!("the rates beyond the deadline were not compared: {problem}"));
        }
        let factor = match self.shift() {
            Shift::Times(factor) => factor,
            Shift::By(_) => 1.0,
        };
        let values = rates.ranked(factor);
        let deadline = latency(approx_f64(rates.deadline_ns));
        let text = format!("beyond {deadline}: {} of A, {} of B{}", rates.text(0), rates.text(1), rates.part_text());
        if self.gate.kind == GateKind::PassOnNotWorse && rates.whole_beyond == [0, 0] {
            return cannot_tell(format!(
                "{text}: neither side exceeded it, and a part of no rate is none; ask of the worst case by a time, \
                 not-worse:20us"
            ));
        }
        let excess = rates.rate(1) - rates.rate(0) * factor;
        let largest_excess = rates.whole_rate(1) - rates.whole_rate(0) * factor;
        let seen = GateEvidence { excess, largest_excess, far_worse: rates.far_worse(), remedy: rates.remedy(), text };
        self.judge_ranks(&values, rates.beyond[0].len(), &seen, rates.contradiction(1), "rate beyond the deadline")
    }

    /// By the ranks of one value for each run, A's already later by the size.
    fn judge_ranks(
        &self,
        values: &[u64],
        of_a: usize,
        seen: &GateEvidence,
        contradiction: Option<String>,
        what: &str,
    ) -> Answered {
        let table = Table::from_pieces(&[]);
        let units = Units { table: &table, of_a, all: values.len(), decisive: values };
        let deals = exchange::deals(self.options.resamples, self.options.level);
        let dealt = Dealt::deal(&units, &[], deals, !self.options.seed);
        let (above, below) = (dealt.p_above(&[0]), dealt.p_below(0));
        self.conclude(above, below, seen, contradiction, what)
    }

    fn conclude(
        &self,
        above: f64,
        below: f64,
        seen: &GateEvidence,
        contradiction: Option<String>,
        what: &str,
    ) -> Answered {
        let level = self.options.level;
        let by = self.by();
        let text = &seen.text;
        let p = |p: f64| format!("one-sided p {}, level {}", p_text(p), level_text(level));
        if above <= level {
            if let Some(contradiction) = contradiction {
                return (GateAnswer::CannotTell, Some(above), format!("{text}: {contradiction}"));
            }
            return (
                GateAnswer::Broken,
                Some(above),
                format!("B's {what} is shown to be worse{by}: {text} ({})", p(above)),
            );
        }
        match self.gate.kind {
            GateKind::FailOnWorse => {
                if self.gate.size.is_some() && (seen.excess > 0.0 || seen.largest_excess > 0.0) {
                    let reason = format!(
                        "B's {what} was worse{by} in what was seen, which these runs can neither show nor exclude: {text} ({}); \
                         {}",
                        p(above),
                        seen.remedy
                    );
                    return (GateAnswer::CannotTell, Some(above), reason);
                }
                // Ranks pass by a single run that is far worse than all others: that is no pass, however few runs it was.
                if let Some(far_worse) = seen.far_worse.as_ref().filter(|_| self.gate.size.is_none()) {
                    let reason = format!(
                        "B's {what} is not shown to be worse, but {far_worse}: {text} ({}); {}",
                        p(above),
                        seen.remedy
                    );
                    return (GateAnswer::CannotTell, Some(above), reason);
                }
                (
                    GateAnswer::Holds,
                    Some(above),
                    format!("B's {what} is not shown to be worse{by}: {text} ({})", p(above)),
                )
            }
            GateKind::PassOnNotWorse => {
                let is_shown = below <= level;
                if is_shown && seen.largest_excess <= 0.0 {
                    let reason = format!("B's {what} is shown not to be worse{by}: {text} ({})", p(below));
                    return (GateAnswer::Holds, Some(below), reason);
                }
                let why = if is_shown {
                    "the largest of all contradicts the ranks".to_owned()
                } else {
                    format!("{}; {}", p(below), seen.remedy)
                };
                let reason = format!("B's {what} is neither shown to be worse{by} nor shown not to be: {text} ({why})");
                (GateAnswer::CannotTell, Some(below), reason)
            }
        }
    }

    /// Every row of the body: worse in any of them, or not worse in each of them.
    fn body(&self, groups: &[Vec<Range<usize>>; 2], pieces: &[&super::pieces::Piece], is_few: bool) -> Answered {
        let whole = [self.a, self.b].map(|group| super::all_samples(group, self.latency));
        let rows = super::rows(&whole, self.cut, self.measurement);
        let rows: Vec<&super::Row> = rows.iter().filter(|row| row.is_body).collect();
        if rows.is_empty() {
            return cannot_tell("one side holds no sample".to_owned());
        }
        let quantities: Vec<Quantity> = rows.iter().map(|row| row.quantity).collect();
        let of_a = groups[0].len();
        // Without a size each row has the margin that a verdict gives it.
        let margin_ns = self.margin_ns();
        let shift_of = |row: &super::Row| match self.gate.size {
            None => Shift::By(judge::margin_of(row, margin_ns)),
            Some(_) => self.shift(),
        };
        let stolen = rows.iter().copied().find(|row| row.quantity == Quantity::InASecond);
        let of_stolen = stolen.map_or_else(|| self.shift(), shift_of);
        let table = Table::from_pieces(pieces).grouped(&groups.concat()).shifted(of_a, self.shift(), of_stolen);
        let units = Units { table: &table, of_a, all: of_a + groups[1].len(), decisive: &[] };
        let deals = exchange::deals(self.options.resamples, self.options.level);
        let dealt = Dealt::deal(&units, &quantities, deals, !self.options.seed);
        let excess = |row: &super::Row| row.b_ns - shift_of(row).apply(row.a_ns);
        // The most significant row: of those that are worse the one that is so most clearly.
        let each: Vec<usize> = (0..rows.len()).collect();
        let above = dealt.p_above(&each);
        let below = each.iter().map(|&row| dealt.p_below(row)).fold(0.0, f64::max);
        let most = rows.iter().copied().max_by(|left, right| excess(left).total_cmp(&excess(right)));
        let text = |row: &super::Row| {
            let own_ns = judge::margin_of(row, margin_ns);
            let has_own = self.gate.size.is_none() && own_ns > margin_ns;
            let margin = if has_own { format!(" (margin {})", latency(own_ns)) } else { String::new() };
            format!("{} {}{margin}", row.name, difference(row.b_ns - row.a_ns))
        };
        let texts: Vec<String> = rows.iter().copied().map(text).collect();
        let largest = most.map_or(0.0, excess);
        let seen = GateEvidence {
            excess: largest,
            largest_excess: largest,
            far_worse: None,
            remedy: MORE,
            text: texts.join(", "),
        };
        if is_few && above > self.options.level {
            return cannot_tell(seen.text);
        }
        self.conclude(above, below, &seen, None, "body")
    }

    /// By how much later A is taken to be.
    fn shift(&self) -> Shift {
        match self.gate.size {
            Some(GateSize::Ns(ns)) => Shift::By(approx_f64(ns)),
            Some(GateSize::Percent(percent)) => Shift::Times(1.0 + percent / 100.0),
            None if self.gate.part == GatePart::Body => Shift::By(self.margin_ns()),
            None => Shift::NONE,
        }
    }

    fn margin_ns(&self) -> f64 {
        let whole = super::all_samples(self.a, self.latency);
        judge::margin_ns(self.options, whole.quantile_ns(0.5)).max(self.step_ns)
    }

    /// ` by more than 20us`.
    fn by(&self) -> String {
        match self.gate.size {
            Some(GateSize::Ns(ns)) => format!(" by more than {}", latency(approx_f64(ns))),
            Some(GateSize::Percent(percent)) => format!(" by more than {percent} %"),
            None if self.gate.part == GatePart::Body => {
                format!(" by more than the margin of {}", latency(self.margin_ns()))
            }
            None => String::new(),
        }
    }
}
