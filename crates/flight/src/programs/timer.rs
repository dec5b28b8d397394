//! `hrtimer_expire_entry(timer, now)` and `hrtimer_expire_exit(timer)`: functions that timers run with interrupts off.
//!
//! The function that wakes a sleeping thread is a part of each ordinary wake-up: it is written down where it runs late
//! alone, with the functions that led to where its interrupt was taken at last. That names what kept interrupts off.

use super::{Context, argument, begin, member, reserve_slot, set_a, set_b, set_c, take_slot};
use crate::instruction::{
    Condition, Helper, Instruction, Label, R0, R1, R2, R3, R4, R6, R7, R8, R9, R10, Width, Writer,
};
use crate::ring::{Kind, SLOTS_AT, STACK_BYTES, STACK_FROM_AT, STACK_HEAD_AT, STACKS, STACKS_AT};

/// B: the function; C: when the timer was to expire (ns on its own clock). For a late one, B is the number of the stack,
/// A its bytes, and when it was followed stands in the place of the name.
pub(super) fn entry(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let (function, expires) = (member(context, "hrtimer", "function")?, member(context, "hrtimer", "_softexpires")?);
    let mut writer = Writer::default();
    let (done, own) = (writer.label(), writer.label());
    writer.copy(R6, R1).load(Width::U64, R7, R6, argument(0)).load(Width::U64, R8, R7, function).load(
        Width::U64,
        R7,
        R7,
        expires,
    );
    if context.wakeup_function != 0 {
        writer.set_wide(R1, context.wakeup_function).jump_if_register(R8, Condition::Equal, R1, own);
    }
    begin(&mut writer, context, done);
    take_slot(&mut writer, context, Kind::TimerEntry);
    set_b(&mut writer, R8);
    set_c(&mut writer, R7);
    if context.wakeup_function != 0 {
        writer.jump(done).place(own);
        late(&mut writer, context, done);
    }
    writer.place(done).exit();
    Some(writer.finish())
}

/// The measuring thread's own timer, or another sleeper's: R7 is when it was to expire.
///
/// To follow the functions takes longer than all else here together, and the sleeper waits for it: that is done for
/// outliers alone, and how long it took stands in the slot.
fn late(writer: &mut Writer, context: &Context<'_>, done: Label) {
    let (now, number, bytes) = (-16, -24, -32);
    let without_stack = writer.label();
    writer.call(Helper::KtimeGetNs).store(Width::U64, R10, now, R0).subtract_register(R0, R7);
    if context.clock_offset_ns != 0 {
        writer.set_wide(R1, u64::from_ne_bytes(context.clock_offset_ns.to_ne_bytes())).add_register(R0, R1);
    }
    let late_from_ns = i32::try_from(context.late_from_ns).unwrap_or(i32::MAX);
    writer.jump_if(R0, Condition::SignedLess, late_from_ns, done).copy(R8, R0);
    begin(writer, context, done);
    writer
        .store_value(Width::U64, R10, number, 0)
        .store_value(Width::U64, R10, bytes, 0)
        .load(Width::U64, R1, R9, STACK_FROM_AT)
        .jump_if_register(R8, Condition::Less, R1, without_stack)
        // An idle CPU has no thread whose stack could be read.
        .call(Helper::CurrentPidTgid)
        .jump_if(R0, Condition::Equal, 0, without_stack)
        .set(R1, 1)
        .fetch_add(R9, STACK_HEAD_AT, R1)
        .store(Width::U64, R10, number, R1)
        .and(R1, i32::try_from(STACKS - 1).unwrap_or(0))
        .multiply(R1, i32::try_from(STACK_BYTES).unwrap_or(0))
        .copy(R2, R9)
        .add_register(R2, R1)
        .add(R2, i32::from(STACKS_AT))
        .copy(R1, R6)
        .set(R3, i32::try_from(STACK_BYTES).unwrap_or(0))
        .set(R4, 0)
        .call(Helper::GetStack)
        .store(Width::U64, R10, bytes, R0)
        .place(without_stack);
    reserve_slot(writer, context, Kind::LateTimer);
    writer.load(Width::U64, R1, R10, now).store(Width::U64, R9, SLOTS_AT, R1).load(Width::U64, R1, R10, number);
    set_b(writer, R1);
    set_c(writer, R7);
    writer.load(Width::U64, R1, R10, bytes);
    set_a(writer, R1);
    writer.call(Helper::KtimeGetNs).store(Width::U64, R9, SLOTS_AT + 32, R0);
}

/// B: the function. A sleeper's timer may be gone by now: its memory then matches no recorded
/// start, and the reader skips the slot.
pub(super) fn exit(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let function = member(context, "hrtimer", "function")?;
    let mut writer = Writer::default();
    let done = writer.label();
    writer.load(Width::U64, R7, R1, argument(0)).load(Width::U64, R8, R7, function);
    if context.wakeup_function != 0 {
        writer.set_wide(R1, context.wakeup_function).jump_if_register(R8, Condition::Equal, R1, done);
    }
    begin(&mut writer, context, done);
    take_slot(&mut writer, context, Kind::TimerExit);
    set_b(&mut writer, R8);
    writer.place(done).exit();
    Some(writer.finish())
}
