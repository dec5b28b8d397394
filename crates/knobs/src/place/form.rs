//! How the texts of places are written, and when two of them mean the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use super::Value;

/// How texts of a place are written; what is compared is what they mean.
///
/// What the kernel shows is often not what it takes. A form therefore has both directions: it parses what is shown, and
/// an [`Order`] is the only way to a text that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it stands.
    Text,
    /// A decimal number, or a hexadecimal one with `0x`.
    Integer,
    /// A number that a driver may take as another one, which then counts as what was wanted.
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
    /// What a control group is: read as `isolated invalid (why)` where the kernel does not grant it, written as the first
    /// word. Both are compared as a whole.
    Partition,
    /// The file of no known knob: what it shows tells which of the others it is. Words that are not written stay, so
    /// `50000` is the same as `50000 100000`.
    AsShown,
}

/// What a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    Number(i128),
    Cpus(CpuSet),
    Word(String),
    /// A text that is not of its form equals itself alone.
    Text(String),
}

/// What is to be written to a place: made by [`Form::order`], so that no text reaches the kernel as it was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    form: Form,
    value: Value,
}

impl Order {
    /// What is written; nothing is to stand there where it is [`Value::Absent`].
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// How the place writes its texts.
    #[must_use]
    pub const fn form(&self) -> Form {
        self.form
    }
}

/// A number as the kernel shows it: decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with(['+', '-']) => i128::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// The word that is chosen among others: `always [madvise] never`, `none (full) lazy`.
pub(super) fn chosen(text: &str) -> Option<&str> {
    let between = |open: char, close: char| {
        let mut found = text.split_ascii_whitespace().filter_map(|word| word.strip_prefix(open)?.strip_suffix(close));
        let is_word = |word: &&str| !word.is_empty() && !word.contains([open, close]);
        found.next().filter(|word| is_word(word) && found.next().is_none())
    };
    // `0 (default)` is a detail and no choice.
    let is_word = |word: &str| word.trim_matches(['(', ')']).chars().all(|c| c.is_ascii_lowercase());
    let has_words = text.split_ascii_whitespace().count() > 1 && text.split_ascii_whitespace().all(is_word);
    between('[', ']').or_else(|| between('(', ')').filter(|_| has_words))
}

/// `Y` and `N` as the number that is written for them.
pub(super) fn switch(text: &str) -> Option<&'static str> {
    match text {
        "Y" | "y" | "1" => Some("1"),
        "N" | "n" | "0" => Some("0"),
        _ => None,
    }
}

/// A list of CPUs, and not a mask whose groups have leading zeros.
fn plain_list(text: &str) -> Option<CpuSet> {
    let is_plain = |element: &str| element == "0" || !element.starts_with('0');
    let has_plain = !text.is_empty() && text.split([',', '-']).all(is_plain);
    has_plain.then(|| text.parse().ok()).flatten()
}

impl Form {
    fn meaning(self, text: &str) -> Meaning {
        let text = text.trim_ascii();
        let first = || text.split_ascii_whitespace().next().map(str::to_owned);
        let meaning = match self {
            Self::Text | Self::Partition => None,
            Self::FirstWord => first().map(Meaning::Word),
            Self::Integer | Self::Rounded => number(text).map(Meaning::Number),
            Self::CpuList => text.parse().ok().map(Meaning::Cpus),
            Self::CpuMask => CpuSet::from_mask(text).map(Meaning::Cpus),
            Self::Chosen => chosen(text).map(|word| Meaning::Word(word.to_owned())),
            Self::Switch => switch(text).map(|one| Meaning::Word(one.to_owned())),
            Self::AsShown => chosen(text)
                .map(|word| Meaning::Word(word.to_owned()))
                .or_else(|| number(text).map(Meaning::Number))
                .or_else(|| plain_list(text).map(Meaning::Cpus))
                .or_else(|| Some(Meaning::Number(switch(text)?.parse().ok()?))),
        };
        match (self, meaning) {
            (_, Some(meaning)) => meaning,
            (Self::Chosen, None) => Meaning::Word(text.to_owned()),
            (Self::AsShown, None) => Meaning::Word(text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")),
            _ => Meaning::Text(text.to_owned()),
        }
    }

    /// The text that the kernel takes for one that it shows, or that a person wants.
    #[must_use]
    pub fn written(self, text: &str) -> String {
        let trimmed = text.trim_ascii();
        match (self, self.meaning(text)) {
            // Whole files of a disk are texts, whose white space counts.
            (Self::Text, _) => text.to_owned(),
            (Self::Partition, _) => trimmed.split_ascii_whitespace().next().unwrap_or_default().to_owned(),
            (Self::CpuMask, Meaning::Cpus(cpus)) => cpus.to_mask(),
            (Self::CpuList, Meaning::Cpus(cpus)) => cpus.to_string(),
            (Self::AsShown, _) => chosen(trimmed).unwrap_or(trimmed).to_owned(),
            (_, Meaning::Number(number)) => number.to_string(),
            (_, Meaning::Word(word)) => word,
            _ => trimmed.to_owned(),
        }
    }

    /// What is written to have a value stand there, whether the value is from a reading or from a person.
    #[must_use]
    pub fn order(self, value: &Value) -> Order {
        let value = match value {
            Value::Text(text) => Value::Text(self.written(text)),
            Value::Absent => Value::Absent,
        };
        Order { form: self, value }
    }

    /// A value as it is shown to people: CPUs always as a list, `2-3`, also where the kernel's file holds a mask; of a
    /// choice, the word that is chosen.
    #[must_use]
    pub fn shown(self, value: &Value) -> String {
        let Value::Text(text) = value else { return value.to_string() };
        match (self, self.meaning(text)) {
            // An empty list of a control group means the CPUs of the group above it.
            (Self::CpuList, Meaning::Cpus(none)) if none.is_empty() => value.to_string(),
            (Self::CpuList | Self::CpuMask, Meaning::Cpus(none)) if none.is_empty() => "no CPU".to_owned(),
            (Self::CpuList | Self::CpuMask, Meaning::Cpus(cpus)) => cpus.to_string(),
            (Self::Chosen, Meaning::Word(word)) => Value::text(word).to_string(),
            (Self::AsShown, _) => Value::text(self.written(text)).to_string(),
            _ => value.to_string(),
        }
    }

    /// The CPUs that a text names, where it is of a form that names CPUs.
    #[must_use]
    pub fn cpus(self, value: &Value) -> Option<CpuSet> {
        match (self, value) {
            (Self::CpuList | Self::CpuMask, Value::Text(text)) => match self.meaning(text) {
                Meaning::Cpus(cpus) => Some(cpus),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a change is made where `found` is read back: it is what was wanted, or what a driver made of that.
    #[must_use]
    pub fn takes(self, before: &Value, wanted: &Value, found: &Value) -> bool {
        let is_number = |value: &Value| matches!(value, Value::Text(text) if number(text.trim_ascii()).is_some());
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
        a.trim_ascii() == b.trim_ascii()
            || self.meaning(a) == self.meaning(b)
            || (self == Self::AsShown && (begins_with(a, b) || begins_with(b, a)))
    }
}

/// Whether a text of several words begins with those of another: those that were not written stay as they were.
fn begins_with(text: &str, with: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let mut with = with.split_ascii_whitespace().peekable();
    // A choice shows words that are not chosen.
    chosen(text).is_none() && with.peek().is_some() && with.all(|word| words.next() == Some(word))
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
        // The kernel's white space is that of ASCII.
        assert!(!same(Form::FirstWord, "a\u{2000}", "a") && !same(Form::Text, "a\u{2000}", "a"));
        assert_eq!(Form::AsShown.written("[[a]] b"), "[[a]] b");
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
