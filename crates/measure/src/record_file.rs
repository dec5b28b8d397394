//! The file of a record that grows while its run goes on: from the first finished interval on it is a record at every moment.
//!
//! Two files take turns. One has the record's name and is whole; the other one is written, with what ended since, and then
//! exchanges names with it. So a reader who opens the name reads a whole record, and a killed process leaves one.
//! Each interval is written twice, however long the run takes. A write alone would not do: a signal that kills ends
//! one between two pages of it (mm/filemap.c, `generic_perform_write`).
//!
//! A thread of its own writes, since a disk may take longer than the rings have room for.

use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use record::{GrowingText, Interval, Record};
use units::CpuSet;

use crate::interval_sink::IntervalSink;

/// Batches that may wait for the disk; with more, the measurement waits too.
const MOST_WAITING: usize = 64;
/// How often the file is brought to the disk at most, for a power cut: a disk that is kept busy disturbs what is measured.
const SYNC_PERIOD: Duration = Duration::from_secs(30);
/// Stack of the thread that writes: what it makes text of is nested.
const STACK_BYTES: usize = 1 << 20;
/// The most bytes of a name in the abstract namespace of sockets (unix(7)), less the zero before it.
const MOST_SOCKET_NAME: usize = 107;

/// Why a record's file cannot grow.
#[derive(Debug, thiserror::Error)]
pub enum RecordFileError {
    /// Another run writes it.
    #[error("another run of punctual is writing {0}: name another file with -o")]
    InUse(PathBuf),
    /// The kernel refuses.
    #[error("cannot write {path}: {error}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's reason.
        error: io::Error,
    },
}

/// A file that the record of a run goes to.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    /// Held as long as the file is written: no second process gets the same.
    _claim: UnixListener,
    sender: Mutex<Option<SyncSender<Batch>>>,
    writer: JoinHandle<Growing>,
}

/// What is written next. The records are in boxes since the queue has room for [`MOST_WAITING`] from the start.
enum Batch {
    /// What ended, and the record of all until then.
    Ended(Vec<(usize, Interval)>, Box<Record>),
    /// The record of all until now, with its intervals, in the place of what was written before.
    Whole(Box<Record>),
}

impl RecordFile {
    /// Claims a file for the run; nothing is written before its first interval has ended. `housekeeping` is where the thread
    /// that writes may run. What the disk refuses while the run goes on is handed to `warn`, once; the run goes on, and what
    /// was refused is tried again with the next interval.
    ///
    /// # Errors
    /// Where another run writes the same file, or it has no folder.
    pub fn claim(
        path: &Path,
        housekeeping: CpuSet,
        warn: impl Fn(&io::Error) + Send + 'static,
    ) -> Result<Self, RecordFileError> {
        let refused = |error| RecordFileError::Io { path: path.to_owned(), error };
        // A link stands for what it names.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let claim = claim_name(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => RecordFileError::InUse(path.clone()),
            _ => refused(error),
        })?;
        let shadow = kernel::whole_file::unfinished(&path);
        // One that a killed run left.
        let _ = fs::remove_file(&shadow);
        let (sender, batches) = sync_channel(MOST_WAITING);
        let growing = Growing { path: path.clone(), shadow, ..Growing::default() };
        let job = move || growing.run(&batches, &warn);
        let writer = crate::witness::spawn("punctual-file", STACK_BYTES, housekeeping, job).map_err(refused)?;
        Ok(Self { path, _claim: claim, sender: Mutex::new(Some(sender)), writer })
    }

    /// Path of the file that is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn send(&self, batch: Batch) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = sender.as_ref() {
            // The writer ends only when this sender is gone.
            let _ = sender.send(batch);
        }
    }

    /// Waits until all that ended is written, and puts the finished record into its place. The record has its intervals, or
    /// leaves them to the file where those of a run of unknown length were not kept.
    ///
    /// # Errors
    /// Where the disk refuses; what was there until then stays.
    pub fn finish(self, record: &Record) -> io::Result<()> {
        let Self { path, sender, writer, _claim, .. } = self;
        drop(sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let growing = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let written = kernel::whole_file::replace(&path, &part, |out| growing.write_finished(record, out));
        if written.is_ok() {
            // There is none where no interval ended before the run did.
            let _ = fs::remove_file(&growing.shadow);
        }
        written
    }
}

impl IntervalSink for RecordFile {
    fn take(&self, intervals: Vec<(usize, Interval)>, so_far: Record) {
        self.send(Batch::Ended(intervals, Box::new(so_far)));
    }

    fn replace(&self, so_far: Record) {
        self.send(Batch::Whole(Box::new(so_far)));
    }
}

/// A name that only one process can have, for a file that need not exist yet: it is gone with the process, however that ends.
fn claim_name(path: &Path) -> io::Result<UnixListener> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::metadata(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut claim = format!("punctual-record:{}:{}:{name}", folder.dev(), folder.ino()).into_bytes();
    claim.truncate(MOST_SOCKET_NAME);
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(claim)?)
}

/// One of the two files.
#[derive(Debug)]
struct Half {
    file: File,
    /// Offset at which its intervals end (bytes); what follows is rewritten each time.
    end: u64,
    /// How many of the texts of intervals it has.
    texts: usize,
}

/// What the writing thread knows.
#[derive(Debug, Default)]
struct Growing {
    path: PathBuf,
    shadow: PathBuf,
    /// What both files begin with.
    head: String,
    /// The one that has the record's name.
    shown: Option<Half>,
    /// The one that is written next.
    hidden: Option<Half>,
    /// Texts of intervals that not both files have, and the number of those before them.
    texts: Vec<String>,
    texts_before: usize,
    /// When the file was last brought to the disk.
    synced: Option<Instant>,
    /// Whether somebody was warned that the disk refused.
    warned: bool,
}

impl Growing {
    fn run(mut self, batches: &Receiver<Batch>, warn: &dyn Fn(&io::Error)) -> Self {
        while let Ok(batch) = batches.recv() {
            let written = match batch {
                Batch::Ended(intervals, so_far) => self.add(&intervals, &so_far),
                Batch::Whole(so_far) => self.write_whole(&so_far),
            };
            if let Err(error) = written {
                if !std::mem::replace(&mut self.warned, true) {
                    warn(&error);
                }
            }
        }
        self
    }

    fn add(&mut self, intervals: &[(usize, Interval)], so_far: &Record) -> io::Result<()> {
        if self.head.is_empty() {
            self.head = GrowingText::head(so_far);
        }
        let are_first = self.texts_before == 0 && self.texts.is_empty();
        self.texts.push(GrowingText::intervals(intervals, so_far, are_first));
        self.grow(&GrowingText::tail(so_far))
    }

    fn write_whole(&self, so_far: &Record) -> io::Result<()> {
        let text = so_far.to_json();
        kernel::whole_file::replace(&self.path, &self.shadow, |out| out.write_all(text.as_bytes()))
    }

    /// Writes the hidden file, and puts it into the place of the shown one.
    fn grow(&mut self, tail: &str) -> io::Result<()> {
        let mut half = match self.hidden.take() {
            Some(half) => half,
            None => self.new_half()?,
        };
        let written = self.write_half(&mut half, tail);
        if written.is_err() {
            // What the disk took of it is given back; the file is tried again with the next interval.
            let _ = half.file.set_len(half.end);
            self.hidden = Some(half);
            return written;
        }
        self.show(half)?;
        let known_to_both = |half: &Option<Half>| half.as_ref().map_or(self.texts_before, |half| half.texts);
        let both = known_to_both(&self.shown).min(known_to_both(&self.hidden));
        self.texts.drain(..both - self.texts_before);
        self.texts_before = both;
        Ok(())
    }

    fn write_half(&mut self, half: &mut Half, tail: &str) -> io::Result<()> {
        let missing = self.texts[half.texts - self.texts_before..].concat();
        let after = half.end + missing.len() as u64;
        half.file.write_all_at(missing.as_bytes(), half.end)?;
        half.file.write_all_at(tail.as_bytes(), after)?;
        half.file.set_len(after + tail.len() as u64)?;
        if self.synced.is_none_or(|synced| synced.elapsed() >= SYNC_PERIOD) {
            half.file.sync_data()?;
            self.synced = Some(Instant::now());
        }
        (half.end, half.texts) = (after, self.texts_before + self.texts.len());
        Ok(())
    }

    /// A hidden file with all that both had already.
    fn new_half(&self) -> io::Result<Half> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&self.shadow)?;
        kernel::whole_file::keep_owner(&self.path, &file)?;
        let Some(shown) = &self.shown else {
            file.write_all_at(self.head.as_bytes(), 0)?;
            return Ok(Half { file, end: self.head.len() as u64, texts: 0 });
        };
        let mut copied = &file;
        copy(&shown.file, 0..shown.end, &mut copied)?;
        Ok(Half { file, end: shown.end, texts: shown.texts })
    }

    /// Gives the hidden file the record's name; the shown one is hidden then.
    fn show(&mut self, half: Half) -> io::Result<()> {
        let is_shown = |shown: &Half| {
            let (known, there) = (shown.file.metadata().ok()?, fs::metadata(&self.path).ok()?);
            Some((known.dev(), known.ino()) == (there.dev(), there.ino()))
        };
        // Somebody may have moved it away, or put another file into its place.
        match self.shown.take().filter(|shown| is_shown(shown) == Some(true)) {
            Some(shown) => {
                let exchanged = kernel::whole_file::exchange(&self.shadow, &self.path);
                (self.shown, self.hidden) =
                    if exchanged.is_ok() { (Some(half), Some(shown)) } else { (Some(shown), Some(half)) };
                exchanged
            }
            None => {
                fs::rename(&self.shadow, &self.path)?;
                self.shown = Some(half);
                Ok(())
            }
        }
    }

    fn write_finished(&self, record: &Record, out: &mut File) -> io::Result<()> {
        let are_here = record.series.iter().any(|series| !series.intervals.is_empty());
        let Some(shown) = self.shown.as_ref().filter(|_| !are_here) else {
            return out.write_all(record.to_json().as_bytes());
        };
        out.write_all(GrowingText::finished_head(record).as_bytes())?;
        copy(&shown.file, self.head.len() as u64..shown.end, out)?;
        // What the disk refused while the run went on.
        for text in &self.texts[(shown.texts - self.texts_before).min(self.texts.len())..] {
            out.write_all(text.as_bytes())?;
        }
        out.write_all(GrowingText::finished_tail().as_bytes())
    }
}

/// Copies a part of a file to where another one stands.
fn copy(from: &File, part: std::ops::Range<u64>, to: &mut impl io::Write) -> io::Result<()> {
    let mut from = from.try_clone()?;
    from.seek(SeekFrom::Start(part.start))?;
    let length = part.end - part.start;
    if io::copy(&mut BufReader::new(from).take(length), to)? != length {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file of the record was shortened by somebody"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
