//! `sched_switch(preempt, previous, next, …)`: who runs.
//!
//! A switch between the idle task and a measuring thread is what each ordinary wake-up is, and is not written down:
//! where no switch stands, it was one of these.

use super::{Context, argument, begin, member, set_a, set_b, set_c, take_slot};
use crate::instruction::{Condition, Instruction, R1, R2, R6, R7, R8, R9, Width, Writer};
use crate::ring::{Kind, SLOTS_AT};

/// A: the thread that gave way; B: the next one and, in the upper half, its priority; C: the next one's policy and, in
/// the upper half, the priority of the one that gave way.
pub(super) fn write(context: &Context<'_>) -> Option<Vec<Instruction>> {
    let of = |name| member(context, "task_struct", name);
    let (thread, process, priority) = (of("pid")?, of("tgid")?, of("prio")?);
    let (policy, name) = (of("policy")?, of("comm")?);
    let own_process = i32::try_from(context.process).ok()?;
    let mut writer = Writer::default();
    let (done, take, from_own) = (writer.label(), writer.label(), writer.label());
    // What an ordinary wake-up goes through: nothing is called.
    writer
        .copy(R6, R1)
        .load(Width::U64, R7, R6, argument(1))
        .load(Width::U64, R8, R6, argument(2))
        .load(Width::U32, R1, R7, thread)
        .jump_if(R1, Condition::NotEqual, 0, from_own)
        // From idle: to a measuring thread?
        .load(Width::U32, R1, R8, process)
        .jump_if(R1, Condition::NotEqual, own_process, take)
        .load(Width::U32, R1, R8, priority)
        .jump_if(R1, Condition::Less, context.own_prio_below, done)
        .jump(take)
        // To idle: from a measuring thread?
        .place(from_own)
        .load(Width::U32, R1, R8, thread)
        .jump_if(R1, Condition::NotEqual, 0, take)
        .load(Width::U32, R1, R7, process)
        .jump_if(R1, Condition::NotEqual, own_process, take)
        .load(Width::U32, R1, R7, priority)
        .jump_if(R1, Condition::Less, context.own_prio_below, done)
        .place(take);
    begin(&mut writer, context, done);
    take_slot(&mut writer, context, Kind::Switch);
    writer.load(Width::U32, R1, R7, thread);
    set_a(&mut writer, R1);
    writer.load(Width::U32, R1, R8, priority).shift_left(R1, 32).load(Width::U32, R2, R8, thread).or_register(R1, R2);
    set_b(&mut writer, R1);
    writer.load(Width::U32, R1, R7, priority).shift_left(R1, 32).load(Width::U32, R2, R8, policy).or_register(R1, R2);
    set_c(&mut writer, R1);
    writer
        .load(Width::U64, R1, R8, name)
        .store(Width::U64, R9, SLOTS_AT + 32, R1)
        .load(Width::U64, R1, R8, name + 8)
        .store(Width::U64, R9, SLOTS_AT + 40, R1)
        .place(done)
        .exit();
    Some(writer.finish())
}
