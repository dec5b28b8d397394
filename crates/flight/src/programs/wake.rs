//! `sched_waking(thread)`: a sleeping thread of this program is woken; the event is recorded on the CPU that wakes it
//! (`try_to_wake_up()`, kernel/sched/core.c).

use super::{Context, argument, begin, member, set_a, take_slot};
use crate::instruction::{Condition, Instruction, R1, R6, R7, Width, Writer};
use crate::ring::Kind;

/// A: the thread that is woken.
pub(super) fn write(context: &Context<'_>) -> Option<Vec<Instruction>> {
    if !context.wakings {
        return None;
    }
    let of = |name| member(context, "task_struct", name);
    let (thread, process) = (of("pid")?, of("tgid")?);
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
    take_slot(&mut writer, context, Kind::Woken);
    writer.load(Width::U32, R1, R7, thread);
    set_a(&mut writer, R1);
    writer.place(done).exit();
    Some(writer.finish())
}
