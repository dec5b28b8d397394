//! Prints what was decoded with the labels of `pmc`, and compares.

use std::collections::BTreeMap;

use codecs::linuxptp::{
    Action, ClockQuality, DelayMechanism, Event, ManagementId, ManagementTlv, MessageCounts, TimeProperties,
    Timestamping,
};

use super::fixture::{management, only_tlv, sections};

/// Values that change between our datagram and pmc's.
const CHANGING: &[&str] = &[
    "offsetFromMaster",
    "meanPathDelay",
    "master_offset",
    "ingress_time",
    "peerMeanPathDelay",
    "cumulativeScaledRateOffset",
];

type Fields = Vec<(&'static str, String)>;

fn bit(value: bool) -> String {
    u8::from(value).to_string()
}

fn quality(quality: &ClockQuality, labels: [&'static str; 3]) -> Fields {
    let [class, accuracy, variance] = labels;
    vec![
        (class, quality.class.to_string()),
        (accuracy, format!("{:#04x}", quality.accuracy)),
        (variance, format!("{:#06x}", quality.offset_scaled_log_variance)),
    ]
}

fn time_properties(time: &TimeProperties) -> Fields {
    vec![
        ("currentUtcOffset", time.current_utc_offset_s.to_string()),
        ("leap61", bit(time.leap61)),
        ("leap59", bit(time.leap59)),
        ("currentUtcOffsetValid", bit(time.current_utc_offset_valid)),
        ("ptpTimescale", bit(time.ptp_timescale)),
        ("timeTraceable", bit(time.time_traceable)),
        ("frequencyTraceable", bit(time.frequency_traceable)),
        ("timeSource", format!("{:#04x}", time.time_source.0)),
    ]
}

fn counts(counts: &MessageCounts, labels: [&'static str; 10]) -> Fields {
    let values = [
        counts.sync,
        counts.delay_req,
        counts.pdelay_req,
        counts.pdelay_resp,
        counts.follow_up,
        counts.delay_resp,
        counts.pdelay_resp_follow_up,
        counts.announce,
        counts.signaling,
        counts.management,
    ];
    labels.into_iter().zip(values.map(|value| value.to_string())).collect()
}

const RECEIVED: [&str; 10] = [
    "rx_Sync",
    "rx_Delay_Req",
    "rx_Pdelay_Req",
    "rx_Pdelay_Resp",
    "rx_Follow_Up",
    "rx_Delay_Resp",
    "rx_Pdelay_Resp_Follow_Up",
    "rx_Announce",
    "rx_Signaling",
    "rx_Management",
];
const SENT: [&str; 10] = [
    "tx_Sync",
    "tx_Delay_Req",
    "tx_Pdelay_Req",
    "tx_Pdelay_Resp",
    "tx_Follow_Up",
    "tx_Delay_Resp",
    "tx_Pdelay_Resp_Follow_Up",
    "tx_Announce",
    "tx_Signaling",
    "tx_Management",
];

fn fields(tlv: &ManagementTlv<'_>, version: &str) -> Fields {
    let mut fields = Vec::new();
    match tlv {
        ManagementTlv::DefaultDataSet(data) => {
            fields.push(("twoStepFlag", bit(data.two_step)));
            fields.push(("slaveOnly", bit(data.client_only)));
            fields.push(("numberPorts", data.number_of_ports.to_string()));
            fields.push(("priority1", data.priority1.to_string()));
            fields.extend(quality(&data.clock_quality, ["clockClass", "clockAccuracy", "offsetScaledLogVariance"]));
            fields.push(("priority2", data.priority2.to_string()));
            fields.push(("clockIdentity", data.clock_identity.to_string()));
            fields.push(("domainNumber", data.domain_number.to_string()));
        }
        ManagementTlv::CurrentDataSet(data) => {
            // pmc prints one decimal; the daemon fills in whole nanoseconds.
            fields.push(("stepsRemoved", data.steps_removed.to_string()));
            fields.push(("offsetFromMaster", format!("{}.0", data.offset_from_master.floor_ns())));
            fields.push(("meanPathDelay", format!("{}.0", data.mean_path_delay.floor_ns())));
        }
        ManagementTlv::ParentDataSet(data) => {
            fields.push(("parentPortIdentity", data.parent_port_identity.to_string()));
            fields.push(("parentStats", bit(data.parent_stats)));
            let variance = data.observed_parent_offset_scaled_log_variance;
            fields.push(("observedParentOffsetScaledLogVariance", format!("{variance:#06x}")));
            let rate = data.observed_parent_clock_phase_change_rate;
            fields.push(("observedParentClockPhaseChangeRate", format!("{rate:#010x}")));
            fields.push(("grandmasterPriority1", data.grandmaster_priority1.to_string()));
            let labels = ["gm.ClockClass", "gm.ClockAccuracy", "gm.OffsetScaledLogVariance"];
            fields.extend(quality(&data.grandmaster_clock_quality, labels));
            fields.push(("grandmasterPriority2", data.grandmaster_priority2.to_string()));
            fields.push(("grandmasterIdentity", data.grandmaster_identity.to_string()));
        }
        ManagementTlv::TimeProperties(data) => fields.extend(time_properties(data)),
        ManagementTlv::GrandmasterSettings(data) => {
            fields.extend(quality(&data.clock_quality, ["clockClass", "clockAccuracy", "offsetScaledLogVariance"]));
            fields.extend(time_properties(&data.time_properties));
        }
        ManagementTlv::PortDataSet(data) => {
            fields.push(("portIdentity", data.port_identity.to_string()));
            fields.push(("portState", data.port_state.to_string()));
            fields.push(("logMinDelayReqInterval", data.log_min_delay_req_interval.to_string()));
            fields.push(("peerMeanPathDelay", data.peer_mean_path_delay.floor_ns().to_string()));
            fields.push(("logAnnounceInterval", data.log_announce_interval.to_string()));
            fields.push(("announceReceiptTimeout", data.announce_receipt_timeout.to_string()));
            fields.push(("logSyncInterval", data.log_sync_interval.to_string()));
            let mechanism = match data.delay_mechanism {
                DelayMechanism::EndToEnd => "1",
                DelayMechanism::PeerToPeer => "2",
                other => panic!("{other:?}"),
            };
            fields.push(("delayMechanism", mechanism.to_owned()));
            fields.push(("logMinPdelayReqInterval", data.log_min_pdelay_req_interval.to_string()));
            fields.push(("versionNumber", data.version.to_string()));
        }
        ManagementTlv::TimeStatus(data) => {
            fields.push(("master_offset", data.master_offset_ns.to_string()));
            fields.push(("ingress_time", data.ingress_time_ns.to_string()));
            let rate = f64::from(data.cumulative_scaled_rate_offset) / 2_f64.powi(41);
            fields.push(("cumulativeScaledRateOffset", format!("{rate:+.9}")));
            fields.push(("scaledLastGmPhaseChange", data.scaled_last_gm_phase_change.to_string()));
            fields.push(("gmTimeBaseIndicator", data.gm_time_base_indicator.to_string()));
            let hex: String = data.last_gm_phase_change.0.iter().map(|byte| format!("{byte:02x}")).collect();
            fields.push(("lastGmPhaseChange", format!("0x{}'{}.{}", &hex[..4], &hex[4..20], &hex[20..])));
            fields.push(("gmPresent", data.gm_present.to_string()));
            fields.push(("gmIdentity", data.gm_identity.to_string()));
        }
        ManagementTlv::PortDataSetNp(data) => {
            fields.push(("neighborPropDelayThresh", data.neighbor_prop_delay_thresh_ns.to_string()));
            fields.push(("asCapable", bit(data.as_capable)));
        }
        ManagementTlv::SubscribeEvents(data) => {
            let on = |event| if data.events.contains(event) { "on" } else { "off" }.to_owned();
            fields.push(("duration", data.duration_s.to_string()));
            fields.push(("NOTIFY_PORT_STATE", on(Event::PortState)));
            if version != "3.1.1" {
                fields.push(("NOTIFY_TIME_SYNC", on(Event::TimeSync)));
                fields.push(("NOTIFY_PARENT_DATA_SET", on(Event::ParentDataSet)));
            }
        }
        ManagementTlv::PortProperties(data) => {
            fields.push(("portIdentity", data.port_identity.to_string()));
            fields.push(("portState", data.port_state.to_string()));
            assert_eq!(data.timestamping, Timestamping::Software);
            fields.push(("timestamping", "SOFTWARE".to_owned()));
            fields.push(("interface", String::from_utf8_lossy(data.interface).into_owned()));
        }
        ManagementTlv::PortStats(data) => {
            fields.push(("portIdentity", data.port_identity.to_string()));
            fields.extend(counts(&data.received, RECEIVED));
            fields.extend(counts(&data.sent, SENT));
        }
        ManagementTlv::PortHwClock(data) => {
            fields.push(("portIdentity", data.port_identity.to_string()));
            fields.push(("phcIndex", data.phc_index.map_or("-1".to_owned(), |index| index.to_string())));
            fields.push(("flags", bit(data.is_virtual)));
        }
        other => panic!("{other:?}"),
    }
    fields
}

#[test]
fn every_field_is_as_pmc_prints_it() {
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    let mut same_nonzero: BTreeMap<&str, usize> = BTreeMap::new();
    for section in sections() {
        let Some((_, name)) = section.name.split_once(" GET ") else { continue };
        let Some(id) = ManagementId::ALL.iter().find(|id| id.name() == name) else { continue };
        let [datagram] = &section.datagrams[..] else { panic!("{}: one answer", section.name) };
        let Some((head, lines)) = section.pmc.split_first() else { continue };
        let place = format!("{} {} {}", section.version, section.mechanism, section.name);

        let message = management(datagram);
        assert_eq!(message.action, Action::Response, "{place}");
        assert!(head.starts_with(&format!("{} seq ", message.header.source)), "{place}: {head}");
        assert!(head.ends_with(&format!("RESPONSE MANAGEMENT {id}")), "{place}: {head}");
        let fields = fields(&only_tlv(datagram), section.version);
        assert_eq!(fields.len(), lines.len(), "{place}: {lines:?}");
        for ((label, ours), line) in fields.into_iter().zip(lines) {
            let (their_label, theirs) = line.split_once(' ').expect("label and value");
            let theirs = theirs.trim();
            assert_eq!(label, their_label, "{place}");
            if RECEIVED.contains(&label) || SENT.contains(&label) {
                let (ours, theirs): (u64, u64) = (ours.parse().expect("digits"), theirs.parse().expect("digits"));
                assert!((ours..=ours + 2).contains(&theirs), "{place} {label}: {ours} and then {theirs}");
            } else if CHANGING.contains(&label) {
                let zero = matches!(theirs, "0" | "0.0" | "+0.000000000");
                *same_nonzero.entry(label).or_default() += usize::from(ours == theirs && !zero);
            } else {
                assert_eq!(ours, theirs, "{place} {label}");
            }
        }
        *compared.entry(id.name()).or_default() += 1;
    }
    // Every TLV of both versions, by both roles, with all mechanisms; one of them is of 4.x alone, one of 4.3.
    for id in ManagementId::ALL {
        let expected = match id {
            ManagementId::PortHwClock => 6,
            ManagementId::CmldsInfo => 0,
            _ => 12,
        };
        assert_eq!(compared.get(id.name()).copied().unwrap_or(0), expected, "{id}");
    }
    // What changes was the same for pmc at least once.
    for label in CHANGING {
        assert!(same_nonzero.get(label).is_some_and(|&count| count > 0), "{label}: {same_nonzero:?}");
    }
}
