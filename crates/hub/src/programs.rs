//! The programs that the hub hands to machines without any: static ones, each by the architecture that it is for.
//!
//! Whoever fetches one knows its SHA-256 from the hub's user, so that it may be handed to anybody. A copy in memory is shared by all who
//! fetch it at the same time, and goes with the last of them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use futures_core::Stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::folder::{self, Folder, FolderError};
use crate::keys::{hexadecimal, sha256};

/// The folder of programs in the hub's folder.
const PROGRAMS: &str = "programs";
/// The most bytes of a program.
const MOST_BYTES: u64 = 64 << 20;
/// So many fetch a program at once; others are told to wait.
const AT_ONCE: usize = 16;
/// How long one may take to fetch it.
const WITHIN: Duration = Duration::from_secs(900);
/// Bytes that are handed over at once.
const PIECE: usize = 64 * 1024;

/// Architectures as `uname -m` calls them, by their number in an ELF file (`e_machine`, the System V ABI's list), its class and its byte
/// order: 1 is 32 bits, 2 is 64; 1 is little-endian.
const ARCHITECTURES: [(u16, u8, u8, &str); 6] = [
    (62, 2, 1, "x86_64"),
    (183, 2, 1, "aarch64"),
    (40, 1, 1, "armv7l"),
    (243, 2, 1, "riscv64"),
    (21, 2, 1, "ppc64le"),
    (22, 2, 2, "s390x"),
];

/// Why a file is not handed out.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The kernel refuses.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It is too large.
    #[error("{} has {found} bytes, of at most {MOST_BYTES}: is it a program?", path.display())]
    Large {
        /// The file.
        path: PathBuf,
        /// Its length (bytes).
        found: u64,
    },
    /// It is no program.
    #[error("{} is no program of Linux (an ELF file) for a machine that is known here", .0.display())]
    NoProgram(PathBuf),
    /// It needs libraries.
    #[error("{} needs libraries of the machine that it runs on: give a static one (scripts/build makes it)", .0.display())]
    NotStatic(PathBuf),
}

/// A program that is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFile {
    /// The architecture, as `uname -m` calls it.
    pub architecture: &'static str,
    /// Its SHA-256.
    pub sha256: [u8; 32],
    /// Its length (bytes).
    pub bytes: usize,
}

impl ProgramFile {
    fn of(architecture: &'static str, program: &[u8]) -> Self {
        Self { architecture, sha256: sha256(program), bytes: program.len() }
    }
}

/// Which architecture a static program is for.
fn architecture(path: &Path, program: &[u8]) -> Result<&'static str, ProgramError> {
    let none = || ProgramError::NoProgram(path.to_owned());
    let head = program.get(..64).filter(|head| head.starts_with(b"\x7fELF")).ok_or_else(none)?;
    let (class, order) = (head[4], head[5]);
    let number = |bytes: &[u8]| {
        let fold = |all: u64, byte: &u8| all << 8 | u64::from(*byte);
        if order == 1 { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) }
    };
    let machine = number(&head[18..20]);
    let known = |of: &&(u16, u8, u8, &str)| (u64::from(of.0), of.1, of.2) == (machine, class, order);
    let (.., name) = ARCHITECTURES.iter().find(known).ok_or_else(none)?;
    // The table of segments: where it begins, how long an entry is, how many there are.
    let (at, size, count) = if class == 2 {
        (number(&head[32..40]), number(&head[54..56]), number(&head[56..58]))
    } else {
        (number(&head[28..32]), number(&head[42..44]), number(&head[44..46]))
    };
    for segment in 0..count {
        /// The segment that names the program which loads libraries.
        const INTERPRETER: u64 = 3;
        let from = at.checked_add(segment * size).and_then(|from| usize::try_from(from).ok()).ok_or_else(none)?;
        let kind = program.get(from..).and_then(|rest| rest.get(..4)).ok_or_else(none)?;
        if number(kind) == INTERPRETER {
            return Err(ProgramError::NotStatic(path.to_owned()));
        }
    }
    Ok(name)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, ProgramError> {
    match std::fs::metadata(path) {
        Ok(file) if file.len() > MOST_BYTES => Err(ProgramError::Large { path: path.to_owned(), found: file.len() }),
        _ => Ok(folder::read(path)?),
    }
}

/// Gives the hub a program to hand out, in the place of an earlier one for the same architecture.
///
/// # Errors
/// Where it is no static program, or cannot be read or kept.
pub fn add(folder: &Folder, path: &Path) -> Result<ProgramFile, ProgramError> {
    let none = || FolderError::File { path: path.to_owned(), error: io::ErrorKind::NotFound.into() };
    let program = read(path)?.ok_or_else(none)?;
    let architecture = architecture(path, &program)?;
    folder::replace(&folder.below(PROGRAMS)?.join(architecture), &program)?;
    Ok(ProgramFile::of(architecture, &program))
}

/// The programs that a hub hands out.
///
/// # Errors
/// Where one cannot be read.
pub fn all(folder: &Folder) -> Result<Vec<ProgramFile>, ProgramError> {
    let mut found = Vec::new();
    for (.., architecture) in ARCHITECTURES {
        if let Some(program) = read(&folder.join(PROGRAMS).join(architecture))? {
            found.push(ProgramFile::of(architecture, &program));
        }
    }
    Ok(found)
}

/// The line for a machine without the program, whose user has the token in a file: it fetches the program from whoever has the
/// certificate's key (its SHA-256 in base64, as curl takes it), and runs it only where it is one of these.
#[must_use]
pub fn line_for_bare_machine(programs: &[ProgramFile], address: &str, pin: &str) -> String {
    let sums = programs.iter().fold(String::new(), |mut sums, program| {
        let between = if sums.is_empty() { "" } else { "|" };
        // Writing to a string cannot fail.
        let _ = write!(sums, "{between}{}", hexadecimal(program.sha256));
        sums
    });
    format!(
        "curl -fsSk --pinnedpubkey sha256//{pin} -o punctual https://{address}/v1/program/$(uname -m) && \
         sha256sum punctual | grep -qE '^({sums}) ' || \
         {{ echo 'no program was fetched, or none that this hub has' >&2; false; }} && chmod 755 punctual && \
         ./punctual agent enrol {address} < token && ./punctual agent install"
    )
}

/// Hands programs out.
#[derive(Debug)]
pub struct Programs {
    folder: Folder,
    slots: Arc<Semaphore>,
    /// Those that somebody fetches just now.
    open: Mutex<HashMap<&'static str, Weak<Vec<u8>>>>,
}

/// Why a program is not handed out now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHandedOut {
    /// There is none for that architecture.
    None,
    /// Many fetch one just now.
    Busy,
}

impl Programs {
    /// Those of a hub's folder.
    #[must_use]
    pub fn new(folder: &Folder) -> Self {
        Self { folder: folder.clone(), slots: Arc::new(Semaphore::new(AT_ONCE)), open: Mutex::default() }
    }

    /// A program's length and its bytes, piece by piece. Blocks while the file is read.
    ///
    /// # Errors
    /// Where there is none, or too many fetch one just now.
    pub fn open(&self, architecture: &str) -> Result<(usize, Pieces), NotHandedOut> {
        let known = ARCHITECTURES.into_iter().map(|(.., name)| name).find(|name| *name == architecture);
        let architecture = known.ok_or(NotHandedOut::None)?;
        let slot = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| NotHandedOut::Busy)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let program = match open.get(architecture).and_then(Weak::upgrade) {
            Some(program) => program,
            None => {
                let found = read(&self.folder.join(PROGRAMS).join(architecture));
                let program = Arc::new(found.ok().flatten().ok_or(NotHandedOut::None)?);
                open.insert(architecture, Arc::downgrade(&program));
                program
            }
        };
        Ok((program.len(), Pieces { program, at: 0, until: Instant::now() + WITHIN, _slot: slot }))
    }
}

/// A program piece by piece, for one who fetches it.
#[derive(Debug)]
pub struct Pieces {
    program: Arc<Vec<u8>>,
    at: usize,
    until: Instant,
    _slot: OwnedSemaphorePermit,
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if Instant::now() > self.until {
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        }
        let end = (self.at + PIECE).min(self.program.len());
        let piece = Bytes::copy_from_slice(&self.program[self.at..end]);
        self.at = end;
        Poll::Ready((!piece.is_empty()).then_some(Ok(piece)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of an ELF file of 64 bits with one segment of a kind.
    fn elf(machine: u16, segment: u32) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&1_u16.to_le_bytes());
        file[64..68].copy_from_slice(&segment.to_le_bytes());
        file
    }

    #[test]
    fn a_static_program_is_known_by_its_machine_and_nothing_else_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("hub")).unwrap();
        let file = place.path().join("program");
        let add = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            add(&folder, &file)
        };
        assert_eq!(add(&elf(62, 1)).unwrap().architecture, "x86_64");
        assert!(matches!(add(&elf(62, 3)), Err(ProgramError::NotStatic(_))));
        assert!(matches!(add(&elf(9, 1)), Err(ProgramError::NoProgram(_))));
        assert!(matches!(add(b"#!/bin/sh\n"), Err(ProgramError::NoProgram(_))));
        // Of any length: a cut one lacks its table.
        let whole = elf(62, 1);
        assert!((0..68).all(|length| add(&whole[..length]).is_err()));
        let mut far = elf(62, 1);
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(add(&far).is_err());
        let given = add(&elf(183, 1)).unwrap();
        let of = all(&folder).unwrap();
        assert_eq!((of.len(), &of[1]), (2, &given));
        // The programs of this machine, as the kernel runs them.
        let own = std::env::current_exe().unwrap();
        assert!(matches!(super::add(&folder, &own), Ok(_) | Err(ProgramError::NotStatic(_))));
        let line = line_for_bare_machine(&of, "hub.example:5378", "PIN");
        assert!(of.iter().all(|program| line.contains(&hexadecimal(program.sha256))), "{line}");
    }

    #[test]
    fn a_program_is_in_memory_once_and_only_while_somebody_fetches_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("hub")).unwrap();
        let file = place.path().join("program");
        std::fs::write(&file, elf(62, 1)).unwrap();
        add(&folder, &file).unwrap();
        let programs = Programs::new(&folder);
        assert_eq!(programs.open("../hub.key").err(), Some(NotHandedOut::None));
        assert_eq!(programs.open("aarch64").err(), Some(NotHandedOut::None));
        let mut all: Vec<_> = (0..AT_ONCE).map(|_| programs.open("x86_64").unwrap().1).collect();
        assert_eq!(programs.open("x86_64").err(), Some(NotHandedOut::Busy));
        assert!(all.iter().all(|pieces| Arc::ptr_eq(&pieces.program, &all[0].program)));
        all.pop();
        let (length, again) = programs.open("x86_64").unwrap();
        assert_eq!(length, elf(62, 1).len());
        let program = Arc::downgrade(&again.program);
        drop((all, again));
        assert!(program.upgrade().is_none());
    }
}
