//! What distinguishes this machine from a copy of its disk.

use std::fs;
use std::path::Path;

use farm::monitor::BootId;

/// Files with a number of the machine's own, and what it is called. Some of them only root may read.
const NUMBERS: &[(&str, &str)] = &[
    ("product-uuid", "/sys/class/dmi/id/product_uuid"),
    ("product-serial", "/sys/class/dmi/id/product_serial"),
    ("board-serial", "/sys/class/dmi/id/board_serial"),
    ("serial-number", "/sys/firmware/devicetree/base/serial-number"),
];
/// The most facts; a machine with more interfaces is known by some of them.
const MOST_FACTS: usize = 64;
/// The most bytes of one.
const MOST_BYTES: usize = 200;

/// Serial numbers and hardware addresses, in words.
pub(crate) fn hardware() -> Vec<String> {
    let mut facts: Vec<String> =
        NUMBERS.iter().filter_map(|(name, path)| Some(format!("{name} {}", read(Path::new(path))?))).collect();
    let interfaces = fs::read_dir("/sys/class/net").into_iter().flatten().filter_map(Result::ok);
    let mut addresses: Vec<String> = interfaces
        // Those without a device are made by software, with addresses that are drawn anew.
        .filter(|interface| interface.path().join("device").exists())
        .filter_map(|interface| read(&interface.path().join("address")))
        .filter(|address| address.bytes().any(|byte| byte != b'0' && byte != b':'))
        .map(|address| format!("mac {address}"))
        .collect();
    addresses.sort();
    addresses.dedup();
    facts.extend(addresses);
    facts.truncate(MOST_FACTS);
    facts
}

/// The number that this start of the kernel drew.
pub(crate) fn boot() -> BootId {
    BootId(read(Path::new("/proc/sys/kernel/random/boot_id")).unwrap_or_default().chars().take(64).collect())
}

fn read(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = units::printable::line(text.trim_matches(|end: char| end == '\0' || end.is_whitespace())).into_owned();
    (!text.is_empty() && text.len() <= MOST_BYTES).then_some(text)
}
