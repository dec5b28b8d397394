//! GPIO chips and services.

use profile::process::Task;
use profile::services::{Services, parse_irqbalance, reduce_irqbalance};
use profile::{GpioChip, paths, text};

use crate::source::Source;

/// The chips of the character device; the older interface adds label and line count where both name one device.
pub(crate) fn gpio(source: &Source<'_>) -> Vec<GpioChip> {
    const DEVICES: &str = "/sys/bus/gpio/devices";
    const CLASS: &str = "/sys/class/gpio";
    let node = |path: &str| {
        let text = source.text(path)?;
        text::keyed(&text, '=', "OF_FULLNAME").map(str::to_owned)
    };
    let numbers = source.numbered(DEVICES, "gpiochip");
    let bases = source.numbered(CLASS, "gpiochip");
    // The older interface numbers chips by their first line; only the device behind shows which chip it is.
    let old: Vec<(u32, Option<String>)> =
        bases.iter().map(|base| (*base, node(&format!("{CLASS}/gpiochip{base}/device/uevent")))).collect();
    let chip = |number: u32| {
        let name = format!("gpiochip{number}");
        let own = node(&format!("{DEVICES}/{name}/uevent"));
        let base = match old.as_slice() {
            [(base, _)] if numbers.len() == 1 => Some(*base),
            _ => old.iter().find(|(_, node)| own.is_some() && *node == own).map(|(base, _)| *base),
        };
        let path = |file: &str| base.map(|base| format!("{CLASS}/gpiochip{base}/{file}"));
        GpioChip {
            name,
            label: path("label").and_then(|path| source.value(&path, text::line)),
            line_count: path("ngpio").and_then(|path| source.value(&path, text::number)),
        }
    };
    numbers.iter().copied().map(chip).collect()
}

pub(crate) fn services(source: &Source<'_>, tasks: &[Task]) -> Services {
    let settings = |path: &str| source.reduced(path, 65_536, reduce_irqbalance);
    let mut services = Services {
        tuned_profile: source.value(paths::TUNED_PROFILE, text::line),
        irqbalance_banned_cpus: settings("/etc/default/irqbalance")
            .or_else(|| settings("/etc/sysconfig/irqbalance"))
            .as_deref()
            .and_then(parse_irqbalance),
        ..Services::default()
    };
    services.add_tasks(tasks);
    services.time_programs = super::timekeeping::programs(source, tasks);
    keep_unit(source, tasks);
    services
}

/// Keeps in a capture that systemd runs irqbalance, which a plan may want to stop: its control group has the unit's name.
fn keep_unit(source: &Source<'_>, tasks: &[Task]) {
    const UNIT: &str = "irqbalance.service";
    let path = format!("/punctual/services/{UNIT}");
    if !source.is_live() {
        source.text(&path);
        return;
    }
    let Some(task) = tasks.iter().find(|task| task.pid == task.tid && task.comm == "irqbalance") else { return };
    if source.is_capturing() {
        let groups = source.bytes(&format!("/proc/{}/cgroup", task.pid), 65_536).unwrap_or_default();
        let is_unit = String::from_utf8_lossy(&groups).lines().any(|line| line.ends_with(&format!("/{UNIT}")));
        if is_unit {
            source.record(&path, b"active\n");
        }
    }
}
