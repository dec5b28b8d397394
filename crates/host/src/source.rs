//! The one way to a node's files: bounded, forgiving about what is missing, and able to remember what it gave.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Component, Path};

use kernel::lockdown::{self, Lockdown};
use kernel::refusal::{self, Refusal};
use profile::{IssueReason, ProbeIssue};

use crate::root::Root;

/// The longest text that is read unless a reader asks for more: sysfs gives at most one page, a page is at most 64 KiB.
const TEXT_MAX_BYTES: u64 = 64 * 1024;
/// More entries than any folder that is listed has on the largest machines; a damaged tree cannot ask for more.
const FOLDER_MAX_ENTRIES: usize = 65_536;

/// The files of debugfs, which lockdown closes.
const DEBUGFS: &str = "/sys/kernel/debug/";
/// How far the kernel is locked down.
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// What a capture keeps.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// Texts by path, as the reader saw them.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Folders whose presence was an answer.
    pub(crate) folders: BTreeSet<String>,
    /// Names that are addresses, and what stands for them.
    hidden: BTreeMap<String, String>,
}

impl Recording {
    /// A path without the names that are hidden.
    fn path(&self, path: &str) -> String {
        let shown = |step: &str| -> String {
            let (stem, end) = step.strip_suffix(".json").map_or((step, ""), |stem| (stem, ".json"));
            self.hidden.get(stem).map_or_else(|| step.to_owned(), |name| format!("{name}{end}"))
        };
        path.split('/').map(shown).collect::<Vec<_>>().join("/")
    }
}

/// The accessor through which every file and folder of a machine is read.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    root: &'a Root,
    issues: RefCell<Vec<ProbeIssue>>,
    recording: Option<RefCell<Recording>>,
}

impl<'a> Source<'a> {
    pub(crate) const fn new(root: &'a Root) -> Self {
        Self { root, issues: RefCell::new(Vec::new()), recording: None }
    }

    pub(crate) fn recording(root: &'a Root) -> Self {
        Self { recording: Some(RefCell::default()), ..Self::new(root) }
    }

    pub(crate) fn finish(self) -> (Vec<ProbeIssue>, Recording) {
        let mut issues = self.issues.into_inner();
        issues.sort();
        issues.dedup();
        (issues, self.recording.map(RefCell::into_inner).unwrap_or_default())
    }

    pub(crate) const fn is_live(&self) -> bool {
        self.root.is_live()
    }

    /// Whether what is read will be handed on, so that names have to stay here.
    pub(crate) const fn is_capturing(&self) -> bool {
        self.recording.is_some()
    }

    pub(crate) fn issue(&self, path: &str, reason: IssueReason, effect: impl Into<String>) {
        self.issues.borrow_mut().push(ProbeIssue { source: path.to_owned(), reason, effect: effect.into() });
    }

    /// Reports a path as missing, unless it was already reported as denied.
    pub(crate) fn missing(&self, path: &str, effect: &str) {
        let is_reported = self.issues.borrow().iter().any(|issue| issue.source == path);
        if !is_reported {
            self.issue(path, IssueReason::Missing, effect);
        }
    }

    /// Reports a text that was read and could not be understood.
    pub(crate) fn odd(&self, path: &str) {
        self.issue(path, IssueReason::Unreadable, "its content is not of the expected form; the value stays unknown");
    }

    /// Remembers a text that came from elsewhere than a file.
    pub(crate) fn record(&self, path: &str, bytes: &[u8]) {
        if let Some(recording) = &self.recording {
            let mut recording = recording.borrow_mut();
            let path = recording.path(path);
            recording.files.insert(path, bytes.to_vec());
        }
    }

    /// Remembers that a folder was there.
    pub(crate) fn record_folder(&self, path: &str) {
        if let Some(recording) = &self.recording {
            let mut recording = recording.borrow_mut();
            let path = recording.path(path);
            recording.folders.insert(path);
        }
    }

    /// Lets another name stand for one that a capture must not carry.
    pub(crate) fn hide(&self, name: &str, stem: &str) {
        if let Some(recording) = &self.recording {
            let mut recording = recording.borrow_mut();
            let number = recording.hidden.len();
            recording.hidden.insert(name.to_owned(), format!("{stem}{number}"));
        }
    }

    /// A name as it may be shown: hidden ones only while capturing.
    pub(crate) fn shown(&self, name: &str) -> String {
        let hidden = self.recording.as_ref().and_then(|recording| recording.borrow().hidden.get(name).cloned());
        hidden.unwrap_or_else(|| name.to_owned())
    }

    /// A text, or `None` where there is none.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.reduced(path, TEXT_MAX_BYTES, str::to_owned)
    }

    /// A text of at most `max_bytes`, cut down to what may be kept.
    pub(crate) fn reduced(&self, path: &str, max_bytes: u64, reduce: impl FnOnce(&str) -> String) -> Option<String> {
        let bytes = self.bytes(path, max_bytes)?;
        // The kernel cuts the names of threads after a number of bytes, also inside a character. What has hardly a character is
        // no text.
        let text = String::from_utf8_lossy(&bytes);
        let odd = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER || (c.is_control() && !c.is_whitespace()));
        if odd.count() * 2 > text.chars().count() {
            self.odd(path);
            return None;
        }
        let text = reduce(&text);
        self.record(path, text.as_bytes());
        Some(text)
    }

    /// Whether the kernel is locked down so that it closes a file to everybody: then it is not tried, since each attempt
    /// would be a line in the kernel's log, and what stays unknown is reported.
    fn is_closed(&self, path: &str) -> bool {
        let Some(inside) = path.strip_prefix(DEBUGFS) else { return false };
        let text = match self.is_live() {
            true => lockdown::text().map(str::to_owned),
            false => std::fs::read_to_string(self.root.locate(LOCKDOWN)).ok(),
        };
        let level = text.as_deref().and_then(Lockdown::from_text).unwrap_or(Lockdown::None);
        if level < Lockdown::Integrity {
            return false;
        }
        self.record(LOCKDOWN, text.unwrap_or_default().as_bytes());
        let unknown = match inside {
            "sched/preempt" => {
                "a preemption model that was chosen while it ran stays unknown; that of the start is known \
                                from the boot parameter preempt= and the configuration"
            }
            "sched/fair_server" => {
                "what ordinary tasks take from real-time ones stays unknown, and cannot be changed: 50 ms \
                                    of each second, unless it was changed before; they take it only from a CPU that they \
                                    are ready to run on, so isolate it"
            }
            _ => "it stays unknown",
        };
        let why = format!("the kernel is locked down ({}), which closes debugfs to root as well", level.word());
        let remedy = "a start without lockdown= and without Secure Boot opens it";
        self.issue(path, IssueReason::Denied, format!("{why}: {unknown}; {remedy}"));
        true
    }

    /// Bytes as they are; the caller records what may be kept of them.
    pub(crate) fn bytes(&self, path: &str, max_bytes: u64) -> Option<Vec<u8>> {
        if !self.is_plain(path) || self.is_closed(path) {
            return None;
        }
        match read_bounded(self.root, path, max_bytes) {
            Ok(Some(bytes)) => Some(bytes),
            Ok(None) => {
                let effect =
                    format!("it is longer than the {max_bytes} bytes that are accepted; its value stays unknown");
                self.issue(path, IssueReason::TooLarge, effect);
                None
            }
            Err(error) => {
                self.failed(path, &error);
                None
            }
        }
    }

    /// A value of a text; a text that is there, is not empty and has no value is an issue.
    pub(crate) fn value<T>(&self, path: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text(path)?;
        let value = parse(&text);
        if value.is_none() && !text.trim().is_empty() {
            self.odd(path);
        }
        value
    }

    /// The last step of a link's target; a captured tree holds it as the text of a file.
    pub(crate) fn link_name(&self, path: &str) -> Option<String> {
        if !self.is_plain(path) {
            return None;
        }
        match std::fs::read_link(self.root.locate(path)) {
            Ok(target) => {
                let name = target.file_name()?.to_str()?.to_owned();
                self.record(path, format!("{name}\n").as_bytes());
                Some(name)
            }
            // Not a link: EINVAL.
            Err(error) if error.kind() == ErrorKind::InvalidInput => self.value(path, profile::text::line),
            Err(error) => {
                self.failed(path, &error);
                None
            }
        }
    }

    /// The target of a link as it stands, if there is one that may be read; nothing is remembered of it.
    pub(crate) fn link(&self, path: &str) -> Option<std::path::PathBuf> {
        std::fs::read_link(self.root.locate(path)).ok()
    }

    /// Whether a path leads to a file, and not to a pipe or a device that may keep its reader waiting.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        std::fs::metadata(self.root.locate(path)).is_ok_and(|metadata| metadata.is_file())
    }

    /// Whether an interface has a device behind it; nothing is remembered of it.
    pub(crate) fn has_device(&self, interface: &str) -> bool {
        !interface.contains('/') && self.root.locate(&format!("{}/{interface}/device", profile::paths::NET)).exists()
    }

    /// The files that a pattern with `*` names, in order; nothing is remembered of them.
    pub(crate) fn matching(&self, pattern: &str) -> Vec<String> {
        if self.is_plain(pattern) { crate::boot::matching_files(self.root, pattern) } else { Vec::new() }
    }

    /// Whether a folder is there.
    pub(crate) fn has_folder(&self, path: &str) -> bool {
        let has = self.is_plain(path) && self.root.locate(path).is_dir();
        if has {
            self.record_folder(path);
        }
        has
    }

    /// The names of the folders in a folder that `wanted` accepts, in order; links to folders count.
    pub(crate) fn folders(&self, path: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let names = self.folder_names(path, wanted);
        for name in &names {
            self.record_folder(&format!("{path}/{name}"));
        }
        names
    }

    /// The same without remembering them.
    pub(crate) fn folder_names(&self, path: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.names(path, |name, kind| !kind.is_file() && wanted(name))
    }

    /// The folders named by a prefix and a number, as number, in order.
    pub(crate) fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        let names = self.folders(path, |name| profile::cpu::parse_folder(name, prefix).is_some());
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| profile::cpu::parse_folder(name, prefix)).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The names of the files in a folder, in order.
    pub(crate) fn files(&self, path: &str) -> Vec<String> {
        self.names(path, |_, kind| kind.is_file())
    }

    fn names(&self, path: &str, wanted: impl Fn(&str, std::fs::FileType) -> bool) -> Vec<String> {
        if !self.is_plain(path) || self.is_closed(path) {
            return Vec::new();
        }
        let entries = match std::fs::read_dir(self.root.locate(path)) {
            Ok(entries) => entries,
            Err(error) => {
                self.failed(path, &error);
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for (count, entry) in entries.enumerate() {
            if count == FOLDER_MAX_ENTRIES {
                let effect = format!("only its first {FOLDER_MAX_ENTRIES} entries were read");
                self.issue(path, IssueReason::TooLarge, effect);
                break;
            }
            // An entry may vanish while the folder is read, as processes do.
            let Ok(entry) = entry else { continue };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.issue(path, IssueReason::Unreadable, "a name in it is not UTF-8 and was passed over");
                continue;
            };
            // A capture marks empty folders by a hidden file.
            if name.starts_with('.') {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| wanted(name, kind)) {
                names.push(name.to_owned());
            }
        }
        names.sort();
        names
    }

    /// A tree may come from anywhere: no text in it shall lead a path out of it.
    fn is_plain(&self, path: &str) -> bool {
        let plain = Path::new(path).components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
        if !plain || path.contains('\0') {
            self.issue(path, IssueReason::Unreadable, "the path leads elsewhere and was not followed");
        }
        plain && !path.contains('\0')
    }

    fn failed(&self, path: &str, error: &io::Error) {
        match error.kind() {
            ErrorKind::PermissionDenied if self.is_live() => {
                let Refusal { why, remedy } = refusal::explain(Path::new(path), error);
                self.issue(path, IssueReason::Denied, format!("it stays unknown, since {why}; {remedy}"));
            }
            ErrorKind::PermissionDenied => {
                self.issue(path, IssueReason::Denied, "it stays unknown; the owner of the tree may read it");
            }
            _ if is_absence(error) => {}
            _ => self.issue(path, IssueReason::Unreadable, format!("reading failed ({error}); it stays unknown")),
        }
    }
}

/// Whether an error means that the node has no such value: the file is missing, the task or device has gone,
/// or the driver has no answer (`speed` of a link that is down gives EINVAL).
fn is_absence(error: &io::Error) -> bool {
    const NO_ANSWER: [i32; 5] = [
        3,  // ESRCH
        6,  // ENXIO
        19, // ENODEV
        22, // EINVAL
        95, // EOPNOTSUPP
    ];
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        || error.raw_os_error().is_some_and(|code| NO_ANSWER.contains(&code))
}

/// A file's bytes; `None` where there are more than `max_bytes`.
fn read_bounded(root: &Root, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let place = root.locate(path);
    // A tree from elsewhere may hold a pipe, whose opening would never end.
    if !root.is_live() && !std::fs::metadata(&place)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = File::open(place)?;
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((u64::try_from(bytes.len()).unwrap_or(u64::MAX) <= max_bytes).then_some(bytes))
}
