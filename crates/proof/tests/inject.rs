//! `punctual-proof inject` as the lab's guests use it; what it truly does is shown there.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual-proof")).args(arguments).output().unwrap()
}

/// Holds that it ends as a command that was used wrongly, having printed nothing but a message with `part` in it.
fn refused(arguments: &[&str], part: &str) {
    let output = run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{arguments:?}: {said}");
    assert!(said.contains(part), "{arguments:?}: {said}");
}

#[test]
fn a_hog_of_no_sensible_time_is_refused() {
    refused(&["inject", "hog", "5000000000"], "no colon");
    refused(&["inject", "hog", "x:2ms"], "not a number of nanoseconds");
    refused(&["inject", "hog", "5000000000:2"], "no unit");
    refused(&["inject", "hog", "1:0ns"], "out of range");
    refused(&["inject", "hog", "1:2s"], "out of range");
}

#[test]
fn pulses_that_cannot_be_are_refused_before_a_port_is_touched() {
    refused(&["inject", "pulse", "--count", "1", "--clock", "lunar"], "'lunar' is not a clock");
    refused(&["inject", "pulse", "--count", "1", "--interval", "1us"], "at least 1ms");
    refused(&["inject", "pulse", "--count", "1", "--offset", "100ms"], "between 0 and the interval, 100ms");
}

#[test]
fn a_moment_that_is_past_is_told() {
    // Nothing is asked of the kernel before the moment is known to lie ahead.
    refused(&["inject", "clock-step", "--at", "1", "--by", "-1ms"], "is past");
}
