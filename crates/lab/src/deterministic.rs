//! Settings of deterministic guests: their clock counts instructions, so the host's timing does not affect them.
//!
//! They have one CPU. Idle time is skipped, so they finish sooner than their own clocks show.

/// QEMU's `-icount`: 2 ns of guest time for each instruction, 500 million a second, as on a small board.
pub(crate) const CLOCK: &str = "shift=1,sleep=off";

/// Kernel parameters. The rate of the time-stamp counter is given, since measuring it against emulated timers would
/// give a different one at each boot. Randomization in the kernel is off.
pub(crate) const PARAMETERS: &str =
    "clocksource=tsc tsc=reliable tsc_early_khz=1000000 random.trust_cpu=off norandmaps nokaslr";

/// Default time of a guest's battery-backed clock at power-on. It is never the host's time, which would make each boot
/// different.
pub(crate) const EPOCH: &str = "2026-01-01T00:00:00";
