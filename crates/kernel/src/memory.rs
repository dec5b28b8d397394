//! Keeping memory resident.

use std::ffi::c_void;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::mm::MlockAllFlags;

/// Locks all present and future pages as they are touched (`MCL_ONFAULT`): the loop touches its own beforehand,
/// and the rest of the binary is not dragged in. Free heap, a megabyte of what command lines are parsed with, is given back first:
/// the C library cannot give back what is locked (mm/madvise.c refuses `MADV_DONTNEED` there).
///
/// # Errors
/// Where the limit on locked memory (`ulimit -l`) is too small and the capability `CAP_IPC_LOCK` is missing.
pub fn lock_on_fault() -> io::Result<()> {
    give_free_heap_back();
    Ok(rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)?)
}

/// Lets go of what [`lock_on_fault`] locked: memory that is taken afterwards counts against no limit.
pub fn unlock() {
    // It can only fail where nothing was locked.
    let _ = rustix::mm::munlockall();
}

/// A block of the allocator from here on is a mapping of its own, which is gone when it is freed (bytes).
const OWN_MAPPING_BYTES: libc::c_int = 64 * 1024;

/// Makes the allocator of this program keep little, for one that runs for years beside others' work: one heap for all threads
/// instead of one for each, and large blocks in mappings of their own. A heap that is locked never gives back what was freed in its
/// middle, so all that each thread once needed at its most would stay; and by itself the C library stops to make such mappings
/// for blocks of a size that was once freed (mallopt(3), `M_MMAP_THRESHOLD`). Threads that allocate wait for each other: those that
/// measure do not allocate.
pub fn keep_little() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it only sets how the allocator goes on, under its own lock.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, OWN_MAPPING_BYTES);
    }
}

/// Lets the kernel unmap the pages of this program's own file that only the start-up needed, and gives free heap back.
/// A page that is used again comes back from the page cache, with a minor fault. Kernels before 5.18 keep locked pages.
///
/// Returns the bytes of address space whose pages were unmapped; 0 if `/proc/self/smaps` is missing.
pub fn release_startup_pages() -> u64 {
    let Ok((smaps, program)) = std::fs::read_to_string("/proc/self/smaps").and_then(|smaps| {
        let inode = std::fs::metadata("/proc/self/exe")?.ino();
        Ok((smaps, inode))
    }) else {
        return 0;
    };
    let mut released = 0;
    for range in unchanged_file_ranges(&smaps, program) {
        let (start, bytes) = (range.start as *mut c_void, range.end - range.start);
        // Before: the code that runs next is in one of these mappings, and the fault that brings it back would map much around
        // it: on Linux 6.18 up to 768 KiB.
        limit_fault_around(range);
        // SAFETY: the range is a mapping of this program's file without write permission, and none of its pages differs
        // from the file: each access after this reads the same bytes as before.
        if unsafe { libc::madvise(start, bytes, MADV_DONTNEED_LOCKED) } == 0 {
            released += bytes as u64;
        }
    }
    give_free_heap_back();
    released
}

/// Gives the free memory of the allocator back to the kernel, as far as it is not locked.
fn give_free_heap_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it only returns free memory to the kernel, under the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes the pages of this program's own file resident that [`release_startup_pages`] may have released: for a loop that cannot
/// be warmed up by running it.
///
/// Returns the bytes of address space that were touched; 0 if `/proc/self/smaps` is missing.
pub fn make_program_resident() -> u64 {
    const LEAST_PAGE_BYTES: usize = 4 * 1024;
    let Ok((smaps, program)) = std::fs::read_to_string("/proc/self/smaps").and_then(|smaps| {
        let inode = std::fs::metadata("/proc/self/exe")?.ino();
        Ok((smaps, inode))
    }) else {
        return 0;
    };
    let mut touched = 0;
    for range in unchanged_file_ranges(&smaps, program) {
        for page in range.clone().step_by(LEAST_PAGE_BYTES) {
            // SAFETY: the address lies in a mapping of this program's own file, which is mapped as long as the process lives;
            // only its read permission could be missing, which `unchanged_file_ranges` has seen.
            std::hint::black_box(unsafe { (page as *const u8).read_volatile() });
        }
        touched += (range.end - range.start) as u64;
    }
    touched
}

/// Bytes that a fault within the program's file makes resident at most, once [`limit_fault_around`] has divided it.
const FAULT_AROUND_BYTES: usize = 8 * 1024;

/// Divides a mapping of the program's file into mappings of [`FAULT_AROUND_BYTES`], by a mark that changes nothing else:
/// whether a core dump contains them, which it does not for unchanged pages of a file.
///
/// A fault maps the 64 KiB around it that are in the page cache (`should_fault_around`, mm/memory.c), but never beyond its
/// mapping, and with `mlockall` they all stay pinned: a run that uses some sixty places of the program had 4 MiB of code
/// resident instead of 1 MiB.
///
/// What is divided already stays as it is: marks on each part of it would be one mark on all of it, and the kernel would join the
/// parts again.
fn limit_fault_around(range: std::ops::Range<usize>) {
    if range.len() <= FAULT_AROUND_BYTES {
        return;
    }
    for start in range.clone().step_by(2 * FAULT_AROUND_BYTES) {
        let bytes = FAULT_AROUND_BYTES.min(range.end - start);
        // SAFETY: the range is a mapping of this program's file without write permission; the advice changes no page.
        let status = unsafe { libc::madvise(start as *mut c_void, bytes, libc::MADV_DONTDUMP) };
        // Refused where a process may have no more mappings: what is divided by then suffices.
        if status != 0 {
            return;
        }
    }
}

/// `MADV_DONTNEED` for locked pages too, include/uapi/asm-generic/mman-common.h; the same on all machines that we build for.
const MADV_DONTNEED_LOCKED: libc::c_int = 24;

/// The read-only mappings of a file (by its inode) in the text of `/proc/PID/smaps` of which no page was ever changed:
/// relocated data, and code with a debugger's breakpoint, have pages that exist nowhere else.
fn unchanged_file_ranges(smaps: &str, inode: u64) -> Vec<std::ops::Range<usize>> {
    let (mut ranges, mut mapping) = (Vec::new(), None);
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if !first.ends_with(':') {
            // "55d0c0a00000-55d0c0b00000 r-xp 00000000 fe:00 1234  /usr/bin/punctual" (proc_pid_smaps(5)).
            let is_read_only =
                words.next().is_some_and(|permissions| permissions.starts_with('r') && !permissions.contains('w'));
            let is_of_file = words.nth(2).and_then(|text| text.parse().ok()) == Some(inode);
            let range = first.split_once('-').and_then(|(start, end)| {
                Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
            });
            mapping = range.filter(|_| is_read_only && is_of_file);
        } else if first == "Anonymous:" && words.next() == Some("0") {
            ranges.extend(mapping.take());
        }
    }
    ranges
}

/// Bytes of stack that [`touch_stack`] makes resident: far more than the loops and the C library need.
pub const TOUCHED_STACK_BYTES: usize = 64 * 1024;

/// Makes the next pages of the calling thread's stack resident.
#[inline(never)]
pub fn touch_stack() {
    let mut pages = [0_u8; TOUCHED_STACK_BYTES];
    for byte in pages.iter_mut().step_by(1024) {
        *byte = 1;
    }
    std::hint::black_box(&mut pages);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55d0c0a00000-55d0c0b00000 r--p 00000000 fe:00 1234                       /usr/bin/punctual
Rss:                1024 kB
Anonymous:             0 kB
VmFlags: rd mr mw me sd
55d0c0b00000-55d0c0c00000 r-xp 00100000 fe:00 1234                       /usr/bin/punctual
Anonymous:             4 kB
VmFlags: rd ex mr mw me sd
55d0c0c00000-55d0c0d00000 r--p 00200000 fe:00 1234                       /usr/bin/punctual
Anonymous:           256 kB
55d0c0d00000-55d0c0e00000 rw-p 00300000 fe:00 1234                       /usr/bin/punctual
Anonymous:             0 kB
7f1000000000-7f1000001000 r-xp 00000000 fe:00 99                         /usr/lib/libc.so.6
Anonymous:             0 kB
7f1000001000-7f1000002000 rw-p 00000000 00:00 0
Anonymous:             0 kB
";

    #[test]
    fn only_unchanged_read_only_mappings_of_the_program_are_released() {
        let released =
            |smaps| unchanged_file_ranges(smaps, 1234).iter().map(|one| (one.start, one.end)).collect::<Vec<_>>();
        assert_eq!(released(SMAPS), [(0x55d0_c0a0_0000, 0x55d0_c0b0_0000)]);
        assert_eq!(released(""), []);
        assert_eq!(released("nonsense\nAnonymous: 0 kB"), []);
    }

    #[test]
    fn pages_that_were_released_again_come_back_a_few_at_a_time_too() {
        let inode = std::fs::metadata("/proc/self/exe").unwrap().ino();
        let longest = || {
            let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            unchanged_file_ranges(&smaps, inode).iter().map(ExactSizeIterator::len).max()
        };
        assert!(longest() > Some(FAULT_AROUND_BYTES));
        for turn in 0..3 {
            release_startup_pages();
            assert_eq!(longest(), Some(FAULT_AROUND_BYTES), "turn {turn}");
        }
    }

    #[test]
    fn the_program_goes_on_after_its_pages_were_released() {
        let before = SMAPS.lines().count();
        release_startup_pages();
        assert_eq!(SMAPS.lines().count(), before);
        assert!(make_program_resident() > 0);
        assert_eq!(SMAPS.lines().count(), before);
    }
}
