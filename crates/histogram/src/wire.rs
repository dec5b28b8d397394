//! The JSON form of a histogram, and the checks when it is read.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer as SerdeDeserializer, Serialize, Serializer};

use crate::bin::{highest_of_bin, lowest_of_bin};
use crate::{Histogram, HistogramError, MAX_ENCODABLE_COUNT, MAX_ENCODABLE_NS, Unplaced};

/// The only encoding of bins that is written and read.
pub(super) const ENCODING: &str = "hdrhistogram-v2-deflate-base64";

/// The JSON form. The derived values (`mean_ns`, `sd_ns`, `quantiles_ns`) are written for people and ignored when read.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Histogram")]
struct Wire<'a> {
    /// Number of samples.
    count: u64,
    /// Exact smallest sample (ns); absent if there are no samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<u64>,
    /// Exact largest sample (ns); absent if there are no samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    /// Sum of all samples (ns).
    sum_ns: u64,
    /// Sum of the squares of all samples (ns²), as a decimal string because it can exceed 64 bits.
    sum_squares_ns2: Cow<'a, str>,
    /// Samples that are part of `count` and in no bin, because the source gave only their range; only in imported records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unplaced: Option<Unplaced>,
    /// Mean (ns); derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mean_ns: Option<f64>,
    /// Population standard deviation (ns); derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sd_ns: Option<f64>,
    /// Quantiles (ns) by their percentage (`p99_9`), if at least ten samples are above; the median always. Derived.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    quantiles_ns: std::collections::BTreeMap<String, u64>,
    /// How `bins` is encoded: `hdrhistogram-v2-deflate-base64`.
    encoding: Cow<'a, str>,
    /// The encoded bins; an empty string if there are no samples.
    bins: Cow<'a, str>,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tenth = |value: f64| (value * 10.0).round() / 10.0;
        Wire {
            count: self.count(),
            min_ns: self.min_ns(),
            max_ns: self.max_ns(),
            sum_ns: self.sum_ns,
            sum_squares_ns2: self.sum_squares_ns2.to_string().into(),
            unplaced: self.unplaced,
            mean_ns: self.mean_ns().map(tenth),
            sd_ns: self.sd_ns().map(tenth),
            quantiles_ns: self.quantiles_by_name(),
            encoding: ENCODING.into(),
            bins: if self.is_empty() { "".into() } else { self.encode().into() },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: SerdeDeserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        Self::try_from(wire).map_err(serde::de::Error::custom)
    }
}

impl TryFrom<Wire<'_>> for Histogram {
    type Error = HistogramError;

    fn try_from(wire: Wire<'_>) -> Result<Self, HistogramError> {
        if wire.encoding != ENCODING {
            return Err(HistogramError::Encoding(wire.encoding.into_owned()));
        }
        let contradiction = |text: String| Err(HistogramError::Contradiction(text));
        let sum_squares_ns2 = match wire.sum_squares_ns2.parse() {
            Ok(sum) => sum,
            Err(_) => return contradiction(format!("sum_squares_ns2 is '{}', not a number", wire.sum_squares_ns2)),
        };
        if wire.bins.is_empty() {
            if wire.count != 0 {
                return contradiction(format!("count is {} and there are no bins", wire.count));
            }
            return Ok(Self::new());
        }
        let bins = Self::decode_bins(&wire.bins)?;
        let counted = units::total(bins.iter().map(|(_, count)| *count));
        let unplaced = wire.unplaced.filter(|unplaced| unplaced.count > 0);
        let all = counted.saturating_add(unplaced.map_or(0, |unplaced| unplaced.count));
        if all > MAX_ENCODABLE_COUNT {
            return contradiction("the bins hold more than 2^63 samples".to_owned());
        }
        if all != wire.count {
            return contradiction(format!("count is {} and the bins hold {all}", wire.count));
        }
        let (Some(min_ns), Some(max_ns), Some(first), Some(last)) =
            (wire.min_ns, wire.max_ns, bins.first(), bins.last())
        else {
            return contradiction("samples without min_ns and max_ns".to_owned());
        };
        let bin_of = |value_ns: u64| lowest_of_bin(value_ns.min(MAX_ENCODABLE_NS));
        if bin_of(min_ns) != first.0 || bin_of(max_ns) != last.0 || min_ns > max_ns {
            let (low, high) = (first.0, highest_of_bin(last.0));
            return contradiction(format!(
                "min_ns {min_ns} and max_ns {max_ns} do not match the bins, {low} to {high}"
            ));
        }
        if let Some(Unplaced { from_ns, .. }) = unplaced.filter(|it| it.from_ns < min_ns || it.from_ns > max_ns) {
            return contradiction(format!("unplaced samples start at {from_ns}, outside of {min_ns} to {max_ns}"));
        }
        Ok(Self { bins, count: all, min_ns, max_ns, sum_ns: wire.sum_ns, sum_squares_ns2, unplaced })
    }
}

schemars::only_where_made! {
    impl JsonSchema for Histogram {
        fn schema_name() -> Cow<'static, str> {
            "Histogram".into()
        }

        fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
            let inner = Wire::json_schema(generator);
            let mut schema = schemars::json_schema!({ "description": "A log-linear histogram of nanoseconds that loses no sample" });
            for (key, value) in inner.as_object().into_iter().flatten() {
                if key != "description" {
                    schema.insert(key.clone(), value.clone());
                }
            }
            schema
        }
    }
}
