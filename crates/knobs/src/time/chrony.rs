//! The directives of chronyd (chrony.conf(5)). They are given as arguments (chronyd(8)): a file outside of /etc/chrony could
//! not be read where AppArmor confines chronyd, as Debian does.

use super::{TimeIntent, TimeRole};

/// The directives, one an entry.
pub(super) fn directives(intent: &TimeIntent, in_hardware: bool) -> Vec<String> {
    let mut all: Vec<String> = intent.servers.iter().map(|server| format!("server {server} iburst")).collect();
    if !all.is_empty() {
        // Set at one of the first three measurements if it is farther off than a second; only slewed from then on.
        all.push("makestep 1 3".to_owned());
        all.push("rtcsync".to_owned());
    }
    if in_hardware {
        all.extend(intent.interfaces.iter().map(|interface| format!("hwtimestamp {interface}")));
    }
    if intent.role == TimeRole::Give {
        if intent.allow.is_empty() {
            all.push("allow".to_owned());
        }
        all.extend(intent.allow.iter().map(|network| format!("allow {network}")));
        // Without servers of its own it serves its own clock, at a stratum that every real one beats.
        all.push("local stratum 10".to_owned());
    }
    all
}
