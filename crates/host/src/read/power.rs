//! Frequencies and idle states.

use profile::power::{FrequencyPolicy, IdleState, Power, parse_dma_latency, parse_spaced_cpus};
use profile::{paths, text};
use units::CpuSet;

use crate::source::Source;

pub(crate) fn power(source: &Source<'_>, cpus: Option<&CpuSet>) -> Power {
    let boost = || source.value(&format!("{}/boost", paths::CPUFREQ), text::switch);
    let no_turbo = source.value(&format!("{}/intel_pstate/no_turbo", paths::CPUS), text::switch);
    let status = |driver: &str| source.value(&format!("{}/{driver}/status", paths::CPUS), text::line);
    let idle = |file: &str| source.value(&format!("{}/{file}", paths::CPUIDLE), text::line);
    let mut power = Power {
        frequency_policies: source
            .numbered(paths::CPUFREQ, "policy")
            .into_iter()
            .map(|number| frequency_policy(source, &format!("policy{number}")))
            .collect(),
        boost: no_turbo.map(|off| !off).or_else(boost),
        pstate_status: status("intel_pstate").or_else(|| status("amd_pstate")),
        // Older kernels have the second name alone.
        idle_driver: idle("current_driver"),
        idle_governor: idle("current_governor").or_else(|| idle("current_governor_ro")),
        dma_latency_us: dma_latency_us(source),
        ..Power::default()
    };
    for cpu in cpus.into_iter().flat_map(CpuSet::iter) {
        let folder = format!("{}/cpu{cpu}", paths::CPUS);
        let states = idle_states(source, &format!("{folder}/cpuidle"));
        if !states.is_empty() {
            power.add_idle(cpu, states);
        }
        if let Some(latency) = source.text(&format!("{folder}/power/pm_qos_resume_latency_us")) {
            power.add_resume_latency(cpu, &latency);
        }
    }
    power
}

fn frequency_policy(source: &Source<'_>, name: &str) -> FrequencyPolicy {
    let path = |file: &str| format!("{}/{name}/{file}", paths::CPUFREQ);
    let line = |file: &str| source.value(&path(file), text::line);
    let number = |file: &str| source.value(&path(file), text::number);
    FrequencyPolicy {
        name: name.to_owned(),
        cpus: source.value(&path("affected_cpus"), parse_spaced_cpus).unwrap_or_default(),
        driver: line("scaling_driver"),
        governor: line("scaling_governor"),
        scaling_min_khz: number("scaling_min_freq"),
        scaling_max_khz: number("scaling_max_freq"),
        hardware_min_khz: number("cpuinfo_min_freq"),
        hardware_max_khz: number("cpuinfo_max_freq"),
        // CPUFREQ_ETERNAL, "nobody knows": include/linux/cpufreq.h.
        transition_latency_ns: number("cpuinfo_transition_latency").filter(|&ns| ns != u64::from(u32::MAX)),
        energy_preference: line("energy_performance_preference"),
    }
}

fn idle_states(source: &Source<'_>, folder: &str) -> Vec<IdleState> {
    let state = |index: u32| {
        let path = |file: &str| format!("{folder}/state{index}/{file}");
        let number = |file: &str| source.value(&path(file), text::number);
        IdleState {
            index,
            name: source.value(&path("name"), text::line).unwrap_or_default(),
            exit_latency_us: number("latency"),
            residency_us: number("residency"),
            disabled: source.value(&path("disable"), text::switch),
        }
    };
    source.numbered(folder, "state").into_iter().map(state).collect()
}

/// Opening the file asks for nothing: a bound is held only after a write (kernel/power/qos.c).
fn dma_latency_us(source: &Source<'_>) -> Option<u64> {
    let bytes = source.bytes(paths::DMA_LATENCY, 4)?;
    let value = parse_dma_latency(&bytes);
    if value.is_none() {
        source.odd(paths::DMA_LATENCY);
    } else {
        source.record(paths::DMA_LATENCY, &bytes);
    }
    value
}
