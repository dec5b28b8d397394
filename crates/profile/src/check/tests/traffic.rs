//! Rules about network interfaces and services.

use super::super::Severity::{Note, Warning};
use super::base::service;
use super::{check, check_silent};
use crate::Profile;
use crate::net::{Coalescing, EnergyEfficient};
use crate::process::Policy;

fn coalesce(p: &mut Profile, rx_us: u32, adaptive_rx: bool) {
    p.net.interfaces[0].ethtool.coalescing = Some(Coalescing { rx_us, adaptive_rx, ..Coalescing::default() });
}

#[test]
fn coalescing() {
    let id = "interrupt-coalescing";
    check(id, Warning, |p| coalesce(p, 50, false));
    check(id, Warning, |p| coalesce(p, 3, true));
    check(id, Note, |p| coalesce(p, 10, false));
    check_silent(id, |p| coalesce(p, 9, false));
    check_silent(id, |p| {
        coalesce(p, 500, true);
        p.net.interfaces[0].state = Some("down".to_owned());
    });
}

#[test]
fn energy_efficient_ethernet() {
    let id = "energy-efficient-ethernet";
    let set = |p: &mut Profile, enabled, active| {
        p.net.interfaces[0].ethtool.energy_efficient = Some(EnergyEfficient { enabled, active, tx_lpi_timer_us: 0 });
    };
    check(id, Warning, |p| set(p, true, true));
    check(id, Note, |p| set(p, true, false));
    check_silent(id, |p| p.net.interfaces[0].ethtool.energy_efficient = None);
}

#[test]
fn deferred_interrupts() {
    let id = "deferred-network-interrupts";
    let set = |p: &mut Profile, count, timeout_ns| {
        p.net.interfaces[0].napi_defer_hard_irqs = Some(count);
        p.net.interfaces[0].gro_flush_timeout_ns = timeout_ns;
    };
    check(id, Warning, |p| set(p, 10, Some(0)));
    check(id, Note, |p| set(p, 10, Some(200_000)));
    check_silent(id, |p| set(p, 0, Some(200_000)));
    check_silent(id, |p| set(p, 10, None));
}

#[test]
fn hardware_stamps() {
    let id = "no-hardware-timestamps";
    check(id, Note, |p| {
        if let Some(stamps) = &mut p.net.interfaces[0].ethtool.timestamping {
            stamps.phc_index = None;
        }
    });
    check_silent(id, |p| p.net.interfaces[0].ethtool.timestamping = None);
}

#[test]
fn time_services() {
    let id = "time-sync-not-realtime";
    check(id, Warning, |p| p.services.running[1].policy = Policy::Other);
    check_silent(id, |p| p.services.running.clear());
}

#[test]
fn tuned() {
    let id = "tuned-profile-not-realtime";
    let run = |p: &mut Profile, profile: Option<&str>| {
        p.services.running.push(service("tuned", Policy::Other));
        p.services.tuned_profile = profile.map(str::to_owned);
    };
    check(id, Warning, |p| run(p, Some("throughput-performance\n")));
    check_silent(id, |p| run(p, Some("realtime")));
    check_silent(id, |p| run(p, Some("my-robot")));
    check_silent(id, |p| run(p, Some(" ")));
    check_silent(id, |p| run(p, None));
    check_silent(id, |p| p.services.tuned_profile = Some("balanced".to_owned()));

    check("power-profiles-switch", Note, |p| p.services.running.push(service("power-profiles-", Policy::Other)));
    check_silent("power-profiles-switch", |p| p.services.running.clear());
}
