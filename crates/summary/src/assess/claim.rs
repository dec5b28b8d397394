//! Answers a claim about future latency from the run under load of an assessment.

use record::Record;

use crate::Assessment;
use analyse::tail::{Claim, ClaimAnswer, ClaimState, TailOptions, tail};

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
        self.lines.push(format!("Claim: {}", answer.sentence));
        self.claim = Some(answer);
    }
}

#[cfg(test)]
mod tests {
    use record::{Measurement, ReasonCode};

    use super::*;
    use crate::tests_support::record_of;
    use crate::{AssessmentInput, Part, assess};

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
            assessment.claim.unwrap().state
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
