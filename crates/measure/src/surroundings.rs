//! What this machine has that comes back with a period: what a rhythm among late wake-ups can be named by.

use std::fs;

use analyse::rhythm::Surroundings;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Reads this machine; what cannot be read stays unknown and names nothing.
pub(crate) fn read(is_real_time: bool, smi: u64) -> Surroundings {
    let setting = |name: &str| number(&format!("/proc/sys/{name}"));
    let throttle = setting("kernel/sched_rt_period_us").zip(setting("kernel/sched_rt_runtime_us"));
    let (release, ..) = kernel::process::system_names();
    Surroundings {
        tick_ns: kernel::clock::tick_ns(),
        is_virtual: Some(host::virtual_machine(&host::Root::live()).is_some()),
        own_quota_ns: own_quota_ns(),
        // Minus one is off, and is no number here.
        throttle_ns: throttle
            .filter(|(period_us, runtime_us)| runtime_us < period_us)
            .map(|(period_us, runtime_us)| (period_us.saturating_mul(1_000), runtime_us.saturating_mul(1_000))),
        has_fair_server: has_fair_server(&release),
        is_real_time,
        statistics_ns: setting("vm/stat_interval").map(|seconds| seconds.saturating_mul(S)),
        // The kernel samples at two fifths of the threshold (kernel/watchdog.c).
        watchdog_ns: (setting("kernel/watchdog") == Some(1))
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
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The server came with 6.12; whoever gave it no runtime has none.
fn has_fair_server(release: &str) -> Option<bool> {
    if number("/sys/kernel/debug/sched/fair_server/cpu0/runtime") == Some(0) {
        return Some(false);
    }
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next()?) >= (6, 12))
}

/// The period of the narrowest CPU bandwidth limit of the control groups that this process is in.
fn own_quota_ns() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_unified = controllers.is_empty();
        let is_cpu = controllers.split(',').any(|controller| controller == "cpu");
        (is_unified || is_cpu).then(|| quota_upwards(path, is_unified)).flatten()
    })
}

fn quota_upwards(path: &str, is_unified: bool) -> Option<u64> {
    let mut path = path.trim_end_matches('/');
    loop {
        let found = if is_unified {
            fs::read_to_string(format!("/sys/fs/cgroup{path}/cpu.max")).ok().and_then(|text| period_ns(&text))
        } else {
            let folder = format!("/sys/fs/cgroup/cpu{path}");
            // Minus one, no limit, is no number here.
            number(&format!("{folder}/cpu.cfs_quota_us"))
                .and_then(|_| number(&format!("{folder}/cpu.cfs_period_us")))
                .map(|us| us.saturating_mul(1_000))
        };
        if found.is_some() {
            return found;
        }
        path = path.rsplit_once('/')?.0;
    }
}

/// From "50000 100000", not from "max 100000".
fn period_ns(cpu_max: &str) -> Option<u64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    quota.parse::<u64>().ok()?;
    period.parse::<u64>().ok().map(|us| us.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_period_and_no_limit_has_none() {
        assert_eq!(period_ns("50000 100000\n"), Some(100 * MS));
        assert_eq!(period_ns("max 100000\n"), None);
        assert_eq!(period_ns(""), None);
    }

    #[test]
    fn the_fair_server_is_of_6_12_and_newer() {
        for (release, expected) in
            [("6.11.9-rt", Some(false)), ("6.12.0", Some(true)), ("7.0-rc1", Some(true)), ("x", None)]
        {
            assert_eq!(has_fair_server(release), expected, "{release}");
        }
    }

    #[test]
    fn this_machine_has_a_tick() {
        let tick_ns = read(true, 0).tick_ns.unwrap();
        assert!((100_000..=10_000_000).contains(&tick_ns), "{tick_ns}");
    }
}
