//! What is said of edges that were answered: what was counted here, what a witness saw, and what lies between the two.

use record::{AnswerRun, AnswerWitness, Record, WitnessSecond};
use serde::Serialize;
use units::format::{count, latency, span};

/// Seconds of a witness that are shown; the record has them all.
const SHOWN_SECONDS: usize = 8;

/// What is said of edges that were answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerSummary {
    /// What was counted, and what the witness saw, as sentences with their full stops.
    pub sentences: Vec<String>,
    /// The witness's worst seconds, the worst first; empty without a witness.
    pub worst_seconds: Vec<SecondRow>,
    /// How many seconds it has said something of, or groups of seconds where there were many.
    pub seconds: usize,
}

/// What a witness said of a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecondRow {
    /// When, from the start of the run: "12 s".
    pub at: String,
    /// How many pulses were answered in it.
    pub samples: u64,
    /// The shortest (ns).
    pub min_ns: Option<u64>,
    /// The mean (ns).
    pub mean_ns: Option<u64>,
    /// The longest (ns).
    pub max_ns: Option<u64>,
    /// Answers that were given up: the longest is a lower bound.
    pub overruns: u64,
    /// The longest in words: "59.2 us", "at least 1 ms".
    pub longest: String,
}

/// What is said of edges that were answered; `None` if the run is of another kind.
#[must_use]
pub fn summary(record: &Record) -> Option<AnswerSummary> {
    let run = record.answers()?;
    let mut sentences = vec![counted(run)];
    let Some(witness) = &run.witness else {
        sentences
            .push("No witness was asked: what lies before the kernel's stamp of an edge is in no latency.".to_owned());
        return Some(AnswerSummary { sentences, worst_seconds: Vec::new(), seconds: 0 });
    };
    sentences.extend(seen(witness));
    sentences.extend(between(record, witness));
    let mut worst: Vec<&WitnessSecond> = witness.seconds.iter().collect();
    worst.sort_by_key(|second| std::cmp::Reverse((second.overruns > 0, second.max_ns)));
    let worst_seconds = worst.into_iter().take(SHOWN_SECONDS).map(|second| row(second, witness)).collect();
    Some(AnswerSummary { sentences, worst_seconds, seconds: witness.seconds.len() })
}

fn counted(run: &AnswerRun) -> String {
    let warm_up = match run.warm_up {
        0 => String::new(),
        warm_up => format!("; the first {} warmed the thread up and are in no latency", count(warm_up)),
    };
    let overflowed = match run.overflowed {
        0 => String::new(),
        edges => format!("; {} more found no room in the kernel and were not answered", count(edges)),
    };
    format!("{} edges were answered{warm_up}{overflowed}.", count(run.edges))
}

/// What the witness saw, and which of its answers stand where.
fn seen(witness: &AnswerWitness) -> Vec<String> {
    let AnswerWitness { address, in_histogram, samples, warm_up, unsent, overruns, sessions, .. } = witness;
    let mut sentences = Vec::new();
    let range = match (witness.min_ns, witness.mean_ns(), witness.max_ns) {
        (Some(min_ns), Some(mean_ns), Some(max_ns)) => format!(
            ": {} to {}{} after the edge, {} in the mean",
            latency(signed(min_ns)),
            if *overruns > 0 { "at least " } else { "" },
            latency(signed(longest_ns(max_ns, *overruns, witness.overrun_ns))),
            latency(units::round_i64(mean_ns))
        ),
        _ => String::new(),
    };
    sentences.push(format!("The witness at {address} saw {} answers in its frames{range}.", count(*samples)));
    if *overruns > 0 {
        sentences.push(format!(
            "{} answers it gave up, each at least {} late: they are in neither mean nor shortest.",
            count(*overruns),
            span(witness.overrun_ns)
        ));
    }
    if *in_histogram > 0 {
        let unsent = match unsent {
            0 => String::new(),
            unsent => format!(", and {} of seconds whose frames it did not send", count(*unsent)),
        };
        sentences.push(format!(
            "Its histogram has {} answers: those of its frames, {} of what it takes for a warm-up{unsent}.",
            count(*in_histogram),
            count(*warm_up)
        ));
    }
    if let Some(why) = &witness.lost {
        sentences.push(format!("It says no more: {why}."));
    }
    if *sessions > 1 {
        sentences.push(format!(
            "It stopped measuring before it was told to, and was asked again: {} times in all.",
            count(*sessions)
        ));
    }
    sentences
}

/// What of the witness's mean is ours, and what is left.
fn between(record: &Record, witness: &AnswerWitness) -> Option<String> {
    let mean_of = |name: &str| {
        let series = record.series.iter().find(|series| series.name == name && series.taken() > 0)?;
        series.histogram.mean_ns()
    };
    let said = |ns: f64| latency(units::round_i64(ns));
    let kind = record.measurement.kind();
    let whole = kind.compared?;
    let whole_ns = mean_of(whole)?;
    let part = |latency: &record::Latency| Some(format!("{} {}", said(mean_of(latency.name)?), latency.words));
    let parts: Option<Vec<String>> = kind.parts_of(whole).map(part).collect();
    let by_witness_ns = witness.mean_ns()?;
    let rest_ns = by_witness_ns - whole_ns;
    let (own, rest_ns) = match witness.cost_ns {
        Some(cost_ns) => {
            let cost_ns = units::approx_f64(cost_ns);
            (format!(", {} are the witness's own by its calibration", said(cost_ns)), rest_ns - cost_ns)
        }
        None => (String::new(), rest_ns),
    };
    let what = if witness.cost_ns.is_some() { "" } else { ", and the witness's own cost (--witness-cost)" };
    Some(format!(
        "Of its mean of {}, {} are ours ({}){own}, and {} are left: the interrupt's way to the kernel's stamp, pins and wires of both \
         ways, less what the driver takes after the edge{what}.",
        said(by_witness_ns),
        said(whole_ns),
        parts?.join(", "),
        said(rest_ns)
    ))
}

fn row(second: &WitnessSecond, witness: &AnswerWitness) -> SecondRow {
    let longest = match (second.max_ns, second.overruns) {
        (None, 0) => "-".to_owned(),
        (max_ns, 0) => latency(signed(max_ns.unwrap_or(0))),
        (max_ns, overruns) => {
            let least_ns = longest_ns(max_ns.unwrap_or(0), overruns, witness.overrun_ns);
            format!("at least {}", latency(signed(least_ns)))
        }
    };
    SecondRow {
        at: span(second.at_offset_ns),
        samples: second.samples,
        min_ns: second.min_ns,
        mean_ns: second.sum_ns.checked_div(second.samples),
        max_ns: second.max_ns,
        overruns: second.overruns,
        longest,
    }
}

/// The longest that is known: with answers that were given up at least what these took.
fn longest_ns(max_ns: u64, overruns: u64, overrun_ns: u64) -> u64 {
    if overruns > 0 { max_ns.max(overrun_ns) } else { max_ns }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(change: impl FnOnce(&mut AnswerRun)) -> AnswerSummary {
        summary(&samples::answers(&[20_000, 22_000], change)).unwrap()
    }

    #[test]
    fn what_is_left_of_the_witness_s_mean_is_named() {
        // 30 us by the witness; 21 us here, of which 3 us are the write.
        let without = said(|_| ()).sentences.join("\n");
        assert!(
            without
                .contains("Of its mean of 30.0 us, 21.0 us are ours (18.0 us the kernel's event to the thread, 3.0 us"),
            "{without}"
        );
        assert!(without.contains("and 9.0 us are left") && without.contains("--witness-cost"), "{without}");
        let with = said(|run| run.witness.as_mut().unwrap().cost_ns = Some(3_200)).sentences.join("\n");
        assert!(with.contains("3.2 us are the witness's own") && with.contains("and 5.8 us are left"), "{with}");
        assert!(!with.contains("--witness-cost"));
    }

    #[test]
    fn a_second_with_an_answer_that_was_given_up_has_a_lower_bound_and_comes_first() {
        let said = said(|run| {
            let witness = run.witness.as_mut().unwrap();
            let second = witness.seconds[0];
            witness.add(WitnessSecond { at_offset_ns: 9_000_000_000, overruns: 2, max_ns: Some(29_000), ..second });
        });
        let first = &said.worst_seconds[0];
        assert_eq!((&*first.at, &*first.longest, first.overruns), ("9 s", "at least 1\u{202f}000 us", 2));
        let text = said.sentences.join("\n");
        assert!(
            text.contains("to at least 1\u{202f}000 us after the edge") && text.contains("2 answers it gave up"),
            "{text}"
        );
        assert!(!text.contains("times in all"));
    }

    #[test]
    fn what_is_in_no_frame_is_counted_apart_and_said() {
        let text = |change: fn(&mut AnswerRun)| said(change).sentences.join("\n");
        let plain = text(|_| ());
        assert!(
            plain.starts_with(
                "1\u{202f}002 edges were answered; the first 16 warmed the thread up and are in no latency."
            ),
            "{plain}"
        );
        assert!(
            plain.contains("Its histogram has 1\u{202f}002 answers: those of its frames, 1\u{202f}000 of what it takes for a warm-up."),
            "{plain}"
        );
        let unsent = text(|run| {
            let witness = run.witness.as_mut().unwrap();
            (witness.in_histogram, witness.unsent) = (1_022, 20);
        });
        assert!(
            unsent.contains(
                "1\u{202f}000 of what it takes for a warm-up, and 20 of seconds whose frames it did not send."
            ),
            "{unsent}"
        );
        let cold = text(|run| run.warm_up = 0);
        assert!(cold.starts_with("1\u{202f}002 edges were answered."), "{cold}");
    }

    #[test]
    fn a_session_that_ended_without_a_word_is_said() {
        let text = said(|run| run.witness.as_mut().unwrap().sessions = 2).sentences.join("\n");
        assert!(
            text.contains("stopped measuring before it was told to, and was asked again: 2 times in all."),
            "{text}"
        );
    }

    #[test]
    fn the_worst_seconds_are_shown_with_their_own_mean_and_one_without_an_answer_has_no_longest() {
        let all = said(|run| {
            let witness = run.witness.as_mut().unwrap();
            for second in 3..30 {
                witness.add(WitnessSecond {
                    at_offset_ns: second * 1_000_000_000,
                    frames: 3,
                    samples: 4,
                    max_ns: Some(50_000 + second),
                    min_ns: Some(10_000),
                    sum_ns: 100_000,
                    overruns: 0,
                });
            }
        });
        assert_eq!((all.worst_seconds.len(), all.seconds), (SHOWN_SECONDS, 28));
        let first = &all.worst_seconds[0];
        assert_eq!((&*first.at, first.samples, first.mean_ns), ("29 s", 4, Some(25_000)));
        let silent = said(|run| {
            let witness = run.witness.as_mut().unwrap();
            witness.seconds =
                vec![WitnessSecond { at_offset_ns: 1_000_000_000, frames: 1, ..WitnessSecond::default() }];
        });
        let row = &silent.worst_seconds[0];
        assert_eq!((&*row.longest, row.max_ns, row.mean_ns), ("-", None, None));
    }

    #[test]
    fn a_witness_that_was_lost_says_why() {
        let said = said(|run| run.witness.as_mut().unwrap().lost = Some("it closed the connection".to_owned()));
        assert!(said.sentences.contains(&"It says no more: it closed the connection.".to_owned()));
    }

    #[test]
    fn without_a_witness_it_is_said_what_is_not_seen() {
        let said = said(|run| (run.witness, run.overflowed) = (None, 3));
        assert_eq!(said.seconds, 0);
        assert!(said.sentences[0].contains("3 more found no room") && said.sentences[1].contains("No witness"));
    }
}
