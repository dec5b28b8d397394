//! Each wake-up in its parts: when the timer of a measuring thread fired, when the thread was made runnable, and when it
//! was switched to. The thread itself reads them once it is back in its own code.
//!
//! The moments stand in the head of the memory of the CPU that the thread runs on, whatever its ring does: an outlier stops
//! the ring, and the next wake-up has parts too.

use super::{Context, argument, find_memory, member};
use crate::instruction::{Condition, Helper, Instruction, R0, R1, R6, R7, R8, R9, R10, Width, Writer};
use crate::ring::{OWN_TIMER_AT, RUNNABLE_AT, RUNNING_AT, TIMER_AT};

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
    let of = |name| member(context, "task_struct", name);
    let (process, priority) = (of("tgid")?, of("prio")?);
    let cpu = of("thread_info")?.checked_add(member(context, "thread_info", "cpu")?)?;
    let own_process = i32::try_from(context.process).ok()?;
    let mut writer = Writer::default();
    let done = writer.label();
    writer
        .load(Width::U64, R7, R1, argument(0))
        .load(Width::U32, R1, R7, process)
        .jump_if(R1, Condition::NotEqual, own_process, done)
        .load(Width::U32, R1, R7, priority)
        .jump_if(R1, Condition::GreaterOrEqual, context.own_prio_below, done);
    find_memory(&mut writer, context, done);
    writer.load(Width::U64, R8, R9, TIMER_AT).load(Width::U32, R6, R7, cpu).store(Width::U32, R10, -4, R6);
    super::find_memory_of(&mut writer, context, done);
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
    let of = |name| member(context, "task_struct", name);
    let (process, priority) = (of("tgid")?, of("prio")?);
    let own_process = i32::try_from(context.process).ok()?;
    let mut writer = Writer::default();
    let done = writer.label();
    writer
        .load(Width::U64, R7, R1, argument(2))
        .load(Width::U32, R1, R7, process)
        .jump_if(R1, Condition::NotEqual, own_process, done)
        .load(Width::U32, R1, R7, priority)
        .jump_if(R1, Condition::GreaterOrEqual, context.own_prio_below, done);
    find_memory(&mut writer, context, done);
    writer.call(Helper::KtimeGetNs).store(Width::U64, R9, RUNNING_AT, R0).place(done).exit();
    Some(writer.finish())
}
