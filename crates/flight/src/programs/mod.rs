//! The programs: one for each trace point, registered by one line in [`ALL`].

mod migrate;
mod parts;
mod scalars;
mod switch;
mod timer;
mod wake;

use crate::btf::Btf;
use crate::instruction::Label;
use crate::instruction::{Condition, Helper, Instruction, R0, R1, R2, R9, R10, Register, Width, Writer};
use crate::ring::{ARMED_AT, HEAD_AT, Kind, SLOT_BYTES, SLOTS_AT};

/// What the programs need of this kernel and this run.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The kernel's types.
    pub btf: &'a Btf<'a>,
    /// File descriptor of the map with one element a CPU, laid out as [`crate::ring`] says.
    pub map: i32,
    /// Slots of each ring, a power of two.
    pub slots: usize,
    /// Address of the function that wakes a sleeping thread, `hrtimer_wakeup`; 0 if the kernel does not show it, and then
    /// every timer is recorded.
    pub wakeup_function: u64,
    /// The process whose threads measure.
    pub process: u32,
    /// Its measuring threads have a priority below this, as the kernel counts: 100 for real-time ones.
    pub own_prio_below: i32,
    /// How late the timer of a sleeping thread has to be to be written down (ns).
    pub late_from_ns: u32,
    /// The measured clock less CLOCK_MONOTONIC (ns).
    pub clock_offset_ns: i64,
    /// Whether measuring threads may be moved from one CPU to another.
    pub may_move: bool,
    /// Whether something other than a timer wakes them, such as a packet: then it is recorded when and on which CPU.
    pub wakings: bool,
}

/// A program for a trace point.
#[derive(Clone, Copy, Debug)]
pub struct TracePoint {
    /// The kernel's name of it.
    pub name: &'static str,
    /// Writes the program; `None` where this kernel's types lack what it needs.
    write: fn(&Context<'_>) -> Option<Vec<Instruction>>,
}

/// What is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The kernel's name of the trace point.
    pub trace_point: &'static str,
    /// The number of the trace point's type.
    pub type_id: u32,
    /// The instructions of the program.
    pub instructions: Vec<Instruction>,
}

/// Every trace point that is recorded where the kernel has it.
pub const ALL: &[TracePoint] = &[
    TracePoint { name: "sched_switch", write: switch::write },
    TracePoint { name: "sched_migrate_task", write: migrate::write },
    TracePoint { name: "sched_waking", write: wake::write },
    TracePoint { name: "hrtimer_expire_entry", write: timer::entry },
    TracePoint { name: "hrtimer_expire_exit", write: timer::exit },
    TracePoint { name: "irq_handler_entry", write: |of| scalars::write(of, Kind::IrqEntry, 0) },
    TracePoint { name: "irq_handler_exit", write: |of| scalars::write(of, Kind::IrqExit, 0) },
    TracePoint { name: "softirq_entry", write: |of| scalars::write(of, Kind::SoftirqEntry, 0) },
    TracePoint { name: "softirq_exit", write: |of| scalars::write(of, Kind::SoftirqExit, 0) },
    TracePoint { name: "cpu_idle", write: scalars::idle },
    TracePoint { name: "cpu_frequency", write: |of| scalars::write(of, Kind::Frequency, 0) },
    TracePoint { name: "page_fault_user", write: scalars::page_fault },
    TracePoint { name: "page_fault_kernel", write: scalars::page_fault },
    TracePoint { name: "nmi_handler", write: scalars::nmi },
    // Interrupts of the processor itself, by the number of their row in `VECTORS`.
    TracePoint { name: "reschedule_entry", write: |of| scalars::constant(of, Kind::VectorEntry, 0) },
    TracePoint { name: "reschedule_exit", write: |of| scalars::constant(of, Kind::VectorExit, 0) },
    TracePoint { name: "call_function_entry", write: |of| scalars::constant(of, Kind::VectorEntry, 1) },
    TracePoint { name: "call_function_exit", write: |of| scalars::constant(of, Kind::VectorExit, 1) },
    TracePoint { name: "call_function_single_entry", write: |of| scalars::constant(of, Kind::VectorEntry, 1) },
    TracePoint { name: "call_function_single_exit", write: |of| scalars::constant(of, Kind::VectorExit, 1) },
    TracePoint { name: "irq_work_entry", write: |of| scalars::constant(of, Kind::VectorEntry, 2) },
    TracePoint { name: "irq_work_exit", write: |of| scalars::constant(of, Kind::VectorExit, 2) },
    TracePoint { name: "thermal_apic_entry", write: |of| scalars::constant(of, Kind::VectorEntry, 3) },
    TracePoint { name: "thermal_apic_exit", write: |of| scalars::constant(of, Kind::VectorExit, 3) },
    TracePoint { name: "threshold_apic_entry", write: |of| scalars::constant(of, Kind::VectorEntry, 4) },
    TracePoint { name: "threshold_apic_exit", write: |of| scalars::constant(of, Kind::VectorExit, 4) },
    TracePoint { name: "error_apic_entry", write: |of| scalars::constant(of, Kind::VectorEntry, 5) },
    TracePoint { name: "error_apic_exit", write: |of| scalars::constant(of, Kind::VectorExit, 5) },
    TracePoint { name: "ipi_entry", write: |of| scalars::constant(of, Kind::VectorEntry, 6) },
    TracePoint { name: "ipi_exit", write: |of| scalars::constant(of, Kind::VectorExit, 6) },
];

/// The trace points of each wake-up's parts. They are of use together alone.
pub const PARTS: &[TracePoint] = &[
    TracePoint { name: "hrtimer_expire_entry", write: parts::timer },
    TracePoint { name: "sched_wakeup", write: parts::runnable },
    TracePoint { name: "sched_switch", write: parts::running },
];

/// What the interrupts of the processor itself are called, by their numbers in [`ALL`].
pub const VECTORS: [&str; 7] = [
    "reschedule request",
    "function call of another CPU",
    "deferred work in interrupt context",
    "thermal interrupt",
    "machine-check threshold",
    "APIC error",
    "interrupt from another CPU",
];

impl TracePoint {
    /// The program for this kernel; `None` where the kernel has no such trace point, or not the types that it needs.
    #[must_use]
    pub fn program(&self, context: &Context<'_>) -> Option<Program> {
        let type_id = context.btf.typedef(&format!("btf_trace_{}", self.name))?;
        let instructions = (self.write)(context)?;
        Some(Program { trace_point: self.name, type_id, instructions })
    }
}

/// Begins a program that has kept its arguments in R6: R9 becomes the memory of its CPU; leaves for `done` where that is
/// not armed.
fn begin(writer: &mut Writer, context: &Context<'_>, done: Label) {
    find_memory(writer, context, done);
    writer.load(Width::U32, R1, R9, ARMED_AT).jump_if(R1, Condition::Equal, 0, done);
}

/// R9 becomes the memory of this CPU; leaves for `done` where it has none.
fn find_memory(writer: &mut Writer, context: &Context<'_>, done: Label) {
    writer.call(Helper::ProcessorId).store(Width::U32, R10, -4, R0);
    find_memory_of(writer, context, done);
}

/// R9 becomes the memory of the CPU whose number stands at -4 of the stack; leaves for `done` where it has none.
fn find_memory_of(writer: &mut Writer, context: &Context<'_>, done: Label) {
    writer
        .set_map(R1, context.map)
        .copy(R2, R10)
        .add(R2, -4)
        .call(Helper::MapLookup)
        .jump_if(R0, Condition::Equal, 0, done)
        .copy(R9, R0);
}

/// Takes a slot: R9 becomes such that the slot stands at [`SLOTS_AT`] from it, with its time and kind; R1 is lost, as in
/// every call.
fn take_slot(writer: &mut Writer, context: &Context<'_>, kind: Kind) {
    reserve_slot(writer, context, kind);
    writer.call(Helper::KtimeGetNs).store(Width::U64, R9, SLOTS_AT, R0);
}

/// The same without its time.
fn reserve_slot(writer: &mut Writer, context: &Context<'_>, kind: Kind) {
    let (mask, slot_bytes) = (context.slots - 1, SLOT_BYTES);
    writer
        .set(R1, 1)
        .fetch_add(R9, HEAD_AT, R1)
        .and(R1, i32::try_from(mask).unwrap_or(0))
        .multiply(R1, i32::try_from(slot_bytes).unwrap_or(0))
        .add_register(R9, R1)
        .store_value(Width::U32, R9, SLOTS_AT + 8, kind as i32);
}

/// Writes the small number of a slot.
fn set_a(writer: &mut Writer, from: Register) {
    writer.store(Width::U32, R9, SLOTS_AT + 12, from);
}

/// Writes the first number of a slot.
fn set_b(writer: &mut Writer, from: Register) {
    writer.store(Width::U64, R9, SLOTS_AT + 16, from);
}

/// Writes the second number of a slot.
fn set_c(writer: &mut Writer, from: Register) {
    writer.store(Width::U64, R9, SLOTS_AT + 24, from);
}

/// Where an argument of the trace point stands.
const fn argument(number: i16) -> i16 {
    8 * number
}

/// Where the CPU of a thread stands: in its `thread_info`, before Linux 5.16 on x86-64 and arm64 beside that.
fn thread_cpu(context: &Context<'_>) -> Option<i16> {
    let inside = || member(context, "task_struct", "thread_info")?.checked_add(member(context, "thread_info", "cpu")?);
    inside().or_else(|| member(context, "task_struct", "cpu"))
}

/// Where a member of one of the kernel's structures stands.
fn member(context: &Context<'_>, of: &str, member: &str) -> Option<i16> {
    i16::try_from(context.btf.member(of, member)?).ok()
}
