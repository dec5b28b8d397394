//! What each answer of ptp4l changes of what is known of it.

use ::sync::follow::Shown;
use ::sync::linuxptp::{ManagementTlv, PortState, Timestamping};
use record::{Moment, SyncChange};

use super::{ALL_EVERY, MOST_PORTS, Ptp, clock_words};

impl Ptp {
    /// Takes one answer, which came in at a moment.
    pub(super) fn take_tlv(&mut self, at: Moment, tlv: &ManagementTlv<'_>) {
        match tlv {
            ManagementTlv::PortProperties(port) => {
                // Of several ports the one that follows somebody, as far as that is known.
                let follows = self.seen.ports.iter().any(|(identity, state)| {
                    *identity == port.port_identity && matches!(state, PortState::Slave | PortState::Uncalibrated)
                });
                if self.seen.interface.is_empty() || follows {
                    self.seen.interface = String::from_utf8_lossy(port.interface).into_owned();
                    self.seen.timestamping = Some(port.timestamping);
                }
            }
            ManagementTlv::PortDataSet(port) => {
                self.seen.own = Some(port.port_identity.clock);
                self.seen.ports.retain(|(identity, _)| *identity != port.port_identity);
                if self.seen.ports.len() < MOST_PORTS {
                    self.seen.ports.push((port.port_identity, port.port_state));
                }
                self.take_state(at);
            }
            ManagementTlv::ParentDataSet(parent) => {
                let before = self.seen.parent.replace(parent.parent_port_identity);
                self.seen.gm = Some(parent.grandmaster_identity);
                if before.is_some_and(|before| before != parent.parent_port_identity) {
                    self.stamps.forget();
                }
                let (reference, known_as) = (self.seen.reference(), clock_words(parent.parent_port_identity));
                let reference_id = self.seen.reference_id();
                if let Some(follower) = self.follower() {
                    follower.name_reference(&known_as, &reference);
                    follower.reference(at, &reference);
                    follower.reference_id(reference_id);
                }
            }
            ManagementTlv::CurrentDataSet(current) => {
                self.seen.steps_removed = current.steps_removed;
                self.seen.delay_ns = Some(current.mean_path_delay.floor_ns());
            }
            ManagementTlv::TimeProperties(time) => {
                self.take_properties(at, time.leap61, time.leap59);
                let offset_s = time.current_utc_offset_s;
                let before = self.seen.utc_offset_s.replace(offset_s);
                if let (Some(before), Some(follower)) = (before.filter(|before| *before != offset_s), self.follower()) {
                    let detail = format!("its grand master states TAI less UTC as {offset_s} s, before {before} s");
                    follower.event(at, SyncChange::TaiOffset, detail);
                }
                let is_software = self.seen.timestamping == Some(Timestamping::Software);
                // With software stamps its clock runs on UTC, and the stamps of its master may be of TAI.
                self.stamps.set_scale(if is_software && time.ptp_timescale { i64::from(offset_s) } else { 0 });
            }
            ManagementTlv::TimeStatus(status) => {
                self.seen.gm_present = status.gm_present;
                let is_new = self.seen.ingress_ns.replace(status.ingress_time_ns) != Some(status.ingress_time_ns);
                // Its first value may be of long ago.
                if !is_new || !status.gm_present || status.ingress_time_ns == 0 || self.looks <= ALL_EVERY {
                    return;
                }
                let (has_stamps, delay_ns) = (self.seen.has_stamps, self.seen.delay_ns);
                let offset_ns = status.master_offset_ns;
                let Some(follower) = self.follower() else { return };
                follower.own_estimate(offset_ns);
                if !has_stamps {
                    follower.offset(at, Shown { offset_ns, delay_ns, frequency_ppb: None }, None);
                    self.last = Some((offset_ns, None));
                }
            }
            _ => {}
        }
    }

    fn take_properties(&mut self, at: Moment, leap_61: bool, leap_59: bool) {
        let before = self.seen.leap.replace((leap_61, leap_59));
        let words = match (leap_61, leap_59) {
            (true, _) => "its grand master announces an inserted second",
            (_, true) => "its grand master announces a second that is left out",
            _ => "its grand master announces no leap second",
        };
        let is_change =
            before.is_some_and(|before| before != (leap_61, leap_59)) || before.is_none() && (leap_61 || leap_59);
        if let (true, Some(follower)) = (is_change, self.follower()) {
            follower.event(at, SyncChange::Leap, words.to_owned());
        }
    }

    fn take_state(&mut self, at: Moment) {
        let (state, why) = self.seen.state(self.last.is_some());
        if let Some(follower) = self.follower() {
            follower.state(at, state, &why);
        }
    }
}
