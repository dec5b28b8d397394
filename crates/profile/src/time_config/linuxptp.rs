//! What a program of linuxptp was started with: its arguments and its configuration file (ptp4l(8), phc2sys(8), ts2phc(8)).
//!
//! An option on the command line outranks the section `[global]` of the file; a section of the file that bears a port's or a
//! clock's name outranks both for that one (`config.c`). Long options have the names of the file, and each takes a value.
//! Nothing is checked: a program that runs has accepted what stands here.

use std::collections::BTreeMap;

/// A program of linuxptp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The PTP daemon.
    Ptp4l,
    /// Synchronizes clocks of one machine with each other.
    Phc2sys,
    /// Synchronizes hardware clocks with a pulse per second.
    Ts2phc,
}

impl Program {
    /// The letters of its options that take a value.
    const fn letters_with_value(self) -> &'static str {
        match self {
            Self::Ptp4l => "fipl",
            Self::Phc2sys => "cdfsEPISFRNOLMiunzlt",
            Self::Ts2phc => "cfls",
        }
    }
}

/// Options as they were stated; what was not stated has the program's default, which stands with whoever asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Options of one letter without a value, as often as they were given.
    letters: Vec<char>,
    /// Options of one letter with their values, in the order in which they were given.
    values: Vec<(char, String)>,
    /// Long options.
    long: BTreeMap<String, String>,
    /// The section `[global]` of the file.
    global: BTreeMap<String, String>,
    /// The other sections of the file, in its order.
    sections: Vec<(String, BTreeMap<String, String>)>,
}

impl Settings {
    /// From the arguments of a process, without its name.
    #[must_use]
    pub fn from_arguments(program: Program, arguments: &[String]) -> Self {
        let mut settings = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if let Some(long) = argument.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, value.to_owned()),
                    None => (long, rest.next().cloned().unwrap_or_default()),
                };
                settings.long.insert(name.to_owned(), value);
                continue;
            }
            let Some(cluster) = argument.strip_prefix('-') else { continue };
            for (at, letter) in cluster.char_indices() {
                if !program.letters_with_value().contains(letter) {
                    settings.letters.push(letter);
                    continue;
                }
                let attached = cluster.get(at + letter.len_utf8()..).unwrap_or_default();
                let value =
                    if attached.is_empty() { rest.next().cloned().unwrap_or_default() } else { attached.to_owned() };
                settings.values.push((letter, value));
                break;
            }
        }
        settings
    }

    /// With the text of the configuration file.
    #[must_use]
    pub fn with_file(mut self, text: &str) -> Self {
        let mut section = "global".to_owned();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name.trim().to_owned();
                if section != "global" && !self.sections.iter().any(|(known, _)| *known == section) {
                    self.sections.push((section.clone(), BTreeMap::new()));
                }
                continue;
            }
            let Some((name, value)) = line.split_once(char::is_whitespace) else { continue };
            let (name, value) = (name.to_owned(), value.trim().to_owned());
            match self.sections.iter_mut().find(|(known, _)| *known == section) {
                Some((_, settings)) => settings.insert(name, value),
                None => self.global.insert(name, value),
            };
        }
        self
    }

    /// How often an option of one letter without a value was given.
    #[must_use]
    pub fn count(&self, letter: char) -> usize {
        self.letters.iter().filter(|&&given| given == letter).count()
    }

    /// Every value of an option of one letter, in the order in which they were given.
    pub fn values(&self, letter: char) -> impl Iterator<Item = &str> {
        self.values.iter().filter(move |(given, _)| *given == letter).map(|(_, value)| value.as_str())
    }

    /// The last value of an option of one letter.
    #[must_use]
    pub fn value(&self, letter: char) -> Option<&str> {
        self.values(letter).last()
    }

    /// The configuration file that the arguments name.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.value('f').filter(|file| !file.is_empty())
    }

    /// An option by the first of its names that was stated: names changed between releases.
    #[must_use]
    pub fn named(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| self.long.get(*name))
            .or_else(|| names.iter().find_map(|name| self.global.get(*name)))
            .map(String::as_str)
    }

    /// An option as [`Self::named`], of which the command line may have the beginning alone, down to `shortest`: getopt_long(3)
    /// takes a name as far as no other begins so.
    #[must_use]
    pub fn named_or_cut(&self, name: &str, shortest: &str) -> Option<&str> {
        let is_meant = |given: &str| name.starts_with(given) && given.starts_with(shortest);
        let given = self.long.iter().find(|(given, _)| is_meant(given)).map(|(_, value)| value.as_str());
        given.or_else(|| self.named(&[name]))
    }

    /// An option of one port or clock: its own section of the file, else as [`Self::named`].
    #[must_use]
    pub fn named_for(&self, section: &str, names: &[&str]) -> Option<&str> {
        let own = self.sections.iter().find(|(known, _)| known == section).map(|(_, settings)| settings);
        own.and_then(|own| names.iter().find_map(|name| own.get(*name)))
            .map(String::as_str)
            .or_else(|| self.named(names))
    }

    /// The sections of the file beside `[global]`, in its order.
    pub fn sections(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn letters_are_read_alone_attached_and_together() {
        let line = "-arrm -s eth0 -cCLOCK_REALTIME -c /dev/ptp1 --step_threshold=0.1 --domainNumber 7 -mO -37";
        let settings = Settings::from_arguments(Program::Phc2sys, &words(line));
        assert_eq!((settings.count('a'), settings.count('r'), settings.count('m')), (1, 2, 2));
        assert_eq!(settings.value('s'), Some("eth0"));
        assert_eq!(settings.values('c').collect::<Vec<_>>(), ["CLOCK_REALTIME", "/dev/ptp1"]);
        assert_eq!(settings.value('O'), Some("-37"));
        assert_eq!(settings.named(&["step_threshold"]), Some("0.1"));
        assert_eq!(settings.named(&["domainNumber"]), Some("7"));
        // ptp4l has other letters: here -s takes no value.
        let settings = Settings::from_arguments(Program::Ptp4l, &words("-s -i eth0 -S"));
        assert_eq!((settings.count('s'), settings.count('S'), settings.value('i')), (1, 1, Some("eth0")));
    }

    #[test]
    fn a_port_outranks_the_command_line_and_that_the_global_section() {
        let text = "[global]\n# masterOnly 1\nmasterOnly\t\t0\nstep_threshold 2\n\n[ eth1 ]\nserverOnly 1\n[eth0]\nmasterOnly 0\n";
        let settings = Settings::from_arguments(Program::Ptp4l, &words("-f /etc/x --masterOnly 1")).with_file(text);
        assert_eq!(settings.file(), Some("/etc/x"));
        assert_eq!(settings.sections().collect::<Vec<_>>(), ["eth1", "eth0"]);
        let names = ["serverOnly", "masterOnly"];
        assert_eq!(settings.named(&names), Some("1"));
        assert_eq!(settings.named_for("eth0", &names), Some("0"));
        assert_eq!(settings.named_for("eth1", &names), Some("1"));
        assert_eq!(settings.named_for("eth2", &names), Some("1"));
        assert_eq!(settings.named(&["step_threshold"]), Some("2"));
    }

    #[test]
    fn what_is_cut_or_strange_is_passed_over() {
        let settings =
            Settings::from_arguments(Program::Ptp4l, &words("- -- -é eth0 -f")).with_file("[\nx\n]\n[a\nb c");
        assert_eq!(settings.file(), None);
        assert_eq!(settings.named(&["b"]), Some("c"));
        assert_eq!(settings.sections().count(), 0);
    }
}
