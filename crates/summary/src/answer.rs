//! What is said of edges that were answered: what was counted here, what a witness saw, and what lies between the two.

use record::{AnswerRun, AnswerWitness, Record, WitnessSecond};
use serde::Serialize;
use units::format::{count, latency, span};

/// Seconds of a witness that are shown.
const SHOWN_SECONDS: usize = 8;

/// What is said of edges that were answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerSummary {
    /// What was counted, and what the witness saw, as sentences with their full stops.
    pub sentences: Vec<String>,
    /// Which of the witness's seconds are shown, as the words before their table; empty without any.
    pub shown: String,
    /// The witness's worst seconds, the worst first; empty without a witness.
    pub worst_seconds: Vec<SecondRow>,
}

/// What a witness said of a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecondRow {
    /// When, from the start of the run: "12 s"; of several frames that are taken together, when the last one came and how many they are.
    pub at: String,
    /// How many pulses were answered in it.
    pub samples: u64,
    /// The shortest (ns).
    pub min_ns: Option<u64>,
    /// The mean (ns).
    pub mean_ns: Option<u64>,
    /// Overruns: with any the longest is a lower bound.
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
        return Some(AnswerSummary { sentences, shown: String::new(), worst_seconds: Vec::new() });
    };
    sentences.extend(seen(witness));
    sentences.extend(between(record, witness));
    let mut worst: Vec<&WitnessSecond> = witness.seconds.iter().collect();
    worst.sort_by_key(|second| std::cmp::Reverse((second.overruns > 0, second.max_ns)));
    let worst_seconds: Vec<SecondRow> =
        worst.into_iter().take(SHOWN_SECONDS).map(|second| row(second, witness)).collect();
    Some(AnswerSummary { sentences, shown: shown(witness, worst_seconds.len()), worst_seconds })
}

/// Which of a witness's frames are shown.
fn shown(witness: &AnswerWitness, rows: usize) -> String {
    let (frames, groups) = (witness.frames(), witness.seconds.len());
    match (rows, frames) {
        (0, _) => String::new(),
        (_, 1) => "The only frame of the witness:".to_owned(),
        _ if usize::try_from(frames).is_ok_and(|frames| frames > groups) => format!(
            "The worst {rows} of {groups} rows, in which {} frames of the witness are taken together:",
            count(frames)
        ),
        _ if rows == groups => format!("The {} frames of the witness, the worst first:", count(frames)),
        _ => format!("The worst {rows} of {} frames of the witness:", count(frames)),
    }
}

/// "1 answer", "1 200 answers".
fn count_of(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { more })
}

fn counted(run: &AnswerRun) -> String {
    let warm_up = match run.warm_up {
        0 => String::new(),
        1 => "; the first one warmed the thread up and is in no latency".to_owned(),
        warm_up => format!("; the first {} warmed the thread up and are in no latency", count(warm_up)),
    };
    let overflowed = match run.overflowed {
        0 => String::new(),
        1 => "; 1 more found no room in the kernel and was not answered".to_owned(),
        edges => format!("; {} more found no room in the kernel and were not answered", count(edges)),
    };
    format!("{} answered{warm_up}{overflowed}.", count_of(run.edges, "edge was", "edges were"))
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
    sentences.push(match samples {
        0 => format!("The witness at {address} sent no frame with an answer."),
        samples => {
            format!("The witness at {address} saw {} in its frames{range}.", count_of(*samples, "answer", "answers"))
        }
    });
    sentences.extend(overran(witness));
    if witness.left_over_frames > 0 {
        let frames = count_of(witness.left_over_frames, "frame that it sent first is", "frames that it sent first are");
        sentences.push(format!("{frames} of an earlier run, from its queue, and left out."));
    }
    if *in_histogram > 0 {
        let unsent = match unsent {
            0 => String::new(),
            unsent => {
                format!(", and {} more than that: of frames that it did not send, if it counts rightly", count(*unsent))
            }
        };
        sentences.push(format!(
            "Its histogram has {}: those of its frames, {} of what it takes for a warm-up{unsent}.",
            count_of(*in_histogram, "answer", "answers"),
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

/// What its overruns are, as far as that is known.
fn overran(witness: &AnswerWitness) -> Option<String> {
    let least = span(witness.overrun_ns);
    match witness.overruns {
        0 => None,
        overruns if !witness.has_given_all_up() => Some(format!(
            "It counted {}: answers that it gave up, or periods by which one came later than the next pulse was due.",
            count_of(overruns, "overrun", "overruns")
        )),
        1 => Some(format!("1 answer it gave up, at least {least} late: it is in neither mean nor shortest.")),
        more => Some(format!(
            "{} answers it gave up, each at least {least} late: they are in neither mean nor shortest.",
            count(more)
        )),
    }
}

/// What of the witness's mean is ours, and what is left. Its answers are some of ours, and which ones is not known: the mean of as
/// many of ours lies between that of the shortest and that of the longest.
fn between(record: &Record, witness: &AnswerWitness) -> Option<String> {
    let taken = |name: &str| record.series.iter().find(|series| series.name == name && series.taken() > 0);
    let mean_of = |name: &str| taken(name)?.histogram.mean_ns();
    let kind = record.measurement.kind();
    let whole = kind.compared?;
    let own = taken(whole)?;
    let spoiled = own.spoiled.samples;
    let own = &own.histogram;
    let part = |of: &record::Latency| Some(format!("{} {}", latency(units::round_i64(mean_of(of.name)?)), of.words));
    let parts: Option<Vec<String>> = kind.parts_of(whole).map(part).collect();
    let parts = parts?.join(", ");
    let by_witness_ns = witness.mean_ns()?;
    let said = latency(units::round_i64(by_witness_ns));
    if spoiled > 0 {
        return Some(format!(
            "What of its mean of {said} is ours cannot be told: {} of ours in no latency, since something spoiled their time, and the \
             witness has them among its own.",
            count_of(spoiled, "answer is", "answers are")
        ));
    }
    let Some((least_ns, most_ns)) = mean_of_some(own, witness.samples) else {
        return Some(format!(
            "What of its mean of {said} is ours cannot be told: it tells of {}, and here are {} ({parts}).",
            count_of(witness.samples, "answer", "answers"),
            count_of(own.count(), "latency", "latencies")
        ));
    };
    let cost_ns = units::approx_f64(witness.cost_ns.unwrap_or(0));
    let rest_ns = (by_witness_ns - cost_ns - most_ns, by_witness_ns - cost_ns - least_ns);
    let by_cost = match witness.cost_ns {
        Some(ns) => format!(", {} are the witness's own by its calibration", latency(signed(ns))),
        None => String::new(),
    };
    let of_ours = if witness.samples == own.count() {
        String::new()
    } else {
        format!(" over {} of our {} answers", count(witness.samples), count(own.count()))
    };
    let of_all = if of_ours.is_empty() { "" } else { " in the mean of all" };
    let what = if witness.cost_ns.is_some() { "" } else { ", and the witness's own cost (--witness-cost)" };
    Some(format!(
        "Of its mean of {said}{of_ours}, {} are ours ({parts}{of_all}){by_cost}, and {} are left: the interrupt's way to the kernel's \
         stamp, pins and wires of both ways, less what the driver takes after the edge{what}.",
        range((least_ns, most_ns)),
        range(rest_ns)
    ))
}

/// Between what the mean of some samples lies (ns), of which is known how many they are and not which; `None` if there are not as many.
fn mean_of_some(all: &record::Histogram, some: u64) -> Option<(f64, f64)> {
    let without = all.count().checked_sub(some).filter(|_| some > 0 && all.unplaced().is_none())?;
    // What is left out at most, and at least: the highest values, and the lowest ones.
    let sum = |bins: &mut dyn Iterator<Item = (u64, u64)>| {
        let mut left = without;
        bins.map_while(|(value_ns, count)| {
            let taken = count.min(left);
            left -= taken;
            (taken > 0).then(|| units::approx_f64(value_ns) * units::approx_f64(taken))
        })
        .sum::<f64>()
    };
    let most_ns = sum(&mut all.bins_from_highest().map(|bin| (bin.to_ns, bin.count)));
    let least_ns = sum(&mut all.bins().map(|bin| (bin.from_ns, bin.count)));
    let (whole_ns, some) = (units::approx_f64(all.sum_ns()), units::approx_f64(some));
    Some(((whole_ns - most_ns).max(0.0) / some, (whole_ns - least_ns) / some))
}

/// "21.0 us", "20.9 us to 21.2 us".
fn range((least_ns, most_ns): (f64, f64)) -> String {
    let [least, most] = [least_ns, most_ns].map(|ns| latency(units::round_i64(ns)));
    if least == most { least } else { format!("{least} to {most}") }
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
    let at = span(second.at_offset_ns);
    SecondRow {
        at: if second.frames > 1 { format!("{at} ({} frames)", second.frames) } else { at },
        samples: second.samples,
        min_ns: second.min_ns,
        mean_ns: second.sum_ns.checked_div(second.samples),
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

    /// Of 100 answers of ours the witness tells of 98: those of 60 and 70 us may be among them, or not.
    #[test]
    fn what_is_ours_of_a_mean_over_some_of_our_answers_lies_between_bounds() {
        let mut ours = vec![20_000; 98];
        ours.extend([60_000, 70_000]);
        let of = |samples: u64| {
            let record = samples::answers(&ours, |run| {
                let witness = run.witness.as_mut().unwrap();
                (witness.samples, witness.sum_ns) = (samples, 25_000 * samples);
            });
            summary(&record).unwrap().sentences.pop().unwrap()
        };
        // (2 090 - 130) / 98 = 20.0 and (2 090 - 40) / 98 = 20.9 us.
        let some = of(98);
        assert!(
            some.contains("Of its mean of 25.0 us over 98 of our 100 answers, 20.0 us to 20.9 us are ours"),
            "{some}"
        );
        assert!(some.contains("and 4.1 us to 5.0 us are left"), "{some}");
        let all = of(100);
        assert!(
            all.contains("Of its mean of 25.0 us, 20.9 us are ours") && all.contains("and 4.1 us are left"),
            "{all}"
        );
        let more = of(101);
        assert!(more.contains("cannot be told: it tells of 101 answers, and here are 100 latencies"), "{more}");
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

    /// An answer of 350 us at a period of 100 us is three overruns, is in its frame, and was not given up.
    #[test]
    fn overruns_that_may_be_periods_are_not_called_answers_that_were_given_up() {
        let text = |overruns, max_ns| {
            let said = said(|run| {
                let witness = run.witness.as_mut().unwrap();
                (witness.period_ns, witness.overrun_ns) = (100_000, 100_000);
                (witness.overruns, witness.max_ns) = (overruns, Some(max_ns));
            });
            said.sentences.join("\n")
        };
        let periods = text(3, 350_000);
        assert!(periods.contains("It counted 3 overruns: answers that it gave up, or periods"), "{periods}");
        assert!(!periods.contains("neither mean"), "{periods}");
        assert!(text(1, 90_000).contains("1 answer it gave up, at least 100 us late: it is in neither mean"));
    }

    #[test]
    fn a_maximum_that_is_a_lower_bound_is_called_so_in_tables() {
        let titles = |has_overrun: bool| {
            let mut record = samples::answers(&[20_000, 22_000], |_| ());
            if has_overrun {
                record.validity.add(record::ReasonCode::WitnessOverran, "1 answer");
            }
            let series = crate::run::series(&record);
            series
                .into_iter()
                .filter(|one| one.title.contains("lower bound"))
                .map(|one| one.name)
                .collect::<Vec<String>>()
        };
        assert_eq!(titles(true), ["edge_to_answer"]);
        assert!(titles(false).is_empty());
    }

    #[test]
    fn the_number_of_frames_is_right_where_they_are_taken_together() {
        let of = |seconds: u64| {
            said(|run| {
                let witness = run.witness.as_mut().unwrap();
                witness.seconds.clear();
                for second in 1..=seconds {
                    witness.add(WitnessSecond {
                        at_offset_ns: second * 1_000_000_000,
                        frames: 1,
                        samples: 1_000,
                        max_ns: Some(30_000),
                        ..WitnessSecond::default()
                    });
                }
            })
            .shown
        };
        assert_eq!(of(600), "The worst 8 of 600 frames of the witness:");
        assert_eq!(of(7), "The 7 frames of the witness, the worst first:");
        let many = of(2_000);
        assert!(many.contains("2\u{202f}000 frames of the witness are taken together"), "{many}");
    }

    #[test]
    fn what_is_ours_of_a_mean_that_has_spoiled_answers_too_cannot_be_told() {
        let mut record = samples::answers(&[20_000; 100], |_| ());
        record.series[0].spoiled.samples = 40;
        let text = summary(&record).unwrap().sentences.pop().unwrap();
        assert!(text.contains("cannot be told: 40 answers are of ours"), "{text}");
        assert!(!text.contains("are left"), "{text}");
    }

    #[test]
    fn one_is_one() {
        let said = said(|run| {
            (run.edges, run.warm_up, run.overflowed) = (1, 1, 1);
            let witness = run.witness.as_mut().unwrap();
            (witness.in_histogram, witness.samples, witness.left_over_frames) = (1, 1, 1);
        });
        let text = said.sentences.join("\n");
        assert!(
            text.starts_with(
                "1 edge was answered; the first one warmed the thread up and is in no latency; 1 more found no room in the kernel and \
                 was not answered."
            ),
            "{text}"
        );
        assert!(text.contains("saw 1 answer in its frames") && text.contains("Its histogram has 1 answer:"), "{text}");
        assert!(text.contains("1 frame that it sent first is of an earlier run"), "{text}");
    }

    /// What the file of a run has at every moment before its end.
    #[test]
    fn of_a_run_that_was_killed_it_is_said_what_is_known_and_not_that_there_was_no_witness() {
        let said = said(|run| {
            (run.edges, run.warm_up) = (50_016, 16);
            let witness = run.witness.as_mut().unwrap();
            (witness.samples, witness.in_histogram, witness.max_ns) = (0, 0, None);
            witness.seconds.clear();
            witness.lost = Some("the run was cut short before it was told to end".to_owned());
        });
        let text = said.sentences.join("\n");
        assert!(text.starts_with("50\u{202f}016 edges were answered"), "{text}");
        assert!(text.contains("The witness at 192.0.2.7:2306 sent no frame with an answer."), "{text}");
        assert!(text.contains("It says no more: the run was cut short") && !text.contains("No witness"), "{text}");
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
                "1\u{202f}000 of what it takes for a warm-up, and 20 more than that: of frames that it did not send, if it counts rightly."
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
        assert_eq!(all.worst_seconds.len(), SHOWN_SECONDS);
        assert_eq!(all.shown, "The worst 8 of 28 rows, in which 82 frames of the witness are taken together:");
        let first = &all.worst_seconds[0];
        assert_eq!((&*first.at, first.samples, first.mean_ns), ("29 s (3 frames)", 4, Some(25_000)));
        let silent = said(|run| {
            let witness = run.witness.as_mut().unwrap();
            witness.seconds =
                vec![WitnessSecond { at_offset_ns: 1_000_000_000, frames: 1, ..WitnessSecond::default() }];
        });
        let row = &silent.worst_seconds[0];
        assert_eq!((&*row.longest, row.mean_ns), ("-", None));
        assert_eq!(silent.shown, "The only frame of the witness:");
    }

    #[test]
    fn a_witness_that_was_lost_says_why() {
        let said = said(|run| run.witness.as_mut().unwrap().lost = Some("it closed the connection".to_owned()));
        assert!(said.sentences.contains(&"It says no more: it closed the connection.".to_owned()));
    }

    #[test]
    fn without_a_witness_it_is_said_what_is_not_seen() {
        let said = said(|run| (run.witness, run.overflowed) = (None, 3));
        assert!(said.shown.is_empty() && said.worst_seconds.is_empty());
        assert!(said.sentences[0].contains("3 more found no room") && said.sentences[1].contains("No witness"));
    }
}
