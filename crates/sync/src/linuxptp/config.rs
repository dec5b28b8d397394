//! What a ptp4l was started with, as far as it says where its sockets are and which messages it answers (ptp4l(8)).

/// From the command line and the configuration file of a ptp4l; what neither states is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `uds_address`: the management socket.
    pub management: Option<String>,
    /// `uds_ro_address`: the management socket that answers questions alone (4.0 and later).
    pub read_only: Option<String>,
    /// `slave_event_monitor`: where it sends its raw time stamps.
    pub events: Option<String>,
    /// `domainNumber`.
    pub domain_number: Option<u8>,
    /// `transportSpecific`: 1 for IEEE 802.1AS.
    pub transport_specific: Option<u8>,
}

impl Config {
    /// From the arguments of a process, without its name; and the configuration file that they name.
    #[must_use]
    pub fn from_arguments(arguments: &[String]) -> (Self, Option<String>) {
        let (mut config, mut file) = (Self::default(), None);
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if let Some(long) = argument.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, None),
                };
                if config.has(name) {
                    let value = value.or_else(|| rest.next().cloned()).unwrap_or_default();
                    config.set(name, &value);
                }
            } else if let Some(attached) = argument.strip_prefix("-f") {
                file = if attached.is_empty() { rest.next().cloned() } else { Some(attached.to_owned()) };
            } else if let Some(attached) = argument.strip_prefix("-d") {
                let value = if attached.is_empty() { rest.next().cloned() } else { Some(attached.to_owned()) };
                config.set("domainNumber", &value.unwrap_or_default());
            }
        }
        (config, file)
    }

    /// With what the text of the configuration file states and the arguments did not: they outrank it.
    #[must_use]
    pub fn or_from_file(self, text: &str) -> Self {
        let mut from_file = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '['])) {
            if let Some((name, value)) = line.split_once(char::is_whitespace) {
                from_file.set(name, value.trim());
            }
        }
        Self {
            management: self.management.or(from_file.management),
            read_only: self.read_only.or(from_file.read_only),
            events: self.events.or(from_file.events),
            domain_number: self.domain_number.or(from_file.domain_number),
            transport_specific: self.transport_specific.or(from_file.transport_specific),
        }
    }

    fn has(&self, name: &str) -> bool {
        matches!(name, "uds_address" | "uds_ro_address" | "slave_event_monitor" | "domainNumber" | "transportSpecific")
    }

    fn set(&mut self, name: &str, value: &str) {
        let path = || Some(value.to_owned()).filter(|path| !path.is_empty());
        match name {
            "uds_address" => self.management = path(),
            "uds_ro_address" => self.read_only = path(),
            "slave_event_monitor" => self.events = path(),
            "domainNumber" => self.domain_number = small(value),
            "transportSpecific" => self.transport_specific = small(value),
            _ => {}
        }
    }
}

/// Decimal, or hexadecimal with `0x`.
fn small(value: &str) -> Option<u8> {
    match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(hexadecimal) => u8::from_str_radix(hexadecimal, 16).ok(),
        None => value.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn arguments_outrank_the_file() {
        let line = "-f /etc/ptp.conf -i eth0 -m -d 3 --uds_address=/run/a --slave_event_monitor /run/events --step_threshold 1";
        let (config, file) = Config::from_arguments(&words(line));
        assert_eq!(file.as_deref(), Some("/etc/ptp.conf"));
        assert_eq!((config.domain_number, config.management.as_deref()), (Some(3), Some("/run/a")));
        let text = "[global]\n# domainNumber 9\ndomainNumber\t\t7\nuds_address /run/b\nuds_ro_address  /run/ro\ntransportSpecific 0x1\n[eth0]\nlogSyncInterval -3\n";
        let both = config.or_from_file(text);
        assert_eq!(both.domain_number, Some(3));
        assert_eq!(both.management.as_deref(), Some("/run/a"));
        assert_eq!(both.read_only.as_deref(), Some("/run/ro"));
        assert_eq!(both.events.as_deref(), Some("/run/events"));
        assert_eq!(both.transport_specific, Some(1));
    }

    #[test]
    fn what_is_not_stated_or_is_no_number_is_absent() {
        let (config, file) = Config::from_arguments(&words("-i eth0 -d x -f"));
        assert_eq!((config, file), (Config::default(), None));
        assert_eq!(Config::default().or_from_file("uds_address\n\n[global]\ndomainNumber 256\n"), Config::default());
    }

    #[test]
    fn attached_values_are_read() {
        let (config, file) = Config::from_arguments(&words("-f/etc/x -d127 --domainNumber"));
        assert_eq!((file.as_deref(), config.domain_number), (Some("/etc/x"), None));
    }
}
