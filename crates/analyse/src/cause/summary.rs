//! What an assessment says of causes: one clause.

use record::{CauseTotal, Certainty, Explanation};
use units::format;

/// A cause with its name, as in a sentence.
pub(crate) fn words(cause: &CauseTotal) -> String {
    cause.class.with_name(&cause.name)
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
        Certainty::Unknown => "unknown".to_owned(),
        certainty => format!("{} ({})", words(first), certainty.word()),
    };
    let mut text =
        format!("{when}, {} of the worst wake-ups that were looked at: {of_first}", share(first, explanation));
    if let Some(worst) = explanation.samples.first() {
        if (worst.class, &worst.name) != (first.class, &first.name) {
            let of_worst = match worst.certainty {
                Certainty::Unknown => "unknown".to_owned(),
                certainty => format!("{} ({})", worst.class.with_name(&worst.name), certainty.word()),
            };
            text.push_str(&format!(", the worst of {}: {of_worst}", format::latency(worst.latency_ns)));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use record::{CauseClass, Owner};

    use super::*;

    fn cause(class: CauseClass, name: &str, certainty: Certainty, samples: u64) -> CauseTotal {
        CauseTotal {
            class,
            name: name.to_owned(),
            certainty,
            samples,
            worst_ns: 500_000,
            took_ns: 1,
            beyond_deadline: None,
            owner: Owner::Other,
            latencies: record::Histogram::new(),
            remedy: "move it".to_owned(),
            finding: Some("realtime-tasks-roam".to_owned()),
        }
    }

    #[test]
    fn an_unknown_cause_is_said_to_be_unknown() {
        let mut explanation = Explanation {
            causes: vec![cause(CauseClass::Unknown, "", Certainty::Unknown, 5)],
            explained: 6,
            ..Explanation::default()
        };
        assert_eq!(
            clause(&explanation, "idle").unwrap(),
            "idle, 5 of 6 of the worst wake-ups that were looked at: unknown"
        );
        explanation.causes.insert(0, cause(CauseClass::Thread, "hog (fifo 99)", Certainty::Shown, 1));
        assert!(clause(&explanation, "idle").unwrap().ends_with("thread: hog (fifo 99) (shown)"));
        assert_eq!(clause(&Explanation::default(), "idle"), None);
    }
}
