use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use farm::Token;
use store::{NewToken, Read as _, SecretHash, Sqlite, Store as _, TokenState};
use terminal::output;

use super::{Addresses, by, find, open};
use crate::keys::{Keys, new_secret};
use crate::programs;

/// The most bytes of a file of names.
const MOST_FILE_BYTES: u64 = 4 << 20;

/// Makes a token, which enrols one node: give it to 'punctual agent enrol' on that node by stdin
#[derive(Debug, clap::Args)]
pub(super) struct EnrolArgs {
    /// The name that the node gets [default: its host name]
    #[arg(long, conflicts_with = "names")]
    name: Option<String>,
    /// A token for each line of this file, which is the name of a node: NAME, tabulator, token
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// A label that the nodes get, several times if wanted
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// The node whose history goes on in the new one's, and which is retired by it
    #[arg(long, value_name = "NODE", conflicts_with = "names")]
    replaces: Option<String>,
    /// How nodes reach this machine, for the line that is printed [default: its host name]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// List all tokens instead, without their secrets
    #[arg(long, conflicts_with_all = ["name", "names", "label", "replaces", "host", "end"])]
    list: bool,
    /// End a token that was not used, by its number, instead
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["name", "names", "label", "replaces", "host"])]
    end: Option<i64>,
}

impl EnrolArgs {
    pub(super) fn run(self, folder: &Path) -> anyhow::Result<ExitCode> {
        let (folder, mut store) = open(folder)?;
        if self.list {
            output::data(&list(&store)?);
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(token) = self.end {
            store.end_token(token, &by())?;
            return Ok(ExitCode::SUCCESS);
        }
        let keys = Keys::load_or_make(&folder)?;
        let labels = self.label.iter().map(|label| read_label(label)).collect::<anyhow::Result<BTreeMap<_, _>>>()?;
        let replaces = self.replaces.map(|name| find(&store, &name)).transpose()?.map(|node| node.key);
        let names = self.names.as_deref().map(read_names).transpose()?;
        let mut make = |name: Option<String>| -> anyhow::Result<String> {
            let secret = new_secret()?;
            let made_for = NewToken { name, labels: labels.clone(), replaces };
            store.add_token(SecretHash::of(secret.bytes()), &made_for, &by())?;
            Ok(Token::new(keys.agents.fingerprint(), secret).reveal())
        };
        if let Some(names) = names {
            let mut lines = String::new();
            for name in names {
                let token = make(Some(name.clone())).with_context(|| format!("no token for {name}"));
                match token {
                    // Writing to a string cannot fail.
                    Ok(token) => drop(writeln!(lines, "{name}\t{token}")),
                    Err(error) => {
                        // Those before it are good.
                        output::data(&lines);
                        return Err(error);
                    }
                }
            }
            output::data(&lines);
            return Ok(ExitCode::SUCCESS);
        }
        output::data(&format!("{}\n", make(self.name)?));
        let host = self.host.unwrap_or_else(|| kernel::process::system_names().3);
        let port = Addresses::read(&folder)?.agents_port;
        output::note(&format!(
            "with this token in the file 'token', on the node: punctual agent enrol {host}:{port} < token"
        ));
        let programs = programs::all(&folder)?;
        if let Some(pin) = keys.agents.pin().filter(|_| !programs.is_empty()) {
            output::note(&format!(
                "on one without the program, as root: {}",
                programs::line_for_bare_machine(&programs, &format!("{host}:{port}"), &pin)
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A label as it is typed: `key=value`, or a key alone.
pub(super) fn read_label(text: &str) -> anyhow::Result<(String, String)> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    anyhow::ensure!(!key.is_empty(), "'{text}' is no label: give KEY=VALUE, or a KEY alone");
    Ok((key.to_owned(), value.to_owned()))
}

/// The names of a file, one a line; what follows '#' and empty lines are none.
fn read_names(path: &Path) -> anyhow::Result<Vec<String>> {
    let named = || path.display().to_string();
    let bytes = std::fs::metadata(path).with_context(named)?.len();
    anyhow::ensure!(
        bytes <= MOST_FILE_BYTES,
        "{} has {bytes} bytes, of at most {MOST_FILE_BYTES}: is it a list of names?",
        named()
    );
    let text = std::fs::read_to_string(path).with_context(named)?;
    let mut names: Vec<String> = Vec::new();
    for (line, name) in (1..).zip(text.lines()) {
        let name = name.split('#').next().unwrap_or_default().trim();
        if name.is_empty() {
            continue;
        }
        store::check_name(name).with_context(|| format!("{}, line {line}", named()))?;
        anyhow::ensure!(
            !names.iter().any(|known| known == name),
            "{}, line {line}: {name} stands there twice",
            named()
        );
        names.push(name.to_owned());
    }
    anyhow::ensure!(!names.is_empty(), "{} has no name in it", named());
    Ok(names)
}

fn list(store: &Sqlite) -> anyhow::Result<String> {
    let mut table = terminal::table::Table::new(&["token", "state", "for", "made"]).left(1).left(2).left(3);
    for token in store.tokens()? {
        let state = match token.state {
            TokenState::Open => "open".to_owned(),
            TokenState::Used(node) => {
                let name = store.node(node)?.map_or_else(|| node.to_string(), |node| node.name);
                format!("used by {name}")
            }
            TokenState::Ended => "ended".to_owned(),
        };
        let name = token.made_for.name.unwrap_or_default();
        table.row(vec![token.id.to_string(), state, name, crate::pages::zoned(token.made_wall_ns)]);
    }
    Ok(table.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_names_is_read_whole_or_refused_with_its_line() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("names");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_names(&path).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(read("# rack 1\nlime2\n\n  pi 4 # with a hat\n"), Ok(vec!["lime2".to_owned(), "pi 4".to_owned()]));
        for (text, place) in
            [("a\n../b\n", "line 2"), ("a\na\n", "line 2"), ("\u{1b}[2J\n", "line 1"), ("#\n", "no name")]
        {
            assert!(read(text).is_err_and(|error| error.contains(place)), "{text:?}");
        }
    }
}
