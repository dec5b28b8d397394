//! Where the first schedules of a run lie, as far as it is decided before the run.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use measure::Machine;
use measure::wakeup::Plan;
use record::{Placement, PolicyChoice, Stagger, WakeupRequest};
use units::Ns;

fn first_offsets_us(stagger: Stagger) -> Vec<i64> {
    let config = WakeupRequest {
        placement: Placement::Unpinned,
        policy: PolicyChoice::Other,
        threads: Some(3),
        interval: Ns::from_us(300),
        interval_step: Ns::from_us(500),
        stagger,
        ..WakeupRequest::default()
    };
    let plan = Plan::new(config, &Machine::read()).unwrap();
    plan.threads.iter().map(|thread| thread.first_offset_ns / 1_000).collect()
}

#[test]
fn threads_share_the_interval_or_follow_each_other_as_cyclictest_s_do() {
    assert_eq!(first_offsets_us(Stagger::Even), [0, 266, 866]);
    // --aligned: one start, each thread its own interval later and so much more for each thread before it.
    let aligned = Stagger::AfterInterval { all: Ns::ZERO, each: Ns::from_us(50) };
    assert_eq!(first_offsets_us(aligned), [300, 850, 1_400]);
    // --secaligned: the same for all.
    let second = Stagger::AfterInterval { all: Ns::from_us(50), each: Ns::ZERO };
    assert_eq!(first_offsets_us(second), [350, 850, 1_350]);
}
