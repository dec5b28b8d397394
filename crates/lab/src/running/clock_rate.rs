//! Makes a guest's clocks run faster or slower than the host's.
//!
//! An emulated processor without `-icount` reads the host's own time-stamp counter (QEMU's `cpu_get_ticks`). So the
//! guest's kernel gets a frequency that is wrong by the wanted offset: with a lower frequency, the same ticks count as
//! more time. The kernel would correct that by up to 1 % one second after the start, measured against the board's other
//! timers (`tsc_refine_calibration_work` of `arch/x86/kernel/tsc.c`). Without the init call that starts this, it keeps
//! the clock source `tsc-early`, which is as good.

use std::io;

use kernel::clock::{KernelClock, now_ns, time_stamp_counter};
use units::{ClockId, Ns};

/// Time from the first pair of readings to the second.
const SPAN: Ns = Ns::from_ms(500);
/// Number of attempts at a pair of readings; the quickest counts, so that interrupted ones do not matter.
const TRIES: u32 = 100;
/// Largest error of the two pairs together, as a share of [`SPAN`] (ppm). The error of a pair is half the time between
/// the clock readings before and after the counter's.
const MAX_ERROR_PPM: i64 = 2;

/// Kernel parameters for a guest with this offset (ppm), on a host whose counter has this frequency (Hz).
pub(super) fn boot_parameters(offset_ppm: i32, host_hz: i64) -> String {
    let stated_khz = (i128::from(host_hz) * 1_000 + 500_000) / (1_000_000 + i128::from(offset_ppm));
    format!("tsc_early_khz={stated_khz} initcall_blacklist=init_tsc_clocksource")
}

/// The frequency of this host's time-stamp counter against its CLOCK_MONOTONIC (Hz); takes half a second.
///
/// # Errors
/// If the processor has no such counter, or this process was interrupted in every attempt.
pub(super) fn host_counter_hz() -> io::Result<i64> {
    let (first_ns, first_ticks, first_error_ns) = pair()?;
    std::thread::sleep(SPAN.to_std());
    let (last_ns, last_ticks, last_error_ns) = pair()?;
    let span_ns = last_ns - first_ns;
    if (first_error_ns + last_error_ns) * 1_000_000 > MAX_ERROR_PPM * span_ns {
        return Err(io::Error::other(
            "this host is too busy to measure its time-stamp counter, which frequency-offset-ppm of a node needs; try again",
        ));
    }
    let ticks = i128::from(last_ticks.saturating_sub(first_ticks));
    i64::try_from(ticks * 1_000_000_000 / i128::from(span_ns.max(1))).map_err(io::Error::other)
}

/// Reads the clock (ns) and the counter (ticks) at the same moment; the third value is the error of that moment (ns).
fn pair() -> io::Result<(i64, u64, i64)> {
    let clock = KernelClock::from(ClockId::Monotonic);
    let one = |_| {
        let before_ns = now_ns(clock);
        let ticks = time_stamp_counter()?;
        let after_ns = now_ns(clock);
        Some((before_ns + (after_ns - before_ns) / 2, ticks, (after_ns - before_ns) / 2))
    };
    let quickest = (0..TRIES).filter_map(one).min_by_key(|(_, _, error_ns)| *error_ns);
    quickest.ok_or_else(|| {
        io::Error::other("frequency-offset-ppm of a node needs a host with a time-stamp counter, such as x86-64")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faster_clock_gets_a_lower_counter_frequency() {
        let parameter = |ppm, hz| boot_parameters(ppm, hz).split_once(' ').unwrap().0.to_owned();
        assert_eq!(parameter(0, 2_300_000_000), "tsc_early_khz=2300000");
        assert_eq!(parameter(0, 2_299_999_600), "tsc_early_khz=2300000");
        assert_eq!(parameter(100, 2_300_000_000), "tsc_early_khz=2299770");
        assert_eq!(parameter(-100, 2_300_000_000), "tsc_early_khz=2300230");
        assert_eq!(parameter(10_000, 1_010_000_000), "tsc_early_khz=1000000");
    }

    #[test]
    fn two_measurements_of_the_host_counter_agree() {
        match (host_counter_hz(), host_counter_hz()) {
            (Ok(one), Ok(other)) => {
                // Each may be off by 2 ppm, and the host's clock is slewed by at most 500 ppm.
                assert!((one - other).abs() * 1_000 < one, "{one} {other}");
            }
            (Err(error), _) | (_, Err(error)) => println!("not run: {error}"),
        }
    }
}
