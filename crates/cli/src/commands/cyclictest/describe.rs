//! cyclictest's options as clap describes options, for the manual page and completions; `args` reads them.

use clap::{Arg, ArgAction, Command};

use super::HELP;

/// The command with its options written out, as its help lists them.
pub(crate) fn documented(command: &Command) -> Command {
    let described = Command::new("cyclictest")
        .disable_help_flag(true)
        .about(command.get_about().cloned().unwrap_or_default())
        .long_about(long_about())
        .args(options());
    match (command.get_after_help(), command.get_after_long_help()) {
        (Some(short), Some(long)) => described.after_help(short.clone()).after_long_help(long.clone()),
        _ => described,
    }
}

fn long_about() -> String {
    let refused = HELP.lines().find(|line| line.contains("are refused")).unwrap_or_default();
    format!(
        "Measure with cyclictest's own options and output, for scripts that know them\n\nBundled letters (-mSq), attached values \
         (-i200) and unique beginnings of long names (--dur 5) are understood as cyclictest understands them. {refused}"
    )
}

/// The options of the help, each below its heading.
fn options() -> Vec<Arg> {
    let mut heading = "";
    let mut options = Vec::new();
    for line in HELP.lines() {
        match option(line) {
            Some(arg) => options.push(arg.help_heading(heading)),
            // Headings are the lines without indentation and punctuation.
            None if !line.is_empty() && !line.starts_with(' ') && !line.contains([':', '.']) => heading = line,
            None => {}
        }
    }
    options
}

/// `  -a, --affinity[=CPUS]    pin thread n …` as an option; `None` for any other line.
fn option(line: &'static str) -> Option<Arg> {
    let line = line.strip_prefix("  ")?.trim_start();
    let (names, help) = line.split_once("  ").filter(|_| line.starts_with('-'))?;
    let mut arg: Option<Arg> = None;
    let mut letters = Vec::new();
    for name in names.split(", ") {
        match name.strip_prefix("--") {
            Some(long) => {
                let (name, value) = match long.split_once("[=") {
                    Some((name, value)) => (name, Some((value.trim_end_matches(']'), 0..=1))),
                    None => match long.split_once('=') {
                        Some((name, value)) => (name, Some((value, 1..=1))),
                        None => (long, None),
                    },
                };
                let described = Arg::new(name).long(name).help(help.trim_start());
                arg = Some(match value {
                    Some((value, count)) => described.value_name(value).num_args(count),
                    None => described.action(ArgAction::SetTrue),
                });
            }
            None => letters.extend(name.chars().nth(1)),
        }
    }
    let mut letters = letters.into_iter();
    let arg = match letters.next() {
        Some(letter) => arg?.short(letter),
        None => arg?,
    };
    // What has no long name of its own here is listed with the option that means the same.
    Some(letters.fold(arg, Arg::visible_short_alias))
}

#[cfg(test)]
mod tests {
    use super::super::args;
    use super::*;

    #[test]
    fn every_option_that_is_read_is_described_and_the_other_way_round() {
        let described: Vec<(Option<char>, String)> =
            options().iter().map(|arg| (arg.get_short(), arg.get_long().unwrap().to_owned())).collect();
        let read: Vec<(Option<char>, String)> = args::accepted().collect();
        for option in &described {
            assert!(read.contains(option), "{option:?} is described and not read");
        }
        for option in read.iter().filter(|(_, long)| long != "nanosleep") {
            assert!(described.contains(option), "{option:?} is read and not described");
        }
        documented(&Command::new("cyclictest")).debug_assert();
        assert!(options().iter().all(|arg| arg.get_help_heading().is_some_and(|heading| !heading.is_empty())));
    }

    #[test]
    fn values_that_may_be_left_away_are_described_as_such() {
        let all = options();
        let arg = |name: &str| all.iter().find(|arg| arg.get_long() == Some(name)).unwrap();
        assert_eq!(arg("affinity").get_num_args().unwrap().min_values(), 0);
        assert_eq!(arg("interval").get_num_args().unwrap().min_values(), 1);
        assert_eq!(arg("mlockall").get_short(), Some('m'));
        assert_eq!(arg("unbuffered").get_visible_short_aliases(), Some(vec!['n']));
    }
}
