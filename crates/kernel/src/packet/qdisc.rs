//! Queueing disciplines of an interface, as far as they matter to a packet's launch time; they are only read.

use units::ClockId;

use super::LaunchClock;
use super::error::LookupError;
use super::netlink::{Answer, Attributes, Netlink, i32_at, i64_at, text, u32_at};

const GET_QDISC: u16 = 38;
/// `struct tcmsg`, include/uapi/linux/rtnetlink.h.
const QDISC_BYTES: usize = 20;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// Attributes of etf and taprio, and the flags of etf, include/uapi/linux/pkt_sched.h.
const ETF_PARAMETERS: u16 = 1;
const ETF_DEADLINE: u32 = 1;
const ETF_OFFLOAD: u32 = 2;
const TAPRIO_CLASSES: u16 = 1;
const TAPRIO_ENTRIES: u16 = 2;
const TAPRIO_BASE_TIME: u16 = 3;
const TAPRIO_CLOCK: u16 = 5;
const TAPRIO_CYCLE_TIME: u16 = 8;
const TAPRIO_FLAGS: u16 = 10;
/// taprio computes the launch times itself.
const TAPRIO_ASSISTS: u32 = 1;
const TAPRIO_OFFLOAD: u32 = 2;
const ENTRY: u16 = 1;
const ENTRY_GATES: u16 = 3;
const ENTRY_INTERVAL: u16 = 4;

/// One queueing discipline of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Its kind: `etf`, `fq`, `taprio`, `mq`, `pfifo_fast`, …
    pub kind: String,
    /// Its handle: major number in the upper 16 bits (`8001:` is 0x80010000).
    pub handle: u32,
    /// What it stands under: [`Self::ROOT`], or the class of another.
    pub parent: u32,
    /// More about some kinds.
    pub detail: QdiscDetail,
}

/// What is read of single kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QdiscDetail {
    /// Of `etf`: earliest launch time first.
    Etf {
        /// The clock of its launch times; `None` for one that is not known here.
        clock: Option<ClockId>,
        /// How long before its launch time a packet is handed to the driver (ns).
        delta_ns: i32,
        /// Whether times are deadlines.
        is_deadline: bool,
        /// Whether the hardware keeps the time.
        is_offloaded: bool,
    },
    /// Of `taprio`: the gates of IEEE 802.1Qbv.
    Taprio {
        /// The clock of its schedule; `None` where the hardware's own decides, or it is not known here.
        clock: Option<ClockId>,
        /// When the schedule began (ns of that clock), if it has begun.
        base_time_ns: Option<i64>,
        /// How long one cycle is (ns), if the schedule has begun.
        cycle_ns: Option<i64>,
        /// Which gates are open in the cycle, one after the other.
        gates: Vec<Gate>,
        /// The traffic class of each priority, `struct tc_mqprio_qopt`.
        classes: [u8; PRIORITIES],
        /// Whether it computes launch times itself, so that none may be given.
        assigns_launch_times: bool,
        /// Whether the hardware keeps the schedule.
        is_offloaded: bool,
    },
    /// Of any other kind.
    Other,
}

/// `TC_PRIO_CONTROL`, include/uapi/linux/pkt_sched.h: `fq` keeps packets of this priority in a queue of their own, which it
/// empties first and without looking at their times (`fq_classify`, net/sched/sch_fq.c).
const PRIORITY_CONTROL: u32 = 7;
/// `TC_PRIO_MAX`, of which `fq` makes a mask.
const PRIORITY_MASK: u32 = 15;

/// Priorities of packets that queueing disciplines tell apart (`TC_PRIO_MAX`); of higher ones the lowest four bits count.
const PRIORITIES: usize = 16;

/// One part of taprio's cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// One bit a traffic class.
    pub open_classes: u32,
    /// How long it lasts (ns).
    pub interval_ns: u32,
}

/// What the disciplines of an interface do with launch times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchSupport {
    /// One of them holds packets back until their time.
    Honored,
    /// None does: the times change nothing.
    Ignored,
    /// There is an `etf` with another clock, which drops packets with a time of this one.
    OtherClock(ClockId),
    /// There is an `etf` of the other mode (deadline or exact time), which drops packets of this one.
    OtherMode,
    /// There is an `fq`, which sends packets of this priority at once.
    Bypassed,
}

impl Qdisc {
    /// The parent of what stands directly on the interface.
    pub const ROOT: u32 = u32::MAX;

    /// Reads those of an interface by its number.
    ///
    /// # Errors
    /// Where the kernel does not answer.
    pub fn read(interface_index: u32) -> Result<Vec<Self>, LookupError> {
        let failed = |error| LookupError::Failed { action: "read the queueing disciplines", error };
        let mut netlink = Netlink::open().map_err(failed)?;
        let mut fixed = [0; QDISC_BYTES];
        fixed[4..8].copy_from_slice(&interface_index.to_ne_bytes());
        let answers = netlink.dump(GET_QDISC, &fixed).map_err(failed)?;
        Ok(answers.iter().filter_map(|answer| Self::parse(answer, interface_index)).collect())
    }

    /// What these do with the launch times of a socket whose packets have a priority. Which of several a packet passes is not
    /// looked at: its priority, or a filter, decides that.
    #[must_use]
    pub fn launch_support(all: &[Self], wanted: LaunchClock, priority: u32) -> LaunchSupport {
        let mut support = LaunchSupport::Ignored;
        for qdisc in all {
            match &qdisc.detail {
                QdiscDetail::Etf { clock, is_deadline, .. } => {
                    if *clock == Some(wanted.clock) && *is_deadline == wanted.is_deadline {
                        return LaunchSupport::Honored;
                    }
                    support = match clock {
                        Some(clock) if *clock != wanted.clock => LaunchSupport::OtherClock(*clock),
                        _ => LaunchSupport::OtherMode,
                    };
                }
                QdiscDetail::Other if qdisc.kind == "fq" && wanted.clock == ClockId::Monotonic => {
                    if priority & PRIORITY_MASK != PRIORITY_CONTROL {
                        return LaunchSupport::Honored;
                    }
                    support = LaunchSupport::Bypassed;
                }
                _ => {}
            }
        }
        support
    }

    /// The traffic class of packets of a priority, if this is a taprio whose cycle never opens that class's gate: none of
    /// them leaves. Where the schedule has not begun, nothing is known of its gates.
    #[must_use]
    pub fn closed_class(&self, priority: u32) -> Option<u8> {
        let QdiscDetail::Taprio { gates, classes, .. } = &self.detail else { return None };
        let class = usize::try_from(priority).ok().and_then(|priority| classes.get(priority % PRIORITIES)).copied()?;
        let is_open = |gate: &Gate| gate.interval_ns > 0 && gate.open_classes >> u32::from(class).min(31) & 1 != 0;
        (!gates.is_empty() && !gates.iter().any(is_open)).then_some(class)
    }

    fn parse(answer: &Answer, interface_index: u32) -> Option<Self> {
        let body = &answer.body;
        if u32_at(body, 4)? != interface_index {
            return None;
        }
        let kind = text(answer.attribute(QDISC_BYTES, KIND)?);
        let options = answer.attribute(QDISC_BYTES, OPTIONS).unwrap_or_default();
        let detail = match &*kind {
            "etf" => parse_etf(options).unwrap_or(QdiscDetail::Other),
            "taprio" => parse_taprio(options),
            _ => QdiscDetail::Other,
        };
        Some(Self { kind, handle: u32_at(body, 8)?, parent: u32_at(body, 12)?, detail })
    }
}

fn parse_etf(options: &[u8]) -> Option<QdiscDetail> {
    let (_, value) = Attributes::nested(options).find(|(kind, _)| *kind == ETF_PARAMETERS)?;
    let flags = u32_at(value, 8)?;
    Some(QdiscDetail::Etf {
        clock: clock(i32_at(value, 4)?),
        delta_ns: i32_at(value, 0)?,
        is_deadline: flags & ETF_DEADLINE != 0,
        is_offloaded: flags & ETF_OFFLOAD != 0,
    })
}

fn parse_taprio(options: &[u8]) -> QdiscDetail {
    let find = |wanted| Attributes::nested(options).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let flags = find(TAPRIO_FLAGS).and_then(|value| u32_at(value, 0)).unwrap_or(0);
    let gates = Attributes::nested(find(TAPRIO_ENTRIES).unwrap_or_default()).filter(|(kind, _)| *kind == ENTRY).map(
        |(_, entry)| {
            let number = |wanted| {
                Attributes::nested(entry)
                    .find(|(kind, _)| *kind == wanted)
                    .and_then(|(_, value)| u32_at(value, 0))
                    .unwrap_or(0)
            };
            Gate { open_classes: number(ENTRY_GATES), interval_ns: number(ENTRY_INTERVAL) }
        },
    );
    QdiscDetail::Taprio {
        clock: find(TAPRIO_CLOCK).and_then(|value| i32_at(value, 0)).and_then(clock),
        base_time_ns: find(TAPRIO_BASE_TIME).and_then(|value| i64_at(value, 0)),
        cycle_ns: find(TAPRIO_CYCLE_TIME).and_then(|value| i64_at(value, 0)),
        gates: gates.collect(),
        // After the number of classes, one byte.
        classes: find(TAPRIO_CLASSES)
            .and_then(|value| value.get(1..)?.first_chunk::<PRIORITIES>().copied())
            .unwrap_or_default(),
        assigns_launch_times: flags & TAPRIO_ASSISTS != 0,
        is_offloaded: flags & TAPRIO_OFFLOAD != 0,
    }
}

const fn clock(number: i32) -> Option<ClockId> {
    Some(match number {
        libc::CLOCK_REALTIME => ClockId::Realtime,
        libc::CLOCK_MONOTONIC => ClockId::Monotonic,
        libc::CLOCK_MONOTONIC_RAW => ClockId::MonotonicRaw,
        libc::CLOCK_BOOTTIME => ClockId::Boottime,
        libc::CLOCK_TAI => ClockId::Tai,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::netlink::tests::attribute;
    use super::*;

    fn answer(kind: &str, options: &[u8]) -> Answer {
        let mut body = vec![0; QDISC_BYTES];
        body[4..8].copy_from_slice(&3_u32.to_ne_bytes());
        body[8..12].copy_from_slice(&0x8001_0000_u32.to_ne_bytes());
        body[12..16].copy_from_slice(&Qdisc::ROOT.to_ne_bytes());
        body.extend(attribute(KIND, format!("{kind}\0").as_bytes()));
        body.extend(attribute(OPTIONS, options));
        Answer { body }
    }

    fn etf(clock: i32, flags: u32) -> Qdisc {
        let parameters = [300_000_i32.to_ne_bytes(), clock.to_ne_bytes(), flags.to_ne_bytes()].concat();
        Qdisc::parse(&answer("etf", &attribute(ETF_PARAMETERS, &parameters)), 3).unwrap()
    }

    #[test]
    fn etf_is_read_with_its_clock() {
        let qdisc = etf(11, 2);
        assert_eq!((&*qdisc.kind, qdisc.handle, qdisc.parent), ("etf", 0x8001_0000, Qdisc::ROOT));
        let expected =
            QdiscDetail::Etf { clock: Some(ClockId::Tai), delta_ns: 300_000, is_deadline: false, is_offloaded: true };
        assert_eq!(qdisc.detail, expected);
        assert_eq!(Qdisc::parse(&answer("etf", &[]), 4), None, "of another interface");
    }

    #[test]
    fn taprio_is_read_with_its_cycle() {
        let entry = |gates: u32, interval: u32| {
            let gates = attribute(ENTRY_GATES, &gates.to_ne_bytes());
            attribute(ENTRY, &[gates, attribute(ENTRY_INTERVAL, &interval.to_ne_bytes())].concat())
        };
        // Priority 3 has class 1, priority 5 class 2, and all others class 0.
        let classes = [3, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let options = [
            attribute(TAPRIO_CLASSES, &classes),
            attribute(TAPRIO_ENTRIES, &[entry(1, 300_000), entry(0x5, 700_000)].concat()),
            attribute(TAPRIO_BASE_TIME, &5_i64.to_ne_bytes()),
            attribute(TAPRIO_CLOCK, &11_i32.to_ne_bytes()),
            attribute(TAPRIO_CYCLE_TIME, &1_000_000_i64.to_ne_bytes()),
            attribute(TAPRIO_FLAGS, &1_u32.to_ne_bytes()),
        ];
        let qdisc = Qdisc::parse(&answer("taprio", &options.concat()), 3).unwrap();
        let gate = |open_classes, interval_ns| Gate { open_classes, interval_ns };
        let expected = QdiscDetail::Taprio {
            clock: Some(ClockId::Tai),
            base_time_ns: Some(5),
            cycle_ns: Some(1_000_000),
            gates: vec![gate(1, 300_000), gate(0x5, 700_000)],
            classes: [0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            assigns_launch_times: true,
            is_offloaded: false,
        };
        assert_eq!(qdisc.detail, expected);
        // Class 1 has no gate that opens; priority 19 counts as 3.
        let closed = [0, 3, 5, 19].map(|priority| qdisc.closed_class(priority));
        assert_eq!(closed, [None, Some(1), None, Some(1)]);
        let unbegun = Qdisc::parse(&answer("taprio", &attribute(TAPRIO_CLASSES, &classes)), 3).unwrap();
        assert_eq!(unbegun.closed_class(3), None, "its gates are not known");
        assert_eq!(etf(11, 0).closed_class(0), None);
    }

    #[test]
    fn a_launch_time_does_something_only_with_the_right_discipline() {
        let wanted = |clock| LaunchClock { clock, is_deadline: false };
        let other = |kind: &str| Qdisc::parse(&answer(kind, &[]), 3).unwrap();
        let support = |all: &[Qdisc], clock| Qdisc::launch_support(all, wanted(clock), 3);
        assert_eq!(support(&[other("pfifo_fast")], ClockId::Tai), LaunchSupport::Ignored);
        assert_eq!(support(&[other("mq"), etf(11, 0)], ClockId::Tai), LaunchSupport::Honored);
        assert_eq!(support(&[etf(11, 0)], ClockId::Monotonic), LaunchSupport::OtherClock(ClockId::Tai));
        assert_eq!(support(&[etf(11, ETF_DEADLINE)], ClockId::Tai), LaunchSupport::OtherMode);
        assert_eq!(support(&[other("fq")], ClockId::Monotonic), LaunchSupport::Honored);
        assert_eq!(support(&[other("fq")], ClockId::Tai), LaunchSupport::Ignored);
        for (priority, expected) in [
            (6, LaunchSupport::Honored),
            (7, LaunchSupport::Bypassed),
            (15, LaunchSupport::Honored),
            (23, LaunchSupport::Bypassed),
        ] {
            let found = Qdisc::launch_support(&[other("fq")], wanted(ClockId::Monotonic), priority);
            assert_eq!(found, expected, "priority {priority}");
        }
    }
}
