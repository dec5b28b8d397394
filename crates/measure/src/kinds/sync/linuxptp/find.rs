//! Which ptp4l runs here, and where its sockets are: by the arguments of its process and its configuration, then the known places.

use std::path::Path;

use profile::time_config::{Config, Program, Settings};

/// Where ptp4l makes its management socket unless it is configured: up to 4.4, and after.
const KNOWN: [&str; 2] = ["/var/run/ptp4l", "/var/run/ptp/ptp4l"];
/// The same of the socket that answers questions alone (4.0 and later).
const KNOWN_READ_ONLY: [&str; 2] = ["/var/run/ptp4lro", "/var/run/ptp/ptp4lro"];

/// A ptp4l to follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its process; `None` where a socket alone was named.
    pub(crate) pid: Option<u32>,
    /// Its management sockets, the one that grants most first.
    pub(super) sockets: Vec<String>,
    /// Where it sends its raw time stamps.
    pub(super) events: Option<String>,
    /// Its interface and whether packets are stamped in software, as it was started with, where it has one port.
    pub(super) port: Option<(String, bool)>,
    pub(super) domain_number: u8,
    pub(super) transport_specific: u8,
    /// Whether it is to steer no clock (`free_running`).
    pub(super) is_free_running: bool,
}

/// Every ptp4l that runs here, in the order of their processes.
pub(super) fn running() -> Vec<Found> {
    let mut pids: Vec<u32> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    pids.into_iter().filter_map(of_process).collect()
}

fn of_process(pid: u32) -> Option<Found> {
    let folder = Path::new("/proc").join(pid.to_string());
    if std::fs::read(folder.join("comm")).ok()?.trim_ascii() != b"ptp4l" {
        return None;
    }
    let line = std::fs::read(folder.join("cmdline")).ok()?;
    let arguments: Vec<String> = line
        .split(|byte| *byte == 0)
        .skip(1)
        .filter(|argument| !argument.is_empty())
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect();
    let settings = Settings::from_arguments(Program::Ptp4l, &arguments);
    let text = settings.file().and_then(|file| {
        // Relative to where it was started, and seen as it sees it.
        let file = Path::new(file);
        let seen = file
            .strip_prefix("/")
            .map_or_else(|_| folder.join("cwd").join(file), |below_root| folder.join("root").join(below_root));
        // Another user may not look through its eyes; the path is most often the same.
        std::fs::read(seen).or_else(|_| std::fs::read(file)).ok()
    });
    let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let settings = settings.with_file(&text.unwrap_or_default());
    Some(Found { port: port(&settings), ..found(Some(pid), &Config::from_settings(&settings)) })
}

/// The one port, and whether it stamps in software: the socket that answers questions alone says neither (4.2).
fn port(settings: &Settings) -> Option<(String, bool)> {
    let mut names: Vec<&str> = settings.values('i').chain(settings.sections()).collect();
    names.sort_unstable();
    names.dedup();
    let [name] = names.as_slice() else { return None };
    let is_software = settings.count('S') > 0 || settings.named(&["time_stamping"]) == Some("software");
    Some(((*name).to_owned(), is_software))
}

/// What its configuration means; where that says nothing, the known places.
fn found(pid: Option<u32>, config: &Config) -> Found {
    let configured = config.management.iter().chain(&config.read_only).cloned();
    let known = |own: &Option<String>, known: [&str; 2]| {
        let known = if own.is_some() { Vec::new() } else { known.map(str::to_owned).to_vec() };
        known.into_iter()
    };
    Found {
        pid,
        sockets: configured
            .chain(known(&config.management, KNOWN))
            .chain(known(&config.read_only, KNOWN_READ_ONLY))
            .collect(),
        events: config.events.clone(),
        port: None,
        domain_number: config.domain_number.unwrap_or(0),
        transport_specific: config.transport_specific.unwrap_or(0),
        is_free_running: config.is_free_running,
    }
}

/// One that cannot be seen, at the known places.
pub(super) fn somewhere() -> Found {
    found(None, &Config::default())
}

/// With what the user named in its place.
pub(super) fn with_named(all: Vec<Found>, socket: Option<&str>, events: Option<&str>) -> Vec<Found> {
    let mut all = match socket {
        None => all,
        // The process behind the socket, if it is one that runs here: its domain is needed.
        Some(socket) => {
            let of = all.into_iter().find(|found| found.sockets.iter().any(|known| known == socket));
            vec![Found { sockets: vec![socket.to_owned()], ..of.unwrap_or_default() }]
        }
    };
    if let Some(events) = events {
        for found in &mut all {
            found.events = Some(events.to_owned());
        }
        // One socket has one owner.
        all.truncate(1);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_configured_comes_first_and_known_places_fill_in() {
        let plain = found(None, &Config::default());
        assert_eq!(plain.sockets, ["/var/run/ptp4l", "/var/run/ptp/ptp4l", "/var/run/ptp4lro", "/var/run/ptp/ptp4lro"]);
        let own = Config { management: Some("/run/a".to_owned()), domain_number: Some(5), ..Config::default() };
        let own = found(Some(9), &own);
        assert_eq!(own.sockets, ["/run/a", "/var/run/ptp4lro", "/var/run/ptp/ptp4lro"]);
        assert_eq!((own.pid, own.domain_number), (Some(9), 5));
    }

    #[test]
    fn the_port_of_a_ptp4l_is_known_by_how_it_was_started() {
        let port = |line: &str, file: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            port(&Settings::from_arguments(Program::Ptp4l, &words).with_file(file))
        };
        assert_eq!(port("-S -i eth0", ""), Some(("eth0".to_owned(), true)));
        assert_eq!(port("-f x -i eth0", "[global]\ntime_stamping software\n[eth0]\n"), Some(("eth0".to_owned(), true)));
        assert_eq!(port("-f x", "[eth1]\n"), Some(("eth1".to_owned(), false)));
        assert_eq!(port("-f x -i eth0", "[eth1]\n"), None, "which of the two follows is not known");
        assert_eq!(port("", ""), None);
    }

    #[test]
    fn a_named_socket_is_used_alone_with_the_domain_of_its_process() {
        let one = Found { pid: Some(3), sockets: vec!["/run/a".to_owned()], domain_number: 5, ..Found::default() };
        let named = with_named(vec![Found::default(), one.clone()], Some("/run/a"), Some("/run/e"));
        assert_eq!(named, [Found { events: Some("/run/e".to_owned()), ..one.clone() }]);
        let unknown = with_named(vec![one], Some("/run/b"), None);
        assert_eq!(unknown, [Found { sockets: vec!["/run/b".to_owned()], ..Found::default() }]);
    }
}
