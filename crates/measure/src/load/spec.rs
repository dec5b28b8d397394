//! What a load is: programs or parts to start, and whether they run all the time or in turns. Pure.

use record::{LoadManifest, LoadPart};
use serde::{Deserialize, Serialize};
use units::Ns;

use super::part::{Part, STRESS_NG};

/// A load that was read from a file or is built in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoadSpec {
    /// Its name, as it stands in the record.
    pub name: String,
    /// What it does, for people.
    #[serde(default)]
    pub description: String,
    /// CPU time that it should use at least, in CPUs (above 0); below half of it the run is invalid. A load with a share
    /// should use that share of its CPUs, and states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_cpu: Option<f64>,
    /// Part of the time for which the parts are let run (above 0, up to 1), in turns of random length around a second; for
    /// a load of parts alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Stop and continue all programs in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// The programs, started together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<LoadCommand>,
    /// Parts instead of programs: each can be left out, and has a turn of its own with `--rotate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub part: Vec<Part>,
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
    #[error("not of a load file's form, which docs/load.md describes and 'punctual load show paper' shows: {0}")]
    Form(String),
    /// Nothing to start.
    #[error("the load '{0}' has no [[command]]: it would start nothing")]
    Nothing(String),
    /// A part that cannot be one.
    #[error("part '{part}' of load '{name}': {why}")]
    Part {
        /// Name of the load.
        name: String,
        /// Name of the part.
        part: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Parts beside what is for loads without them.
    #[error("the load '{name}' has {what}")]
    Mixed {
        /// Name of the load.
        name: String,
        /// What does not go together.
        what: &'static str,
    },
    /// A share that is none.
    #[error("the share of load '{name}' is {value}: it must be above 0 and at most 1, for example 0.75")]
    Share {
        /// Name of the load.
        name: String,
        /// What stands there.
        value: f64,
    },
    /// A part that is to be left out, and is none.
    #[error("the load '{name}' has no part '{part}': {}", if known.is_empty() { "it is not made of parts".to_owned() } else { format!("its parts are {known}") })]
    NoSuchPart {
        /// Name of the load.
        name: String,
        /// What was asked.
        part: String,
        /// The names of its parts, separated by commas.
        known: String,
    },
    /// A burst too short to be kept.
    #[error("the bursts of load '{name}' are {on} on and {off} off: each must be at least 10ms")]
    Bursts {
        /// Name of the load.
        name: String,
        /// Time with load of each burst (at least 10 ms).
        on: Ns,
        /// Time without load after each burst (at least 10 ms).
        off: Ns,
    },
    /// A wanted CPU time that is none.
    #[error("wanted-cpu of load '{name}' is {value}: it must be a number of CPUs above 0, for example 0.75")]
    WantedCpu {
        /// Name of the load.
        name: String,
        /// What stands there.
        value: f64,
    },
}

/// Name of the load that is the user's own command.
const COMMAND: &str = "command";

const BUILT_IN: [(&str, &str); 3] = [
    ("hard", include_str!("../../loads/hard.toml")),
    ("paper", include_str!("../../loads/paper.toml")),
    ("osadl", include_str!("../../loads/osadl.toml")),
];

impl LoadSpec {
    /// A built-in load by its name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        // A test parses each of them.
        Self::parse(text).ok()
    }

    /// The text of a built-in load's file.
    #[must_use]
    pub fn built_in_text(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The names of the built-in loads.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The user's own program as a load, by the shell.
    #[must_use]
    pub fn from_command(command: &str) -> Self {
        Self {
            name: COMMAND.to_owned(),
            description: command.to_owned(),
            wanted_cpu: None,
            share: None,
            bursts: None,
            part: Vec::new(),
            command: vec![LoadCommand {
                program: "sh".to_owned(),
                arguments: vec!["-c".to_owned(), command.to_owned()],
            }],
        }
    }

    /// The user's own command, where the load is one ([`from_command`](Self::from_command)).
    #[must_use]
    pub fn shell_command(&self) -> Option<&str> {
        let is_of_shell = |command: &LoadCommand| command.arguments == ["-c", &self.description];
        (self.name == COMMAND && self.command.iter().all(is_of_shell)).then_some(self.description.as_str())
    }

    /// The load as a heading names it: its name, or the user's own command.
    #[must_use]
    pub fn title(&self) -> String {
        self.manifest().title().unwrap_or_else(|| format!("'{}'", self.name))
    }

    /// As the record would have it, as far as that is known without running it.
    fn manifest(&self) -> LoadManifest {
        let words =
            |command: &LoadCommand| std::iter::once(&command.program).chain(&command.arguments).cloned().collect();
        LoadManifest {
            name: self.name.clone(),
            share: self.share,
            commands: self.command.iter().map(words).collect(),
            parts: self.part.iter().map(|part| LoadPart { name: part.name.clone(), ..LoadPart::default() }).collect(),
            ..LoadManifest::default()
        }
    }

    /// What this load consists of, as [`LoadManifest::describe`] says it of one that ran.
    #[must_use]
    pub fn describe(&self) -> String {
        let bursts = self
            .bursts
            .as_ref()
            .map_or_else(String::new, |bursts| format!(", in bursts of {} with pauses of {}", bursts.on, bursts.off));
        format!("{}{bursts}", self.manifest().describe().unwrap_or_default())
    }

    /// The programs that this load starts, each once, as they are looked up in PATH; the one first without which none of the
    /// built-in loads can run.
    #[must_use]
    pub fn programs(&self) -> Vec<&str> {
        let of_parts = self.part.iter().map(|part| part.command.as_ref().map_or(STRESS_NG, |command| &command.program));
        let mut programs: Vec<&str> =
            self.command.iter().map(|command| command.program.as_str()).chain(of_parts).collect();
        programs.sort_unstable_by_key(|program| (*program != STRESS_NG, *program));
        programs.dedup();
        programs
    }

    /// A program of this load as a sentence names it: the user's own command by its words, not by the shell that runs it.
    pub(super) fn describe_program(&self, program: &str) -> String {
        match self.shell_command() {
            Some(command) => format!("the load command '{command}'"),
            None => program.to_owned(),
        }
    }

    /// Reads a load file.
    ///
    /// # Errors
    /// Where it is not of the form, or would do nothing.
    pub fn parse(text: &str) -> Result<Self, LoadSpecError> {
        let spec: Self =
            toml::from_str(text).map_err(|error| LoadSpecError::Form(error.to_string().trim().to_owned()))?;
        if spec.command.is_empty() && spec.part.is_empty() {
            return Err(LoadSpecError::Nothing(spec.name));
        }
        spec.check_parts()?;
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

    fn check_parts(&self) -> Result<(), LoadSpecError> {
        let name = || self.name.clone();
        if let Some(value) = self.share.filter(|value| !(*value > 0.0 && *value <= 1.0)) {
            return Err(LoadSpecError::Share { name: name(), value });
        }
        let mixed = |what| Err(LoadSpecError::Mixed { name: name(), what });
        match (self.part.is_empty(), self.command.is_empty(), &self.bursts) {
            (false, false, _) => return mixed("both [[command]] and [[part]]: take one of them"),
            (false, _, Some(_)) => return mixed("bursts and parts: a load of parts states its share instead"),
            (true, ..) if self.share.is_some() => return mixed("a share and no [[part]]: take bursts"),
            _ => {}
        }
        for (index, part) in self.part.iter().enumerate() {
            let twice = self.part.iter().take(index).any(|other| other.name == part.name);
            if let Some(why) = part.fault().or(twice.then_some("another part has that name")) {
                return Err(LoadSpecError::Part { name: name(), part: part.name.clone(), why });
            }
        }
        Ok(())
    }

    /// Checks that every one of `parts` is a part of this load.
    ///
    /// # Errors
    /// Where one is not, with the names of those that are.
    pub fn check_has_parts(&self, parts: &[String]) -> Result<(), LoadSpecError> {
        let known: Vec<&str> = self.part.iter().map(|part| part.name.as_str()).collect();
        match parts.iter().find(|part| !known.contains(&part.as_str())) {
            Some(part) => {
                Err(LoadSpecError::NoSuchPart { name: self.name.clone(), part: part.clone(), known: known.join(", ") })
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_built_in_load_can_be_read() {
        for (name, text) in BUILT_IN {
            let spec = LoadSpec::parse(text).unwrap();
            assert_eq!(spec.name, name);
            assert_eq!(LoadSpec::parse(&toml::to_string(&spec).unwrap()).unwrap(), spec, "what was written is read");
        }
    }

    #[test]
    fn the_examples_of_the_document_are_loads() {
        let document = include_str!("../../../../docs/load.md");
        let examples: Vec<&str> =
            document.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        let described: Vec<String> = examples.iter().map(|text| LoadSpec::parse(text).unwrap().describe()).collect();
        assert_eq!(
            described,
            [
                "stress-ng: 2 memory workers, in bursts of 750ms with pauses of 4250ms",
                "database and network, running 50 % of the time"
            ]
        );
    }

    #[test]
    fn a_load_says_what_it_runs_and_by_which_programs() {
        let paper = LoadSpec::built_in("paper").unwrap();
        let expected = "stress-ng: 3 CPU workers at 25 %, 1 I/O worker, 1 file worker of 64M, 1 timer worker at 1 MHz";
        assert_eq!((paper.describe().as_str(), paper.title().as_str()), (expected, "'paper'"));
        assert_eq!(LoadSpec::built_in("hard").unwrap().programs(), ["stress-ng", "sh"]);
        let own = LoadSpec::from_command("make -j4");
        assert_eq!((own.title().as_str(), own.shell_command()), ("'make -j4'", Some("make -j4")));
        assert_eq!(paper.shell_command(), None);
        // A file may have that name too, and is no command of the user's for it.
        let file = LoadSpec::parse("name = \"command\"\n[[command]]\nprogram = \"make\"").unwrap();
        assert_eq!(file.shell_command(), None);
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
        let part = "[[part]]\nname = \"p\"\ncommand = { program = \"true\" }\n";
        check(&format!("name = \"x\"\nshare = 1.5\n{part}"), "at most 1");
        check(&format!("name = \"x\"\n[[command]]\nprogram = \"true\"\n{part}"), "both [[command]] and [[part]]");
        check(&format!("name = \"x\"\n[bursts]\non = \"1s\"\noff = \"1s\"\n{part}"), "states its share");
        check("name = \"x\"\nshare = 0.5\n[[command]]\nprogram = \"true\"", "take bursts");
        check(&format!("name = \"x\"\n{part}{part}"), "another part");
        check("name = \"x\"\n[[part]]\nname = \"p\"", "either a command or stressors");
        check("name = \"x\"\n[[part]]\nname = \"P q\"\ncommand = { program = \"true\" }", "lower-case");
        check("name = \"x\"\n[[part]]\nname = \"p\"\nstressor = [{ name = \"udp\", per-cpu = nan }]", "above 0");
    }

    #[test]
    fn a_part_that_is_none_is_named_with_those_that_are() {
        let names = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let hard = LoadSpec::built_in("hard").unwrap();
        assert_eq!(hard.check_has_parts(&names(&["network", "reclaim"])), Ok(()));
        let error = hard.check_has_parts(&names(&["network", "disk"])).unwrap_err().to_string();
        assert!(error.contains("no part 'disk'") && error.contains("memory, reclaim, scheduler"), "{error}");
        let error = LoadSpec::built_in("paper").unwrap().check_has_parts(&names(&["cpu"])).unwrap_err().to_string();
        assert!(error.contains("not made of parts"), "{error}");
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in ".{0,200}") {
            let _ = LoadSpec::parse(&text);
        }
    }
}
