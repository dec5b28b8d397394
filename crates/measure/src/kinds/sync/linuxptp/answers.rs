//! What each answer of ptp4l changes of what is known of it.

use ::sync::facts::Statement;
use ::sync::follow::Shown;
use codecs::linuxptp::{ManagementTlv, PortState, Timestamping};
use codecs::stated;
use record::Moment;

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
                let before = self.seen.parent.replace(*parent);
                if before.is_some_and(|before| before.parent_port_identity != parent.parent_port_identity) {
                    self.stamps.forget();
                }
                let is_same = before.is_some_and(|before| {
                    before.parent_port_identity == parent.parent_port_identity
                        && before.grandmaster_identity == parent.grandmaster_identity
                });
                if before.is_some() && !is_same {
                    self.pending.drop_all();
                }
                let known_as = clock_words(parent.parent_port_identity);
                self.take_reference(at, is_same, &known_as);
                self.take_statements(at, &stated::of_parent(parent));
            }
            ManagementTlv::CurrentDataSet(current) => {
                self.seen.delay_ns = Some(current.mean_path_delay.floor_ns());
                self.seen.current = Some(*current);
                self.take_reference(at, true, "");
                self.take_statements(at, &stated::of_current(current));
            }
            ManagementTlv::TimeProperties(time) => {
                self.seen.time = Some(*time);
                self.take_statements(at, &stated::of_time(time));
                let is_software = self.seen.timestamping == Some(Timestamping::Software);
                // With software stamps its clock runs on UTC, and the stamps of its master may be of TAI.
                let scale_s = i64::from(time.current_utc_offset_s);
                self.stamps.set_scale(if is_software && time.ptp_timescale { scale_s } else { 0 });
            }
            ManagementTlv::TimeStatus(status) => {
                self.seen.gm_present = status.gm_present;
                self.seen.status = Some(*status);
                self.take_statements(at, &stated::of_status(status));
                let is_new = self.seen.ingress_ns.replace(status.ingress_time_ns) != Some(status.ingress_time_ns);
                // Its first value may be of long ago.
                if !is_new || !status.gm_present || status.ingress_time_ns == 0 || self.looks <= ALL_EVERY {
                    return;
                }
                let (has_stamps, delay_ns) = (self.seen.has_stamps, self.seen.delay_ns);
                let offset_ns = status.master_offset_ns;
                if self.follower().is_none() {
                    return;
                }
                self.pending.own_estimate(at, offset_ns);
                if !has_stamps {
                    self.pending.offset(at, Shown { offset_ns, delay_ns, frequency_ppb: None }, None, None);
                    self.last = Some((offset_ns, None));
                }
            }
            _ => {}
        }
    }

    /// Takes what was stated of the time. Offsets that came before another time was told may be of either.
    fn take_statements(&mut self, at: Moment, statements: &[Statement]) {
        let Some(follower) = self.follower() else { return };
        if follower.would_cut(statements) {
            self.pending.drop_all();
            self.stamps.forget();
        }
        if let Some(follower) = &mut self.follower {
            follower.states(at, statements);
        }
    }

    /// Takes what the clock is compared with: the same parent and grand master at another distance are no other reference, nor is
    /// one that was known by its stamps alone.
    fn take_reference(&mut self, at: Moment, is_same: bool, known_as: &str) {
        let (reference, reference_id) = (self.seen.reference(), self.seen.reference_id());
        let Some(follower) = self.follower() else { return };
        let held = follower.current_reference().unwrap_or_default().to_owned();
        // What is known of the ports can change which of the two this clock itself is.
        let is_renamed = is_same && held.split(" (").next() == reference.split(" (").next();
        follower.name_reference(if is_renamed { &held } else { known_as }, &reference);
        follower.reference(at, &reference);
        follower.reference_id(reference_id);
    }

    fn take_state(&mut self, at: Moment) {
        let (state, why) = self.seen.state(self.last.is_some(), self.found.is_free_running);
        if let Some(follower) = self.follower() {
            follower.state(at, state, &why);
        }
    }
}
