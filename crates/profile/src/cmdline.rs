//! The kernel's command line, and the lists of CPUs in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// One boot parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Param {
    /// The name, as written.
    pub name: String,
    /// What stands after `=`, without quotes; `None` where there is no `=`.
    pub value: Option<String>,
}

impl Param {
    /// As it would be written again.
    #[must_use]
    pub fn text(&self) -> String {
        self.value.as_ref().map_or_else(|| self.name.clone(), |value| format!("{}={value}", self.name))
    }
}

/// Splits the command line as the kernel's `next_arg()` does: blanks separate, double quotes hold together,
/// and `--` ends the kernel's part (Documentation/admin-guide/kernel-parameters.rst).
#[must_use]
pub fn parse(text: &str) -> Vec<Param> {
    let mut params = Vec::new();
    for token in tokens(text) {
        if token == "--" {
            break;
        }
        let (name, value) = match token.split_once('=') {
            Some((name, value)) => (name, Some(value.trim_matches('"').to_owned())),
            None => (token.as_str(), None),
        };
        let name = name.trim_matches('"');
        if !name.is_empty() {
            params.push(Param { name: name.to_owned(), value });
        }
    }
    params
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                current.push(c);
            }
            c if c.is_whitespace() && !quoted => {
                if !current.is_empty() {
                    tokens.push(std::mem::take(&mut current));
                }
            }
            c => current.push(c),
        }
    }
    if !current.is_empty() {
        tokens.push(current);
    }
    tokens
}

/// The kernel's part of the command line, without values that identify a node or its place.
///
/// What follows `--` goes to init and may hold secrets; values of parameters that carry addresses, names or keys
/// are replaced by `hidden`.
#[must_use]
pub fn reduce(text: &str) -> String {
    let kept: Vec<String> = tokens(text)
        .into_iter()
        .take_while(|token| token != "--")
        .map(|token| match token.split_once('=') {
            Some((name, _)) if is_private(name) => format!("{name}=hidden"),
            _ => token,
        })
        .collect();
    kept.join(" ") + "\n"
}

/// Whether a parameter's value may contain an address, a name or a key.
fn is_private(name: &str) -> bool {
    const NAMES: [&str; 8] =
        ["ip", "nfsroot", "nfsaddrs", "netconsole", "bootif", "vlan", "ifname", "systemd.machine_id"];
    const PARTS: [&str; 9] =
        ["macaddr", "hostname", "passw", "secret", "token", "serial_number", "iscsi", "cryptkey", "credential"];
    let name = name.to_ascii_lowercase();
    NAMES.contains(&name.as_str()) || PARTS.iter().any(|part| name.contains(part))
}

/// Whether two parameter names are the same to the kernel, which takes `-` for `_` (`parameqn()`, kernel/params.c).
#[must_use]
pub fn same_name(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes().zip(b.bytes()).all(|(x, y)| x == y || (matches!(x, b'-' | b'_') && matches!(y, b'-' | b'_')))
}

/// What `isolcpus=` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolcpus {
    /// Flags before the list: `nohz`, `domain`, `managed_irq`.
    pub flags: Vec<String>,
    /// The CPUs that the parameter lists.
    pub cpus: CpuSet,
}

impl Isolcpus {
    /// Whether tasks are kept away: the default without flags, and only with `domain` as soon as any flag is given
    /// that the kernel knows; it skips others (`housekeeping_isolcpus_setup()`, kernel/sched/isolation.c).
    #[must_use]
    pub fn isolates_domain(&self) -> bool {
        let has = |name: &str| self.flags.iter().any(|flag| flag == name);
        has("domain") || !(has("nohz") || has("managed_irq"))
    }
}

/// Reads the value of `isolcpus=`: `[flag-list,]cpu-list`.
#[must_use]
pub fn parse_isolcpus(value: &str, last_cpu: Option<u32>) -> Option<Isolcpus> {
    let mut flags = Vec::new();
    let mut rest = value;
    while rest.starts_with(|c: char| c.is_ascii_lowercase()) && !rest.starts_with("all") {
        let (flag, after) = rest.split_once(',')?;
        flags.push(flag.to_owned());
        rest = after;
    }
    Some(Isolcpus { flags, cpus: parse_cpu_list(rest, last_cpu)? })
}

/// Reads a list of CPUs as boot parameters allow it: also `N` for the last CPU and `all`, and with commas that separate nothing.
///
/// `None` where the kernel does not read it as a list, or where `N` is used and the last CPU is unknown.
#[must_use]
pub fn parse_cpu_list(value: &str, last_cpu: Option<u32>) -> Option<CpuSet> {
    CpuSet::from_kernel_list(value, last_cpu).ok()
}

/// Whether the list says `N` for the last CPU, which kernels before 5.13 do not know (lib/bitmap.c).
#[must_use]
pub fn uses_last_cpu(value: &str) -> bool {
    value.split([',', '-', ':', '/']).any(|part| part.trim() == "N")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn splits_as_the_kernel_does() {
        let params = parse("ro quiet dyndbg=\"file a +p\" isolcpus=2-3 -- --token secret\n");
        let texts: Vec<String> = params.iter().map(Param::text).collect();
        assert_eq!(texts, ["ro", "quiet", "dyndbg=file a +p", "isolcpus=2-3"]);
        assert_eq!(reduce("ro quiet -- --token secret\n"), "ro quiet\n");
        assert_eq!(reduce("ro quiet --\n"), "ro quiet\n");
    }

    #[test]
    fn addresses_are_hidden() {
        check_reduced("smsc95xx.macaddr=DC:A6:32:00:00:00 isolcpus=3", "smsc95xx.macaddr=hidden isolcpus=3");
        check_reduced(
            "ip=10.0.0.2::10.0.0.1 root=/dev/nfs nfsroot=10.0.0.1:/x",
            "ip=hidden root=/dev/nfs nfsroot=hidden",
        );
        check_reduced("BOOTIF=01-aa-bb quiet", "BOOTIF=hidden quiet");
        check_reduced("dyndbg=\"file a +p\" nohz=on", "dyndbg=\"file a +p\" nohz=on");
    }

    fn check_reduced(text: &str, expected: &str) {
        assert_eq!(reduce(text).trim_end(), expected);
        assert_eq!(reduce(&reduce(text)), reduce(text));
    }

    #[test]
    fn isolcpus_flags() {
        let plain = parse_isolcpus("1-3", Some(3)).unwrap();
        assert!(plain.isolates_domain());
        let irq_only = parse_isolcpus("managed_irq,2-3", Some(3)).unwrap();
        assert!(!irq_only.isolates_domain());
        assert_eq!(irq_only.cpus, cpus("2-3"));
        assert!(parse_isolcpus("domain,managed_irq,2-3", Some(3)).unwrap().isolates_domain());
        assert!(parse_isolcpus("unknown,2-3", Some(3)).unwrap().isolates_domain());
        // Commas that separate nothing are skipped (lib/bitmap-str.c).
        assert_eq!(parse_isolcpus("domain,managed_irq,,2,3,", Some(3)).unwrap().cpus, cpus("2-3"));
        assert_eq!(parse_isolcpus("nohz", Some(3)), None);
    }

    #[test]
    fn last_cpu_and_all() {
        assert_eq!(parse_cpu_list("4-N", Some(7)), Some(cpus("4-7")));
        assert_eq!(parse_cpu_list("4-N", None), None);
        assert_eq!(parse_cpu_list("all", Some(1)), Some(cpus("0-1")));
        assert!(uses_last_cpu("2-N:1/2"));
        assert!(!uses_last_cpu("2-3"));
        assert!(same_name("rcu-nocbs", "rcu_nocbs"));
        assert!(!same_name("nohz", "nohz_full"));
    }
}
