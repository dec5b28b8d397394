//! A campaign of one knob with two settings, made to last a stated time.

use knobs::{Intent, KnobValue, boot, catalogue};
use std::time::Duration;
use units::Ns;

use crate::needs::RUN_OVERHEAD;

/// How often each of both settings is measured at least: enough to show a difference of the body too.
const LEAST_REPETITIONS: u32 = 7;
/// More repetitions show smaller shifts of runs against each other; beyond these, longer runs tell more.
const MOST_REPETITIONS: u32 = 20;
/// A visit that lasts longer than this is better made two.
const LONG_VISIT: Duration = Duration::from_secs(60);
/// The machine's time to settle after it was set up.
const WARM_UP: Duration = Duration::from_secs(1);
/// A shorter run says nothing of its worst case.
const LEAST_RUN: Duration = Duration::from_secs(1);

/// A knob and the settings to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Name of the knob.
    pub knob: String,
    /// The first setting; absent where it is what stands on the machine.
    pub a: Option<String>,
    /// The second setting.
    pub b: String,
}

/// Why no campaign can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbError {
    /// The text does not name a knob and one or two settings.
    #[error("'{0}' is not KNOB=A,B (two settings) or KNOB=B (against the machine as it is)")]
    Form(String),
    /// Both settings are the same.
    #[error("both settings of {0} are the same, so there is nothing to compare")]
    Same(String),
    /// The knob is unknown.
    #[error("there is no knob '{0}': 'punctual tune knobs' lists all")]
    Knob(String),
    /// A setting is out of bounds.
    #[error("{knob} {bound}")]
    Setting {
        /// Name of the knob.
        knob: String,
        /// Its bound, in words that follow its name.
        bound: String,
    },
    /// A parameter of the kernel's command line.
    #[error(
        "{0} is a parameter of the kernel's command line, so that each change takes a restart and no short time is enough: \
         write a campaign with [factor.level.intent.boot] ('punctual campaign show kernel-ab' is a start)"
    )]
    Boot(String),
    /// The time is too short.
    #[error("in {given} nothing can be concluded: {} runs of each setting take at least {least}", LEAST_REPETITIONS)]
    Short {
        /// The time that was given.
        given: String,
        /// The least time that is enough.
        least: String,
    },
}

impl std::str::FromStr for Pair {
    type Err = AbError;

    fn from_str(text: &str) -> Result<Self, AbError> {
        let form = || AbError::Form(text.to_owned());
        let (knob, settings) = text.split_once('=').filter(|(knob, _)| !knob.trim().is_empty()).ok_or_else(form)?;
        let settings: Vec<&str> = settings.split(',').map(str::trim).collect();
        let (a, b) = match settings.as_slice() {
            [b] if !b.is_empty() => (None, *b),
            [a, b] if !a.is_empty() && !b.is_empty() => (Some((*a).to_owned()), *b),
            _ => return Err(form()),
        };
        let pair = Self { knob: knob.trim().to_owned(), a, b: b.to_owned() };
        if boot::PARAMETERS.iter().any(|parameter| parameter.name == pair.knob) {
            return Err(AbError::Boot(pair.knob));
        }
        let Some(known) = catalogue::find(&pair.knob) else { return Err(AbError::Knob(pair.knob)) };
        let written =
            |setting: &str| known.accept(setting).map_err(|bound| AbError::Setting { knob: pair.knob.clone(), bound });
        let b = written(&pair.b)?;
        if pair.a.as_deref().map(written).transpose()?.is_some_and(|a| a == b) {
            return Err(AbError::Same(pair.knob));
        }
        Ok(pair)
    }
}

/// The text of a campaign that compares both settings within `time`, warm-up and set-up of each run included.
///
/// `load` names the load beside all runs; `cpus` are those measured, or an `auto:` value.
///
/// # Errors
/// If the time is too short for any conclusion.
pub fn text(pair: &Pair, time: Ns, load: &str, cpus: &str) -> Result<String, AbError> {
    let overhead = WARM_UP + RUN_OVERHEAD;
    let least = (LEAST_RUN + overhead) * (2 * LEAST_REPETITIONS);
    let given = time.to_std();
    if given < least {
        let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
        return Err(AbError::Short { given: seconds(given), least: seconds(least) });
    }
    let visits = u32::try_from(given.as_secs() / LONG_VISIT.as_secs()).unwrap_or(u32::MAX);
    let repetitions = (visits / 2).clamp(LEAST_REPETITIONS, MOST_REPETITIONS);
    let run = given / (2 * repetitions) - overhead;
    let level = |setting: Option<&str>| {
        let set = |setting: &str| {
            let knob = [(pair.knob.clone(), KnobValue::Text(setting.to_owned()))].into();
            let intent = Intent { knob, ..Intent::default() }.to_toml();
            intent.replace("[knob]", "[factor.level.intent.knob]")
        };
        let name = quoted(setting.unwrap_or("as-it-is"));
        format!("[[factor.level]]\nname = {name}\n{}", setting.map(set).unwrap_or_default())
    };
    Ok(format!(
        "name = \"ab\"\nabout = {about}\norder = \"interleaved\"\nrepetitions = {repetitions}\nwarm-up = \"{}s\"\n\n\
         [value]\ncpus = {cpus}\ninterval = \"200us\"\nload = {load}\n\n\
         [[measurement]]\nname = \"wakeup\"\ntitle = \"Wake-up latency\"\n\
         request = {{ kind = \"wakeup\", placement = {{ pinned = \"{{cpus}}\" }}, interval = \"{{interval}}\" }}\n\
         load = {{ name = \"{{load}}\" }}\nduration = \"{}ms\"\n\n\
         [[factor]]\nname = {knob}\n{}{}",
        WARM_UP.as_secs(),
        run.as_millis(),
        level(pair.a.as_deref()),
        level(Some(&pair.b)),
        about = quoted(&format!("which setting of {} is more punctual", pair.knob)),
        cpus = quoted(cpus),
        load = quoted(load),
        knob = quoted(&pair.knob),
    ))
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Campaign, Choice, journal::State};

    fn campaign(pair: &str, time: &str) -> Campaign {
        let text = text(&pair.parse().unwrap(), time.parse().unwrap(), "none", "1").unwrap();
        Campaign::from_toml(&text, &Choice::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn it_takes_the_time_that_was_given_and_can_show_a_difference() {
        for time in ["35s", "1m", "5m", "20m", "3h"] {
            let campaign = campaign("vm.swappiness=10,60", time);
            let takes = campaign.time_left(&campaign.layout(None), &State::default()).as_secs_f64();
            let given = time.parse::<Ns>().unwrap().to_std().as_secs_f64();
            assert!(takes <= given && takes > given * 0.98, "{time}: {takes} s");
            let sight = campaign.sight().unwrap();
            assert!(sight.refusal().is_none() && sight.repetitions >= sight.least_for_body, "{time}");
        }
        let short = text(&"vm.swappiness=10".parse().unwrap(), "34s".parse().unwrap(), "none", "1").unwrap_err();
        assert!(short.to_string().contains("at least 35 s"), "{short}");
    }

    #[test]
    fn its_levels_are_the_settings_and_one_alone_stands_against_the_machine_as_it_is() {
        let set = |campaign: &Campaign| -> Vec<String> {
            let of = |one| campaign.intent_of(&one).unwrap().map_or_else(String::new, |intent| intent.to_toml());
            campaign.conditions().into_iter().map(of).collect()
        };
        let both = set(&campaign("vm.swappiness=10,60", "5m"));
        assert_eq!(both, ["[knob]\n\"vm.swappiness\" = \"10\"\n", "[knob]\n\"vm.swappiness\" = \"60\"\n"]);
        let alone = set(&campaign("cpu.governor=performance", "5m"));
        assert!(alone[0].is_empty() && alone[1].contains("performance"), "{alone:?}");
    }

    #[test]
    fn what_cannot_be_compared_is_refused_with_what_can() {
        let refused = |text: &str| text.parse::<Pair>().unwrap_err().to_string();
        assert!(refused("vm.swappiness").contains("KNOB=A,B"));
        assert!(refused("vm.swappiness=1,2,3").contains("two settings"));
        assert!(refused("=1,2").contains("KNOB=A,B") && refused("vm.swappiness=1,").contains("KNOB=A,B"));
        assert!(refused("vm.swappiness=7, 7").contains("the same"));
        assert!(refused("vm.swappines=1,2").contains("tune knobs"));
        assert!(refused("vm.swappiness=1,900").contains("0 to 200"));
        assert!(refused("threadirqs=on,off").contains("restart"));
    }
}
