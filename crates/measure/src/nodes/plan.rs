//! What a node's half of a run takes, checked before anything is opened.

use kernel::sched::Policy;
use packet::header::HEADER_BYTES;
use record::{PacketDirection, PacketPath, PacketRequest, ReceiveMode, Requested, RunEnd};
use units::{ClockId, CpuSet, Ns};

use super::NodeThreads;
use crate::machine::Machine;

/// The largest payload of a UDP datagram over IPv4 (bytes).
const MOST_BYTES: u32 = 65_507;
/// A real-time thread that asks without a pause has to sleep a part of each interval; of a shorter one the part is too short.
const LEAST_POLLED_INTERVAL: Ns = Ns::from_us(500);

/// Which of the two nodes this one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It asks for the run.
    Initiator,
    /// It was asked.
    Partner,
}

impl Role {
    /// The role in the table of kinds.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Initiator => "initiator",
            Self::Partner => "partner",
        }
    }

    /// The role of the partner.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Partner,
            Self::Partner => Self::Initiator,
        }
    }

    /// Whether a node of this role sends packets of a run.
    pub(crate) fn sends(self, direction: PacketDirection) -> bool {
        match direction {
            PacketDirection::Both => true,
            PacketDirection::To => self == Self::Initiator,
            PacketDirection::From => self == Self::Partner,
        }
    }
}

/// Why a node cannot take part in a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketPlanError {
    /// A value is out of its range.
    #[error("{what} of {value} is out of range: {from} to {to}")]
    Range {
        /// What the value is.
        what: &'static str,
        /// The value.
        value: Ns,
        /// The lowest that is possible.
        from: Ns,
        /// The highest that is possible.
        to: Ns,
    },
    /// A number is out of its range.
    #[error("{what} {value} is out of range: {range}")]
    Number {
        /// What the number is.
        what: &'static str,
        /// The number.
        value: u64,
        /// What it can be, in words.
        range: &'static str,
    },
    /// A CPU that cannot be used.
    #[error("CPU {cpu} cannot be used: it is offline, or outside of this process's cpuset ({usable})")]
    Cpu {
        /// The CPU.
        cpu: u32,
        /// CPUs that can be.
        usable: CpuSet,
    },
    /// A thread that never sleeps would be stopped by the kernel.
    #[error(
        "a receiver that asks without a pause at SCHED_FIFO would be stopped by the kernel's limit on real-time threads at this \
         interval: use --receive schedule, an interval of at least 500us, or --sched-priority other"
    )]
    Spins,
    /// A parameter that the path does not have.
    #[error("{what} is not possible on the path '{path}': {remedy}")]
    Path {
        /// The parameter.
        what: &'static str,
        /// The path.
        path: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
}

/// Packets that wait for their launch time at once, at most.
const MOST_WAITING: i64 = 1_000;

/// A node's half of a run.
#[derive(Clone, Debug)]
pub(crate) struct PacketPlan {
    pub(crate) request: PacketRequest,
    pub(crate) role: Role,
    pub(crate) cpu: Option<u32>,
    pub(crate) policy: Policy,
    pub(crate) housekeeping: CpuSet,
    pub(crate) interval_ns: i64,
    /// Packets of each flow, skipped schedules among them.
    pub(crate) schedules: u64,
    pub(crate) duration_ns: Option<u64>,
    pub(crate) interval_maximum_ns: u64,
    /// Numbers of the flows that this node sends and receives.
    own_flow: u8,
    partner_flow: u8,
}

impl PacketPlan {
    /// Checks a request for one of the nodes, with the threads of that node.
    pub(crate) fn new(
        request: &PacketRequest,
        role: Role,
        NodeThreads { cpu, sched_priority }: NodeThreads,
        machine: &Machine,
    ) -> Result<Self, PacketPlanError> {
        check(request)?;
        if let Some(value) = sched_priority.filter(|value| !(1..=99).contains(value)) {
            let what = "the threads' real-time priority";
            return Err(PacketPlanError::Number { what, value: value.into(), range: "1 to 99 (SCHED_FIFO)" });
        }
        let receives = (role == Role::Partner) != (request.direction == PacketDirection::From)
            || request.direction == PacketDirection::Both;
        if receives
            && request.receive == ReceiveMode::Poll
            && sched_priority.is_some()
            && request.interval < LEAST_POLLED_INTERVAL
        {
            return Err(PacketPlanError::Spins);
        }
        let usable = machine.usable();
        if let Some(cpu) = cpu.filter(|cpu| !usable.contains(*cpu)) {
            return Err(PacketPlanError::Cpu { cpu, usable });
        }
        let isolated = machine.isolated.intersection(&usable);
        let cpu = cpu.or_else(|| isolated.first());
        let measured: CpuSet = cpu.into_iter().collect();
        let interval_ns = request.interval.0.max(1);
        let takes = match request.end {
            RunEnd::After(duration) => Some(duration),
            RunEnd::Samples(samples) => {
                Some(Ns(interval_ns.saturating_mul(i64::try_from(samples).unwrap_or(i64::MAX))))
            }
            RunEnd::WhenTold => None,
        };
        let schedules = match request.end {
            RunEnd::Samples(samples) => samples,
            RunEnd::After(duration) => (duration.0 / interval_ns).max(1).unsigned_abs(),
            RunEnd::WhenTold => u64::MAX,
        };
        let duration_ns = takes.map(Ns::unsigned);
        Ok(Self {
            request: request.clone(),
            role,
            cpu,
            policy: sched_priority.map_or(Policy::Other, Policy::Fifo),
            housekeeping: machine.housekeeping(&measured),
            interval_ns,
            schedules,
            duration_ns,
            interval_maximum_ns: duration_ns.map_or(300_000_000_000, |ns| (ns / 60).clamp(10_000_000, 300_000_000_000)),
            own_flow: u8::from(role == Role::Partner),
            partner_flow: u8::from(role == Role::Initiator),
        })
    }

    /// Whether this node sends.
    pub(crate) fn sends(&self) -> bool {
        self.role.sends(self.request.direction)
    }

    /// Whether this node receives.
    pub(crate) fn receives(&self) -> bool {
        self.request.direction == PacketDirection::Both || !self.sends()
    }

    /// How long it takes until a later packet brings the stamps of one that has arrived (ns).
    pub(crate) fn bringing_ns(&self) -> i64 {
        self.interval_ns.saturating_add(self.request.launch_time.map_or(0, |launch| launch.0))
    }

    /// The same, where both nodes have one flow between them, with this number.
    pub(crate) fn with_flow(self, flow: u8) -> Self {
        Self { own_flow: flow, partner_flow: flow, ..self }
    }

    /// Number of the flow that this node sends: that of the initiator is the first.
    pub(crate) const fn own_flow(&self) -> u8 {
        self.own_flow
    }

    /// Number of the flow that this node receives.
    pub(crate) const fn partner_flow(&self) -> u8 {
        self.partner_flow
    }

    pub(crate) fn requested(&self) -> Requested {
        Requested {
            cpus: self.cpu.into_iter().collect(),
            threads: u32::from(self.sends()) + u32::from(self.receives()),
            policy: self.policy.name().to_owned(),
            priority: self.policy.priority(),
            pinned: self.cpu.is_some(),
            clock: Some(ClockId::Realtime),
            interval_ns: u64::try_from(self.interval_ns).ok(),
            duration_ns: self.duration_ns,
            samples: match self.request.end {
                RunEnd::Samples(samples) => Some(samples),
                _ => None,
            },
            deadline_ns: self.request.limit.map(Ns::unsigned),
            interval_maximum_ns: Some(self.interval_maximum_ns),
            ..Requested::default()
        }
    }
}

fn check(request: &PacketRequest) -> Result<(), PacketPlanError> {
    let range = |what, value: Option<Ns>, from: Ns, to: Ns| match value {
        Some(value) if value < from || value > to => Err(PacketPlanError::Range { what, value, from, to }),
        _ => Ok(()),
    };
    let number = |what, value: Option<u64>, (from, to): (u64, u64), range| match value {
        Some(value) if value < from || value > to => Err(PacketPlanError::Number { what, value, range }),
        _ => Ok(()),
    };
    range("the interval", Some(request.interval), Ns::from_us(10), Ns::from_s(10))?;
    range("the limit", request.limit, Ns(1), Ns::from_s(3_600))?;
    if let RunEnd::After(duration) = request.end {
        range("the duration", Some(duration), Ns::from_ms(100), Ns::from_s(400 * 86_400))?;
    }
    if let Some(launch) = request.launch_time {
        // Of so many packets the loop that sends knows the numbers by which their stamps are theirs.
        let most = Ns(request.interval.0.saturating_mul(MOST_WAITING)).min(request.interval.max(Ns::from_s(1)));
        range("the launch time", Some(launch), Ns(1), most)?;
    }
    let least = u64::try_from(HEADER_BYTES).unwrap_or(0);
    number(
        "the payload",
        Some(request.size.into()),
        (least, MOST_BYTES.into()),
        "64 to 65507 bytes (the header of a measured packet takes 64)",
    )?;
    number(
        "the priority",
        request.priority.map(u64::from),
        (0, 15),
        "0 to 15 (SO_PRIORITY, of the packets; that of the threads is --sched-priority)",
    )?;
    number("the code point", request.dscp.map(u64::from), (0, 63), "0 to 63 (RFC 2474)")?;
    number("the VLAN", request.vlan.map(u64::from), (1, 4_094), "1 to 4094")?;
    number("the drift", Some(request.max_drift_ppb.into()), (1, 100_000_000), "1 to 100000000 parts per billion")?;
    if let RunEnd::Samples(0) = request.end {
        return Err(PacketPlanError::Number { what: "the number of packets", value: 0, range: "at least 1" });
    }
    let wrong_path = |what, remedy| Err(PacketPlanError::Path { what, path: request.path.name(), remedy });
    match request.path {
        PacketPath::Udp | PacketPath::Xdp if request.vlan.is_some() => {
            wrong_path("a VLAN tag", "use the address of a VLAN interface, or --path l2")
        }
        PacketPath::L2 if request.dscp.is_some() => {
            wrong_path("a code point", "it is part of IP: use --path udp, or --priority with a VLAN")
        }
        PacketPath::Xdp if request.launch_time.is_some() => {
            wrong_path("a launch time", "AF_XDP passes the queueing disciplines by: use --path udp or l2")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let cpus: CpuSet = "0-3".parse().unwrap();
        Machine {
            online: cpus.clone(),
            present: cpus.clone(),
            isolated: "3".parse().unwrap(),
            allowed: cpus,
            timer_resolution_ns: 1,
            available_bytes: 1 << 30,
        }
    }

    fn plan(role: Role, change: impl FnOnce(&mut PacketRequest)) -> Result<PacketPlan, PacketPlanError> {
        let mut request = PacketRequest::default();
        change(&mut request);
        PacketPlan::new(&request, role, NodeThreads { cpu: None, sched_priority: request.sched_priority }, &machine())
    }

    #[test]
    fn each_direction_has_one_sender_and_one_receiver() {
        for (direction, sends) in [
            (PacketDirection::To, (true, false)),
            (PacketDirection::From, (false, true)),
            (PacketDirection::Both, (true, true)),
        ] {
            let one = plan(Role::Initiator, |request| request.direction = direction).unwrap();
            let other = plan(Role::Partner, |request| request.direction = direction).unwrap();
            assert_eq!((one.sends(), other.sends()), sends);
            assert_eq!((one.receives(), other.receives()), (other.sends(), one.sends()));
            assert_eq!(one.own_flow(), other.partner_flow());
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_its_range() {
        let refused = |change: fn(&mut PacketRequest)| plan(Role::Initiator, change).unwrap_err().to_string();
        type Change = fn(&mut PacketRequest);
        let cases: [(&str, Change); 10] = [
            ("64 to 65507", |request| request.size = 63),
            ("64 to 65507", |request| request.size = 65_508),
            ("the interval of 9", |request| request.interval = Ns::from_us(9)),
            ("--sched-priority", |request| request.priority = Some(98)),
            ("1 to 4094", |request| (request.path, request.vlan) = (PacketPath::L2, Some(4_095))),
            ("VLAN interface", |request| request.vlan = Some(5)),
            ("part of IP", |request| (request.path, request.dscp) = (PacketPath::L2, Some(46))),
            ("at least 1", |request| request.end = RunEnd::Samples(0)),
            ("1 to 99", |request| request.sched_priority = Some(0)),
            ("1ns to 10ms", |request| {
                (request.interval, request.launch_time) = (Ns::from_us(10), Some(Ns::from_ms(11)));
            }),
        ];
        for (words, change) in cases {
            assert!(refused(change).contains(words), "{words}: {}", refused(change));
        }
    }

    #[test]
    fn a_receiver_that_never_sleeps_is_no_real_time_thread() {
        let poll = |request: &mut PacketRequest| {
            (request.receive, request.interval) = (ReceiveMode::Poll, Ns::from_us(100));
        };
        assert_eq!(plan(Role::Partner, poll).unwrap_err(), PacketPlanError::Spins);
        assert!(plan(Role::Initiator, poll).is_ok(), "it only sends");
        let ordinary = |request: &mut PacketRequest| {
            poll(request);
            request.sched_priority = None;
        };
        assert!(plan(Role::Partner, ordinary).is_ok());
    }

    #[test]
    fn the_isolated_cpu_is_the_one_that_is_used() {
        let plan = plan(Role::Partner, |_| {}).unwrap();
        assert_eq!((plan.cpu, plan.housekeeping.to_string()), (Some(3), "0-2".to_owned()));
        assert_eq!(plan.schedules, 60_000);
    }
}
