//! `punctual inject` as the lab's guests use it; what it truly does is shown there.
#![cfg(feature = "lab")]
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use crate::support::{code, run, said};

#[test]
fn it_is_not_for_people_and_says_what_it_does_not_take() {
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    assert!(!help.contains("inject"), "hidden from the list of commands");
    for (arguments, part) in [
        (["inject", "hog", "5000000000"], "no colon"),
        (["inject", "hog", "x:2ms"], "not a number of nanoseconds"),
        (["inject", "hog", "5000000000:2"], "no unit"),
        (["inject", "hog", "1:0ns"], "out of range"),
        (["inject", "hog", "1:2s"], "out of range"),
    ] {
        let output = run(&arguments);
        assert_eq!((code(&output), output.stdout.is_empty()), (2, true), "{arguments:?}");
        assert!(said(&output).contains(part), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn pulses_that_cannot_be_are_refused_before_a_port_is_touched() {
    for (more, part) in [
        (["--clock", "lunar"], "'lunar' is not a clock"),
        (["--interval", "1us"], "at least 1ms"),
        (["--offset", "100ms"], "between 0 and the interval, 100ms"),
    ] {
        let output = run(&["inject", "pulse", "--count", "1", more[0], more[1]]);
        assert_eq!((code(&output), output.stdout.is_empty()), (2, true), "{more:?}");
        assert!(said(&output).contains(part), "{more:?}: {}", said(&output));
    }
}

#[test]
fn a_moment_that_is_past_is_told() {
    // Nothing is asked of the kernel before the moment is known to lie ahead.
    let output = run(&["inject", "clock-step", "--at", "1", "--by", "-1ms"]);
    assert_eq!((code(&output), output.stdout.is_empty()), (2, true));
    assert!(said(&output).contains("is past"), "{}", said(&output));
}
