//! A guest's network interfaces: found by MAC address, renamed, given an address, brought up.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// A network interface as it has to be set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Interface name, at most 15 bytes.
    pub name: String,
    /// MAC address, in lower case with colons; it identifies the network card.
    pub mac: String,
    /// IPv4 address with prefix length, such as `10.0.0.1/24`; default: none.
    #[serde(default)]
    pub address: Option<String>,
}

/// Sets up the interfaces and the loopback with busybox's `ip`; failures are added to `troubles`.
pub(super) fn set_up(interfaces: &[Interface], troubles: &mut Vec<String>) {
    ip(&["link", "set", "lo", "up"], troubles);
    for Interface { name, mac, address } in interfaces {
        let Some(found) = find_by_mac(Path::new("/sys/class/net"), mac) else {
            troubles.push(format!("interface {name}: no network card has the address {mac}"));
            continue;
        };
        ip(&["link", "set", &found, "name", name], troubles);
        if let Some(address) = address {
            ip(&["addr", "add", address, "dev", name], troubles);
        }
        ip(&["link", "set", name, "up"], troubles);
    }
}

/// The kernel's name of the interface with this MAC address; `folder` is `/sys/class/net`.
fn find_by_mac(folder: &Path, mac: &str) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let has_it = |path: &Path| fs::read_to_string(path.join("address")).is_ok_and(|address| address.trim() == mac);
    entries.filter(|entry| has_it(&entry.path())).find_map(|entry| entry.file_name().into_string().ok())
}

fn ip(arguments: &[&str], troubles: &mut Vec<String>) {
    let what = || format!("ip {}", arguments.join(" "));
    match Command::new("/bin/ip").args(arguments).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => troubles.push(format!("{}: {}", what(), String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => troubles.push(format!("{}: {error}", what())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_found_by_its_address() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mac) in [("eth0", "52:54:00:00:01:01"), ("eth1", "52:54:00:00:02:01")] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("address"), format!("{mac}\n")).unwrap();
        }
        assert_eq!(find_by_mac(folder.path(), "52:54:00:00:02:01").as_deref(), Some("eth1"));
        assert_eq!(find_by_mac(folder.path(), "52:54:00:00:02:02"), None);
    }
}
