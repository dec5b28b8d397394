//! What an assessment says of causes: one clause, and what to change.

use record::{CauseTotal, Certainty, Explanation};
use units::format;

use crate::Change;

/// A cause with its name, as in a sentence.
fn words(cause: &CauseTotal) -> String {
    if cause.name.is_empty() {
        cause.class.words().to_owned()
    } else {
        format!("{}: {}", cause.class.words(), cause.name)
    }
}

fn share(cause: &CauseTotal, explanation: &Explanation) -> String {
    format!("{} of {}", format::count(cause.samples), format::count(explanation.explained))
}

/// The cause of the most of the worst wake-ups, and that of the very worst where it is another; `None` where nothing was
/// explained.
#[must_use]
pub fn clause(explanation: &Explanation, when: &str) -> Option<String> {
    let first = explanation.causes.first()?;
    let of_first = match first.certainty {
        Certainty::Unknown => "not known".to_owned(),
        certainty => format!("{} ({})", words(first), certainty.word()),
    };
    let mut text =
        format!("{when}, {} of the worst wake-ups that were looked at: {of_first}", share(first, explanation));
    if let Some(worst) = explanation.samples.first() {
        if (worst.class, &worst.name) != (first.class, &first.name) {
            let name = if worst.name.is_empty() { String::new() } else { format!(": {}", worst.name) };
            let of_worst = match worst.certainty {
                Certainty::Unknown => "not known".to_owned(),
                certainty => format!("{}{name} ({})", worst.class.words(), certainty.word()),
            };
            text.push_str(&format!(", the worst of {}: {of_worst}", format::latency(worst.latency_ns)));
        }
    }
    Some(text)
}

/// What to change against the cause of the most of the worst wake-ups; `None` where it is not known.
#[must_use]
pub fn change(explanation: &Explanation, when: &str) -> Option<Change> {
    let cause = explanation.causes.iter().find(|cause| cause.certainty != Certainty::Unknown)?;
    Some(Change {
        title: format!("Act on what made the worst late: {}", words(cause)),
        why: format!(
            "measured here: {when} it is the cause ({}) of {} of the worst wake-ups that were looked at, of up to {}",
            cause.certainty.word(),
            share(cause, explanation),
            format::latency(cause.worst_ns)
        ),
        how: vec![cause.remedy.clone()],
        finding: cause.finding.clone(),
    })
}

#[cfg(test)]
mod tests {
    use record::CauseClass;

    use super::*;

    fn cause(class: CauseClass, name: &str, certainty: Certainty, samples: u64) -> CauseTotal {
        CauseTotal {
            class,
            name: name.to_owned(),
            certainty,
            samples,
            worst_ns: 500_000,
            took_ns: 1,
            latencies: record::Histogram::new(),
            remedy: "move it".to_owned(),
            finding: Some("realtime-tasks-roam".to_owned()),
        }
    }

    #[test]
    fn an_unknown_cause_is_said_to_be_unknown_and_asks_for_no_change() {
        let mut explanation = Explanation {
            causes: vec![cause(CauseClass::Unknown, "", Certainty::Unknown, 5)],
            explained: 6,
            ..Explanation::default()
        };
        assert_eq!(
            clause(&explanation, "idle").unwrap(),
            "idle, 5 of 6 of the worst wake-ups that were looked at: not known"
        );
        assert_eq!(change(&explanation, "idle"), None);
        explanation.causes.push(cause(CauseClass::Thread, "hog (thread 5, fifo 99)", Certainty::Shown, 1));
        let change = change(&explanation, "idle").unwrap();
        assert!(
            change.title.ends_with("thread: hog (thread 5, fifo 99)") && change.why.contains("(shown) of 1 of 6"),
            "{change:?}"
        );
        assert_eq!(clause(&Explanation::default(), "idle"), None);
    }
}
