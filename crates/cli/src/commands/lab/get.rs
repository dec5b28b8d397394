//! `punctual lab get`: files out of machines of a running lab.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use ::lab::running::{self, Found, Lab};
use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::find_node;
use crate::exit::Exit;
use terminal::output;

/// Fetch a file, or a folder with all files in it, from a machine of a running lab
///
/// What is there already is not overwritten, except with --force.
#[derive(clap::Args)]
pub(super) struct GetArgs {
    /// LAB if it has one machine, else LAB/NODE.
    node: String,
    /// The file or folder on that machine; a relative path begins in /root, where 'lab exec' runs commands.
    path: String,
    /// Where it goes: a new name, a folder that is there, or - for stdout [default: its own name, in this folder]
    to: Option<PathBuf>,
    /// Overwrite files that are there.
    #[arg(short, long)]
    force: bool,
}

/// Fetches a file or folder of a node into a folder, which is made; what is there of that name is replaced.
pub(super) fn fetch_into(lab: &Lab, node: &str, path: &str, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (node, to) = (format!("{}/{node}", lab.name), Some(folder.to_owned()));
    GetArgs { node, path: path.to_owned(), to, force: true }.run().map(|_| ())
}

impl GetArgs {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let (lab, node) = find_node(&self.node)?;
        let Some(name) = Path::new(&self.path).file_name() else {
            bail!("'{}' names no file and no folder", self.path);
        };
        let found = running::look(&lab, &node, &self.path)?;
        if self.to.as_deref() == Some(Path::new("-")) {
            let Found::File(size) = found else { bail!("{} is a folder, which stdout cannot take", self.path) };
            running::fetch(&lab, &node, &self.path, size, &mut io::stdout().lock(), &mut |_| {})?;
            return Ok(Exit::Holds);
        }
        let to = match &self.to {
            None => PathBuf::from(name),
            Some(folder) if folder.is_dir() => folder.join(name),
            Some(to) => to.clone(),
        };
        // Before anything is fetched, and for a folder as a whole, so that no two are mixed.
        if !self.force && to.symlink_metadata().is_ok() {
            bail!("{} is there already: name another place, or --force to overwrite it", to.display());
        }
        match found {
            Found::File(size) => {
                let bytes = self.file(&lab, &node, &self.path, size, &to)?;
                output::note(&format!("{}: {}", to.display(), units::format::bytes(bytes)));
            }
            Found::Folder(files) => {
                fs::create_dir_all(&to).with_context(|| format!("cannot make {}", to.display()))?;
                let mut bytes = 0;
                for file in &files {
                    let path = format!("{}/{file}", self.path.trim_end_matches('/'));
                    let Found::File(size) = running::look(&lab, &node, &path)? else {
                        bail!("{path} was a file and is a folder now: try again");
                    };
                    let to = to.join(file);
                    let parent = to.parent().unwrap_or(Path::new("."));
                    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
                    bytes += self.file(&lab, &node, &path, size, &to)?;
                }
                let (count, bytes) = (files.len(), units::format::bytes(bytes));
                output::note(&format!("{}: {count} files, {bytes}", to.display()));
            }
        }
        Ok(Exit::Holds)
    }

    /// Fetches one file beside its place, and puts it there once it is whole; returns its size (bytes).
    fn file(&self, lab: &Lab, node: &str, path: &str, size: u64, to: &Path) -> anyhow::Result<u64> {
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        let part = Part(to.with_file_name(format!(".{name}.{}.part", std::process::id())));
        let mut file = File::create(&part.0).with_context(|| format!("cannot write {}", to.display()))?;
        let bar = progress(path, size);
        let fetched = running::fetch(lab, node, path, size, &mut file, &mut |bytes| bar.set_position(bytes));
        bar.finish_and_clear();
        let bytes = fetched?;
        file.flush().with_context(|| format!("cannot write {}", to.display()))?;
        put(&part.0, to, self.force).with_context(|| format!("cannot write {}", to.display()))?;
        if bytes > size {
            output::warning(&format!(
                "{path} has grown from {size} to {bytes} bytes meanwhile: it may not be finished"
            ));
        }
        Ok(bytes)
    }
}

/// A file that is not whole yet; it goes with its owner.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // In its place it is gone from here.
        let _ = fs::remove_file(&self.0);
    }
}

/// Puts a whole file into its place; without `force` only where nothing is, also where that came meanwhile.
fn put(part: &Path, to: &Path, force: bool) -> io::Result<()> {
    if force {
        return fs::rename(part, to);
    }
    match fs::hard_link(part, to) {
        // A file system without links.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists && to.symlink_metadata().is_err() => {
            fs::rename(part, to)
        }
        linked => linked,
    }
}

fn progress(path: &str, size: u64) -> ProgressBar {
    if !output::draws_on(&io::stderr()) || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(size).with_prefix(path.to_owned());
    let template = "{prefix}  {bytes} of {total_bytes}, {eta} left\n[{wide_bar}]";
    // The template is a constant that the library accepts; its own default would do as well.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// The files that a command of punctual's in a guest writes: what stands behind -o, also within a shell's command.
pub(super) fn written_files(command: &[String]) -> Vec<String> {
    let words: Vec<&str> = command.iter().flat_map(|argument| argument.split_ascii_whitespace()).collect();
    let is_punctual = |word: &&str| Path::new(word).file_name().is_some_and(|name| name == "punctual");
    let Some(from) = words.iter().position(is_punctual) else { return Vec::new() };
    let mut files = Vec::new();
    let mut rest = words[from..].iter();
    while let Some(word) = rest.next() {
        let file = match *word {
            "-o" | "--output" => rest.next().copied(),
            word => word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o")),
        };
        files.extend(file.map(|file| file.trim_matches(['\'', '"', ';'])).filter(|file| !matches!(*file, "" | "-")));
    }
    files.into_iter().map(str::to_owned).collect()
}

/// Says of each file that a command has written that it is in the guest, and how to fetch it.
pub(super) fn announce_written(lab: &Lab, node: &str, word: &str, command: &[String]) {
    for file in written_files(command) {
        // A file that is not there was not written; the command has said why.
        if running::look(lab, node, &file).is_ok() {
            output::note(&format!("{file} is on the machine {node}; 'punctual lab get {word} {file}' fetches it"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_behind_o_are_found_in_commands_of_punctual_alone() {
        let check = |command: &[&str], files: &[&str]| {
            let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(written_files(&command), files, "{command:?}");
        };
        check(&["punctual", "measure", "wakeup", "-o", "/tmp/x"], &["/tmp/x"]);
        check(&["/bin/punctual", "assess", "--output=d", "--time", "5s"], &["d"]);
        check(&["punctual", "report", "a.json", "-oreport.html"], &["report.html"]);
        check(&["sh", "-c", "cd /tmp; punctual check && punctual app -o 'y.json'; ls"], &["y.json"]);
        check(&["punctual", "export", "-o", "-"], &[]);
        check(&["ps", "-o", "pid"], &[]);
        check(&["punctual", "measure", "wakeup", "-o"], &[]);
    }

    #[test]
    fn nothing_is_overwritten_unless_it_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (part, to) = (folder.path().join("part"), folder.path().join("to"));
        let written = |file: &Path| fs::read_to_string(file).unwrap();
        fs::write(&part, "new").unwrap();
        fs::write(&to, "old").unwrap();
        assert_eq!(put(&part, &to, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((written(&part), written(&to)), ("new".to_owned(), "old".to_owned()));
        put(&part, &to, true).unwrap();
        assert_eq!(written(&to), "new");
        fs::write(&part, "newer").unwrap();
        put(&part, &folder.path().join("other"), false).unwrap();
        assert_eq!(written(&folder.path().join("other")), "newer");
    }
}
