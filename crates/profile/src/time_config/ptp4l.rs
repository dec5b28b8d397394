//! What a ptp4l was started with, as far as it says where its sockets are and which messages it answers (ptp4l(8)).

use super::linuxptp::Settings;

/// From the settings of a ptp4l; what they do not state, or what is no value, is absent.
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
    /// `free_running`: it compares its clock, and steers none.
    pub is_free_running: bool,
}

impl Config {
    /// From the arguments and the section `[global]` of the configuration file. All of it has long options alone; each may be cut
    /// short as far as no other option of 3.1.1 to 4.2 begins so.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        let stated =
            |name: &str, shortest: &str| settings.named_or_cut(name, shortest).filter(|value| !value.is_empty());
        let path = |name: &str, shortest: &str| stated(name, shortest).map(str::to_owned);
        Self {
            management: path("uds_address", "uds_a"),
            read_only: path("uds_ro_address", "uds_ro_a"),
            events: path("slave_event_monitor", "slave_"),
            domain_number: stated("domainNumber", "do").and_then(small),
            transport_specific: stated("transportSpecific", "tr").and_then(small),
            is_free_running: stated("free_running", "free").and_then(small) == Some(1),
        }
    }
}

/// As strtol(3) reads it with the base 0: decimal, hexadecimal after `0x`, octal after `0`.
fn small(value: &str) -> Option<u8> {
    if let Some(hexadecimal) = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        return u8::from_str_radix(hexadecimal, 16).ok();
    }
    match value.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => u8::from_str_radix(octal, 8).ok(),
        _ => value.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::linuxptp::Program;
    use super::*;

    fn config(line: &str, file: &str) -> Config {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Config::from_settings(&Settings::from_arguments(Program::Ptp4l, &words).with_file(file))
    }

    #[test]
    fn arguments_outrank_the_file() {
        let line = "-mqf /etc/ptp.conf -i eth0 --domainNumber 3 --uds_address=/run/a --slave_event_monitor /run/events";
        let text = "[global]\n# domainNumber 9\ndomainNumber\t\t7\nuds_address /run/b\nuds_ro_address  /run/ro\ntransportSpecific 0x1\n[eth0]\nlogSyncInterval -3\n";
        let both = config(line, text);
        assert_eq!((both.domain_number, both.transport_specific), (Some(3), Some(1)));
        assert_eq!(both.management.as_deref(), Some("/run/a"));
        assert_eq!(both.read_only.as_deref(), Some("/run/ro"));
        assert_eq!(both.events.as_deref(), Some("/run/events"));
        assert_eq!(config("", text).domain_number, Some(7));
    }

    #[test]
    fn the_domain_has_no_letter_and_the_values_of_other_options_are_not_read_as_options() {
        // Neither 3.1.1 nor 4.x has -d: it could only be the value of another option.
        assert_eq!(config("-i -d7 -l --domainNumber=8", "").domain_number, None);
        assert_eq!(config("--step_threshold --domainNumber --domainNumber 9", "").domain_number, Some(9));
        assert_eq!(config("-p --uds_address=/run/x", ""), Config::default());
    }

    #[test]
    fn names_that_are_cut_short_are_understood_while_no_other_option_begins_so() {
        // Seen with 3.1.1 and 4.2: these are taken, and one letter less is not, or is another option.
        let cut = config("--do 3 --tr=1 --uds_a=/a --uds_ro_a /r --slave_ /e", "[global]\ndomainNumber 9\n");
        assert_eq!((cut.domain_number, cut.transport_specific), (Some(3), Some(1)));
        let paths = [cut.management, cut.read_only, cut.events].map(Option::unwrap);
        assert_eq!(paths, ["/a", "/r", "/e"]);
        // In 3.1.1 this is dataset_comparison.
        assert_eq!(config("--d=3 --domainNumbers=4 --uds_=/x", ""), Config::default());
    }

    #[test]
    fn what_is_not_stated_or_is_no_number_is_absent() {
        assert_eq!(config("-i eth0 --domainNumber x --transportSpecific 256 -f", ""), Config::default());
        assert_eq!(config("", "uds_address\n\n[global]\ndomainNumber 256\n"), Config::default());
        // A port's own says nothing of the management socket.
        assert_eq!(config("", "[global]\n[eth0]\ntransportSpecific 1\n"), Config::default());
        assert_eq!(config("--domainNumber", "[global]\ndomainNumber 5\n").domain_number, None);
    }

    #[test]
    fn numbers_are_read_as_ptp4l_reads_them() {
        for (value, expected) in [("010", 8), ("0x10", 16), ("10", 10), ("0", 0), ("0X7f", 127)] {
            assert_eq!(config(&format!("--domainNumber={value}"), "").domain_number, Some(expected), "{value}");
        }
    }
}
