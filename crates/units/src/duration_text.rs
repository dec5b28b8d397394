//! Spans of time in files that people write: `"90s"` (for `#[serde(with = "units::duration_text")]`).

use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

use crate::Ns;

/// Writes the exact value in the largest unit that divides it.
///
/// # Errors
/// The serializer's own.
pub fn serialize<S: Serializer>(value: &Ns, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Reads a number with its unit.
///
/// # Errors
/// Where the text is no span of time.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ns, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// The same where it may be absent (for `#[serde(default, with = "units::duration_text::optional")]`).
pub mod optional {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::Ns;

    /// Writes the exact value in the largest unit that divides it, or nothing.
    ///
    /// # Errors
    /// The serializer's own.
    pub fn serialize<S: Serializer>(value: &Option<Ns>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a number with its unit, or nothing.
    ///
    /// # Errors
    /// Where the text is no span of time.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Ns>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}
