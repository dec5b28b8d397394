//! What a load is: programs to start, and whether they run all the time or in bursts. Pure.

use serde::{Deserialize, Serialize};
use units::Ns;

/// A load that was read from a file or is built in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoadSpec {
    /// Its name, as it stands in the record.
    pub name: String,
    /// What it does, for people.
    #[serde(default)]
    pub description: String,
    /// CPU time that it should use at least, in CPUs (above 0); below half of it the run is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_cpu: Option<f64>,
    /// Stop and continue all programs in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// The programs, started together.
    pub command: Vec<LoadCommand>,
}

/// One program of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoadCommand {
    /// Looked up in PATH.
    pub program: String,
    /// Its arguments; `{scratch}` stands for a folder that is made for the load and removed after it.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// Turns of running and standing still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Bursts {
    /// How long the programs run (10ms and more).
    #[serde(with = "units::duration_text")]
    pub on: Ns,
    /// How long they stand still (10ms and more).
    #[serde(with = "units::duration_text")]
    pub off: Ns,
}

/// Why a text is not a load.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoadSpecError {
    /// Not TOML, or not of a load's form; says line and column.
    #[error(
        "the load file is not of the form that the built-in ones have (see 'punctual measure wakeup --load paper --json'): {0}"
    )]
    Form(String),
    /// Nothing to start.
    #[error("the load '{0}' has no [[command]]: it would start nothing")]
    Nothing(String),
    /// A burst too short to be kept.
    #[error("the bursts of load '{name}' are {on} on and {off} off: each must be at least 10ms")]
    Bursts {
        /// The load.
        name: String,
        /// Time on.
        on: Ns,
        /// Time off.
        off: Ns,
    },
    /// A wanted CPU time that is none.
    #[error("wanted-cpu of load '{name}' is {value}: it must be a number of CPUs above 0, for example 0.75")]
    WantedCpu {
        /// The load.
        name: String,
        /// What stands there.
        value: f64,
    },
}

const BUILT_IN: [(&str, &str); 2] =
    [("paper", include_str!("../../loads/paper.toml")), ("osadl", include_str!("../../loads/osadl.toml"))];

impl LoadSpec {
    /// A built-in load by its name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        // A test parses each of them.
        Self::parse(text).ok()
    }

    /// The names of the built-in loads.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The user's own program as a load, by the shell.
    #[must_use]
    pub fn of_command(command: &str) -> Self {
        Self {
            name: "command".to_owned(),
            description: command.to_owned(),
            wanted_cpu: None,
            bursts: None,
            command: vec![LoadCommand {
                program: "sh".to_owned(),
                arguments: vec!["-c".to_owned(), command.to_owned()],
            }],
        }
    }

    /// Reads a load file.
    ///
    /// # Errors
    /// Where it is not of the form, or would do nothing.
    pub fn parse(text: &str) -> Result<Self, LoadSpecError> {
        let spec: Self =
            toml::from_str(text).map_err(|error| LoadSpecError::Form(error.to_string().trim().to_owned()))?;
        if spec.command.is_empty() {
            return Err(LoadSpecError::Nothing(spec.name));
        }
        if let Some(Bursts { on, off }) = spec.bursts {
            if on < Ns::from_ms(10) || off < Ns::from_ms(10) {
                return Err(LoadSpecError::Bursts { name: spec.name, on, off });
            }
        }
        if let Some(value) = spec.wanted_cpu.filter(|value| !(value.is_finite() && *value > 0.0)) {
            return Err(LoadSpecError::WantedCpu { name: spec.name, value });
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_built_in_load_can_be_read() {
        for (name, text) in BUILT_IN {
            assert_eq!(LoadSpec::parse(text).unwrap().name, name);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let check = |text: &str, part: &str| {
            let error = LoadSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check("name = \"x\"\ncommand = []", "would start nothing");
        check("name = \"x\"\nspeed = 3\n[[command]]\nprogram = \"true\"", "line 2");
        check("name = \"x\"\n[bursts]\non = \"1ms\"\noff = \"1s\"\n[[command]]\nprogram = \"true\"", "at least 10ms");
        check("name = \"x\"\n[bursts]\non = \"1\"\noff = \"1s\"\n[[command]]\nprogram = \"true\"", "no unit");
        check("name = \"x\"\nwanted-cpu = -1.0\n[[command]]\nprogram = \"true\"", "above 0");
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in ".{0,200}") {
            let _ = LoadSpec::parse(&text);
        }
    }
}
