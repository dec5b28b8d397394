//! Answers a claim about future latency from the run under load of an assessment.

use record::Record;

use crate::{Answer, Assessment};
use analysis::tail::{Claim, ClaimAnswer, ClaimState, TailOptions, tail};

/// Before the answer to a claim.
const CLAIM: &str = "Claim: ";

impl Assessment {
    /// Answers `claim` from the run under load, or gives the reason why there is no such run. Adds the answer to the lines.
    pub fn answer_claim(&mut self, claim: Claim, loaded: Result<&Record, &str>) {
        let options = TailOptions { claim: Some(claim), horizons_ns: vec![claim.horizon_ns], ..TailOptions::default() };
        let result = match loaded {
            Ok(record) => tail(&[record], &options).map_err(|error| error.to_string()),
            Err(why) => Err(format!("under load nothing was measured, because {why}")),
        };
        let answer = result.and_then(|tail| tail.claim.ok_or_else(|| "nothing was answered".to_owned()));
        let answer = answer.unwrap_or_else(|why| ClaimAnswer {
            claim,
            state: ClaimState::CannotBeTold,
            basis: None,
            exceeded: None,
            model_free_chance: None,
            fit_chance: None,
            more_ns: None,
            sentence: format!("{claim} cannot be told: {why}."),
        });
        self.lines.push(format!("{CLAIM}{}", answer.sentence));
        self.claim = Some(answer);
    }

    /// The answer to both questions, the deadline's and the claim's: broken where one is, and held where both are. (Of an exit
    /// code a claim that cannot be told outranks a broken deadline; people are told both.)
    #[must_use]
    pub fn overall(&self) -> Answer {
        match (self.answer, self.claim.as_ref().map(|claim| claim.state)) {
            (Answer::DoesNotHold, _) | (_, Some(ClaimState::Broken)) => Answer::DoesNotHold,
            (answer, None | Some(ClaimState::Shown)) => answer,
            (_, Some(ClaimState::NeedsMore | ClaimState::NotShown | ClaimState::CannotBeTold)) => Answer::CannotBeTold,
        }
    }

    /// What the claim makes of the conclusion, in a few words, where it is graver than what is said of the deadline.
    #[must_use]
    pub fn word_of_claim(&self) -> Option<&'static str> {
        match (self.answer, self.claim.as_ref()?.state) {
            (Answer::DoesNotHold, _) | (_, ClaimState::Shown) => None,
            (_, ClaimState::Broken) => Some("The claim is broken"),
            (Answer::CannotBeTold, _) => None,
            (Answer::Holds, ClaimState::NeedsMore | ClaimState::NotShown) => Some("The claim is not shown"),
            (Answer::Holds, ClaimState::CannotBeTold) => Some("The claim cannot be told"),
        }
    }

    /// The conclusion in words: where the claim decides, its answer before that to the deadline.
    #[must_use]
    pub fn conclusion(&self) -> String {
        match self.claim.as_ref().filter(|_| self.word_of_claim().is_some()) {
            Some(claim) => format!("{CLAIM}{} {}", claim.sentence, self.sentence),
            None => self.sentence.clone(),
        }
    }

    /// The lines under the conclusion, without what that has said.
    pub fn lines_below(&self) -> impl Iterator<Item = &String> {
        let is_said = self.word_of_claim().is_some();
        self.lines.iter().filter(move |line| !(is_said && line.starts_with(CLAIM)))
    }
}

#[cfg(test)]
mod tests {
    use record::{Measurement, ReasonCode};

    use super::*;
    use crate::{AssessmentInput, Part, assess};
    use samples::record_of;

    #[test]
    fn only_the_run_under_load_answers_a_claim() {
        let claim: Claim = "100us for 1 day at 99%".parse().unwrap();
        let (idle, mut loaded) = (record_of(Measurement::Wakeup, &[5_000]), record_of(Measurement::Wakeup, &[200_000]));
        let assessed = |loaded: Result<&Record, &str>| {
            let (idle, part) = (Part::Measured(&idle), Part::from_result(loaded));
            let input = AssessmentInput { deadline_ns: 1, idle, loaded: part, ..AssessmentInput::default() };
            let mut assessment = assess(&input);
            assessment.answer_claim(claim, loaded);
            assert!(assessment.lines.last().unwrap().starts_with("Claim: 100 us for 1 day at 99 %"));
            let claim = assessment.claim.as_ref().unwrap();
            // The deadline of 1 ns is broken, whatever becomes of the claim.
            assert_eq!((assessment.overall(), assessment.word_of_claim()), (Answer::DoesNotHold, None));
            // A deadline that held does not hide what became of the claim.
            let held = Assessment { answer: Answer::Holds, ..assessment.clone() };
            assert_ne!(held.overall(), Answer::Holds);
            assert!(held.word_of_claim().unwrap().starts_with("The claim "));
            assert!(held.conclusion().starts_with(&format!("Claim: {}", claim.sentence)), "{}", held.conclusion());
            assert!(held.lines_below().all(|line| !line.starts_with("Claim: ")));
            // Where the deadline cannot be told, what is broken is the claim, and not the deadline.
            let untold = Assessment { answer: Answer::CannotBeTold, ..assessment.clone() };
            let is_broken = claim.state == ClaimState::Broken;
            assert_eq!(untold.word_of_claim(), is_broken.then_some("The claim is broken"));
            let expected = if is_broken { Answer::DoesNotHold } else { Answer::CannotBeTold };
            assert_eq!(untold.overall(), expected);
            claim.state
        };
        assert_eq!(assessed(Err("stress-ng is not installed")), ClaimState::CannotBeTold);
        // One sample beyond the limit, without an interval, gives no rate.
        loaded.series[0].intervals.clear();
        assert_eq!(assessed(Ok(&loaded)), ClaimState::CannotBeTold);
        // Each interval lasts an hour and exceeds the limit.
        let hour_ns = 3_600_000_000_000;
        loaded.series[0].intervals = (0..200)
            .map(|hour| record::Interval {
                start_offset_ns: hour * hour_ns,
                length_ns: hour_ns,
                histogram: loaded.series[0].histogram.clone(),
                ..record::Interval::default()
            })
            .collect();
        assert_eq!(assessed(Ok(&loaded)), ClaimState::Broken);
        loaded.validity.add(ReasonCode::RtThrottled, "CPU 2");
        assert_eq!(assessed(Ok(&loaded)), ClaimState::CannotBeTold);
    }
}
