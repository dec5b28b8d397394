//! Reads what the kernel's tracefs gives, in binary: the formats of events, the sub-buffers of the ring buffer, typed
//! events, and the system calls behind their numbers. Pure.
//!
//! What it deliberately does not do: read tracefs (`kernel::tracefs`), follow threads (`measure::app`), or decode events
//! that nothing here needs.
//! Sources: the kernel's Documentation/trace/ftrace.rst, Documentation/trace/events.rst,
//! Documentation/trace/ring-buffer-design.rst, include/linux/ring_buffer.h.

#![forbid(unsafe_code)]

mod elf;
mod event;
mod fields;
mod format;
mod page;
mod syscall;

pub use elf::{Function, functions};
pub use event::{Body, Decoder, Event, EventKind, Level, Name, WANTED_FIELDS};
pub use fields::{FieldReader, event_id};
pub use format::{Field, Format, FormatError};
pub use page::{Endian, Lost, PageError, PageLayout, Record, Records};
pub use syscall::{Abi, Call, Work};
