//! Probes on the functions of the memory allocators that a process has mapped.

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kernel::clock::now_ns;
use kernel::perf::UprobeCounter;
use kernel::refusal::{Refusal, explain};
use units::ClockId;

use super::account::Reading;

/// What allocators are asked by, in C. C++'s operators call these, unless an allocator brings its own.
const FUNCTIONS: [&str; 7] = ["malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"];
/// The operators new and delete, by the beginnings of their names (Itanium C++ ABI, 5.1.3).
const OPERATORS: [(&str, &str); 4] =
    [("_Znw", "operator new"), ("_Zna", "operator new[]"), ("_Zdl", "operator delete"), ("_Zda", "operator delete[]")];
/// Functions that are probed in one process at most: each takes the kernel some ten milliseconds.
const MOST_FUNCTIONS: usize = 24;
/// Calls of one block by which the cost of one is measured, and blocks: the shortest is the one that nothing came between.
const CALLS: u64 = 400;
const BLOCKS: usize = 7;

/// A mapping of a file that can be executed, a line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    /// As the kernel writes it, which is its name in `/proc/PID/map_files` too.
    range: String,
    from: u64,
    to: u64,
    offset: u64,
    /// Device and inode: what makes a file the same.
    file: (String, String),
    path: String,
}

fn mappings(maps: &str) -> Vec<Mapping> {
    let parse = |line: &str| {
        let mut rest = line;
        let mut next = || {
            let (field, behind) = rest.split_once(' ')?;
            rest = behind;
            Some(field.to_owned())
        };
        let (range, rights, offset, device, inode) = (next()?, next()?, next()?, next()?, next()?);
        let path = rest.trim_start();
        let (from, to) = range.split_once('-')?;
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        (rights.contains('x') && path.starts_with('/')).then_some(Mapping {
            from: hexadecimal(from)?,
            to: hexadecimal(to)?,
            offset: hexadecimal(&offset)?,
            file: (device, inode),
            path: path.to_owned(),
            range,
        })
    };
    maps.lines().filter_map(parse).collect()
}

/// A path by which this process can open the file of a mapping, also where it was deleted or is in a container.
fn openable(pid: u32, mapping: &Mapping) -> Option<PathBuf> {
    let mapped = PathBuf::from(format!("/proc/{pid}/map_files/{}", mapping.range));
    let named = PathBuf::from(format!("/proc/{pid}/root{}", mapping.path));
    [mapped, named].into_iter().find(|path| File::open(path).is_ok())
}

/// Where a function of an allocator stands.
#[derive(Debug)]
struct Place {
    /// `malloc (libc.so.6)`.
    label: String,
    path: PathBuf,
    offset: u64,
    /// Where it is in the process's memory.
    address: u64,
}

/// The functions of every allocator that a process has mapped.
fn places(pid: u32) -> io::Result<Vec<Place>> {
    let all = mappings(&crate::kernel_text::read(format!("/proc/{pid}/maps"))?);
    let mut places: Vec<Place> = Vec::new();
    let mut seen = Vec::new();
    for mapping in &all {
        if seen.contains(&&mapping.file) {
            continue;
        }
        seen.push(&mapping.file);
        let Some(path) = openable(pid, mapping) else { continue };
        let Ok(file) = File::open(&path) else { continue };
        let mut read = |offset: u64, length: usize| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
        };
        let is_wanted =
            |name: &str| FUNCTIONS.contains(&name) || OPERATORS.iter().any(|(start, _)| name.starts_with(start));
        let mut functions = trace::functions(&mut read, &is_wanted).unwrap_or_default();
        // Operators beside no malloc call that of another file, where each call is counted.
        if !functions.iter().any(|function| function.name == "malloc") {
            functions.retain(|function| FUNCTIONS.contains(&function.name.as_str()));
        }
        functions.sort_by_key(|function| FUNCTIONS.iter().position(|name| *name == function.name).unwrap_or(99));
        let name = mapping.path.rsplit('/').next().unwrap_or_default();
        for function in functions {
            let is_mapped = |mapping: &&Mapping| {
                let length = mapping.to.saturating_sub(mapping.from);
                (mapping.offset..mapping.offset.saturating_add(length)).contains(&function.offset)
            };
            let Some(at) = all.iter().filter(|one| one.file == mapping.file).find(is_mapped) else { continue };
            let operator = OPERATORS.iter().find(|(start, _)| function.name.starts_with(start));
            let called = operator.map_or(function.name.as_str(), |(_, operator)| operator);
            places.push(Place {
                label: format!("{called} ({name})"),
                path: path.clone(),
                offset: function.offset,
                address: at.from + (function.offset - at.offset),
            });
        }
    }
    places.truncate(MOST_FUNCTIONS);
    Ok(places)
}

/// The counters of one thread.
#[derive(Debug)]
pub(super) struct Probes {
    counters: Vec<UprobeCounter>,
    /// The function of each counter.
    pub(super) functions: Vec<String>,
    /// Where the breakpoints stand in the process's memory.
    pub(super) addresses: Vec<u64>,
    /// Functions that could not be probed, with the reason.
    pub(super) failed: Vec<String>,
    /// What one counted call takes longer (ns).
    pub(super) call_ns: Option<u64>,
}

impl Probes {
    /// Places probes for one thread; takes some tenths of a second.
    ///
    /// # Errors
    /// Where none can be placed: the reason for the reader of the result.
    pub(super) fn place(pid: u32, tid: u32) -> Result<(Self, Reading), String> {
        let places = places(pid).map_err(|error| format!("its memory cannot be looked at: {error}"))?;
        if places.is_empty() {
            return Err("no file of the program names a function malloc, such as a static program without symbols \
                        (strip) or another language's own allocator"
                .to_owned());
        }
        let mut probes = Self {
            counters: Vec::new(),
            functions: Vec::new(),
            addresses: Vec::new(),
            failed: Vec::new(),
            call_ns: call_ns(),
        };
        for place in places {
            match UprobeCounter::open(&place.path, place.offset, tid) {
                Ok(counter) => {
                    probes.counters.push(counter);
                    probes.functions.push(place.label);
                    probes.addresses.push(place.address);
                }
                Err(error) => probes.failed.push(format!("{}: {}", place.label, refusal(&error))),
            }
        }
        match (probes.read(), probes.failed.first()) {
            (Some(first), _) if !first.counts.is_empty() => Ok((probes, first)),
            (_, Some(reason)) => Err(reason.clone()),
            _ => Err("the kernel's counters cannot be read".to_owned()),
        }
    }

    /// Reads all counters.
    pub(super) fn read(&self) -> Option<Reading> {
        let counts = self.counters.iter().map(|counter| counter.read().ok()).collect::<Option<_>>()?;
        let time_ns = u64::try_from(now_ns(ClockId::Monotonic.into())).unwrap_or(0);
        Some(Reading { time_ns, counts })
    }
}

/// Why the kernel refused a probe, and the remedy.
fn refusal(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let Refusal { why, remedy } = explain(Path::new("/proc/sys/kernel/perf_event_paranoid"), error);
            format!("the kernel refuses probes on programs: {why}: {remedy}")
        }
        io::ErrorKind::NotFound => {
            "the kernel has no probes on programs for perf: that takes Linux 4.17 with CONFIG_UPROBE_EVENTS".to_owned()
        }
        _ => format!("the kernel refuses a probe: {error}"),
    }
}

/// What one counted call takes longer (ns), by the allocator of this program itself; measured once. How long a probe takes
/// depends on the instruction in whose place it stands, and allocators of one kind begin alike. `None` where that is refused.
fn call_ns() -> Option<u64> {
    static MEASURED: OnceLock<Option<u64>> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        let own = places(std::process::id()).ok()?;
        let malloc = own.iter().find(|place| place.label.starts_with("malloc ("))?;
        let without_ns = block_ns();
        let counter = UprobeCounter::open(&malloc.path, malloc.offset, kernel::sched::thread_id()).ok()?;
        let before = counter.read().ok()?;
        let with_ns = block_ns();
        // Otherwise this program allocates by another function.
        let all = CALLS * u64::try_from(BLOCKS).ok()?;
        counter.read().ok()?.checked_sub(before).filter(|calls| *calls >= all)?;
        Some(u64::try_from(with_ns - without_ns).ok()? / CALLS)
    })
}

/// How long [`CALLS`] calls of the allocator take (ns), in the shortest block.
fn block_ns() -> i64 {
    let clock = ClockId::Monotonic.into();
    let block = |_| {
        let before_ns = now_ns(clock);
        for _ in 0..CALLS {
            black_box(Vec::<u8>::with_capacity(black_box(64)));
        }
        now_ns(clock) - before_ns
    };
    (0..BLOCKS).map(block).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_that_can_be_executed_are_read_with_blanks_in_their_names() {
        let maps = "\
            55d0-55d8 r--p 00000000 fe:00 17                         /bin/x\n\
            7f00-7fff r-xp 00026000 fe:00 326269                     /opt/my lib/libc.so.6 (deleted)\n\
            8000-8fff r-xp 00000000 00:00 0                          [vdso]\n\
            9000-9fff rwxp 00000000 00:00 0 \n";
        let read = mappings(maps);
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].from, read[0].to, read[0].offset), (0x7f00, 0x7fff, 0x26000));
        assert_eq!((read[0].range.as_str(), read[0].path.as_str()), ("7f00-7fff", "/opt/my lib/libc.so.6 (deleted)"));
    }

    /// Each function once, by the kernel's own count; a thread that is not probed adds nothing.
    #[test]
    fn calls_of_this_thread_are_counted_by_their_function() {
        let (pid, tid) = (std::process::id(), kernel::sched::thread_id());
        let (probes, first) = match Probes::place(pid, tid) {
            Ok(placed) => placed,
            Err(reason) => {
                println!("not shown here: {reason}");
                return;
            }
        };
        std::thread::spawn(|| (0..500).for_each(|turn| drop(black_box(vec![0_u8; 100 + turn])))).join().unwrap();
        let between = probes.read().unwrap();
        for turn in 0..100 {
            black_box(Vec::<u8>::with_capacity(black_box(100 + turn)));
        }
        let last = probes.read().unwrap();
        let malloc = probes.functions.iter().position(|name| name.starts_with("malloc (")).unwrap();
        let calls = |from: &Reading, to: &Reading| to.counts[malloc] - from.counts[malloc];
        // To make a thread and to read counters takes a few as well.
        assert!(calls(&first, &between) < 100, "{}", calls(&first, &between));
        assert!((100..150).contains(&calls(&between, &last)), "{}", calls(&between, &last));
        assert!(probes.call_ns.is_some_and(|ns| ns > 50), "{:?}", probes.call_ns);
    }
}
