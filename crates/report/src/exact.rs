//! Integers that a browser must not round: JSON numbers up to 2^53, decimal text above.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The largest integer that every JSON reader represents exactly (ECMA-262, `Number.MAX_SAFE_INTEGER`).
const MAX_SAFE: u64 = (1 << 53) - 1;

/// An integer: a JSON number if that is exact, otherwise its decimal digits as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exact {
    negative: bool,
    magnitude: u64,
}

impl Exact {
    /// The value; 0 for negative ones.
    #[must_use]
    pub(crate) const fn as_u64(self) -> u64 {
        if self.negative { 0 } else { self.magnitude }
    }

    /// The value as text of a latency, with its sign.
    #[must_use]
    pub(crate) fn latency(self) -> String {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}", units::format::latency(self.magnitude))
    }
}

impl From<u64> for Exact {
    fn from(value: u64) -> Self {
        Self { negative: false, magnitude: value }
    }
}

impl From<i64> for Exact {
    fn from(value: i64) -> Self {
        Self { negative: value < 0, magnitude: value.unsigned_abs() }
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.magnitude <= MAX_SAFE, self.negative) {
            (true, false) => serializer.serialize_u64(self.magnitude),
            (true, true) => serializer.serialize_i64(0_i64.saturating_sub_unsigned(self.magnitude)),
            (false, false) => serializer.collect_str(&self.magnitude),
            (false, true) => serializer.collect_str(&format_args!("-{}", self.magnitude)),
        }
    }
}

schemars::only_where_made! {
    impl schemars::JsonSchema for Exact {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Exact".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "description": "An integer: a JSON number if that is exact, otherwise its decimal digits as text",
                "type": ["integer", "string"]
            })
        }
    }
}

/// A time on `CLOCK_REALTIME` (ns since 1970-01-01 UTC), as decimal text because it always exceeds 2^53.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant(pub i64);

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

schemars::only_where_made! {
    impl schemars::JsonSchema for Instant {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Instant".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "description": "Nanoseconds since 1970-01-01 UTC, as decimal text",
                "type": "string"
            })
        }
    }
}

/// Replaces every integer above 2^53 by text, for JSON of unknown form.
pub(crate) fn safe_integers(value: &Value) -> Value {
    match value {
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(n), _) if n > MAX_SAFE => Value::String(n.to_string()),
            (None, Some(n)) if n.unsigned_abs() > MAX_SAFE => Value::String(n.to_string()),
            _ => value.clone(),
        },
        Value::Array(items) => Value::Array(items.iter().map(safe_integers).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, field)| (key.clone(), safe_integers(field))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_above_2_to_53_become_text() {
        let text = |value: Exact| serde_json::to_string(&value).unwrap();
        assert_eq!(text(Exact::from(MAX_SAFE)), "9007199254740991");
        assert_eq!(text(Exact::from(MAX_SAFE + 2)), "\"9007199254740993\"");
        assert_eq!(text(Exact::from(-7_i64)), "-7");
        assert_eq!(text(Exact::from(i64::MIN)), "\"-9223372036854775808\"");
    }

    #[test]
    fn foreign_json_keeps_its_meaning() {
        let value =
            serde_json::json!({ "a": [1, 9_007_199_254_740_993_u64], "b": -9_007_199_254_740_993_i64, "c": 1.5 });
        let expected = serde_json::json!({ "a": [1, "9007199254740993"], "b": "-9007199254740993", "c": 1.5 });
        assert_eq!(safe_integers(&value), expected);
    }
}
