//! Processors and how they share cores, caches and memory.

use profile::cpu::{CORE_TYPES, Cache, CpuFacts, Cpus};
use profile::isolation::parse_cpu_file;
use profile::{paths, text};
use units::CpuSet;

use crate::source::Source;

pub(crate) fn cpus(source: &Source<'_>) -> Cpus {
    let set = |path: &str| source.value(path, parse_cpu_file);
    let mut cpus = Cpus {
        online: set(paths::ONLINE),
        present: set(paths::PRESENT),
        possible: set(paths::POSSIBLE),
        smt_control: source.value(paths::SMT_CONTROL, text::line),
        smt_active: source.value(paths::SMT_ACTIVE, text::switch),
        ..Cpus::default()
    };
    for cpu in source.numbered(paths::CPUS, "cpu") {
        let facts = cpu_facts(source, cpu, &cpus);
        cpus.add(facts);
    }
    for name in CORE_TYPES {
        if let Some(members) = shared(source, &format!("{}/{name}/cpus", paths::DEVICES)) {
            cpus.core_types.insert(name.to_owned(), members);
        }
    }
    for node in source.numbered(paths::NODES, "node") {
        if let Some(members) = set(&format!("{}/node{node}/cpulist", paths::NODES)) {
            cpus.nodes.insert(node, members);
        }
    }
    cpus
}

fn cpu_facts(source: &Source<'_>, cpu: u32, known: &Cpus) -> CpuFacts {
    let folder = format!("{}/cpu{cpu}", paths::CPUS);
    let number = |file: &str| source.value(&format!("{folder}/{file}"), text::number);
    // Sharing is mutual, so what another CPU's file showed is not read again: that saves most reads on a large machine.
    let core = known.cores.iter().find(|core| core.contains(cpu)).cloned();
    let is_cache_known = known.last_level_caches.iter().any(|cache| cache.cpus.contains(cpu));
    let package_of_core = core.as_ref().and_then(|core| {
        known.packages.iter().find(|(_, cpus)| !cpus.intersection(core).is_empty()).map(|(package, _)| *package)
    });
    CpuFacts {
        cpu,
        siblings: core.or_else(|| shared(source, &format!("{folder}/topology/thread_siblings_list"))),
        package: package_of_core
            .or_else(|| source.value(&format!("{folder}/topology/physical_package_id"), text::signed)),
        capacity: number("cpu_capacity"),
        throttle_count: number("thermal_throttle/core_throttle_count"),
        last_level_cache: if is_cache_known { None } else { last_level_cache(source, &folder) },
    }
}

fn last_level_cache(source: &Source<'_>, folder: &str) -> Option<Cache> {
    let folder = format!("{folder}/cache");
    let index = source.numbered(&folder, "index").last().copied()?;
    let folder = format!("{folder}/index{index}");
    Some(Cache {
        level: source.value(&format!("{folder}/level"), |text| text::number(text)?.try_into().ok())?,
        size: source.value(&format!("{folder}/size"), text::line),
        cpus: shared(source, &format!("{folder}/shared_cpu_list"))?,
    })
}

/// A set of CPUs that cannot be empty.
fn shared(source: &Source<'_>, path: &str) -> Option<CpuSet> {
    source.value(path, |text| text.trim().parse::<CpuSet>().ok()).filter(|cpus| !cpus.is_empty())
}
