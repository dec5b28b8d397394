//! Converts what nodes that act together have done to the view, and says what it comes to.

use pulse::sweep::{Answer, Claim, Conclusion, CycleConclusion, NeededLead, Phase, SweepVerdict};
use record::{Histogram, Record};
use summary::published::{OSIE_SOURCE, PAPER_SOURCE};
use summary::shift::{PartRow, ShiftFigures, ShiftPair, WitnessVerdict, counted, exactness, time, time_at_most};
use summary::sweep::of_cycle;
use summary::together::{NamedShift, NamedSweep, cost_columns, own_rows, shift_columns, shift_rows};
use units::format::span;

use crate::exact::Exact;
use crate::page::TogetherInput;
use crate::run;
use crate::view::{
    HeadlineState, HeadlineView, LeadRowView, ShiftFiguresView, ShiftPairView, ShiftPartView, ShiftTrackView,
    ShiftView, SweepCycleView, SweepRunView, SweepView, TogetherView,
};

pub(crate) fn view(input: &TogetherInput) -> TogetherView {
    let runs = &input.results.runs;
    TogetherView {
        shifts: input.shifts.iter().map(shift).collect(),
        sweeps: input.sweeps.iter().map(|sweep| swept(sweep, runs)).collect(),
        shift_rows: shift_rows(&input.shifts),
        own_rows: own_rows(runs, &input.sweeps),
        rows_source: OSIE_SOURCE.to_owned(),
        costs: cost_columns(runs),
        apart: shift_columns(&input.shifts),
        columns_source: PAPER_SOURCE.to_owned(),
    }
}

fn shift(NamedShift { name, shift }: &NamedShift) -> ShiftView {
    ShiftView {
        name: name.clone(),
        about: shift.about.clone(),
        verdict: shift.verdict,
        sentence: shift.sentence.clone(),
        contradictions: shift.contradictions.clone(),
        limit_ns: shift.limit_ns.map(Exact::from),
        lines: shift.lines.clone(),
        pairs: shift.pairs.iter().map(pair).collect(),
    }
}

fn ns(ps: i64) -> f64 {
    units::approx_f64_i64(ps) / 1_000.0
}

fn whole_ns(ps: i64) -> Exact {
    ps.saturating_add(500).div_euclid(1_000).into()
}

fn pair(pair: &ShiftPair) -> ShiftPairView {
    let part = |part: &PartRow| ShiftPartView {
        words: part.words.clone(),
        likely_ns: ns(part.likely_ps),
        lower_ns: ns(part.lower_ps),
        upper_ns: ns(part.upper_ps),
    };
    let begin_ps = pair.blocks.first().map_or(0, |block| block.from_ps);
    let figures = pair.figures.as_ref();
    let earlier = figures.map(|figures| &figures.earlier).filter(|earlier| !earlier.is_empty());
    ShiftPairView {
        first: pair.first.clone(),
        second: pair.second.clone(),
        paired: pair.paired.clone(),
        counted: counted(pair).to_owned(),
        not_matched: pair.not_matched.clone(),
        figures: figures.map(|figures| figures_of(figures, begin_ps)),
        parts: pair.parts.iter().map(part).collect(),
        not_split: pair.not_split.clone(),
        over_time: track(pair, begin_ps),
        from_zero: run::histogram(figures.map_or(&Histogram::new(), |figures| &figures.later), 1),
        below_zero: earlier.map(|earlier| run::histogram(earlier, 1)),
    }
}

fn figures_of(figures: &ShiftFigures, begin_ps: i64) -> ShiftFiguresView {
    ShiftFiguresView {
        orders: figures.orders.into(),
        min_ns: ns(figures.min_ps),
        median_ns: figures.p50_ns.map(Exact::from),
        mean_ns: figures.mean_ps / 1_000.0,
        max_ns: ns(figures.max_ps),
        sd_ns: figures.deviation_ps / 1_000.0,
        within_p99_ns: figures.within_p99_ns.map(Exact::from),
        worst_ns: ns(figures.worst_ps),
        worst_order: figures.worst_order.into(),
        worst_at_ns: whole_ns(figures.worst_at_ps.saturating_sub(begin_ps)),
        error_ns: figures.error_ps.map(ns),
        exactness: exactness(figures),
        span_ns: whole_ns(figures.span_ps),
    }
}

fn track(pair: &ShiftPair, begin_ps: i64) -> ShiftTrackView {
    let blocks = &pair.blocks;
    ShiftTrackView {
        length_ns: pair.figures.as_ref().map_or(0.0, |figures| ns(figures.block_ps)),
        from_ns: blocks.iter().map(|block| whole_ns(block.from_ps.saturating_sub(begin_ps))).collect(),
        orders: blocks.iter().map(|block| block.orders.into()).collect(),
        min_ns: blocks.iter().map(|block| ns(block.min_ps)).collect(),
        mean_ns: blocks.iter().map(|block| block.mean_ps / 1_000.0).collect(),
        max_ns: blocks.iter().map(|block| ns(block.max_ps)).collect(),
    }
}

fn swept(NamedSweep { name, document }: &NamedSweep, runs: &[Record]) -> SweepView {
    let conclusion = &document.conclusion;
    let cycles = conclusion.cycles.iter().map(|cycle| {
        let of_cycle_runs = document.runs.iter().filter(|run| run.cycle_ns == cycle.cycle_ns);
        let shown = of_cycle_runs.filter_map(|run| {
            let place = runs.iter().position(|record| record.id == run.record)?;
            Some(SweepRunView {
                step: run.step,
                number: run.number,
                lead_ns: run.lead_ns.into(),
                run: u32::try_from(place).ok()?,
            })
        });
        let claim = match &cycle.answer {
            Answer::Holds(claim) => Some(claim),
            _ => None,
        };
        SweepCycleView {
            cycle_ns: cycle.cycle_ns.into(),
            word: word(&cycle.answer).to_owned(),
            sentence: of_cycle(cycle, conclusion.max_miss),
            lead_ns: claim.map(|claim| claim.lead_ns.into()),
            leads: leads(cycle, claim),
            runs: shown.collect(),
        }
    });
    SweepView { name: name.clone(), sentence: document.sentence.clone(), cycles: cycles.collect() }
}

const fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Holds(_) => "confirmed",
        Answer::Loses(_) => "loses orders",
        Answer::TooLate(_) => "needs more than the largest lead",
        Answer::Unsettled { .. } => "no worst case was found",
        Answer::Stopped { .. } => "not tried to the end",
        Answer::OutOfTime { .. } => "not tried for want of time",
    }
}

/// The lead that the orders of each run of a cycle needed: those that explored, then each attempt.
fn leads(cycle: &CycleConclusion, claim: Option<&Claim>) -> Vec<LeadRowView> {
    let row = |words: String, (lead_ns, orders, missed): (u64, u64, u64), needed: Option<NeededLead>| LeadRowView {
        words,
        confirmed: false,
        lead_ns: lead_ns.into(),
        orders: orders.into(),
        missed: missed.into(),
        p50_ns: needed.map(|needed| needed.p50_ns.into()),
        p99_ns: needed.map(|needed| needed.p99_ns.into()),
        p99_9_ns: needed.map(|needed| needed.p999_ns.into()),
        worst_ns: needed.map(|needed| needed.worst_ns.into()),
    };
    let explored = cycle.explored.iter().map(|one| {
        let phase = match one.phase {
            Phase::Longest => "largest lead",
            Phase::Alone => "no earlier order waits",
            Phase::Meeting => "orders meet acts",
            Phase::Apart => "half a cycle off",
        };
        let missed = one.lost.saturating_add(one.late);
        row(format!("explored, {phase}"), (one.lead_ns, one.orders, missed), one.needed)
    });
    let attempts = cycle.attempts.iter().map(|one| {
        let missed = one.lost.saturating_add(one.late);
        let confirmed = claim.filter(|claim| claim.lead_ns == one.lead_ns && missed == 0);
        let words = if confirmed.is_some() { "confirmed" } else { "attempt that failed" };
        let known = row(words.to_owned(), (one.lead_ns, one.orders, missed), confirmed.map(|claim| claim.needed));
        LeadRowView { confirmed: confirmed.is_some(), worst_ns: one.worst_ns.map(Exact::from), ..known }
    });
    explored.chain(attempts).collect()
}

/// The answer of the page: the worst of what witnesses, sweeps and the runs that belong to neither say; the others are lines below it.
pub(crate) fn headline(input: &TogetherInput) -> HeadlineView {
    let is_one = input.shifts.len() + input.sweeps.len() == 1;
    let named = |name: &str, sentence: &str| if is_one { sentence.to_owned() } else { format!("{name}: {sentence}") };
    let mut said: Vec<(HeadlineState, String, String)> = Vec::new();
    for NamedShift { name, shift } in &input.shifts {
        let worst = || shift.pairs.iter().filter_map(|pair| pair.figures.as_ref());
        // What is claimed is the bound, and not what was seen.
        let is_known = worst().all(|figures| figures.error_ps.is_some());
        let bound_ps = |figures: &ShiftFigures| {
            figures.worst_ps.unsigned_abs().saturating_add(figures.error_ps.unwrap_or(0).unsigned_abs())
        };
        let worst_ps = worst().map(bound_ps).max();
        // All figures are against the first node: two others may be farther apart.
        let first = shift.pairs.first().map_or("", |pair| &*pair.first);
        let limit_words = |limit_ns: i64| format!(" {} against {first}", span(limit_ns));
        let (state, word) = match (shift.verdict, shift.limit_ns, worst_ps) {
            (WitnessVerdict::Invalid, ..) => (HeadlineState::CannotTell, "Invalid".to_owned()),
            (WitnessVerdict::Broken, limit_ns, _) => {
                (HeadlineState::Broken, format!("Does not hold{}", limit_ns.map_or_else(String::new, limit_words)))
            }
            (WitnessVerdict::CannotTell, limit_ns, _) => {
                (HeadlineState::CannotTell, format!("Cannot tell{}", limit_ns.map_or_else(String::new, limit_words)))
            }
            (WitnessVerdict::Holds, Some(limit_ns), _) => {
                (HeadlineState::Holds, format!("Holds{}", limit_words(limit_ns)))
            }
            (WitnessVerdict::Holds, None, worst_ps) => {
                let in_words = |words: fn(i64) -> String| {
                    worst_ps.map_or_else(String::new, |ps| words(i64::try_from(ps).unwrap_or(i64::MAX)))
                };
                let word = if is_known {
                    format!("Within {} of {first}; no limit stated", in_words(time_at_most))
                } else {
                    format!("Up to {} from {first}, with an error that is not known", in_words(time))
                };
                (HeadlineState::NoDeadline, word)
            }
        };
        let sentence = shift.sentence.strip_prefix("Invalid: ").unwrap_or(&shift.sentence);
        said.push((state, word, named(name, sentence)));
    }
    for NamedSweep { name, document } in &input.sweeps {
        let (state, word) = of_sweep(&document.conclusion);
        said.push((state, word, named(name, &document.sentence)));
    }
    let others = of_other_runs(input);
    said.extend(others);
    said.sort_by_key(|(state, ..)| rank(*state));
    let mut said = said.into_iter();
    let (state, word, sentence) = said.next().unwrap_or_else(|| {
        (HeadlineState::Empty, "Nothing measured".to_owned(), "There is neither a run nor a witness.".to_owned())
    });
    HeadlineView {
        state,
        word,
        sentence,
        lines: said.map(|(_, word, sentence)| format!("{word}. {sentence}")).collect(),
        deadline_ns: None,
    }
}

/// What a sweep answers, in a few words.
fn of_sweep(conclusion: &Conclusion) -> (HeadlineState, String) {
    let confirmed = conclusion
        .shortest_cycle()
        .map(|claim| format!("{} ahead at a cycle of {}", span(claim.lead_ns), span(claim.cycle_ns)));
    match (conclusion.verdict(), confirmed) {
        (SweepVerdict::Holds, Some(words)) => (HeadlineState::Holds, format!("Confirmed: {words}")),
        (SweepVerdict::CannotTell, Some(words)) => {
            (HeadlineState::CannotTell, format!("Ended early. Confirmed until then: {words}"))
        }
        (SweepVerdict::Broken, _) => (HeadlineState::Broken, "No lead suffices".to_owned()),
        (SweepVerdict::Holds | SweepVerdict::CannotTell, None) => {
            (HeadlineState::CannotTell, "No lead was confirmed, and one may suffice".to_owned())
        }
    }
}

/// What the runs say that no sweep carried out, where they were asked for a limit.
fn of_other_runs(input: &TogetherInput) -> Option<(HeadlineState, String, String)> {
    let is_of_sweep = |record: &Record| {
        let mut runs = input.sweeps.iter().flat_map(|sweep| &sweep.document.runs);
        runs.any(|run| run.record == record.id)
    };
    let others: Vec<Record> = input.results.runs.iter().filter(|run| !is_of_sweep(run)).cloned().collect();
    if others.is_empty() {
        return None;
    }
    let headline = summary::headline(&summary::Measured { assessment: None, runs: &others });
    let is_judged = !matches!(headline.state, HeadlineState::NoDeadline | HeadlineState::Empty);
    is_judged.then(|| {
        // What a witness contradicts reads as no result, whatever the record says.
        let mut doubted = input.shifts.iter().filter(|named| named.shift.verdict == WitnessVerdict::Invalid);
        let is_doubted = doubted.any(|named| others.iter().any(|run| run.id == named.shift.run));
        if is_doubted && headline.state == HeadlineState::Holds {
            let word = "The nodes' own word, which the witness does not bear out".to_owned();
            return (HeadlineState::NoDeadline, word, format!("{}: {}", headline.word, headline.sentence));
        }
        let runs = if others.len() == 1 { "The run itself" } else { "The runs themselves" };
        (headline.state, headline.word, format!("{runs}: {}", headline.sentence))
    })
}

/// The most severe first: what is no result, then what does not hold. Else what the page is about, before its runs.
const fn rank(state: HeadlineState) -> u8 {
    match state {
        HeadlineState::CannotTell => 0,
        HeadlineState::Broken => 1,
        HeadlineState::Holds | HeadlineState::NoDeadline | HeadlineState::Empty => 2,
    }
}

#[cfg(test)]
mod tests;
