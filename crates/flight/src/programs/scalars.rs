//! Trace points whose arguments are numbers.

use super::{Context, argument, begin, member, set_a, set_b, set_c, take_slot};
use crate::instruction::{Condition, Instruction, R1, R6, R7, R8, Width, Writer};
use crate::ring::Kind;

/// One number among the arguments.
#[expect(clippy::unnecessary_wraps, reason = "the form of all programs; others need types that can be missing")]
pub(super) fn write(context: &Context<'_>, kind: Kind, number: i16) -> Option<Vec<Instruction>> {
    let mut writer = Writer::default();
    let done = writer.label();
    writer.copy(R6, R1);
    begin(&mut writer, context, done);
    take_slot(&mut writer, context, kind);
    writer.load(Width::U32, R1, R6, argument(number));
    set_a(&mut writer, R1);
    writer.place(done).exit();
    Some(writer.finish())
}

/// A number that is known beforehand.
#[expect(clippy::unnecessary_wraps, reason = "the form of all programs; others need types that can be missing")]
pub(super) fn constant(context: &Context<'_>, kind: Kind, value: i32) -> Option<Vec<Instruction>> {
    let mut writer = Writer::default();
    let done = writer.label();
    begin(&mut writer, context, done);
    take_slot(&mut writer, context, kind);
    writer.set(R1, value);
    set_a(&mut writer, R1);
    writer.place(done).exit();
    Some(writer.finish())
}

/// `cpu_idle(state, cpu)`: a state of all ones is the way out.
#[expect(clippy::unnecessary_wraps, reason = "the form of all programs; others need types that can be missing")]
pub(super) fn idle(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let mut writer = Writer::default();
    let (done, out) = (writer.label(), writer.label());
    writer.copy(R6, R1);
    begin(&mut writer, context, done);
    writer.load(Width::U32, R7, R6, argument(0));
    // Compared as 64 bits: the load has filled the upper half with zeros.
    writer.set(R8, -1).shift_left(R8, 32).shift_right(R8, 32);
    writer.jump_if_register(R7, Condition::Equal, R8, out);
    take_slot(&mut writer, context, Kind::IdleEntry);
    set_a(&mut writer, R7);
    writer.jump(done).place(out);
    take_slot(&mut writer, context, Kind::IdleExit);
    set_a(&mut writer, R7);
    writer.place(done).exit();
    Some(writer.finish())
}

/// `page_fault_user(address, regs, error_code)`: where it was and what did it.
pub(super) fn page_fault(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let instruction_pointer = member(context, "pt_regs", "ip")?;
    let mut writer = Writer::default();
    let done = writer.label();
    writer.copy(R6, R1);
    begin(&mut writer, context, done);
    take_slot(&mut writer, context, Kind::PageFault);
    writer.load(Width::U64, R1, R6, argument(0));
    set_b(&mut writer, R1);
    writer.load(Width::U64, R1, R6, argument(1)).load(Width::U64, R1, R1, instruction_pointer);
    set_c(&mut writer, R1);
    writer.load(Width::U32, R1, R6, argument(2));
    set_a(&mut writer, R1);
    writer.place(done).exit();
    Some(writer.finish())
}

/// `nmi_handler(handler, delta_ns, handled)`: which function, and how long it took.
#[expect(clippy::unnecessary_wraps, reason = "the form of all programs; others need types that can be missing")]
pub(super) fn nmi(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let mut writer = Writer::default();
    let done = writer.label();
    writer.copy(R6, R1);
    begin(&mut writer, context, done);
    take_slot(&mut writer, context, Kind::Nmi);
    writer.load(Width::U64, R1, R6, argument(0));
    set_b(&mut writer, R1);
    writer.load(Width::U64, R1, R6, argument(1));
    set_c(&mut writer, R1);
    writer.place(done).exit();
    Some(writer.finish())
}
