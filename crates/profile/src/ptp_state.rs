//! What a running ptp4l says of itself over its management socket.

use codecs::linuxptp::{ManagementId, ManagementTlv, Message, PortIdentity, PortState, decode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked for: each message is a question that changes nothing.
pub const QUESTIONS: [ManagementId; 4] = [
    ManagementId::TimePropertiesDataSet,
    ManagementId::PortDataSet,
    ManagementId::PortDataSetNp,
    ManagementId::PortStats,
];

/// More ports than a clock has; forged answers do not fill the memory.
const MOST_PORTS: usize = 256;

/// What a running ptp4l said of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PtpState {
    /// Its ports, in the order of their numbers.
    pub ports: Vec<PtpPortState>,
    /// TAI less UTC as its grandmaster distributes it (currentUtcOffset), in seconds; absent where that is not marked as valid.
    pub utc_offset_s: Option<i64>,
    /// Whether its time scale is PTP's, TAI, and not one of the grandmaster's own.
    pub is_ptp_timescale: Option<bool>,
}

/// What it said of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PtpPortState {
    /// The port's number, from 1.
    pub number: u16,
    /// Its state: `SLAVE`, `MASTER`, `FAULTY`, …
    pub state: Option<String>,
    /// Whether it takes part in IEEE 802.1AS.
    pub as_capable: Option<bool>,
    /// The delay of the link, as it is measured between neighbors, in nanoseconds; 0 before the first measurement.
    pub link_delay_ns: Option<i64>,
    /// The longest delay with which the port takes part, in nanoseconds.
    pub delay_threshold_ns: Option<u64>,
    /// Questions for the delay of the link that it sent.
    pub delay_requests_sent: Option<u64>,
    /// Answers to them that came in: more than questions where several neighbors answer.
    pub delay_answers_received: Option<u64>,
}

impl PtpState {
    /// Takes an answer; what is no answer to one of the questions is passed over.
    pub fn take(&mut self, datagram: &[u8]) {
        let Ok(Message::Management(message)) = decode(datagram) else { return };
        let source = message.header.source;
        for tlv in message.tlvs().flatten() {
            match tlv {
                ManagementTlv::TimeProperties(read) => {
                    self.is_ptp_timescale = Some(read.ptp_timescale);
                    self.utc_offset_s = read.current_utc_offset_valid.then(|| i64::from(read.current_utc_offset_s));
                }
                ManagementTlv::PortDataSet(read) => {
                    if let Some(port) = self.port(read.port_identity) {
                        port.state = Some(read.port_state.to_string());
                        port.link_delay_ns = Some(read.peer_mean_path_delay.floor_ns());
                    }
                }
                ManagementTlv::PortDataSetNp(read) => {
                    if let Some(port) = self.port(source) {
                        port.as_capable = Some(read.as_capable);
                        port.delay_threshold_ns = Some(read.neighbor_prop_delay_thresh_ns.into());
                    }
                }
                ManagementTlv::PortStats(read) => {
                    if let Some(port) = self.port(read.port_identity) {
                        port.delay_requests_sent = Some(read.sent.pdelay_req);
                        port.delay_answers_received = Some(read.received.pdelay_resp);
                    }
                }
                _ => {}
            }
        }
    }

    fn port(&mut self, identity: PortIdentity) -> Option<&mut PtpPortState> {
        let number = identity.port;
        let at = match self.ports.binary_search_by_key(&number, |port| port.number) {
            Ok(at) => at,
            Err(at) if number != 0 && self.ports.len() < MOST_PORTS => {
                self.ports.insert(at, PtpPortState { number, ..PtpPortState::default() });
                at
            }
            Err(_) => return None,
        };
        self.ports.get_mut(at)
    }
}

impl PtpPortState {
    /// Whether the port is up and takes part in the protocol: a link that is down is no neighbor that does not answer.
    #[must_use]
    pub fn is_up(&self) -> bool {
        let down = [PortState::Initializing, PortState::Faulty, PortState::Disabled].map(|state| state.to_string());
        self.state.as_ref().is_some_and(|state| !down.contains(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams of linuxptp 4.2 with its example for IEEE 802.1AS.
    const GPTP: &str = include_str!("../../codecs/fixtures/linuxptp/4.2/gptp.txt");

    fn datagrams() -> impl Iterator<Item = Vec<u8>> {
        GPTP.lines().filter_map(|line| line.strip_prefix("hex ")).map(|hex| {
            let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
            let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            digits.chunks(2).map(pair).collect()
        })
    }

    #[test]
    fn answers_of_a_real_ptp4l_are_taken_and_others_passed_over() {
        let mut state = PtpState::default();
        for datagram in datagrams() {
            state.take(&datagram);
            state.take(&datagram[..datagram.len() / 2]);
        }
        assert_eq!(state.is_ptp_timescale, Some(false));
        let [port] = state.ports.as_slice() else { panic!("{state:?}") };
        assert!(port.number == 1 && port.is_up(), "{port:?}");
        assert_eq!((port.as_capable, port.delay_threshold_ns), (Some(true), Some(100_000_000)));
        assert!(port.delay_requests_sent.is_some() && port.delay_answers_received.is_some(), "{port:?}");
        let before = state.clone();
        for other in [&b""[..], &[0xff; 80], b"GET"] {
            state.take(other);
        }
        assert_eq!(state, before);
    }

    #[test]
    fn a_link_that_is_down_is_no_silent_neighbor() {
        let port = |state: Option<&str>| PtpPortState { state: state.map(str::to_owned), ..PtpPortState::default() };
        assert!(port(Some("SLAVE")).is_up() && port(Some("LISTENING")).is_up());
        assert!(!port(Some("FAULTY")).is_up() && !port(Some("DISABLED")).is_up() && !port(None).is_up());
    }
}
