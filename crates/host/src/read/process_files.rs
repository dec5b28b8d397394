//! Configuration files as a process sees them: under its own root, with what they include.

use profile::time_config::chrony::{Configuration, Include};

use crate::source::Source;

/// Longer than the arguments and the configuration of any of these programs.
const MAX_BYTES: u64 = 256 * 1024;
/// More files than a chronyd includes, and more directives that name some.
const MOST_FILES: usize = 200;
/// As many as the kernel follows in one path (MAXSYMLINKS, include/linux/namei.h).
const MOST_LINKS: u32 = 40;

/// A text of a process, if it can be read; nothing is remembered of it.
pub(super) fn read_text(source: &Source<'_>, path: &str) -> Option<String> {
    source.bytes(path, MAX_BYTES).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Configuration files as a process sees them.
pub(super) struct Files<'s, 'r> {
    pub(super) source: &'s Source<'r>,
    pub(super) pid: u32,
}

impl Files<'_, '_> {
    /// The folder in front of a path: the process's own root. Another user may not look through it; then the path is used as it
    /// is where systemd started the process as a service, and not in a container.
    fn prefix(&self) -> Option<String> {
        let own = format!("/proc/{}/root", self.pid);
        if self.source.link(&own).is_some() {
            return Some(own);
        }
        let groups = read_text(self.source, &format!("/proc/{}/cgroup", self.pid))?;
        let is_service = |line: &str| {
            line.rsplit(':')
                .next()
                .is_some_and(|group| group.starts_with("/system.slice/") && group.ends_with(".service"))
        };
        groups.lines().any(is_service).then(String::new)
    }

    /// Where a path of the process is found from here. Links are followed step by step within its root: the kernel would follow one
    /// with an absolute target from the reader's.
    pub(super) fn located(&self, path: &str) -> Option<String> {
        let root = self.prefix()?;
        // The steps that are left, the next one last.
        let steps = |path: &str| path.split('/').rev().map(str::to_owned).collect::<Vec<_>>();
        let (mut left, mut at, mut links) = (steps(path), Vec::<String>::new(), 0);
        if !path.starts_with('/') {
            // Relative to where it was started; only the kernel knows what that is.
            return Some(format!("/proc/{}/cwd/{path}", self.pid));
        }
        while let Some(step) = left.pop() {
            match step.as_str() {
                "" | "." => continue,
                ".." => {
                    at.pop();
                    continue;
                }
                _ => at.push(step),
            }
            let Some(target) = self.source.link(&format!("{root}/{}", at.join("/"))) else { continue };
            links += 1;
            if links > MOST_LINKS {
                return None;
            }
            if target.is_absolute() {
                at.clear();
            } else {
                at.pop();
            }
            left.extend(steps(target.to_str()?));
        }
        Some(format!("{root}/{}", at.join("/")))
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        let seen = self.located(path)?;
        if self.source.is_file(&seen) { read_text(self.source, &seen) } else { None }
    }

    /// The file that is named; where none is, the first of the known ones that is there.
    pub(super) fn first(&self, named: Option<&str>, known: &[&str]) -> Option<(String, String)> {
        let candidates = named.map_or_else(|| known.to_vec(), |named| vec![named]);
        candidates.into_iter().find_map(|path| Some((path.to_owned(), self.text(path)?)))
    }

    /// Takes a text and all that it includes, in order; whether all of it could be read.
    pub(super) fn take_chrony(&self, configuration: &mut Configuration, text: &str) -> bool {
        let mut is_complete = true;
        let mut waiting = vec![text.to_owned()];
        let mut taken = 0;
        while let Some(text) = waiting.pop() {
            taken += 1;
            if taken > MOST_FILES {
                return false;
            }
            // Line by line, so that what is included comes where it is named.
            let mut lines = text.lines();
            while let Some(line) = lines.next() {
                configuration.take(line);
                let Some(include) = configuration.includes.pop() else { continue };
                let (files, is_known) = self.included(&include);
                is_complete &= is_known;
                let rest: String = lines.by_ref().flat_map(|line| [line, "\n"]).collect();
                waiting.push(rest);
                for file in files.iter().rev() {
                    match self.source.is_file(file).then(|| read_text(self.source, file)).flatten() {
                        Some(text) => waiting.push(text),
                        None => is_complete = false,
                    }
                }
                break;
            }
        }
        is_complete
    }

    /// The files of a folder that a pattern with `*` names, in the order of their names.
    fn matching(&self, folder: &str, name: &str) -> Vec<String> {
        let folder = self.located(folder).unwrap_or_default();
        // Without a folder there would be the reader's own root.
        if folder.is_empty() { Vec::new() } else { self.source.matching(&format!("{folder}/{name}")) }
    }

    /// The files of an include in their order, and whether all are known.
    fn included(&self, include: &Include) -> (Vec<String>, bool) {
        match include {
            Include::Files(pattern) => {
                let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
                let found = self.matching(folder, name);
                let is_known = !found.is_empty() && !pattern.contains(['?', '[']);
                (found, is_known)
            }
            Include::Folders(folders) => {
                let mut files: Vec<(String, String)> = Vec::new();
                for folder in folders {
                    for path in self.matching(folder, "*.conf") {
                        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                        if !files.iter().any(|(known, _)| *known == name) {
                            files.push((name, path));
                        }
                    }
                }
                files.sort();
                (files.into_iter().map(|(_, path)| path).collect(), true)
            }
        }
    }
}
