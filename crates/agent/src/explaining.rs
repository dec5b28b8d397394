//! Whether the causes of the worst wake-ups are sought: what the node's own file asks for, and what that costs on this machine.
//!
//! It is decided once a boot: what is measured with a recorder beside and what is measured without are two conditions, and a decision
//! that is made anew at each start would part a node's history by chance.

use std::path::Path;

use farm::monitor::{BootId, Explaining, ExplainingCost};
use record::{EvidenceSource, ExplainRequest, WakeupRequest};
use run::{CostOfSource, Machine, Stop};
use serde::{Deserialize, Serialize};

/// What the node's own file asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplainChoice {
    /// Where the kernel takes the programs or gives its events, and these cost little.
    #[default]
    Auto,
    /// By the best source that there is, whatever it costs.
    On,
    /// Never.
    Off,
}

impl ExplainChoice {
    /// The word of the file.
    const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// What was decided, as it is kept for the rest of the boot.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kept {
    boot: BootId,
    /// The request that it was decided for.
    asked: String,
    decided: Explaining,
}

/// Decides whether causes are sought in runs of this request; what was decided in this boot for the same request stands. `path` is
/// where it is kept.
pub(crate) fn decide(
    choice: ExplainChoice,
    request: &WakeupRequest,
    (path, boot): (&Path, &BootId),
    (machine, stop): (&Machine, &Stop),
) -> Explaining {
    if choice == ExplainChoice::Off {
        return not_sought(choice, "the node's own file says so".to_owned());
    }
    let asked = format!("{} {}", choice.word(), serde_json::to_string(request).unwrap_or_default());
    let kept = crate::state::read("decision on explaining", path).ok().flatten();
    let kept = kept.and_then(|text| serde_json::from_slice::<Kept>(&text).ok());
    if let Some(kept) = kept.filter(|kept| kept.boot == *boot && kept.asked == asked) {
        return kept.decided;
    }
    let with = WakeupRequest { explain: Some(explain_by(None)), ..request.clone() };
    let Some(cost) = least_of(|| run::cost_of_source(&with, machine, stop)) else {
        // Tried again with the next run.
        return not_sought(choice, "what it costs could not be measured".to_owned());
    };
    let decided = judge(choice, &cost);
    let kept = Kept { boot: boot.clone(), asked, decided: decided.clone() };
    if let Ok(text) = serde_json::to_vec(&kept) {
        // Without it the next start decides again.
        let _ = crate::state::replace_without_flush(path, &text);
    }
    decided
}

/// What a source costs by one trial, or by a second one where the first says that it is too much: each takes some hundred wake-ups,
/// and on a busy machine one of two alike may seem dear by chance.
fn least_of(mut trial: impl FnMut() -> Option<CostOfSource>) -> Option<CostOfSource> {
    let first = trial()?;
    if !first.is_dear {
        return Some(first);
    }
    Some(trial().filter(|second| !second.is_dear).unwrap_or(first))
}

/// The rule: with `auto` a source that can show a cause, and that costs no more than `punctual measure wakeup --explain` may.
fn judge(choice: ExplainChoice, of: &CostOfSource) -> Explaining {
    let cost = Some(ExplainingCost::from(&of.cost));
    let why_not = match (choice, of.source) {
        (ExplainChoice::Auto, EvidenceSource::Counters) => {
            let missing = of.missing.first().map_or(String::new(), |why| format!(": {why}"));
            format!("nothing but the kernel's counters is at hand, which show no cause{missing}")
        }
        (ExplainChoice::Auto, EvidenceSource::Programs) if of.is_dear => {
            "programs in the kernel cost too much here".to_owned()
        }
        (ExplainChoice::Auto, EvidenceSource::Events) if of.is_dear => {
            "the kernel's events cost too much here".to_owned()
        }
        _ => {
            return Explaining {
                choice: choice.word().to_owned(),
                source: Some(word_of(of.source)),
                cost,
                ..Explaining::default()
            };
        }
    };
    Explaining { cost: cost.filter(|_| of.source != EvidenceSource::Counters), ..not_sought(choice, why_not) }
}

fn not_sought(choice: ExplainChoice, mut why_not: String) -> Explaining {
    let end = (0..=why_not.len().min(300)).rev().find(|at| why_not.is_char_boundary(*at)).unwrap_or(0);
    why_not.truncate(end);
    Explaining { choice: choice.word().to_owned(), why_not, ..Explaining::default() }
}

/// What a run is asked for, by what was decided; `None` where causes are not sought.
pub(crate) fn request(decided: &Explaining) -> Option<ExplainRequest> {
    let sources = [EvidenceSource::Programs, EvidenceSource::Events, EvidenceSource::Counters];
    let source = sources.into_iter().find(|source| decided.source.as_deref() == Some(word_of(*source).as_str()))?;
    Some(explain_by(Some(source)))
}

/// The worst of each interval, and without the parts of all wake-ups: those cost something at each of them.
fn explain_by(source: Option<EvidenceSource>) -> ExplainRequest {
    ExplainRequest { source, each_interval: true, parts: false, ..ExplainRequest::default() }
}

/// A source as documents have it.
fn word_of(source: EvidenceSource) -> String {
    match serde_json::to_value(source) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: EvidenceSource, is_dear: bool) -> CostOfSource {
        let cost = record::ExplainingCost { median_without_ns: 8_000, median_with_ns: 8_200, ..Default::default() };
        CostOfSource { source, cost, is_dear, missing: vec!["programs need CAP_BPF".to_owned()] }
    }

    #[test]
    fn auto_takes_what_can_show_a_cause_and_costs_little_and_on_takes_what_there_is() {
        for (choice, source, is_dear, sought) in [
            (ExplainChoice::Auto, EvidenceSource::Programs, false, true),
            (ExplainChoice::Auto, EvidenceSource::Programs, true, false),
            (ExplainChoice::Auto, EvidenceSource::Events, false, true),
            (ExplainChoice::Auto, EvidenceSource::Events, true, false),
            (ExplainChoice::Auto, EvidenceSource::Counters, false, false),
            (ExplainChoice::On, EvidenceSource::Programs, true, true),
            (ExplainChoice::On, EvidenceSource::Counters, false, true),
        ] {
            let decided = judge(choice, &of(source, is_dear));
            let asked = request(&decided).and_then(|asked| asked.source);
            assert_eq!(asked, sought.then_some(source), "{choice:?} {source:?} {is_dear}");
            assert_eq!(decided.why_not.is_empty(), sought, "{decided:?}");
        }
        let words = judge(ExplainChoice::Auto, &of(EvidenceSource::Counters, false)).in_words();
        assert!(words.contains("not sought") && words.contains("CAP_BPF") && !words.contains("median"), "{words}");
        let dear = judge(ExplainChoice::Auto, &of(EvidenceSource::Events, true)).in_words();
        assert!(dear.contains("the kernel's events cost too much") && dear.contains("8.2 us with it"), "{dear}");
    }

    #[test]
    fn one_dear_trial_is_tried_once_more_and_two_are_believed() {
        for (trials, is_dear, tried) in [
            (vec![Some(false)], Some(false), 1),
            (vec![Some(true), Some(false)], Some(false), 2),
            (vec![Some(true), Some(true)], Some(true), 2),
            (vec![Some(true), None], Some(true), 2),
            (vec![None], None, 1),
        ] {
            let mut left = trials.into_iter();
            let mut count = 0;
            let found = least_of(|| {
                count += 1;
                left.next().unwrap().map(|is_dear| of(EvidenceSource::Programs, is_dear))
            });
            assert_eq!((found.map(|of| of.is_dear), count), (is_dear, tried));
        }
    }

    #[test]
    fn what_was_decided_in_this_boot_stands_until_another_request_or_boot() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("explaining.json");
        let (machine, stop) = (Machine::read(), Stop::new());
        // No trial comes about.
        stop.end_early();
        let wakeup = WakeupRequest::default();
        let decided = judge(ExplainChoice::Auto, &of(EvidenceSource::Programs, false));
        let decide = |choice, request: &WakeupRequest, boot: &str| {
            decide(choice, request, (&path, &BootId(boot.to_owned())), (&machine, &stop))
        };
        let kept = Kept {
            boot: BootId("b".to_owned()),
            asked: format!("auto {}", serde_json::to_string(&wakeup).unwrap()),
            decided: decided.clone(),
        };
        std::fs::write(&path, serde_json::to_vec(&kept).unwrap()).unwrap();
        assert_eq!(decide(ExplainChoice::Auto, &wakeup, "b"), decided);
        let off = decide(ExplainChoice::Off, &wakeup, "b");
        assert_eq!((request(&off), off.choice.as_str()), (None, "off"));
        for (choice, request, boot) in [
            (ExplainChoice::On, wakeup.clone(), "b"),
            (ExplainChoice::Auto, wakeup.clone(), "another"),
            (ExplainChoice::Auto, WakeupRequest { priority: 7, ..wakeup }, "b"),
        ] {
            let again = decide(choice, &request, boot);
            assert!(again.why_not.contains("could not be measured"), "{again:?}");
        }
    }
}
