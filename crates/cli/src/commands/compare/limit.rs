//! `--fail-on worse[:SIZE]`, `--fail-on worse-body[:SIZE]`, `--pass-on not-worse:SIZE`.

use analysis::compare::{Gate, GateKind, GatePart, GateSize};
use units::Ns;

/// A factor of ten thousand; of far more, sums of latencies would no longer be numbers.
const MOST_PERCENT: f64 = 1_000_000.0;

/// What `--fail-on` asks.
pub(super) fn fail_on(text: &str) -> Result<Gate, String> {
    let known = "worse, worse:5us, worse:10%, worse-body, worse-body:5us, worse-body:10%";
    let (word, size) = parted(text)?;
    let part = match word {
        "worse" => GatePart::WorstCase,
        "worse-body" => GatePart::Body,
        _ => {
            return Err(format!(
                "'{text}' is none of: {known}; a limit of its own for each run is --deadline of 'wakeup' and 'assess', which \
                 exit with 1 where it is broken"
            ));
        }
    };
    Ok(Gate { kind: GateKind::FailOnWorse, part, size })
}

/// What `--pass-on` asks: without a size nothing can be shown not to be worse.
pub(super) fn pass_on(text: &str) -> Result<Gate, String> {
    let known = "not-worse:20us, not-worse:10%, not-worse-body:2us, not-worse-body:10%";
    let (word, size) = parted(text)?;
    let part = match word {
        "not-worse" => GatePart::WorstCase,
        "not-worse-body" => GatePart::Body,
        _ => return Err(format!("'{text}' is none of: {known}")),
    };
    if size.is_none() {
        return Err(format!("'{text}' needs a size, since no two runs are equal: {known}"));
    }
    Ok(Gate { kind: GateKind::PassOnNotWorse, part, size })
}

fn parted(text: &str) -> Result<(&str, Option<GateSize>), String> {
    match text.split_once(':') {
        None => Ok((text, None)),
        Some((word, size)) => Ok((word, Some(self::size(size)?))),
    }
}

fn size(text: &str) -> Result<GateSize, String> {
    if let Some(percent) = text.strip_suffix('%') {
        let percent: f64 = percent.trim().parse().map_err(|_| format!("'{text}' is no percentage: write 10%"))?;
        return if percent > 0.0 && percent <= MOST_PERCENT {
            Ok(GateSize::Percent(percent))
        } else {
            Err(format!("{text} is not above 0 and at most {MOST_PERCENT}%"))
        };
    }
    let size: Ns = text.parse().map_err(|error: units::DurationError| error.to_string())?;
    if size > Ns::ZERO { Ok(GateSize::Ns(size.unsigned())) } else { Err(format!("{size} is not above 0")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read() {
        let worst = |kind, size| Ok(Gate { kind, part: GatePart::WorstCase, size });
        let body = |kind, size| Ok(Gate { kind, part: GatePart::Body, size });
        assert_eq!(fail_on("worse"), worst(GateKind::FailOnWorse, None));
        assert_eq!(fail_on("worse:5us"), worst(GateKind::FailOnWorse, Some(GateSize::Ns(5_000))));
        assert_eq!(fail_on("worse-body:2.5%"), body(GateKind::FailOnWorse, Some(GateSize::Percent(2.5))));
        assert_eq!(pass_on("not-worse:20us"), worst(GateKind::PassOnNotWorse, Some(GateSize::Ns(20_000))));
        assert_eq!(pass_on("not-worse-body:1us"), body(GateKind::PassOnNotWorse, Some(GateSize::Ns(1_000))));
        for bad in ["better", "worse:", "worse:5", "worse:-5us", "worse:0%", "worse:x%", "worse:nan%", "not-worse:5us"]
        {
            assert!(fail_on(bad).is_err(), "{bad}");
        }
        for bad in ["not-worse", "worse:5us", "not-worse:0us", "not-worse:1e300%"] {
            assert!(pass_on(bad).is_err(), "{bad}");
        }
    }
}
