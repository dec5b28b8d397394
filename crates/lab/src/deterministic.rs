//! Guests whose clock counts instructions: nothing that the host does shows in them.
//!
//! One CPU, and time in which it would sleep is left out, so that they are over sooner than their own clocks say.

/// Two nanoseconds of the guest's time for each instruction, 500 million a second: a small board (QEMU's `-icount`).
pub(crate) const CLOCK: &str = "shift=1,sleep=off";

/// The kernel's parameters. The time-stamp counter has a stated rate, since measuring it against emulated timers would
/// give each boot another one; what a kernel does at random is off.
pub(crate) const PARAMETERS: &str =
    "clocksource=tsc tsc=reliable tsc_early_khz=1000000 random.trust_cpu=off norandmaps nokaslr";

/// What a guest's battery-backed clock shows when it is switched on, where nobody says otherwise: never the host's time,
/// which would make each boot another one.
pub(crate) const EPOCH: &str = "2026-01-01T00:00:00";
