//! Time services: those that would fight are stopped, then ours are configured and started.

use units::CpuSet;

use super::{Conflict, Demand, Group, RequiredSetting, Site};
use crate::time::{
    RunningService, STEERING, Service, Stamps, TimeIntent, TimeProfile, TimeRole, TimeSite, is_own_unit,
    is_steering_unit,
};
use crate::{Form, Place, Value};

/// The longest name of an interface, without the zero at its end (include/uapi/linux/if.h, IFNAMSIZ).
const MOST_NAME: usize = 15;
const MOST_DOMAIN: u8 = 127;
const WHY: &str = "this node's clock follows, or gives, the time as the intent says";

impl Demand {
    /// What is wanted of the time services; `isolated` are the CPUs that are isolated by the same intent.
    pub(super) fn time(&mut self, intent: &TimeIntent, isolated: Option<&CpuSet>, site: &Site) {
        let before = self.conflicts.len();
        self.check_words(intent);
        self.check_interfaces(intent, site);
        let in_hardware = self.stamps(intent, site);
        let cpus = self.service_cpus(intent, isolated, site);
        let needed = Service::needed(intent, in_hardware);
        for program in needed.iter().map(|service| service.program()) {
            if site.time.program(program).is_none() {
                let remedy = format!("apt-get install {}", TimeSite::package(program));
                self.conflict("[time]", format!("{program} is not installed"), remedy);
            }
        }
        for running in &site.time.running {
            self.stop_rival(running, intent, in_hardware);
        }
        if self.conflicts.len() > before {
            return;
        }
        for service in &needed {
            for (path, content) in service.files(intent, in_hardware, &site.time, &cpus) {
                let knob = if path == service.unit_path() { "time.unit" } else { "time.configuration" };
                let place = Place::File { path };
                self.push(wanted(knob, service.program(), place, Value::Text(content), Group::TimeFiles, WHY));
            }
        }
        self.tai_offset(intent, in_hardware, site);
        for service in needed {
            let place = Place::Service { unit: service.unit() };
            self.push(wanted(
                "time.service",
                service.program(),
                place,
                Value::text("active"),
                Group::TimeServices,
                WHY,
            ));
        }
    }

    /// What stands in the intent itself. Names become words of a unit and of a configuration, so nothing else may be in them.
    fn check_words(&mut self, intent: &TimeIntent) {
        let is_ptp = intent.profile.is_ptp();
        let is_word = |text: &str, more: &str| {
            !text.is_empty()
                && !text.starts_with('-')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let odd = |what: &str, text: &str| (format!("[time] {what}"), format!("'{text}' is no name or address"));
        for server in intent.servers.iter().filter(|server| !is_word(server, ".:-_")) {
            let (about, why) = odd("servers", server);
            self.conflict(about, why, "write a host's name, or an IPv4 or IPv6 address");
        }
        for network in intent.allow.iter().filter(|network| !is_word(network, ".:/")) {
            let (about, why) = odd("allow", network);
            self.conflict(about, why, "write a network, for example 192.168.1.0/24");
        }
        if intent.domain > MOST_DOMAIN {
            let why = format!("{} is out of range: 0 to {MOST_DOMAIN}", intent.domain);
            self.conflict("[time] domain", why, "take the domain of the network's grand master");
        }
        if let Some(priority) = intent.priority.filter(|priority| !(1..=99).contains(priority)) {
            self.conflict(
                "[time] priority",
                format!("{priority} is out of range: 1 to 99"),
                "take one below that of your own threads",
            );
        }
        if is_ptp && !(intent.servers.is_empty() && intent.allow.is_empty()) {
            self.conflict(
                "[time] servers, allow",
                "PTP finds its grand master by itself",
                "leave them out, or take profile = \"ntp\"",
            );
        }
        if !is_ptp && intent.role == TimeRole::BestMaster {
            self.conflict("[time] role", "NTP has no best-master algorithm", "take client or server");
        }
        if !is_ptp && intent.role == TimeRole::Follow && intent.servers.is_empty() {
            self.conflict("[time] servers", "an NTP client needs a server", "name one: servers = [\"192.168.1.1\"]");
        }
        if !is_ptp && intent.role == TimeRole::Follow && !intent.allow.is_empty() {
            self.conflict("[time] allow", "a client answers nobody", "leave it out, or take role = \"server\"");
        }
    }

    fn check_interfaces(&mut self, intent: &TimeIntent, site: &Site) {
        let there = || match site.time.interfaces.as_slice() {
            [] => "this machine has none".to_owned(),
            names => format!("choose among {}", names.join(", ")),
        };
        if intent.profile.is_ptp() && intent.interfaces.is_empty() {
            self.conflict(
                "[time] interfaces",
                "PTP needs to know by which interface",
                format!("name one; {}", there()),
            );
        }
        for (at, name) in intent.interfaces.iter().enumerate() {
            if intent.interfaces[..at].contains(name) {
                self.conflict("[time] interfaces", format!("{name} is named twice"), "name it once");
            }
            let is_name = name.len() <= MOST_NAME
                && !name.chars().any(|c| c.is_whitespace() || c.is_control() || "/[]\"\\%$".contains(c));
            if !is_name || !site.time.interfaces.contains(name) {
                self.conflict("[time] interfaces", format!("there is no interface '{name}'"), there());
            }
        }
    }

    /// Whether packets are stamped in hardware; what is lost without it is noted.
    fn stamps(&mut self, intent: &TimeIntent, site: &Site) -> bool {
        if intent.interfaces.is_empty() {
            return false;
        }
        let stamping = |name: &String| {
            let nic = site.profile.net.interfaces.iter().find(|nic| nic.name == *name)?;
            nic.ethtool.timestamping.clone()
        };
        let lacking: Vec<&str> = intent
            .interfaces
            .iter()
            .filter(|name| {
                !stamping(name).is_some_and(|one| one.tx_hardware && one.rx_hardware && one.phc_index.is_some())
            })
            .map(String::as_str)
            .collect();
        let mut clocks: Vec<u32> = intent.interfaces.iter().filter_map(|name| stamping(name)?.phc_index).collect();
        clocks.sort_unstable();
        clocks.dedup();
        let names = lacking.join(", ");
        match intent.stamps {
            Stamps::Hardware if !lacking.is_empty() => {
                let why = format!("{names} does not stamp packets in hardware in both directions");
                self.conflict(
                    "[time] stamps = \"hardware\"",
                    why,
                    "take another card, or stamps = \"software\" and its errors of microseconds",
                );
                false
            }
            Stamps::Software => {
                let all = intent.interfaces.join(", ");
                self.notes.push(in_software(&all, intent.profile));
                if lacking.len() < intent.interfaces.len() {
                    self.notes.push("hardware stamps are there and not used: stamps = \"auto\" uses them".to_owned());
                }
                self.check_software(intent);
                false
            }
            Stamps::Auto if !lacking.is_empty() => {
                self.notes.push(in_software(&names, intent.profile));
                self.check_software(intent);
                false
            }
            Stamps::Auto | Stamps::Hardware => {
                if intent.profile.is_ptp() && clocks.len() > 1 {
                    let why = format!("{} have hardware clocks of their own", intent.interfaces.join(", "));
                    self.conflict(
                        "[time] interfaces",
                        why,
                        "name interfaces of one card, or take stamps = \"software\"",
                    );
                }
                true
            }
        }
    }

    fn check_software(&mut self, intent: &TimeIntent) {
        if intent.profile.is_ptp() && !intent.system_clock && intent.role != TimeRole::Give {
            let why = "with stamps in software it is the system clock that follows";
            self.conflict("[time] system-clock = false", why, "leave it out");
        }
    }

    /// The CPUs of the services, as systemd takes them; empty where all may be used.
    fn service_cpus(&mut self, intent: &TimeIntent, isolated: Option<&CpuSet>, site: &Site) -> String {
        let online = site.profile.cpus.online.clone().unwrap_or_default();
        let isolated =
            isolated.cloned().unwrap_or_default().union(&site.profile.isolation.isolated.clone().unwrap_or_default());
        match &intent.cpus {
            Some(cpus) if cpus.is_empty() || !cpus.is_subset(&online) => {
                self.conflict(
                    "[time] cpus",
                    format!("'{cpus}' is not among the CPUs that are online"),
                    format!("choose among {online}"),
                );
                String::new()
            }
            Some(cpus) => cpus.to_string(),
            None if online.intersection(&isolated).is_empty() => String::new(),
            None => online.difference(&isolated).to_string(),
        }
    }

    /// A process that would steer the same clock, or answer on the same ports.
    fn stop_rival(&mut self, running: &RunningService, intent: &TimeIntent, in_hardware: bool) {
        let RunningService { pid, comm, unit, is_elsewhere } = running;
        if !STEERING.contains(&comm.as_str()) || unit.as_deref().is_some_and(is_own_unit) {
            return;
        }
        let is_of_ptp = matches!(comm.as_str(), "ptp4l" | "phc2sys" | "ts2phc" | "timemaster" | "ptpd");
        let is_rival = intent.steers_system_clock(in_hardware)
            || if intent.profile.is_ptp() { is_of_ptp } else { comm == "chronyd" };
        if !is_rival {
            return;
        }
        if *is_elsewhere {
            self.notes.push(format!(
                "{comm} (process {pid}) runs in another network namespace; if it steers the system clock, stop it there"
            ));
            return;
        }
        match unit.as_deref().filter(|unit| is_steering_unit(unit)) {
            Some(unit) => {
                let why = "two services that steer one clock pull it to and fro";
                let name = unit.trim_end_matches(".service");
                let place = Place::Service { unit: unit.to_owned() };
                self.push(wanted("service", name, place, Value::text("inactive"), Group::Services, why));
            }
            None => {
                let (of, remedy) = match unit {
                    Some(unit) => (format!(" of {unit}"), format!("systemctl stop {unit}, or end it as it was begun")),
                    None => (String::new(), format!("end it as it was begun, or kill {pid}")),
                };
                self.conflicts.push(Conflict {
                    about: "[time]".to_owned(),
                    why: format!(
                        "{comm} (process {pid}{of}) may steer the same clock, and is no service of the distribution's"
                    ),
                    remedy,
                });
            }
        }
    }
}

fn in_software(names: &str, profile: TimeProfile) -> String {
    let more = if profile == TimeProfile::Gptp {
        "; the longest neighbor delay is set to 20 ms, since the 800 ns of the standard are below what software stamps show"
    } else {
        ""
    };
    format!(
        "packets of {names} are stamped in software: offsets vary by microseconds, more under load, not by nanoseconds{more}"
    )
}

fn wanted(knob: &str, of: &str, place: Place, value: Value, group: Group, why: &str) -> RequiredSetting {
    RequiredSetting {
        knob: knob.to_owned(),
        of: of.to_owned(),
        place,
        form: Form::Text,
        value,
        group,
        why: why.to_owned(),
        cost: String::new(),
        may_refuse: false,
        is_named: true,
        in_new_folder: false,
    }
}

#[cfg(test)]
mod tests;
