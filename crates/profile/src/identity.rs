//! Which machine this is, as far as it matters, without serial numbers or addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which machine this is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Identity {
    /// The node's name (/proc/sys/kernel/hostname); a capture may leave it out.
    pub hostname: Option<String>,
    /// Maker and product (/sys/class/dmi/id/{sys_vendor,product_name} or /proc/device-tree/model).
    pub model: Option<String>,
    /// Firmware version (/sys/class/dmi/id/bios_version).
    pub firmware: Option<String>,
    /// The processor's name (/proc/cpuinfo).
    pub cpu_model: Option<String>,
    /// Microcode revision (/proc/cpuinfo, x86).
    pub microcode: Option<String>,
    /// The distribution's name (/etc/os-release, PRETTY_NAME).
    pub distribution: Option<String>,
}

/// The fields of `/proc/cpuinfo` about the processor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// The processor's name; on ARM the implementer and part where no name is given.
    pub model: Option<String>,
    /// Revision of the loaded microcode.
    pub microcode: Option<String>,
    /// Feature flags of the first processor.
    pub flags: Vec<String>,
    /// The board, on some ARM kernels (`Model`, `Hardware`).
    pub board: Option<String>,
}

/// Reads `/proc/cpuinfo` of x86, ARM or RISC-V.
#[must_use]
pub fn parse_cpuinfo(text: &str) -> CpuInfo {
    let value = |key: &str| crate::text::keyed(text, ':', key).filter(|v| !v.is_empty()).map(str::to_owned);
    let arm_part = || {
        let implementer = value("CPU implementer")?;
        let part = value("CPU part")?;
        Some(arm_core(&implementer, &part).map_or_else(|| format!("ARM {implementer}/{part}"), str::to_owned))
    };
    // 32-bit ARM names the architecture in "model name", which says less than the part number.
    let model = arm_part().or_else(|| value("model name")).or_else(|| value("uarch")).or_else(|| value("isa"));
    CpuInfo {
        model,
        microcode: value("microcode"),
        flags: value("flags").or_else(|| value("Features")).map(|f| crate::text::words(&f)).unwrap_or_default(),
        board: value("Model").or_else(|| value("Hardware")),
    }
}

/// Core names of ARM Ltd. (implementer 0x41), arch/arm64/include/asm/cputype.h.
fn arm_core(implementer: &str, part: &str) -> Option<&'static str> {
    if implementer != "0x41" {
        return None;
    }
    Some(match part {
        "0xc07" => "ARM Cortex-A7",
        "0xc08" => "ARM Cortex-A8",
        "0xc09" => "ARM Cortex-A9",
        "0xc0f" => "ARM Cortex-A15",
        "0xd03" => "ARM Cortex-A53",
        "0xd04" => "ARM Cortex-A35",
        "0xd05" => "ARM Cortex-A55",
        "0xd07" => "ARM Cortex-A57",
        "0xd08" => "ARM Cortex-A72",
        "0xd0b" => "ARM Cortex-A76",
        _ => return None,
    })
}

/// The lines of `/proc/cpuinfo` that matter, each once: a capture keeps no serial number, and stays small on big machines.
#[must_use]
pub fn reduce_cpuinfo(text: &str) -> String {
    const KEYS: [&str; 16] = [
        "vendor_id",
        "cpu family",
        "model",
        "model name",
        "stepping",
        "microcode",
        "flags",
        "Features",
        "CPU implementer",
        "CPU architecture",
        "CPU part",
        "CPU revision",
        "Hardware",
        "Model",
        "isa",
        "uarch",
    ];
    let mut seen = std::collections::BTreeSet::new();
    let mut out = String::new();
    for line in text.lines() {
        let Some((key, _)) = line.split_once(':') else { continue };
        if KEYS.contains(&key.trim()) && seen.insert(line.to_owned()) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Reads the distribution's name from `/etc/os-release`.
#[must_use]
pub fn parse_os_release(text: &str) -> Option<String> {
    let name = crate::text::keyed(text, '=', "PRETTY_NAME")?.trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The line of `/etc/os-release` that the reader needs.
#[must_use]
pub fn reduce_os_release(text: &str) -> String {
    crate::text::lines_where(text, |line| line.starts_with("PRETTY_NAME="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions() {
        let text = "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\n";
        assert_eq!(parse_os_release(&reduce_os_release(text)).as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
        assert_eq!(parse_os_release("PRETTY_NAME=\n"), None);
    }

    #[test]
    fn arm_parts_have_names_and_serial_numbers_are_dropped() {
        let text = "processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nFeatures\t: half thumb neon\n\
                    CPU implementer\t: 0x41\nCPU part\t: 0xc07\n\nHardware\t: Allwinner sun7i (A20) Family\n\
                    Serial\t\t: 1651660f07e8\n";
        let info = parse_cpuinfo(text);
        assert_eq!(info.model.as_deref(), Some("ARM Cortex-A7"));
        assert_eq!(info.board.as_deref(), Some("Allwinner sun7i (A20) Family"));
        let reduced = reduce_cpuinfo(text);
        assert!(!reduced.contains("Serial"));
        assert_eq!(parse_cpuinfo(&reduced), info);
    }
}
