//! What a chronyd was started with, as far as it says which clock is corrected and how (chronyd(8), chrony.conf(5)).
//!
//! Of servers, keys and addresses nothing is kept. A directive that stands several times counts as it was stated last, but
//! for those that may be repeated: `refclock`, `hwtimestamp` and the directives that include other files.

/// From the command line of a chronyd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Whether it may correct the system clock: not with `-x` and `-Q`.
    pub corrects_clock: bool,
    /// The configuration file that it names (`-f`).
    pub file: Option<String>,
    /// Directives that stand on the command line, one an argument; where there are any, no file is read.
    pub directives: Vec<String>,
}

impl Arguments {
    /// From the arguments of a process, without its name.
    #[must_use]
    pub fn parse(arguments: &[String]) -> Self {
        /// Letters of options with a value.
        const WITH_VALUE: &str = "fFlLPtu";
        let mut parsed = Self { corrects_clock: true, ..Self::default() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument.starts_with("--") {
                continue;
            }
            let Some(cluster) = argument.strip_prefix('-') else {
                parsed.directives.push(argument.clone());
                continue;
            };
            for (at, letter) in cluster.char_indices() {
                if WITH_VALUE.contains(letter) {
                    let attached = cluster.get(at + letter.len_utf8()..).unwrap_or_default();
                    let value = if attached.is_empty() { rest.next().cloned() } else { Some(attached.to_owned()) };
                    if letter == 'f' {
                        parsed.file = value;
                    }
                    break;
                }
                if matches!(letter, 'x' | 'Q') {
                    parsed.corrects_clock = false;
                }
            }
        }
        parsed
    }
}

/// When chronyd steps the clock (`makestep`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MakeStep {
    /// From this correction on (s).
    pub threshold_s: f64,
    /// In how many updates of the clock after the start; below 0 in all of them.
    pub limit: i64,
}

/// A reference clock (`refclock`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RefClock {
    /// The driver in capital letters: `PHC`, `SHM`, `SOCK`, `PPS`.
    pub driver: String,
    /// The device, socket or number behind it, without the driver's options.
    pub parameter: String,
    /// Whether the device stamps pulses alone and needs no time of its own (`extpps`).
    pub stamps_pulses: bool,
    /// Whether its seconds are not used (`pps`).
    pub is_pulse: bool,
    /// Whether it is said to keep TAI (`tai`).
    pub is_tai: bool,
    /// What is added to its offset (s), where that is stated.
    pub offset_s: Option<f64>,
    /// Whether chronyd follows no time of it: `noselect`, or `local`, which takes its rate alone.
    pub is_not_selected: bool,
}

/// Where more directives stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Include {
    /// A file, or several by `*` and `?` (`include`).
    Files(String),
    /// The `*.conf` files of folders in the order of their names; of equal names the one of the first folder (`confdir`).
    Folders(Vec<String>),
}

/// From configuration files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The last `makestep`.
    pub make_step: Option<MakeStep>,
    /// Interfaces whose packets are to be stamped in hardware; `*` for all that can.
    pub hardware_stamps: Vec<String>,
    /// Reference clocks.
    pub reference_clocks: Vec<RefClock>,
    /// Whether it is given a table of leap seconds, and so sets the kernel's difference of TAI and UTC (`leapsectz`,
    /// `leapseclist`).
    pub knows_tai: bool,
    /// Files that have to be read too, in the order in which they are named.
    pub includes: Vec<Include>,
}

impl Configuration {
    /// Takes the directives of a text in the order of its lines; files that they include are for the caller to read.
    pub fn take(&mut self, text: &str) {
        for line in text.lines() {
            self.take_line(line);
        }
    }

    fn take_line(&mut self, line: &str) {
        let line = line.trim();
        if line.starts_with(['!', ';', '#', '%']) {
            return;
        }
        let mut words = line.split_whitespace();
        let Some(directive) = words.next() else { return };
        match directive.to_ascii_lowercase().as_str() {
            "makestep" => {
                let threshold_s = words.next().and_then(|word| word.parse().ok());
                let limit = words.next().and_then(|word| word.parse().ok());
                self.make_step = threshold_s.zip(limit).map(|(threshold_s, limit)| MakeStep { threshold_s, limit });
            }
            "hwtimestamp" => self.hardware_stamps.extend(words.next().map(str::to_owned)),
            "refclock" => self.reference_clocks.extend(ref_clock(words)),
            "leapsectz" | "leapseclist" => self.knows_tai = words.next().is_some(),
            "include" => self.includes.extend(words.next().map(|pattern| Include::Files(pattern.to_owned()))),
            "confdir" => {
                let folders: Vec<String> = words.map(str::to_owned).collect();
                if !folders.is_empty() {
                    self.includes.push(Include::Folders(folders));
                }
            }
            _ => {}
        }
    }
}

fn ref_clock<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<RefClock> {
    let driver = words.next()?.to_ascii_uppercase();
    let parameter = words.next()?;
    let mut parts = parameter.split(':');
    let mut clock = RefClock { driver, parameter: parts.next().unwrap_or_default().to_owned(), ..RefClock::default() };
    clock.stamps_pulses = parts.any(|option| option.eq_ignore_ascii_case("extpps"));
    while let Some(option) = words.next() {
        match option.to_ascii_lowercase().as_str() {
            "offset" => clock.offset_s = words.next().and_then(|word| word.parse().ok()),
            "tai" => clock.is_tai = true,
            "pps" => clock.is_pulse = true,
            "noselect" | "local" => clock.is_not_selected = true,
            _ => {}
        }
    }
    Some(clock)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line_says_whether_the_clock_is_corrected() {
        let debian = arguments("-F 1");
        assert_eq!(debian, Arguments { corrects_clock: true, ..Arguments::default() });
        assert!(!arguments("-x").corrects_clock && !arguments("-nQ -f /etc/y").corrects_clock);
        assert!(arguments("-u xenon -l /var/log/x").corrects_clock);
        assert_eq!(arguments("-dxf/etc/y").file.as_deref(), Some("/etc/y"));
        let stated = Arguments::parse(&["-d".to_owned(), "makestep 1 -1".to_owned(), "port 0".to_owned()]);
        assert_eq!(stated.directives, ["makestep 1 -1", "port 0"]);
    }

    #[test]
    fn directives_count_as_stated_last_and_some_may_be_repeated() {
        let mut read = Configuration::default();
        read.take(
            "# makestep 1 -1\n  ! makestep 9 9\nMakeStep 0.5 -1\nconfdir /etc/a /run/b\ninclude /etc/c/*.conf\n\
             hwtimestamp eth0 rxfilter ptp\nhwtimestamp *\nleapsectz right/UTC\nserver 10.0.0.1 iburst\n\
             refclock PHC /dev/ptp0:nocrossts poll 0 offset -37\nrefclock phc /dev/ptp1:extpps:pin=1 width 0.2\n\
             refclock PHC /dev/ptp2 tai\nrefclock SHM 0 noselect\nrefclock PHC\n",
        );
        assert_eq!(read.make_step, Some(MakeStep { threshold_s: 0.5, limit: -1 }));
        assert_eq!(
            read.includes,
            [
                Include::Folders(vec!["/etc/a".to_owned(), "/run/b".to_owned()]),
                Include::Files("/etc/c/*.conf".to_owned())
            ]
        );
        assert_eq!(read.hardware_stamps, ["eth0", "*"]);
        assert!(read.knows_tai);
        let clocks: Vec<_> = read
            .reference_clocks
            .iter()
            .map(|one| (one.driver.as_str(), one.parameter.as_str(), one.offset_s, one.stamps_pulses, one.is_tai))
            .collect();
        assert_eq!(
            clocks,
            [
                ("PHC", "/dev/ptp0", Some(-37.0), false, false),
                ("PHC", "/dev/ptp1", None, true, false),
                ("PHC", "/dev/ptp2", None, false, true),
                ("SHM", "0", None, false, false),
            ]
        );
        assert!(read.reference_clocks[3].is_not_selected);
        read.take("makestep 1 3\n");
        assert_eq!(read.make_step, Some(MakeStep { threshold_s: 1.0, limit: 3 }));
        // What chronyd would refuse is unknown, and not what stood before.
        read.take("makestep often 3\n");
        assert_eq!(read.make_step, None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[a-z*:/ =\n\\-0-9#é]{0,80}", words in prop::collection::vec("[\\-a-zé]{0,6}", 0..6)) {
            let mut read = Configuration::default();
            read.take(&text);
            read.take(&format!("refclock {text}"));
            let _ = Arguments::parse(&words);
        }
    }
}
