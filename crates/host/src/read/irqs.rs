//! Interrupts: where they may go, where they went, and the threads that serve them.

use profile::irq::{Interrupts, IrqThread, Irqs, parse_interrupts, parse_thread_name};
use profile::paths;
use profile::process::Task;
use units::CpuSet;

use crate::source::Source;

/// A line has eleven bytes for each CPU, and a large machine has thousands of lines.
const INTERRUPTS_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The current content of `/proc/interrupts`.
pub(crate) fn interrupts(source: &Source<'_>) -> Option<Interrupts> {
    let Some(text) = source.reduced(paths::INTERRUPTS, INTERRUPTS_MAX_BYTES, str::to_owned) else {
        let effect = "which interrupts arrive on which CPUs stays unknown";
        source.missing(paths::INTERRUPTS, effect);
        return None;
    };
    let interrupts = parse_interrupts(&text);
    if interrupts.lines.is_empty() && interrupts.architecture.is_empty() {
        source.odd(paths::INTERRUPTS);
    }
    Some(interrupts)
}

pub(crate) fn irqs(source: &Source<'_>) -> Irqs {
    let Interrupts { mut lines, architecture } = interrupts(source).unwrap_or_default();
    for line in &mut lines {
        let set = |file: &str| {
            let path = format!("{}/{}/{file}", paths::IRQ, line.number);
            source.value(&path, |text| text.trim().parse::<CpuSet>().ok())
        };
        line.affinity = set("smp_affinity_list").filter(|cpus| !cpus.is_empty());
        line.effective_affinity = set("effective_affinity_list").filter(|cpus| !cpus.is_empty());
    }
    Irqs {
        window_ns: None,
        default_affinity: source.value(paths::DEFAULT_AFFINITY, CpuSet::from_mask),
        lines,
        architecture,
    }
}

/// Gives each interrupt the kernel threads that are named after it.
pub(crate) fn add_threads(irqs: &mut Irqs, tasks: &[Task]) {
    for task in tasks.iter().filter(|task| task.kernel) {
        let Some(number) = parse_thread_name(&task.comm) else { continue };
        if let Some(line) = irqs.lines.iter_mut().find(|line| line.number == number) {
            line.threads.push(IrqThread {
                tid: task.tid,
                comm: task.comm.clone(),
                policy: task.policy.to_string(),
                rt_priority: task.rt_priority,
                affinity: task.affinity.clone(),
            });
        }
    }
}
