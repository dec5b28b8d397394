//! What help and manual pages say besides options: exit status, examples, where to read on, all from one table.

pub(crate) mod pages;

use std::fmt::Write as _;
use std::io;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use run::load::LoadSpec;

use self::pages::Page;
use crate::grammar;
use terminal::wrap;

/// The program's command with the sections of [`pages`] in the help of each command.
pub(crate) fn command() -> Command {
    with_kinds(with_help(crate::Cli::command(), ""))
}

/// The command with each kind of measurement that stands alone as a command, right behind `measure`: `punctual wakeup` is
/// `punctual measure wakeup`. A kind that is registered there is one here.
fn with_kinds(mut command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let mut kinds = Vec::new();
    for (place, name) in (0..).step_by(PLACES_BETWEEN).zip(&names) {
        command = command.mut_subcommand(name, |one| one.display_order(place));
        if name == "measure" {
            let measure = command.find_subcommand(name);
            let standing = measure.into_iter().flat_map(Command::get_subcommands);
            let standing = standing.filter(|kind| grammar::stands_alone(kind.get_name()));
            kinds.extend((place + 1..).zip(standing).map(|(place, kind)| kind.clone().display_order(place)));
        }
    }
    command.subcommands(kinds)
}

/// Room in the order of commands for the kinds behind one of them.
const PLACES_BETWEEN: usize = 20;

/// The command as completions and manual pages describe it: cyclictest's options are written out, which their own parser reads.
pub(crate) fn documented_command() -> Command {
    command().mut_subcommand("cyclictest", |command| crate::commands::cyclictest::documented(&command))
}

fn with_help(mut command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        let path = joined(path, &name);
        command = command.mut_subcommand(name, |one| with_help(one, &path));
    }
    let has_load = takes_load(&command);
    match pages::find(path) {
        Some(page) => {
            let loads = if has_load { format!("{}\n", loads()) } else { String::new() };
            command.after_help(exits(page)).after_long_help(format!("{loads}{}", all_sections(page)))
        }
        None => command,
    }
}

/// Whether a load can run beside a command.
fn takes_load(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some("load"))
}

/// The loads that come with the program, each with what it does.
fn built_in_loads() -> impl Iterator<Item = LoadSpec> {
    LoadSpec::built_in_names().filter_map(LoadSpec::built_in)
}

fn loads() -> String {
    let line = |load: LoadSpec| wrap::after_lead(&format!("  {:<6} ", load.name), &load.description, width());
    built_in_loads().fold("Loads that come with the program:\n".to_owned(), |text, load| text + &line(load))
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path} {name}") }
}

/// The exit codes of a command, as its help lists them.
pub(crate) fn exits(page: &Page) -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (code, meaning) in page.exits {
        text.push_str(&wrap::after_lead(&format!("  {code:<5} "), meaning, width()));
    }
    text.truncate(text.trim_end().len());
    text
}

/// As wide as clap writes the rest of a help.
fn width() -> usize {
    wrap::width().min(100)
}

fn all_sections(page: &Page) -> String {
    let mut text = format!("{}\n\nExamples:\n", exits(page));
    for (line, what) in page.examples {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {line}");
        text.push_str(&wrap::after_lead("      ", what, width()));
    }
    text.push('\n');
    text.push_str(&wrap::after_lead("See also: ", &page.see.join(", "), width()));
    text.truncate(text.trim_end().len());
    text
}

/// A manual page: the name of its file, and its text.
pub(crate) type ManualPage = (String, Vec<u8>);

/// The manual pages of all commands that people are to know.
///
/// # Errors
/// None in practice: they are written into memory.
pub(crate) fn manual_pages() -> io::Result<Vec<ManualPage>> {
    let mut command = documented_command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, "", &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, path: &str, pages: &mut Vec<ManualPage>) -> io::Result<()> {
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        collect(one, &joined(path, one.get_name()), pages)?;
    }
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if command.get_subcommands().any(|one| !one.is_hide_set()) {
        man.render_subcommands_section(&mut text)?;
    }
    if takes_load(command) {
        let mut roff = Roff::new();
        roff.control("SH", ["LOADS"]);
        for load in built_in_loads() {
            roff.control("TP", []);
            roff.text([bold(load.name)]);
            roff.text([roman(load.description)]);
        }
        roff.to_writer(&mut text)?;
    }
    // A kind that stands alone has the page of the same under `measure`.
    if let Some(page) = pages::find(path).or_else(|| pages::find(&joined("measure", path))) {
        sections(page).to_writer(&mut text)?;
    }
    pages.push((man.get_filename(), text));
    Ok(())
}

/// EXIT STATUS, EXAMPLES and SEE ALSO, as man-pages(7) names and orders them.
fn sections(page: &Page) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in page.exits {
        roff.control("TP", []);
        roff.text([bold(*code)]);
        roff.text([roman(*meaning)]);
    }
    if page.command.is_empty() {
        roff.control("PP", []);
        roff.text([roman(pages::IN_GENERAL)]);
    }
    roff.control("SH", ["EXAMPLES"]);
    for (line, what) in page.examples {
        roff.control("TP", []);
        roff.text([bold(*line)]);
        roff.text([roman(*what)]);
    }
    roff.control("SH", ["SEE ALSO"]);
    let own = [if page.command.is_empty() { "" } else { "punctual" }];
    let all = own.iter().chain(page.see).filter(|name| !name.is_empty());
    let mut line: Vec<Inline> = Vec::new();
    for name in all {
        if !line.is_empty() {
            line.push(roman(", "));
        }
        line.extend(reference(name));
    }
    roff.text(line);
    roff
}

/// A command as its manual page, a manual page as it is, a file by its path.
fn reference(name: &str) -> Vec<Inline> {
    if name.starts_with("docs/") {
        return vec![italic(name)];
    }
    match name.strip_suffix("(8)") {
        Some(page) => vec![bold(page), roman("(8)")],
        None => vec![bold(name.replace(' ', "-")), roman("(1)")],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsString;

    use super::*;

    #[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "what has the whole program's commands alone"))]
    fn commands(command: &Command, path: &str, found: &mut BTreeSet<String>) {
        found.insert(path.to_owned());
        for one in command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help") {
            commands(one, &joined(path, one.get_name()), found);
        }
    }

    #[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "what has the whole program's commands alone"))]
    /// The words of a line as a shell reads it, up to a redirection; quotes are the only thing of the shell's in the examples.
    fn shell_words(line: &str) -> Vec<OsString> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.split(" > ").next().unwrap().chars() {
            match (c, quote) {
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                (' ', None) => words.push(std::mem::take(&mut word).into()),
                (c, _) => word.push(c),
            }
        }
        words.push(word.into());
        words
    }

    #[test]
    #[cfg(feature = "lab")]
    fn every_command_has_one_page_and_every_page_a_command() {
        let mut found = BTreeSet::new();
        commands(&crate::Cli::command(), "", &mut found);
        let pages: Vec<String> = pages::all().map(|page| page.command.to_owned()).collect();
        assert_eq!(pages.iter().cloned().collect::<BTreeSet<_>>(), found);
        assert_eq!(pages.len(), found.len(), "one page each");
    }

    #[test]
    #[cfg(feature = "lab")]
    fn every_example_is_understood_and_is_of_its_command() {
        for page in pages::all() {
            assert!(!page.exits.is_empty() && !page.see.is_empty(), "{}", page.command);
            for (line, _) in page.examples {
                assert!(
                    line.starts_with(&joined("punctual", page.command).trim_end().to_owned())
                        || line.contains(" wakeup ")
                );
                let words = grammar::completed(shell_words(line)).unwrap();
                if let Err(error) = crate::parsed(&words) {
                    panic!("{line}: {error}");
                }
            }
            assert!(!page.examples.is_empty(), "{}", page.command);
        }
    }

    /// By construction: of whatever `measure` lists, what is no command of its own is one in help, completions and pages.
    #[test]
    fn every_kind_that_stands_alone_is_in_help_completions_and_manual_pages() {
        let raw = crate::Cli::command();
        let measure = raw.find_subcommand("measure").unwrap();
        let kinds: Vec<&str> = measure.get_subcommands().map(Command::get_name).collect();
        let kinds: Vec<&str> = kinds.into_iter().filter(|kind| grammar::stands_alone(kind)).collect();
        assert!(["wakeup", "clock", "noise"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
        let help = command().render_help().to_string();
        let pages = manual_pages().unwrap();
        for kind in kinds {
            assert!(help.lines().any(|line| line.starts_with(&format!("  {kind} "))), "{kind} is not in: {help}");
            let (_, page) = pages.iter().find(|(name, _)| *name == format!("punctual-{kind}.1")).unwrap();
            let page = String::from_utf8_lossy(page);
            assert!(page.contains("EXIT STATUS") && page.contains("EXAMPLES"), "{page}");
            for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut documented_command(), "punctual", &mut script);
                let script = String::from_utf8(script).unwrap();
                assert!(
                    script.contains(&format!("punctual {kind}"))
                        || script.contains(&format!("-a \"{kind}\""))
                        || script.contains(&format!("punctual__{kind}"))
                        || script.contains(&format!("punctual__subcmd__{kind}")),
                    "{shell}: {kind}"
                );
            }
            // A kind that is nearly typed is found.
            let words = ["punctual".to_owned(), format!("{kind}x")].map(OsString::from);
            let Err(error) = crate::parsed(&words) else { panic!("{kind}x is understood") };
            assert!(error.to_string().contains(&format!("'{kind}'")), "{error}");
        }
        let at = |word: &str| help.find(&format!("\n  {word} ")).unwrap();
        assert!(at("measure") < at("wakeup") && at("noise") < at("packet"), "{help}");
    }

    #[test]
    fn what_is_named_for_reading_on_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for name in pages::all().flat_map(|page| page.see) {
            match name.strip_prefix("punctual ") {
                Some(command) => assert!(pages::find(command).is_some(), "{name}"),
                None if name.starts_with("docs/") => assert!(root.join(name).exists(), "{name}"),
                None => assert_eq!(*name, "cyclictest(8)"),
            }
        }
    }

    #[test]
    fn the_readme_says_what_is_true_of_exit_codes() {
        let readme = include_str!("../../../../README.md");
        assert!(readme.contains(pages::IN_GENERAL), "README.md lacks: {}", pages::IN_GENERAL);
    }
}
