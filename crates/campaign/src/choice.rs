//! Values that a campaign's file leaves to the user. `{cpus}` in a string is replaced by the value from `[value]` or
//! the command line; a string that is `"{#samples}"` becomes a number.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error as _};
use toml::{Table, Value};

/// The values that were chosen for a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Whether the values of `[short]` replace those of `[value]`: a short form demonstrates a campaign and concludes
    /// nothing.
    pub is_short: bool,
    /// Single values by name, which override both.
    pub values: BTreeMap<String, String>,
}

/// Why values cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// The file declares no such value.
    #[error("the campaign has no value '{name}': it has {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names that the file declares.
        known: String,
    },
    /// A string refers to a value that does not exist.
    #[error("'{text}' refers to a value that is neither in [value] nor given with --set")]
    Open {
        /// The string that refers to it.
        text: String,
    },
    /// A value is neither a string nor an integer.
    #[error("[{table}] {name} is neither a string nor a whole number")]
    Kind {
        /// `value` or `short`.
        table: &'static str,
        /// The name of the value.
        name: String,
    },
    /// A value that the user has to give.
    #[error("the campaign needs a value for '{name}': --set {name}=…")]
    Missing {
        /// The name of the value.
        name: String,
    },
    /// A value that has to be a number is not.
    #[error("the value '{name}' is '{value}', but has to be a whole number")]
    NoNumber {
        /// The name of the value.
        name: String,
        /// The text that was given.
        value: String,
    },
    /// The file has no `[short]` table.
    #[error("the campaign has no [short] form")]
    NoShort,
}

/// Marks a value in `[value]` that the user has to give.
const MISSING: &str = "?";

/// The values that a file declares, by name; empty if the text is not TOML.
#[must_use]
pub fn declared(text: &str) -> BTreeMap<String, String> {
    let table = text.parse::<Table>().unwrap_or_default();
    values(&table, "value").unwrap_or_default()
}

/// The file's table with all values filled in, without `[value]` and `[short]`; `None` if the file declares no values.
pub(crate) fn resolve(text: &str, choice: &Choice) -> Result<Option<Table>, ChoiceError> {
    let Ok(mut table) = text.parse::<Table>() else { return Ok(None) };
    let mut chosen = values(&table, "value")?;
    let short = values(&table, "short")?;
    let is_plain = chosen.is_empty() && !table.contains_key("short");
    if choice.is_short {
        if !table.contains_key("short") {
            return Err(ChoiceError::NoShort);
        }
        fill(&mut chosen, &short)?;
    }
    fill(&mut chosen, &choice.values)?;
    if is_plain {
        return Ok(None);
    }
    if let Some((name, _)) = chosen.iter().find(|(_, value)| *value == MISSING) {
        return Err(ChoiceError::Missing { name: name.clone() });
    }
    table.remove("value");
    table.remove("short");
    for value in table.iter_mut().map(|(_, value)| value) {
        replace(value, &chosen)?;
    }
    Ok(Some(table))
}

fn fill(chosen: &mut BTreeMap<String, String>, others: &BTreeMap<String, String>) -> Result<(), ChoiceError> {
    for (name, value) in others {
        let Some(known) = chosen.get_mut(name) else {
            let known = if chosen.is_empty() { "none".to_owned() } else { names(chosen) };
            return Err(ChoiceError::Unknown { name: name.clone(), known });
        };
        known.clone_from(value);
    }
    Ok(())
}

fn names(values: &BTreeMap<String, String>) -> String {
    values.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn values(table: &Table, name: &'static str) -> Result<BTreeMap<String, String>, ChoiceError> {
    let Some(Value::Table(inner)) = table.get(name) else { return Ok(BTreeMap::new()) };
    let text = |(key, value): (&String, &Value)| match value {
        Value::String(text) => Ok((key.clone(), text.clone())),
        Value::Integer(number) => Ok((key.clone(), number.to_string())),
        _ => Err(ChoiceError::Kind { table: name, name: key.clone() }),
    };
    inner.iter().map(text).collect()
}

fn replace(value: &mut Value, chosen: &BTreeMap<String, String>) -> Result<(), ChoiceError> {
    match value {
        Value::String(text) => {
            let number = text.strip_prefix("{#").and_then(|name| name.strip_suffix('}'));
            if let Some(name) = number {
                let chosen = chosen.get(name).ok_or_else(|| ChoiceError::Open { text: text.clone() })?;
                let number = chosen.trim().parse();
                *value = Value::Integer(
                    number.map_err(|_| ChoiceError::NoNumber { name: name.to_owned(), value: chosen.clone() })?,
                );
            } else if text.contains('{') {
                *text = filled_in(text, chosen).ok_or_else(|| ChoiceError::Open { text: text.clone() })?;
            }
            Ok(())
        }
        Value::Array(values) => values.iter_mut().try_for_each(|value| replace(value, chosen)),
        Value::Table(table) => table.iter_mut().try_for_each(|(_, value)| replace(value, chosen)),
        _ => Ok(()),
    }
}

fn filled_in(text: &str, chosen: &BTreeMap<String, String>) -> Option<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        filled.push_str(before);
        filled.push_str(chosen.get(name)?);
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

/// Reads a number, or a string that holds one because a value was filled in.
pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Plain(u32),
        Text(String),
    }
    match Number::deserialize(from).map_err(|_| D::Error::custom("it has to be a whole number from 0 to 4294967295"))? {
        Number::Plain(number) => Ok(number),
        Number::Text(text) => text
            .trim()
            .parse()
            .map_err(|_| D::Error::custom(format!("'{text}' is not a whole number from 0 to 4294967295"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = \"{cpus}\"\nb = [\"x\", \"{cpus}-{n}\"]\n[value]\ncpus = \"2-3\"\nn = 5\n[short]\nn = 1\n";

    fn resolved(choice: &Choice) -> Result<String, ChoiceError> {
        resolve(TEXT, choice).map(|table| table.unwrap_or_default().to_string())
    }

    #[test]
    fn numbers_are_filled_in_as_numbers() {
        let text = "a = \"{#n}\"\nb = \"{n}\"\n[value]\nn = 5\n";
        let with = |n: &str| Choice { values: BTreeMap::from([("n".to_owned(), n.to_owned())]), ..Choice::default() };
        assert_eq!(resolve(text, &with("7")).unwrap().unwrap().to_string(), "a = 7\nb = \"7\"\n");
        let error = resolve(text, &with("few")).unwrap_err().to_string();
        assert!(error.contains("'n' is 'few', but has to be a whole number"), "{error}");
    }

    #[test]
    fn values_are_filled_in_and_given_ones_override() {
        assert_eq!(resolved(&Choice::default()).unwrap(), "a = \"2-3\"\nb = [\"x\", \"2-3-5\"]\n");
        let short = Choice { is_short: true, ..Choice::default() };
        assert_eq!(resolved(&short).unwrap(), "a = \"2-3\"\nb = [\"x\", \"2-3-1\"]\n");
        let given = Choice { is_short: true, values: BTreeMap::from([("n".to_owned(), "7".to_owned())]) };
        assert_eq!(resolved(&given).unwrap(), "a = \"2-3\"\nb = [\"x\", \"2-3-7\"]\n");
        assert_eq!(declared(TEXT)["cpus"], "2-3");
    }

    #[test]
    fn missing_and_unknown_values_are_named() {
        let given = Choice { is_short: false, values: BTreeMap::from([("m".to_owned(), "7".to_owned())]) };
        assert_eq!(resolved(&given).unwrap_err().to_string(), "the campaign has no value 'm': it has cpus, n");
        let open = |text: &str| resolve(text, &Choice::default()).unwrap_err().to_string();
        assert!(open("a = \"{x}\"\n[value]\ny = 1\n").starts_with("'{x}' refers to a value"));
        assert!(open("a = \"{\"\n[value]\ny = 1\n").starts_with("'{' refers to a value"));
        assert!(open("[value]\ny = \"?\"\n").contains("needs a value for 'y'"));
        assert!(open("[value]\ny = []\n").contains("[value] y is neither"));
        let short = Choice { is_short: true, ..Choice::default() };
        assert_eq!(resolve("a = 1\n", &short), Err(ChoiceError::NoShort));
    }
}
