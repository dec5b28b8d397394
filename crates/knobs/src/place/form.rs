//! How the texts of places are written, and when two of them mean the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use super::Value;

/// How texts of a place are written; what is compared is what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it stands.
    Text,
    /// A decimal number.
    Integer,
    /// A decimal number that a driver may take as another one, which then counts as what was wanted.
    Rounded,
    /// A word; what follows it is a detail, and is not compared.
    FirstWord,
    /// A list of CPUs, `2-3`.
    CpuList,
    /// A mask of CPUs, `c`.
    CpuMask,
    /// Words of which one is chosen: read as `always [madvise] never`, written as that word.
    Chosen,
    /// A switch: read as `Y` or `N`, `1` or `0`, written as a number.
    Switch,
}

impl Form {
    /// The text that is written to have what a reading said: where these differ, as in a choice.
    #[must_use]
    pub fn written(self, read: &str) -> String {
        let text = read.trim();
        match self {
            Self::Chosen => {
                let chosen = text.split_ascii_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
                chosen.unwrap_or(text).to_owned()
            }
            Self::Switch => match text {
                "Y" | "y" => "1".to_owned(),
                "N" | "n" => "0".to_owned(),
                other => other.to_owned(),
            },
            _ => text.to_owned(),
        }
    }

    /// A value as it is shown to people: CPUs always as a list, `2-3`, also where the kernel's file holds a mask.
    #[must_use]
    pub fn shown(self, value: &Value) -> String {
        let cpus = match (self, value) {
            (Self::CpuMask, Value::Text(mask)) => CpuSet::from_mask(mask),
            (Self::CpuList, Value::Text(list)) => list.trim().parse::<CpuSet>().ok().filter(|cpus| !cpus.is_empty()),
            _ => None,
        };
        match cpus {
            Some(none) if none.is_empty() => "no CPU".to_owned(),
            Some(cpus) => cpus.to_string(),
            None => value.to_string(),
        }
    }

    /// Whether a change is made where `found` is read back: it is what was wanted, or what a driver made of that.
    #[must_use]
    pub fn takes(self, before: &Value, wanted: &Value, found: &Value) -> bool {
        let is_number = |value: &Value| matches!(value, Value::Text(text) if text.trim().parse::<i128>().is_ok());
        // One that leaves what stood there has refused.
        let is_rounded = self == Self::Rounded && is_number(found) && !self.same(found, before);
        self.same(found, wanted) || is_rounded
    }

    /// Whether two values mean the same.
    #[must_use]
    pub fn same(self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Text(a), Value::Text(b)) => self.same_text(a, b),
            (Value::Absent, Value::Absent) => true,
            _ => false,
        }
    }

    fn same_text(self, a: &str, b: &str) -> bool {
        // A text that is not of its form still equals itself.
        if a.trim() == b.trim() {
            return true;
        }
        match self {
            Self::Text => false,
            Self::FirstWord => {
                let first = |text: &str| text.split_ascii_whitespace().next().map(str::to_owned);
                first(a).is_some() && first(a) == first(b)
            }
            Self::Integer | Self::Rounded => a.trim().parse::<i128>().is_ok_and(|a| b.trim().parse() == Ok(a)),
            Self::CpuList => a.parse::<CpuSet>().is_ok_and(|a| b.parse() == Ok(a)),
            Self::CpuMask => CpuSet::from_mask(a).is_some_and(|a| CpuSet::from_mask(b) == Some(a)),
            Self::Chosen | Self::Switch => self.written(a) == self.written(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_rounds_counts_and_what_it_ignores_does_not() {
        let takes = |form: Form, before: &str, wanted: &str, found: &str| {
            form.takes(&Value::text(before), &Value::text(wanted), &Value::text(found))
        };
        assert!(takes(Form::Rounded, "50", "10", "10") && takes(Form::Rounded, "50", "10", "8"));
        assert!(!takes(Form::Rounded, "50", "10", "50") && !takes(Form::Rounded, "50", "10", "x"));
        assert!(!takes(Form::Integer, "50", "10", "8"));
    }

    #[test]
    fn cpus_are_shown_as_a_list_whatever_the_file_holds() {
        let check = |form: Form, text: &str, shown: &str| assert_eq!(form.shown(&Value::text(text)), shown);
        check(Form::CpuMask, "00000000,0000000c", "2-3");
        check(Form::CpuMask, "fff0fff", "0-11,16-27");
        check(Form::CpuMask, "0", "no CPU");
        check(Form::CpuMask, "off", "off");
        check(Form::CpuList, "2,3\n", "2-3");
        // An empty list of a control group means the CPUs of the group above it.
        check(Form::CpuList, "", "(empty)");
        check(Form::Integer, "10", "10");
        assert_eq!(Form::CpuMask.shown(&Value::Absent), "(absent)");
    }

    #[test]
    fn what_means_the_same_is_the_same() {
        let same = |form: Form, a: &str, b: &str| form.same(&Value::text(a), &Value::text(b));
        assert!(same(Form::Integer, "10\n", "10") && !same(Form::Integer, "10", "1"));
        assert!(same(Form::Integer, "-1", "-1") && !same(Form::Integer, "", "0"));
        assert!(same(Form::FirstWord, "0 by process 7", "0") && !same(Form::FirstWord, "0", "10"));
        assert!(!same(Form::FirstWord, "", "0"));
        assert!(same(Form::CpuList, "2,3", "2-3") && !same(Form::CpuList, "2-3", "2"));
        assert!(same(Form::CpuMask, "00000000,0000000c", "c") && !same(Form::CpuMask, "c", "d"));
        assert!(same(Form::Chosen, "always [madvise] never", "madvise"));
        assert!(!same(Form::Chosen, "always [madvise] never", "never"));
        assert!(same(Form::Switch, "Y", "1") && same(Form::Switch, "N", "0") && !same(Form::Switch, "N", "1"));
        assert!(!Form::Text.same(&Value::text(""), &Value::Absent));
        // Neither is of the form: not the same because both cannot be read.
        assert!(!same(Form::CpuMask, "x", "y"));
    }
}
