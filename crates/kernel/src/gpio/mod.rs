//! Lines of GPIO chips by the character device, second version of its interface (Linux 5.10; include/uapi/linux/gpio.h,
//! Documentation/userspace-api/gpio/chardev.rst).
//!
//! A line that is requested belongs to the descriptor, and to nobody else until that is closed. What the line does then is the
//! driver's affair: most keep its level.

mod watched;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::ioctl::{Opcode, Setter, ioctl};

pub use self::watched::{WatchedEdge, WatchedLines};
use crate::handover::CallFailed;

const NAME_BYTES: usize = 32;
const MOST_LINES: usize = 64;
const MOST_ATTRIBUTES: usize = 10;

/// `struct gpiochip_info`.
#[repr(C)]
#[derive(Default)]
struct RawChip {
    name: [u8; NAME_BYTES],
    label: [u8; NAME_BYTES],
    lines: u32,
}

/// `struct gpio_v2_line_attribute`: which one, and its value.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawAttribute {
    id: u32,
    padding: u32,
    value: u64,
}

/// `struct gpio_v2_line_config_attribute`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawConfigAttribute {
    attribute: RawAttribute,
    mask: u64,
}

/// `struct gpio_v2_line_config`.
#[repr(C)]
#[derive(Default)]
struct RawConfig {
    flags: u64,
    attributes_count: u32,
    padding: [u32; 5],
    attributes: [RawConfigAttribute; MOST_ATTRIBUTES],
}

/// `struct gpio_v2_line_request`.
#[repr(C)]
struct RawRequest {
    offsets: [u32; MOST_LINES],
    consumer: [u8; NAME_BYTES],
    config: RawConfig,
    lines_count: u32,
    event_buffer_size: u32,
    padding: [u32; 5],
    file: i32,
}

/// `struct gpio_v2_line_info`.
#[repr(C)]
#[derive(Default)]
struct RawLine {
    name: [u8; NAME_BYTES],
    consumer: [u8; NAME_BYTES],
    offset: u32,
    attributes_count: u32,
    flags: u64,
    attributes: [RawAttribute; MOST_ATTRIBUTES],
    padding: [u32; 4],
}

/// `struct gpio_v2_line_values`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawValues {
    bits: u64,
    mask: u64,
}

/// `struct gpio_v2_line_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawEvent {
    timestamp_ns: u64,
    id: u32,
    offset: u32,
    sequence_of_request: u32,
    sequence_of_line: u32,
    padding: [u32; 6],
}

/// `_IOC(direction, 0xB4, number, size)` (include/uapi/asm-generic/ioctl.h).
const fn request(direction: u64, number: u64, size: usize) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "sizes of a few hundred bytes")]
    let size = size as u32 as u64;
    direction << 30 | size << 16 | 0xb4 << 8 | number
}

const READ: u64 = 2;
const READ_WRITE: u64 = 3;
const CHIP_INFO: u64 = request(READ, 1, size_of::<RawChip>());
const LINE_INFO: u64 = request(READ_WRITE, 5, size_of::<RawLine>());
const LINE_REQUEST: u64 = request(READ_WRITE, 7, size_of::<RawRequest>());
const GET_VALUES: u64 = request(READ_WRITE, 0xe, size_of::<RawValues>());
#[expect(clippy::cast_possible_truncation, reason = "32 bits")]
const SET_VALUES: Opcode = request(READ_WRITE, 0xf, size_of::<RawValues>()) as Opcode;

const FLAG_USED: u64 = 1 << 0;
const FLAG_ACTIVE_LOW: u64 = 1 << 1;
const FLAG_INPUT: u64 = 1 << 2;
const FLAG_OUTPUT: u64 = 1 << 3;
const FLAG_EDGE_RISING: u64 = 1 << 4;
const FLAG_EDGE_FALLING: u64 = 1 << 5;
/// `GPIO_V2_LINE_EVENT_RISING_EDGE`.
const EVENT_RISING: u32 = 1;
/// Events that the kernel keeps for a request at most (`GPIO_V2_LINES_MAX` * 16, drivers/gpio/gpiolib-cdev.c).
const MOST_EVENTS: u32 = 1_024;
const FLAG_OPEN_DRAIN: u64 = 1 << 6;
const FLAG_OPEN_SOURCE: u64 = 1 << 7;
/// The attribute that says the levels which outputs begin with.
const ATTRIBUTE_OUTPUT_VALUES: u32 = 2;

/// `ioctl(2)` with a structure that the kernel reads and writes.
fn ask<T>(file: i32, number: u64, with: &mut T) -> io::Result<()> {
    #[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast, reason = "32 bits, in the C library's type")]
    let number = number as libc::Ioctl;
    // SAFETY: each request is made with the structure whose size it encodes, valid and writable for the length of the call.
    if unsafe { libc::ioctl(file, number, std::ptr::from_mut(with)) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Text up to its first zero.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// A GPIO chip.
#[derive(Debug)]
pub struct Chip {
    file: File,
    /// What the kernel calls it: `gpiochip0`.
    pub name: String,
    /// What its driver calls it: `pl061`, `pinctrl-bcm2835`.
    pub label: String,
    /// How many lines it has.
    pub lines: u32,
}

/// What is known of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// What the board's description calls it; empty where that says nothing.
    pub name: String,
    /// Who uses it; empty where nobody does, or does not say so.
    pub consumer: String,
    /// Whether it is used, by the kernel or by a program.
    pub is_used: bool,
    /// Whether whoever uses it calls the low level active.
    pub is_active_low: bool,
    /// Whether it is an output.
    pub is_output: bool,
    /// Whether only one of its levels is driven (open drain or open source), so that a resistor makes the other.
    pub is_open: bool,
}

impl Chip {
    /// Opens a chip: `gpiochip0`, or a path to its device.
    ///
    /// # Errors
    /// Where there is none, this user may not open it, or it is another kind of device.
    pub fn open(name: &str) -> io::Result<Self> {
        let path = if name.contains('/') { PathBuf::from(name) } else { Path::new("/dev").join(name) };
        // Not by following what is no character device: opening a pipe would wait for ever.
        let is_device = {
            use std::os::unix::fs::FileTypeExt as _;
            std::fs::metadata(&path)?.file_type().is_char_device()
        };
        if !is_device {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no character device"));
        }
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let mut raw = RawChip::default();
        ask(file.as_raw_fd(), CHIP_INFO, &mut raw).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOTTY | libc::EINVAL) => {
                io::Error::new(io::ErrorKind::InvalidInput, "it is no GPIO chip of this kernel")
            }
            _ => error,
        })?;
        Ok(Self { file, name: text(&raw.name), label: text(&raw.label), lines: raw.lines })
    }

    /// The names of all chips of this machine, in their order.
    #[must_use]
    pub fn names() -> Vec<String> {
        let found = std::fs::read_dir("/sys/bus/gpio/devices").into_iter().flatten().flatten();
        let names = found.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("gpiochip")).collect();
        names.sort_by_key(|name| (name.len(), name.clone()));
        names
    }

    /// What is known of a line.
    ///
    /// # Errors
    /// Where the chip has no such line.
    pub fn line(&self, offset: u32) -> io::Result<LineInfo> {
        let mut raw = RawLine { offset, ..RawLine::default() };
        ask(self.file.as_raw_fd(), LINE_INFO, &mut raw)?;
        let has = |flag| raw.flags & flag != 0;
        Ok(LineInfo {
            name: text(&raw.name),
            consumer: text(&raw.consumer),
            is_used: has(FLAG_USED),
            is_active_low: has(FLAG_ACTIVE_LOW),
            is_output: has(FLAG_OUTPUT),
            is_open: has(FLAG_OPEN_DRAIN | FLAG_OPEN_SOURCE),
        })
    }

    /// Takes a line as an output that is pushed and pulled; it begins inactive. The consumer's name is cut to 31 bytes.
    ///
    /// # Errors
    /// `EBUSY` where it is used, `EINVAL` where there is no such line, others where the driver refuses.
    pub fn output(&self, offset: u32, active_low: bool, consumer: &str) -> io::Result<OutputLine> {
        // Without the attribute the line begins at the level that is logically low; said all the same, since this is what counts.
        let mut attributes = [RawConfigAttribute::default(); MOST_ATTRIBUTES];
        attributes[0] = RawConfigAttribute {
            attribute: RawAttribute { id: ATTRIBUTE_OUTPUT_VALUES, padding: 0, value: 0 },
            mask: 1,
        };
        let config = RawConfig {
            flags: FLAG_OUTPUT | active_low_flag(active_low),
            attributes_count: 1,
            attributes,
            ..RawConfig::default()
        };
        Ok(OutputLine { file: self.take(offset, config, consumer)? })
    }

    /// Takes a line as an input whose edges from inactive to active the kernel reports, each with its own time on
    /// CLOCK_MONOTONIC. The consumer's name is cut to 31 bytes.
    ///
    /// # Errors
    /// `EBUSY` where it is used; `ENXIO`, `ENODEV` or `EINVAL` where the line has no interrupt, or none of edges; others where
    /// the driver refuses.
    pub fn edges(&self, offset: u32, active_low: bool, consumer: &str) -> io::Result<EdgeLine> {
        let flags = FLAG_INPUT | FLAG_EDGE_RISING | active_low_flag(active_low);
        let file = self.take(offset, RawConfig { flags, ..RawConfig::default() }, consumer)?;
        // SAFETY: takes no pointers; what it returns is a new descriptor that nobody else owns.
        let end = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if end < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        Ok(EdgeLine { file, end: unsafe { OwnedFd::from_raw_fd(end) } })
    }

    /// Takes lines as inputs of which the kernel reports each edge, with its own time on CLOCK_MONOTONIC. The consumer's name is cut to
    /// 31 bytes.
    ///
    /// # Errors
    /// As of [`Chip::edges`]; `EINVAL` for none, or more than 64 lines.
    pub fn watch(&self, offsets: &[u32], consumer: &str) -> io::Result<WatchedLines> {
        let config = RawConfig { flags: FLAG_INPUT | FLAG_EDGE_RISING | FLAG_EDGE_FALLING, ..RawConfig::default() };
        let file = self.take_all(offsets, config, consumer)?;
        Ok(WatchedLines { file, offsets: offsets.to_vec() })
    }

    fn take(&self, offset: u32, config: RawConfig, consumer: &str) -> io::Result<OwnedFd> {
        self.take_all(&[offset], config, consumer)
    }

    fn take_all(&self, offsets: &[u32], config: RawConfig, consumer: &str) -> io::Result<OwnedFd> {
        if offsets.is_empty() || offsets.len() > MOST_LINES {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let event_buffer_size = if config.flags & FLAG_EDGE_FALLING == 0 { 0 } else { MOST_EVENTS };
        let mut raw = RawRequest {
            offsets: [0; MOST_LINES],
            consumer: [0; NAME_BYTES],
            config,
            lines_count: u32::try_from(offsets.len()).unwrap_or(0),
            event_buffer_size,
            padding: [0; 5],
            file: -1,
        };
        raw.offsets.iter_mut().zip(offsets).for_each(|(to, offset)| *to = *offset);
        raw.consumer.iter_mut().take(NAME_BYTES - 1).zip(consumer.bytes()).for_each(|(to, byte)| *to = byte);
        ask(self.file.as_raw_fd(), LINE_REQUEST, &mut raw)?;
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(raw.file) })
    }
}

const fn active_low_flag(active_low: bool) -> u64 {
    if active_low { FLAG_ACTIVE_LOW } else { 0 }
}

/// A line that this process has as an output. It is inactive again when this is dropped; if the process is killed, nobody makes
/// it so.
#[derive(Debug)]
pub struct OutputLine {
    file: OwnedFd,
}

impl OutputLine {
    /// Makes it active or inactive: one system call, which returns when the driver has done it.
    ///
    /// # Errors
    /// Where the chip is gone (`ENODEV`), or cannot be reached.
    #[inline(always)]
    pub fn set(&self, active: bool) -> io::Result<()> {
        let values = RawValues { bits: u64::from(active), mask: 1 };
        // Without the C library, whose call is a fifth of what this costs outside of the kernel.
        // SAFETY: the kernel reads this structure for this request, and writes nothing.
        unsafe { ioctl(&self.file, Setter::<SET_VALUES, RawValues>::new(values)) }?;
        Ok(())
    }

    /// The line by a descriptor that another process shared.
    #[must_use]
    pub const fn shared(file: OwnedFd) -> Self {
        Self { file }
    }

    /// A descriptor of the same request for another process: a line belongs to whoever has one, and is free once all are closed.
    ///
    /// # Errors
    /// Where this process has too many files open.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// Whether it is active, as the driver reads it back.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn is_active(&self) -> io::Result<bool> {
        is_active(&self.file)
    }
}

fn is_active(file: &OwnedFd) -> io::Result<bool> {
    let mut values = RawValues { bits: 0, mask: 1 };
    ask(file.as_raw_fd(), GET_VALUES, &mut values)?;
    Ok(values.bits & 1 == 1)
}

impl Drop for OutputLine {
    fn drop(&mut self) {
        // A chip that is gone drives nothing.
        let _ = self.set(false);
    }
}

/// An edge of a line from inactive to active, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// When the kernel's interrupt handler saw it (ns, CLOCK_MONOTONIC). Where the chip sits behind a bus that sleeps, this is when
    /// the thread of its interrupt did.
    pub at_ns: i64,
    /// Its number among the edges of the line since it was taken, from 1 on; it wraps around. A gap is of edges that the kernel had
    /// no room for.
    pub number: u32,
}

/// How a wait for an edge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// An edge was reported.
    Edge(Edge),
    /// The time was over, or [`EdgeLine::end_waits`] was called.
    Nothing,
}

/// A line that this process has as an input, and whose edges are reported to it.
#[derive(Debug)]
pub struct EdgeLine {
    file: OwnedFd,
    /// An eventfd that can be read once no wait is to last any more.
    end: OwnedFd,
}

impl EdgeLine {
    /// Waits for the next edge, for so many milliseconds at most, without an end where that is below zero: `poll(2)`, then `read(2)`.
    /// It neither allocates nor locks.
    ///
    /// # Errors
    /// `EINTR` where a signal handler ran meanwhile; `ENODEV` where the chip is gone.
    #[inline(always)]
    pub fn wait(&self, timeout_ms: i32) -> Result<Waited, CallFailed> {
        let readable = |file: &OwnedFd| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut files = [readable(&self.file), readable(&self.end)];
        // SAFETY: the array is valid and writable, and has the length that is stated.
        let found = unsafe { libc::poll(files.as_mut_ptr(), 2, timeout_ms) };
        if found < 0 {
            return Err(CallFailed::last());
        }
        if files[0].revents == 0 {
            return Ok(Waited::Nothing);
        }
        let mut raw = RawEvent::default();
        // SAFETY: the structure is valid and writable for its length, and any bytes are a value of it.
        let read = unsafe { libc::read(self.file.as_raw_fd(), (&raw mut raw).cast(), size_of::<RawEvent>()) };
        if read < 0 {
            return Err(CallFailed::last());
        }
        Ok(Waited::Edge(Edge {
            at_ns: i64::try_from(raw.timestamp_ns).unwrap_or(i64::MAX),
            number: raw.sequence_of_line,
        }))
    }

    /// Ends the wait of another thread, and each one from now on that would last.
    pub fn end_waits(&self) {
        let one = 1_u64;
        // SAFETY: the buffer is valid for its length. A counter that is full can be read already.
        let _ = unsafe { libc::write(self.end.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Whether the line is active now, as the driver reads it.
    ///
    /// # Errors
    /// Where the chip is gone (`ENODEV`), or cannot be reached.
    pub fn is_active(&self) -> io::Result<bool> {
        is_active(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_are_those_of_the_kernel_s_header() {
        // As include/uapi/linux/gpio.h gives them, on 32 and 64 bits alike.
        assert_eq!(CHIP_INFO, 0x8044_b401);
        assert_eq!(LINE_INFO, 0xc100_b405);
        assert_eq!(LINE_REQUEST, 0xc250_b407);
        assert_eq!(GET_VALUES, 0xc010_b40e);
        assert_eq!(SET_VALUES, 0xc010_b40f);
        assert_eq!(size_of::<RawEvent>(), 48);
    }

    #[test]
    fn what_is_no_chip_is_refused_with_what_it_is() {
        let said = |name: &str| Chip::open(name).unwrap_err();
        assert_eq!(said("/dev/null").to_string(), "it is no GPIO chip of this kernel");
        assert_eq!(said("/proc/self/status").to_string(), "it is no character device");
        assert_eq!(said("gpiochip4096").kind(), io::ErrorKind::NotFound);
    }
}
