//! The worst case of a future time span, from what was seen of equally long ones, or from the fits.

use super::document::WorstBasis;
use super::judge::{Judgment, does_not_vary};
use super::prediction::{Expected, Prediction};
use super::refusal::{Refusal, RefusalCode};
use super::spans::{HorizonQuestion, worst_of_spans};

impl Judgment {
    /// The worst case of a future time span and its basis, or why there is no answer.
    pub(super) fn outlook(
        &self,
        prediction: Option<&Prediction>,
        horizon_ns: u64,
        level: f64,
    ) -> Result<(Expected, WorstBasis), Refusal> {
        let against_all = |refusal: &&Refusal| refusal.code.is_of_order() || refusal.code == RefusalCode::NoIntervals;
        if let Some(refusal) = self.refusals.iter().find(against_all) {
            return Err(refusal.clone());
        }
        let seen =
            |horizon_ns| worst_of_spans(&self.whole, HorizonQuestion { horizon_ns, alike_ns: self.alike_ns(), level });
        // For horizons shorter than a fitted block, the fit would describe the body, to which it was not fitted.
        let fitted_ns = self.fitted.block_ns;
        if horizon_ns <= fitted_ns {
            if let Some(expected) = seen(horizon_ns) {
                let is_part = horizon_ns < self.whole.block_ns;
                return Ok((expected, if is_part { WorstBasis::Interval } else { WorstBasis::Seen }));
            }
        }
        let by_fit = match prediction {
            Some(prediction) => self.expected(prediction, horizon_ns.max(fitted_ns), level),
            None => Err(self.refusals.first().cloned().unwrap_or_else(does_not_vary)),
        };
        match by_fit {
            Ok(expected) => {
                // The worst case of a longer span is never better than that of a shorter one that was seen.
                let least = seen(fitted_ns).map_or([0.0; 3], |seen| [seen.low, seen.typical, seen.high]);
                let expected = Expected {
                    low: expected.low.max(least[0]),
                    typical: expected.typical.max(least[1]),
                    high: expected.high.max(least[2]),
                    ..expected
                };
                Ok((expected, WorstBasis::Fit))
            }
            Err(refusal) => seen(horizon_ns).map(|expected| (expected, WorstBasis::Seen)).ok_or(refusal),
        }
    }
}
