//! The kernel, its configuration and command line, and which machine this is.

use std::io::Read as _;

use profile::identity::{self, CpuInfo, Identity};
use profile::kernel::{Kernel, PreemptionHints};
use profile::{cmdline, kconfig, paths, text};

use crate::source::Source;

/// `/proc/cpuinfo` has about 1.5 KiB for each CPU on x86; this is enough for thousands of them.
const CPUINFO_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Distributions' configurations have about 300 KiB.
const CONFIG_MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Where a capture keeps the configuration that it took out of /proc/config.gz.
const UNPACKED_CONFIG: &str = "/proc/config";

pub(crate) fn cpuinfo(source: &Source<'_>) -> CpuInfo {
    let text = source.reduced(paths::CPUINFO, CPUINFO_MAX_BYTES, identity::reduce_cpuinfo);
    text.as_deref().map(identity::parse_cpuinfo).unwrap_or_default()
}

pub(crate) fn identity(source: &Source<'_>, cpuinfo: &CpuInfo) -> Identity {
    let is_capturing = source.is_capturing();
    let name = |text: &str| if is_capturing { "node\n".to_owned() } else { text.to_owned() };
    let dmi = |file: &str| source.value(&format!("/sys/class/dmi/id/{file}"), text::line);
    let board = || match (dmi("sys_vendor"), dmi("product_name")) {
        (Some(vendor), Some(product)) if product.starts_with(&vendor) => Some(product),
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.or(product),
    };
    Identity {
        hostname: source.reduced(paths::HOSTNAME, 4096, name).and_then(|name| text::line(&name)),
        model: source.value("/proc/device-tree/model", text::line).or_else(board).or_else(|| cpuinfo.board.clone()),
        firmware: dmi("bios_version"),
        cpu_model: cpuinfo.model.clone(),
        microcode: cpuinfo.microcode.clone(),
        distribution: source
            .reduced(paths::OS_RELEASE, 65_536, identity::reduce_os_release)
            .and_then(|text| identity::parse_os_release(&text)),
    }
}

pub(crate) fn kernel(source: &Source<'_>) -> Kernel {
    let release = source.value(paths::RELEASE, text::line);
    let version = source.value(paths::VERSION, text::line);
    let line = source.reduced(paths::CMDLINE, 65_536, cmdline::reduce).and_then(|line| text::line(&line));
    let (config_source, config_text) = config(source, release.as_deref()).unzip();
    let config = config_text.as_deref().map(kconfig::parse).unwrap_or_default();
    if let Some(place) = config_source.as_deref().filter(|_| config.is_empty()) {
        source.odd(place);
    }
    let mut kernel = Kernel {
        arch: source.value("/proc/sys/kernel/arch", text::line).or_else(|| profile::kernel::arch_of_config(&config)),
        params: line.as_deref().map(cmdline::parse).unwrap_or_default(),
        cmdline: line,
        config_source: config_source.filter(|_| !config.is_empty()),
        config,
        release,
        version,
        ..Kernel::default()
    };
    let realtime = source.text(paths::REALTIME);
    let dynamic = source.text(paths::PREEMPT_DYNAMIC);
    let hints = PreemptionHints {
        realtime: realtime.as_deref(),
        version: kernel.version.as_deref(),
        dynamic: dynamic.as_deref(),
        boot: kernel.param_value("preempt"),
        boot_is_obeyed: kernel.param_value("preempt").and_then(|word| kernel.obeys_preempt(word)),
        has_lazy: kernel.obeys_preempt("lazy"),
    };
    let (preemption, preemption_source) = profile::kernel::preemption(hints, &kernel.config, kernel.config_place());
    kernel.preemption = preemption;
    kernel.preemption_source = preemption_source;
    kernel
}

/// The configuration's text and where it was read.
fn config(source: &Source<'_>, release: Option<&str>) -> Option<(String, String)> {
    if let Some(text) = unpacked(source) {
        source.record(UNPACKED_CONFIG, text.as_bytes());
        return Some((paths::CONFIG.to_owned(), text));
    }
    if let Some(text) = source.reduced(UNPACKED_CONFIG, CONFIG_MAX_BYTES, kconfig::reduce) {
        return Some((paths::CONFIG.to_owned(), text));
    }
    for path in release.into_iter().flat_map(config_places) {
        if let Some(text) = source.reduced(&path, CONFIG_MAX_BYTES, kconfig::reduce) {
            return Some((path, text));
        }
    }
    let effect = "neither it nor /boot/config-RELEASE is there; the kernel's configuration stays unknown";
    source.missing(paths::CONFIG, effect);
    None
}

/// Where distributions put the configuration of a release.
fn config_places(release: &str) -> [String; 2] {
    [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")]
}

/// What /proc/config.gz holds.
fn unpacked(source: &Source<'_>) -> Option<String> {
    let packed = source.bytes(paths::CONFIG, CONFIG_MAX_BYTES)?;
    let mut text = String::new();
    // A small file can unpack to gigabytes.
    let mut unpacker = flate2::read::GzDecoder::new(packed.as_slice()).take(CONFIG_MAX_BYTES);
    if unpacker.read_to_string(&mut text).is_err() {
        source.odd(paths::CONFIG);
        return None;
    }
    Some(kconfig::reduce(&text))
}
