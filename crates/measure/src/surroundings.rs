//! What this machine has that comes back with a period: what a rhythm among late wake-ups can be named by.

use std::fs;
use std::path::Path;

use analysis::rhythm::Surroundings;
use units::CpuSet;

use crate::witness::tightest_period_ns;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Reads this machine; what cannot be read stays unknown and names nothing.
pub(crate) fn read(is_real_time: bool, smi: u64, measured: &CpuSet) -> Surroundings {
    let setting = |name: &str| number(&format!("/proc/sys/{name}"));
    let throttle = setting("kernel/sched_rt_period_us").zip(setting("kernel/sched_rt_runtime_us"));
    let (release, ..) = kernel::process::system_names();
    Surroundings {
        tick_ns: kernel::clock::tick_ns(),
        is_virtual: Some(host::virtual_machine(&host::Root::live()).is_some()),
        own_quota_ns: tightest_period_ns(Path::new("/")),
        // Minus one is off, and is no number here.
        throttle_ns: throttle
            .filter(|(period_us, runtime_us)| runtime_us < period_us)
            .map(|(period_us, runtime_us)| (period_us.saturating_mul(1_000), runtime_us.saturating_mul(1_000))),
        has_fair_server: has_fair_server(&release, measured, |cpu| {
            let path = format!("{}/cpu{cpu}/runtime", profile::paths::FAIR_SERVER);
            let is_closed = kernel::refusal::by_lockdown(Path::new(&path)).is_some();
            if is_closed { None } else { number(&path) }
        }),
        is_real_time,
        statistics_ns: setting("vm/stat_interval").map(|seconds| seconds.saturating_mul(S)),
        // The kernel samples at two fifths of the threshold (kernel/watchdog.c). `kernel/watchdog`, which says the same of both
        // detectors, is not read: while both are off, reading it keeps them off whatever is written to their own switches.
        watchdog_ns: ["kernel/soft_watchdog", "kernel/nmi_watchdog"]
            .iter()
            .any(|name| setting(name) == Some(1))
            .then(|| setting("kernel/watchdog_thresh").map(|seconds| seconds.saturating_mul(2 * S) / 5))
            .flatten(),
        writeback_ns: setting("vm/dirty_writeback_centisecs")
            .filter(|hundredths| *hundredths > 0)
            .map(|hundredths| hundredths.saturating_mul(10 * MS)),
        governors_ns: ["ondemand", "conservative"]
            .iter()
            .filter_map(|name| number(&format!("/sys/devices/system/cpu/cpufreq/{name}/sampling_rate")))
            .map(|us| us.saturating_mul(1_000))
            .collect(),
        has_bmc: ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"].iter().any(|path| fs::metadata(path).is_ok()),
        smi,
    }
}

fn number(path: &str) -> Option<u64> {
    crate::kernel_text::read(path).ok()?.trim().parse().ok()
}

/// The server came with 6.12; a CPU on which somebody gave it no runtime has none. `runtime_ns` reads that of a CPU.
fn has_fair_server(release: &str, measured: &CpuSet, runtime_ns: impl Fn(u32) -> Option<u64>) -> Option<bool> {
    if !measured.is_empty() && measured.iter().all(|cpu| runtime_ns(cpu) == Some(0)) {
        return Some(false);
    }
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next()?) >= (6, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fair_server_is_of_6_12_and_newer() {
        for (release, expected) in
            [("6.11.9-rt", Some(false)), ("6.12.0", Some(true)), ("7.0-rc1", Some(true)), ("x", None)]
        {
            assert_eq!(has_fair_server(release, &"0-1".parse().unwrap(), |_| None), expected, "{release}");
        }
    }

    #[test]
    fn the_fair_server_is_off_where_no_measured_cpu_has_one() {
        let has = |measured: &str| {
            let measured = if measured.is_empty() { CpuSet::new() } else { measured.parse().unwrap() };
            has_fair_server("6.12.0", &measured, |cpu| Some(if cpu == 3 { 0 } else { 50 * MS }))
        };
        assert_eq!([has("3"), has("0"), has("2-3"), has("")], [Some(false), Some(true), Some(true), Some(true)]);
    }

    #[test]
    fn this_machine_has_a_tick() {
        let tick_ns = read(true, 0, &CpuSet::new()).tick_ns.unwrap();
        assert!((100_000..=10_000_000).contains(&tick_ns), "{tick_ns}");
    }
}
