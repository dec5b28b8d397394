//! Each wake-up in its parts: when the timer of a measuring thread fired, when the thread was made runnable, and when it
//! was switched to. The thread itself reads them once it is back in its own code.
//!
//! The moments stand in the head of the memory of the CPU that the thread runs on, whatever its ring does: an outlier stops
//! the ring, and the next wake-up has parts too.

use super::{Context, argument, find_memory, find_memory_of, member, thread_cpu};
use crate::instruction::{Condition, Helper, Instruction, Label, R0, R1, R2, R6, R7, R8, R9, R10, Width, Writer};
use crate::ring::{OWN_TIMER_AT, RUNNABLE_AT, RUNNING_AT, THREAD_AT, TIMER_AT};

/// `hrtimer_expire_entry(timer, now)`: when the timer of a sleeping thread fired on this CPU.
pub(super) fn timer(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let function = member(context, "hrtimer", "function")?;
    if context.wakeup_function == 0 {
        return None;
    }
    let mut writer = Writer::default();
    let done = writer.label();
    writer
        .load(Width::U64, R7, R1, argument(0))
        .load(Width::U64, R8, R7, function)
        .set_wide(R1, context.wakeup_function)
        .jump_if_register(R8, Condition::NotEqual, R1, done);
    find_memory(&mut writer, context, done);
    writer.call(Helper::KtimeGetNs).store(Width::U64, R9, TIMER_AT, R0).place(done).exit();
    Some(writer.finish())
}

/// `sched_wakeup(thread)`: it can run from now on. The timer may have fired on another CPU than the thread runs on: idle
/// CPUs hand their timers to busy ones.
pub(super) fn runnable(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let cpu = thread_cpu(context)?;
    let mut writer = Writer::default();
    let done = writer.label();
    find_own_thread(&mut writer, context, 0, done)?;
    writer.load(Width::U64, R8, R9, TIMER_AT).load(Width::U32, R6, R7, cpu).store(Width::U32, R10, -4, R6);
    find_memory_of(&mut writer, context, done);
    leave_unless_measuring(&mut writer, context, done)?;
    writer
        .store(Width::U64, R9, OWN_TIMER_AT, R8)
        .call(Helper::KtimeGetNs)
        .store(Width::U64, R9, RUNNABLE_AT, R0)
        .place(done)
        .exit();
    Some(writer.finish())
}

/// `sched_switch(preempt, previous, next, …)`: it has the CPU.
pub(super) fn running(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let mut writer = Writer::default();
    let done = writer.label();
    find_own_thread(&mut writer, context, 2, done)?;
    leave_unless_measuring(&mut writer, context, done)?;
    writer.call(Helper::KtimeGetNs).store(Width::U64, R9, RUNNING_AT, R0).place(done).exit();
    Some(writer.finish())
}

/// R7 becomes the thread that is an argument, and R9 the memory of this CPU; leaves for `done` where that is no thread of
/// this program with the priority of a measuring one. `None` where this kernel's types lack what it needs.
fn find_own_thread(writer: &mut Writer, context: &Context<'_>, number: i16, done: Label) -> Option<()> {
    let of = |name| member(context, "task_struct", name);
    let (process, priority) = (of("tgid")?, of("prio")?);
    let own_process = i32::try_from(context.process).ok()?;
    writer
        .load(Width::U64, R7, R1, argument(number))
        .load(Width::U32, R1, R7, process)
        .jump_if(R1, Condition::NotEqual, own_process, done)
        .load(Width::U32, R1, R7, priority)
        .jump_if(R1, Condition::GreaterOrEqual, context.own_prio_below, done);
    find_memory(writer, context, done);
    Some(())
}

/// Leaves for `done` where the thread in R7 is not the measuring one of the CPU whose memory is in R9. The program's other
/// threads have the same priority where the measuring ones are ordinary, and would write their moments over its own.
fn leave_unless_measuring(writer: &mut Writer, context: &Context<'_>, done: Label) -> Option<()> {
    let thread = member(context, "task_struct", "pid")?;
    writer.load(Width::U32, R1, R7, thread).load(Width::U32, R2, R9, THREAD_AT).jump_if_register(
        R1,
        Condition::NotEqual,
        R2,
        done,
    );
    Some(())
}
