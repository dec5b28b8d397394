//! The bounds within which a campaign is valid.

use knobs::Intent;
use units::Ns;

use crate::{Campaign, Condition, Design};

/// Largest number of runs of a campaign: at one minute each, two months.
const MOST_RUNS: usize = 100_000;

/// What is out of bounds, with the bound; `None` if the campaign is valid.
pub(crate) fn out_of_bounds(campaign: &Campaign) -> Option<String> {
    check_names(campaign)
        .or_else(|| check_factors(campaign))
        .or_else(|| check_measurements(campaign))
        .or_else(|| check_numbers(campaign))
        .or_else(|| campaign.conditions().iter().find_map(|condition| campaign.contradiction(condition)))
}

fn check_names(campaign: &Campaign) -> Option<String> {
    let one = vec![campaign.name.as_str()];
    let factors = campaign.factor.iter().map(|factor| factor.name.as_str()).collect();
    let measurements = campaign.measurement.iter().map(|one| one.name.as_str()).collect();
    check_kind("campaign", &one)
        .or_else(|| check_kind("factor", &factors))
        .or_else(|| check_kind("measurement", &measurements))
}

fn check_kind(kind: &str, names: &Vec<&str>) -> Option<String> {
    if let Some(odd) = names.iter().find(|name| !is_name(name)) {
        return Some(format!(
            "'{odd}' is not a valid {kind} name: use 1 to 64 letters, digits, '-', '_', '.', '+', '~', not '.' first"
        ));
    }
    let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    twice.map(|(_, name)| format!("two {kind}s are named {name}"))
}

/// Names become file names, and kernel releases are used as names.
fn is_name(word: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.+~".contains(c);
    (1..=64).contains(&word.len()) && word.chars().all(known) && !word.starts_with('.')
}

fn check_factors(campaign: &Campaign) -> Option<String> {
    if campaign.factor.is_empty() {
        return Some("it varies nothing: it needs a [[factor]]".to_owned());
    }
    for factor in &campaign.factor {
        let levels = factor.level.iter().map(|level| level.name.as_str()).collect();
        if let Some(what) = check_kind("level", &levels) {
            return Some(format!("factor {}: {what}", factor.name));
        }
        if factor.level.len() < 2 {
            return Some(format!("factor {} has fewer than two levels", factor.name));
        }
        for (place, level) in factor.level.iter().enumerate() {
            let same = |other: &&crate::Level| other.intent == level.intent && other.asked == level.asked;
            if let Some(same) = factor.level[..place].iter().find(same) {
                return Some(format!("factor {}: levels {} and {} set the same", factor.name, same.name, level.name));
            }
        }
    }
    None
}

fn check_measurements(campaign: &Campaign) -> Option<String> {
    if campaign.measurement.is_empty() {
        return Some("it measures nothing: it needs a [[measurement]]".to_owned());
    }
    campaign.measurement.iter().find_map(|one| {
        if one.duration.is_some_and(|duration| duration.0 <= Ns::ZERO) {
            return Some(format!("measurement {}: its duration is not above 0", one.name));
        }
        // Each level is checked separately: the fields that it replaces are its own.
        let levels = campaign.factor.iter().flat_map(|factor| &factor.level);
        levels.map(|level| one.at([level])).find_map(Result::err)
    })
}

fn check_numbers(campaign: &Campaign) -> Option<String> {
    if campaign.repetitions == 0 || campaign.confirm.is_some_and(|confirm| confirm.repetitions == 0) {
        return Some("repetitions is 0: nothing would be measured".to_owned());
    }
    if !(campaign.false_alarms > 0.0 && campaign.false_alarms <= 0.5) {
        return Some("false-alarms has to be a probability above 0 and at most 0.5; 0.01 is usual".to_owned());
    }
    if campaign.margin.is_some_and(|margin| margin.0 < Ns::ZERO) {
        return Some("margin is below 0".to_owned());
    }
    if campaign.warm_up < Ns::ZERO {
        return Some("warm-up is below 0".to_owned());
    }
    if campaign.stop.invalid_in_a_row == 0 {
        return Some("stop.invalid-in-a-row is 0: the campaign would never begin".to_owned());
    }
    if campaign.confirm.is_some() && campaign.design != Design::OneAtATime {
        return Some("confirm combines the winners of single factors: it needs design = \"one-at-a-time\"".to_owned());
    }
    let factorial = || campaign.factor.iter().map(|factor| factor.level.len()).try_fold(1_usize, usize::checked_mul);
    let conditions = match campaign.design {
        Design::OneAtATime => Some(1 + campaign.factor.iter().map(|factor| factor.level.len() - 1).sum::<usize>()),
        Design::Factorial => factorial(),
    };
    let runs = conditions
        .and_then(|conditions| conditions.checked_mul(usize::try_from(campaign.repetitions).ok()?))
        .and_then(|runs| runs.checked_mul(campaign.measurement.len()));
    if runs.is_none_or(|runs| runs > MOST_RUNS) {
        return Some(format!("it has more than {MOST_RUNS} runs: use fewer factors, levels or repetitions"));
    }
    None
}

impl Campaign {
    /// The settings of a condition: the base and all its levels combined. `None` if it sets nothing.
    ///
    /// # Errors
    /// If two levels set the same thing to different values.
    pub fn intent_of(&self, condition: &Condition) -> Result<Option<Intent>, String> {
        let levels = self.factor.iter().zip(&condition.levels);
        let levels = levels.filter_map(|(factor, level)| {
            Some((format!("factor {}", factor.name), factor.level.get(*level)?.intent.as_ref()?))
        });
        let base = self.base.as_ref().map(|base| ("base".to_owned(), base));
        let mut whole = toml::Table::new();
        let mut set: Vec<(String, String, toml::Value)> = Vec::new();
        for (from, intent) in base.into_iter().chain(levels) {
            // Every intent is a TOML table.
            for (path, value) in leaves(toml::Table::try_from(intent).unwrap_or_default()) {
                let what = path.join(" ");
                match set.iter().find(|(known, ..)| *known == what) {
                    Some((_, other, known)) if *known != value => {
                        return Err(format!("{other} and {from} both set {what}: to {known} and to {value}"));
                    }
                    Some(_) => {}
                    None => {
                        put(&mut whole, &path, value.clone());
                        set.push((what, from.clone(), value));
                    }
                }
            }
        }
        if whole.is_empty() {
            return Ok(None);
        }
        whole.try_into().map(Some).map_err(|error| error.to_string())
    }

    fn contradiction(&self, condition: &Condition) -> Option<String> {
        self.intent_of(condition).err()
    }
}

/// The values of a table, each with its path.
fn leaves(table: toml::Table) -> Vec<(Vec<String>, toml::Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            toml::Value::Table(inner) => {
                found.extend(leaves(inner).into_iter().map(|(mut path, value)| {
                    path.insert(0, name.clone());
                    (path, value)
                }));
            }
            value => found.push((vec![name], value)),
        }
    }
    found
}

fn put(table: &mut toml::Table, path: &[String], value: toml::Value) {
    match path {
        [] => {}
        [name] => {
            table.insert(name.clone(), value);
        }
        [name, rest @ ..] => {
            let inner = table.entry(name.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            if let toml::Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Campaign, Choice};

    const HEAD: &str = "name = \"c\"\nabout = \"a\"\nrepetitions = 2\n";
    const MEASUREMENT: &str = "[[measurement]]\nname = \"m\"\nrequest = { kind = \"wakeup\" }\nduration = \"1s\"\n";

    fn factor(name: &str, a: &str, b: &str) -> String {
        format!("[[factor]]\nname = \"{name}\"\n[[factor.level]]\nname = \"a\"\n{a}[[factor.level]]\nname = \"b\"\n{b}")
    }

    fn knob(value: u32) -> String {
        format!("[factor.level.intent.knob]\nksm = {value}\n")
    }

    fn refused(text: &str) -> String {
        Campaign::from_toml(text, &Choice::default()).unwrap_err().to_string()
    }

    fn read(text: &str) -> Campaign {
        Campaign::from_toml(text, &Choice::default()).unwrap()
    }

    #[test]
    fn campaigns_out_of_bounds_are_refused() {
        assert!(refused(HEAD).contains("missing field `factor`"));
        assert!(refused(&format!("{HEAD}{MEASUREMENT}{}", factor("f", "", ""))).contains("set the same"));
        let good = format!("{HEAD}{MEASUREMENT}{}", factor("f", "", &knob(0)));
        assert_eq!(read(&read(&good).to_toml()), read(&good), "what is written reads back");
        let with = |from: &str, to: &str| refused(&good.replace(from, to));
        assert!(with("repetitions = 2", "repetitions = 0").contains("repetitions is 0"));
        assert!(with("repetitions = 2", "repetitions = -1").contains("a whole number"));
        assert!(with("repetitions = 2", "repetitions = 99999").contains("more than 100000 runs"));
        assert!(with("repetitions = 2", "repetitions = 2\nfalse-alarms = 0").contains("false-alarms"));
        assert!(with("repetitions = 2", "repetitions = 2\nwarm-up = \"-1s\"").contains("warm-up"));
        assert!(with("repetitions = 2", "repetitions = 2\nmargin = \"-1us\"").contains("margin"));
        assert!(with("request = { kind = \"wakeup\" }", "").contains("does not say what"));
        assert!(with("request = { kind = \"wakeup\" }", "measure = [\"wakeup\"]").contains("unknown field `measure`"));
        assert!(with("\"1s\"", "\"0s\"").contains("its duration is not above 0"));
        assert!(with("name = \"f\"", "name = \"../f\"").contains("not a valid factor name"));
        assert!(with("name = \"b\"", "name = \"a\"").contains("two levels are named a"));
        let confirmed = "repetitions = 2\ndesign = \"factorial\"\nconfirm = { repetitions = 2 }";
        assert!(with("repetitions = 2", confirmed).contains("one-at-a-time"));
    }

    #[test]
    fn levels_of_one_condition_must_not_contradict_each_other() {
        let twice = factor("f", "", &knob(0)) + &factor("g", "", &knob(1));
        let text = refused(&format!("{HEAD}design = \"factorial\"\n{MEASUREMENT}{twice}"));
        assert!(text.contains("factor f and factor g both set knob ksm: to 0 and to 1"), "{text}");
        // With one factor at a time they are never combined.
        read(&format!("{HEAD}{MEASUREMENT}{twice}"));
        let based = format!("{HEAD}base = {{ knob = {{ ksm = 1 }} }}\n{MEASUREMENT}{}", factor("f", "", &knob(0)));
        assert!(refused(&based).contains("base and factor f both set knob ksm"));
    }

    #[test]
    fn the_levels_of_a_condition_are_combined() {
        let base = "base = { isolate = \"1\", knob = { a = 1 } }\n";
        let one = read(&format!("{HEAD}{base}{MEASUREMENT}{}", factor("f", "", &knob(0))));
        let intents: Vec<_> =
            one.conditions().iter().map(|condition| one.intent_of(condition).unwrap().unwrap()).collect();
        assert_eq!(intents[0].knob.len(), 1);
        assert_eq!(intents[1].knob.keys().collect::<Vec<_>>(), ["a", "ksm"]);
        assert!(intents.iter().all(|intent| intent.isolate.is_some()));
    }
}
