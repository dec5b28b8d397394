//! What a load does, as a sentence for people: made of its command lines and parts, so that it is true of what ran. Pure.

use units::format;

use crate::LoadManifest;

/// Longer commands are cut in a description (characters); the record has them whole.
const COMMAND_CHARS: usize = 120;
/// Longer commands are cut where they stand for the load's name (characters).
const TITLE_CHARS: usize = 40;
/// stress-ng's stressors that have a name in the field, with that name; all others are named as stress-ng names them.
const STRESSORS: [(&str, &str); 5] = [("cpu", "CPU"), ("io", "I/O"), ("hdd", "file"), ("vm", "memory"), ("udp", "UDP")];
/// Options of stress-ng that take a number and are no stressors.
const NO_STRESSORS: [&str; 8] = ["all", "sequential", "random", "timeout", "backoff", "job", "seed", "status"];

impl LoadManifest {
    /// Whether anything ran as a load.
    #[must_use]
    pub fn is_any(&self) -> bool {
        !matches!(self.name.as_str(), "" | "none")
    }

    /// The load as a heading names it: `'hard'`, or the user's own command; `None` if there was no load.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        if !self.is_any() {
            return None;
        }
        match self.own_command() {
            Some(command) => Some(format!("'{}'", short_name(command))),
            None => Some(format!("'{}'", self.name)),
        }
    }

    /// What the load consisted of, without its name: `stress-ng: 3 CPU workers at 25 %, 1 I/O worker`; `None` if there was no
    /// load, or nothing is known of it.
    #[must_use]
    pub fn describe(&self) -> Option<String> {
        if !self.is_any() {
            return None;
        }
        let text = if self.parts.is_empty() {
            let commands: Vec<String> = self.commands.iter().map(|command| describe_command(command)).collect();
            commands.join("; ")
        } else {
            let ran: Vec<&str> =
                self.parts.iter().filter(|part| part.dropped.is_none()).map(|part| part.name.as_str()).collect();
            let at_once = if self.windows.is_empty() { "" } else { ", one after the other and then together" };
            format!("{}{at_once}", format::listed(&ran))
        };
        if text.is_empty() {
            return None;
        }
        let share =
            self.share.map_or_else(String::new, |share| format!(", running {:.0} % of the time", share * 100.0));
        Some(format!("{text}{share}"))
    }

    /// The user's own command, which the shell ran as the load.
    fn own_command(&self) -> Option<&str> {
        match self.commands.as_slice() {
            [command] if self.name == "command" => shell_command(command),
            _ => None,
        }
    }
}

/// What one program of a load does: the workers of stress-ng, or the command line.
#[must_use]
pub fn describe_command(words: &[String]) -> String {
    if let Some(command) = shell_command(words) {
        return format!("the command '{}'", shortened(command, COMMAND_CHARS));
    }
    match words.split_first() {
        None => String::new(),
        Some((program, options)) if program.rsplit('/').next() == Some("stress-ng") => {
            let workers = workers(options);
            if workers.is_empty() {
                shortened(&words.join(" "), COMMAND_CHARS)
            } else {
                format!("stress-ng: {}", workers.join(", "))
            }
        }
        Some(_) => format!("the command '{}'", shortened(&words.join(" "), COMMAND_CHARS)),
    }
}

/// The script of `sh -c SCRIPT`.
fn shell_command(words: &[String]) -> Option<&str> {
    match words {
        [shell, option, script] if shell.rsplit('/').next() == Some("sh") && option == "-c" => Some(script),
        _ => None,
    }
}

/// A command as the name of a load: a long one without the folder of its program, and cut between its words.
fn short_name(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE_CHARS {
        return line;
    }
    let (program, options) = line.split_once(' ').unwrap_or((&line, ""));
    let mut name = shortened(program.rsplit('/').next().unwrap_or(program), TITLE_CHARS);
    let mut rest = options.split(' ').filter(|word| !word.is_empty()).peekable();
    while let Some(word) = rest.next_if(|word| name.chars().count() + 1 + word.chars().count() <= TITLE_CHARS) {
        name = format!("{name} {word}");
    }
    if rest.peek().is_some() { format!("{name} …") } else { name }
}

/// One line of at most this many characters, and a sign where it was cut.
fn shortened(text: &str, most_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most_chars {
        return line;
    }
    let start: String = line.chars().take(most_chars).collect();
    format!("{start}…")
}

/// The workers that options of stress-ng ask for: `3 CPU workers at 25 %`.
fn workers(options: &[String]) -> Vec<String> {
    let values: Vec<(&str, &str)> = options
        .iter()
        .enumerate()
        .filter_map(|(at, option)| {
            let name = option.strip_prefix("--")?;
            match name.split_once('=') {
                Some(pair) => Some(pair),
                None => Some((name, options.get(at + 1).filter(|next| !next.starts_with('-'))?.as_str())),
            }
        })
        .collect();
    let is_of_another = |name: &str| {
        values.iter().any(|(other, value)| {
            is_number(value) && name.strip_prefix(other).is_some_and(|rest| rest.starts_with('-'))
        })
    };
    let is_stressor =
        |name: &str, value: &str| is_number(value) && !NO_STRESSORS.contains(&name) && !is_of_another(name);
    let worker = |(name, count): &(&str, &str)| {
        let value_of = |option: &str| {
            let wanted = format!("{name}-{option}");
            values.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
        };
        let shown = STRESSORS.iter().find(|(own, _)| own == name).map_or(*name, |(_, shown)| shown);
        let many = if *count == "1" { "worker" } else { "workers" };
        let load = value_of("load").map_or_else(String::new, |load| format!(" at {load} %"));
        let rate = value_of("freq").map_or_else(String::new, |freq| format!(" at {}", hertz(freq)));
        let size = value_of("bytes").map_or_else(String::new, |bytes| format!(" of {bytes}"));
        format!("{count} {shown} {many}{load}{rate}{size}")
    };
    values.iter().filter(|(name, value)| is_stressor(name, value)).map(worker).collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `1 MHz` of `1000000`.
fn hertz(text: &str) -> String {
    match text.parse::<u64>() {
        Ok(hz) if hz >= 1_000_000 && hz % 1_000_000 == 0 => format!("{} MHz", hz / 1_000_000),
        Ok(hz) if hz >= 1_000 && hz % 1_000 == 0 => format!("{} kHz", hz / 1_000),
        Ok(hz) => format!("{} Hz", format::count(hz)),
        Err(_) => format!("{text} Hz"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DroppedPart, LoadPart, LoadWindow};

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_long_command_keeps_its_program_and_whole_words_as_a_name() {
        assert_eq!(short_name("./burn.sh --rate 5"), "./burn.sh --rate 5");
        assert_eq!(short_name("/tmp/newcomer/experiments/today/myload.sh"), "myload.sh");
        assert_eq!(
            short_name("/tmp/newcomer/load/myload.sh --rate 5 --threads 4 --block-size 4096"),
            "myload.sh --rate 5 --threads 4 …"
        );
    }

    #[test]
    fn the_workers_of_stress_ng_are_counted() {
        let check = |line: &str, expected: &str| assert_eq!(describe_command(&words(line)), expected, "{line}");
        check(
            "stress-ng --quiet --temp-path /tmp/x --cpu 3 --cpu-load 25 --io 1 --hdd 1 --hdd-bytes 64M --timer 1 --timer-freq 1000000",
            "stress-ng: 3 CPU workers at 25 %, 1 I/O worker, 1 file worker of 64M, 1 timer worker at 1 MHz",
        );
        check("/usr/bin/stress-ng --vm=2 --vm-bytes=1G --timeout 60", "stress-ng: 2 memory workers of 1G");
        check("stress-ng --switch 8 --switch-ops 100 --sockpair 2", "stress-ng: 8 switch workers, 2 sockpair workers");
        check("stress-ng --sequential 0", "stress-ng --sequential 0");
        check("ping -f ::1", "the command 'ping -f ::1'");
        check("", "the command ''");
    }

    #[test]
    fn a_load_says_what_it_was_and_of_what() {
        let none = LoadManifest { name: "none".to_owned(), ..LoadManifest::default() };
        assert_eq!((none.title(), none.describe()), (None, None));
        let script = ["sh", "-c", "while :; do\n  make; done"].map(str::to_owned).to_vec();
        let own =
            LoadManifest { name: "command".to_owned(), commands: vec![script.clone()], ..LoadManifest::default() };
        assert_eq!(own.title().unwrap(), "'while :; do make; done'");
        assert_eq!(own.describe().unwrap(), "the command 'while :; do make; done'");
        let file = LoadManifest {
            name: "mine".to_owned(),
            commands: vec![words("stress-ng --vm 1"), script],
            ..LoadManifest::default()
        };
        assert_eq!(file.title().unwrap(), "'mine'");
        assert_eq!(file.describe().unwrap(), "stress-ng: 1 memory worker; the command 'while :; do make; done'");
        // Of an import nothing but the name may be known.
        let bare = LoadManifest { name: "heavy".to_owned(), ..LoadManifest::default() };
        assert_eq!((bare.title().unwrap().as_str(), bare.describe()), ("'heavy'", None));
    }

    #[test]
    fn the_parts_that_ran_are_named_and_no_others() {
        let part = |name: &str, dropped| LoadPart { name: name.to_owned(), dropped, ..LoadPart::default() };
        let mut hard = LoadManifest {
            name: "hard".to_owned(),
            share: Some(0.75),
            parts: vec![
                part("memory", None),
                part("reclaim", Some(DroppedPart::Machine { why: "EPERM".to_owned() })),
                part("timers", None),
                part("network", None),
            ],
            ..LoadManifest::default()
        };
        assert_eq!(hard.describe().unwrap(), "memory, timers and network, running 75 % of the time");
        hard.share = None;
        hard.windows = vec![LoadWindow::default()];
        assert_eq!(hard.describe().unwrap(), "memory, timers and network, one after the other and then together");
    }

    #[test]
    fn a_long_command_is_cut_where_a_character_ends() {
        let long = vec!["sh".to_owned(), "-c".to_owned(), "ä".repeat(500)];
        assert_eq!(describe_command(&long).chars().filter(|c| *c == 'ä').count(), COMMAND_CHARS);
        let load = LoadManifest { name: "command".to_owned(), commands: vec![long], ..LoadManifest::default() };
        assert_eq!(load.title().unwrap().chars().filter(|c| *c == 'ä').count(), TITLE_CHARS);
    }
}
