//! `sched_migrate_task(thread, to)`: a thread of this program moves to another CPU; the event is recorded on the CPU that moves it.

use super::{Context, argument, begin, member, set_a, set_b, take_slot, thread_cpu};
use crate::instruction::{Condition, Instruction, R1, R2, R6, R7, Width, Writer};
use crate::ring::Kind;

/// A: the thread; B: the CPU that it leaves and, in the upper half, the one that it goes to.
pub(super) fn write(context: &Context<'_>) -> Option<Vec<Instruction>> {
    if !context.may_move {
        return None;
    }
    let of = |name| member(context, "task_struct", name);
    let (thread, process) = (of("pid")?, of("tgid")?);
    let cpu = thread_cpu(context)?;
    let own_process = i32::try_from(context.process).ok()?;
    let mut writer = Writer::default();
    let done = writer.label();
    writer.copy(R6, R1).load(Width::U64, R7, R6, argument(0)).load(Width::U32, R1, R7, process).jump_if(
        R1,
        Condition::NotEqual,
        own_process,
        done,
    );
    begin(&mut writer, context, done);
    take_slot(&mut writer, context, Kind::Moved);
    writer.load(Width::U32, R1, R7, thread);
    set_a(&mut writer, R1);
    writer.load(Width::U32, R1, R6, argument(1)).shift_left(R1, 32).load(Width::U32, R2, R7, cpu).or_register(R1, R2);
    set_b(&mut writer, R1);
    writer.place(done).exit();
    Some(writer.finish())
}
