//! The server's half of a run: one thread that sends to all nodes, the comparison of its clock with each of theirs, and what is
//! said to them.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kernel::packet::PacketEndpoint;
use packet::dialog::{Endpoints, Message, SentReport};
use packet::header::Session;
use record::{Direction, Live, LiveDetail, LiveSeries, Moment, Place, PulseRequest, Record};
use units::ClockId;
use units::format::span;

use super::send::hot::Orders;
use super::send::{SendPlan, Sending};
use super::{clocks_apart, complete};
use crate::clock_watch::{ClockWatch, moment_now};
use crate::context::RunContext;
use crate::crew::{ArmError, Ground, GroundPlan, LEAD_NS, Watching, now_ns};
use crate::interval_sink::IntervalSink;
use crate::machine::Machine;
use crate::nodes::clocks::ClockExchange;
use crate::nodes::clocks_seen::ClocksSeen;
use crate::nodes::delays::Delays;
use crate::nodes::ends::Data;
use crate::nodes::half::{FIRST_EXCHANGES, FIRST_EXCHANGES_WITHIN, GRACE, MOST_HEARD, PERIOD, SHOW_PERIOD};
use crate::nodes::halves::{Fresh, ToldHalf, hand_on_half, kept_until};
use crate::nodes::plan::{PacketPlan, Role};
use crate::nodes::services::{FollowServices, Services};
use crate::nodes::{AGREEMENT, Dialog, Ends, HANDING_OVER, NodeThreads, PacketError, PartnerGone};
use crate::stop::Stop;
use crate::witness::{Grant, Measuring, Orders as LookoutOrders, RequestedScheduling, ThrottleWatch};

/// What the server's half needs.
pub struct ServerSetup<'a> {
    /// What is asked.
    pub request: &'a PulseRequest,
    /// The sending thread.
    pub threads: NodeThreads,
    /// The name of the server in the run.
    pub node: &'a str,
    /// The machine.
    pub machine: &'a Machine,
    /// What the record is given about the surroundings.
    pub context: &'a RunContext,
    /// Ends the run early.
    pub stop: &'a Stop,
    /// Takes the intervals of all nodes as they end.
    pub sink: Option<&'a dyn IntervalSink>,
}

/// A node that is to act, which has answered where it receives.
pub struct NodeLink<'a> {
    /// What the packets to it are recognized by.
    pub session: Session,
    /// What they are sent with.
    pub ends: Ends,
    /// Where it receives.
    pub endpoints: Endpoints,
    /// What is said to it and heard of it.
    pub dialog: &'a mut dyn Dialog,
}

/// What is followed of a node.
pub(crate) struct Followed<'a> {
    pub(crate) endpoints: Endpoints,
    pub(crate) dialog: &'a mut dyn Dialog,
    pub(crate) exchange: ClockExchange,
    pub(crate) clocks_seen: ClocksSeen,
    pub(crate) lateness: Delays,
    /// What it said after it was ready, and before all others were.
    early: VecDeque<Message>,
    /// Why it can no longer be reached.
    pub(crate) gone: Option<PartnerGone>,
    /// What it told of its half while the run went on.
    pub(crate) told: ToldHalf,
    /// Its half of the record at its end, as it came.
    pub(crate) half: Option<String>,
}

impl Followed<'_> {
    /// It can no longer be reached, in a run that began at a moment.
    fn lose(&mut self, gone: &PartnerGone, started: Moment) {
        let elapsed_ns = moment_now().monotonic.since(started.monotonic).0;
        self.gone = Some(PartnerGone(format!("{} into the run: {gone}", span(elapsed_ns))));
    }

    /// The next of what it has said.
    fn hear(&mut self) -> Result<Option<Message>, PartnerGone> {
        match self.early.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self.dialog.hear(Duration::ZERO),
        }
    }

    /// Its half of the record: at its end, or else what it told of it; why that cannot be read beside.
    pub(crate) fn take_half(&mut self) -> (Option<Record>, Option<String>) {
        let unread = self.told.unread().map(|why| format!("what it told of its half could not be read: {why}"));
        match self.half.take().map(|text| Record::from_json(&text)) {
            Some(Ok(rest)) => (Some(self.told.whole(rest)), unread),
            Some(Err(error)) => (self.until_lost(), Some(format!("its half cannot be read: {error}"))),
            None => (self.until_lost(), unread),
        }
    }

    fn until_lost(&mut self) -> Option<Record> {
        let mut told = self.told.until_lost()?;
        ::pulse::join::goes_on(&mut told);
        Some(told)
    }
}

/// A node, once what is said to it and heard of it is there.
type Silent<'a> = Box<dyn FnOnce(&'a mut dyn Dialog) -> Followed<'a> + 'a>;

/// The server's half of a run, its thread ready.
pub(crate) struct Server<'a> {
    pub(crate) setup: &'a ServerSetup<'a>,
    pub(crate) plan: PacketPlan,
    pub(crate) ground: Ground,
    pub(crate) throttle: ThrottleWatch,
    pub(crate) grants: Vec<Grant>,
    pub(crate) sending: Sending,
    pub(crate) nodes: Vec<Followed<'a>>,
    pub(crate) services: Option<Services>,
    pub(crate) clocks: ClockWatch,
    pub(crate) way: String,
    pub(crate) started: Moment,
    /// Intervals of the server that have ended and were not handed on.
    pub(crate) fresh: Fresh,
    /// What was sent, once it was said to the nodes.
    reported: bool,
    /// Why it was stopped before its time.
    pub(crate) stopped: Option<String>,
}

impl<'a> Server<'a> {
    /// Starts the thread, and begins to compare the clocks.
    ///
    /// # Errors
    /// Where this machine lacks something for it. All nodes are told.
    pub(crate) fn arm(
        setup: &'a ServerSetup<'a>,
        links: Vec<NodeLink<'a>>,
        follow_services: FollowServices,
    ) -> Result<(Self, Watching), PacketError> {
        let (mut dialogs, mut others) = (Vec::new(), Vec::new());
        for NodeLink { session, ends, endpoints, dialog } in links {
            dialogs.push(dialog);
            others.push((session, ends, endpoints));
        }
        match Self::armed(setup, others, follow_services) {
            Ok((mut server, watching, silent)) => {
                server.nodes = silent.into_iter().zip(dialogs).map(|(node, dialog)| node(dialog)).collect();
                Ok((server, watching))
            }
            Err(error) => {
                let why = error.to_string();
                for dialog in dialogs {
                    // One of them may be the one that is gone.
                    let _ = dialog.say(&Message::Refused { why: why.clone() });
                }
                Err(error)
            }
        }
    }

    /// The server without its nodes, and each of these without what is said to it.
    fn armed(
        setup: &'a ServerSetup<'a>,
        others: Vec<(Session, Ends, Endpoints)>,
        follow_services: FollowServices,
    ) -> Result<(Self, Watching, Vec<Silent<'a>>), PacketError> {
        let packets = setup.request.packets();
        let plan = PacketPlan::new(&packets, Role::Initiator, setup.threads, setup.machine)?;
        let ground = Ground::take(GroundPlan {
            clock: ClockId::Realtime,
            cpu: plan.cpu,
            housekeeping: &plan.housekeeping,
            lock_memory: true,
            real_time: plan.policy.priority() > 0,
        });
        let services = if packets.sync {
            let begun = Services::begin(setup.machine, packets.max_drift_ppb, follow_services);
            Some(begun.map_err(PacketError::Failed)?)
        } else {
            None
        };
        let way = others.first().map(|(_, ends, _)| ends.in_words()).unwrap_or_default();
        let start_ns = now_ns(ClockId::Realtime);
        let keeping = kept_until(packets.end, setup.sink.is_some());
        let series =
            |name| Delays::new(name, start_ns, plan.interval_maximum_ns).keeping(keeping, setup.sink.is_some());
        let (mut nodes, mut data) = (Vec::<Silent<'a>>::new(), Vec::new());
        for (session, mut ends, endpoints) in others {
            ends.aim(&endpoints)?;
            let reaches = ends.clock_of(&endpoints);
            let Ends { clock, data: of_node, .. } = ends;
            let exchange =
                ClockExchange::begin(clock, reaches, session, true, &plan.housekeeping).map_err(PacketError::Failed)?;
            data.push((of_node, session));
            let (clocks_seen, lateness) = (ClocksSeen::new(packets.max_drift_ppb, series), series("scheduled_to_sent"));
            nodes.push(Box::new(move |dialog| Followed {
                endpoints,
                dialog,
                exchange,
                clocks_seen,
                lateness,
                early: VecDeque::new(),
                gone: None,
                told: ToldHalf::new(keeping),
                half: None,
            }));
        }
        let sending = start_sending(setup, &plan, data)?;
        let grants = vec![sending.member.grant.clone()];
        let priority = plan.policy.priority();
        let throttle = ThrottleWatch::begin(&[Measuring { tid: sending.member.tid, cpu: plan.cpu, priority }]);
        let measured = plan.cpu.into_iter().collect();
        let ranked = if priority > 0 { LookoutOrders::ranked(&grants, &measured) } else { Vec::new() };
        let known = (&plan.housekeeping, ground.memory());
        let orders =
            LookoutOrders { ranked, ..LookoutOrders::of_pinned(grants.clone(), measured, known, setup.sink.is_some()) };
        let watched = if let Some(cpu) = plan.cpu { [cpu].into_iter().collect() } else { setup.machine.online.clone() };
        let watching = Watching::begin(&watched, orders);
        let server = Self {
            setup,
            plan,
            ground,
            throttle,
            grants,
            sending,
            nodes: Vec::new(),
            services,
            clocks: ClockWatch::new(ClockId::Realtime),
            way,
            started: moment_now(),
            fresh: Fresh::default(),
            reported: false,
            stopped: None,
        };
        Ok((server, watching, nodes))
    }

    /// Lets all nodes begin, once their clocks were compared and none of them is known to be of another time.
    ///
    /// # Errors
    /// If a node does not take part, or acts by a clock that the exchange shows to be too far from the server's. All nodes are told.
    pub(crate) fn begin(&mut self) -> Result<(), PacketError> {
        let begun = self.agree();
        if let Err(error) = &begun {
            let why = error.to_string();
            for node in &mut self.nodes {
                // One of them may be the one that is gone.
                let _ = node.dialog.say(&Message::Refused { why: why.clone() });
            }
        }
        begun
    }

    fn agree(&mut self) -> Result<(), PacketError> {
        let until = Instant::now() + FIRST_EXCHANGES_WITHIN;
        while self.nodes.iter().any(|node| node.exchange.complete() < FIRST_EXCHANGES) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.take_over();
        for node in &self.nodes {
            if let Some(why) = clocks_apart(self.setup.request, &node.endpoints.node, node.clocks_seen.track.points()) {
                return Err(PacketError::Failed(why));
            }
        }
        for node in &mut self.nodes {
            node.dialog.say(&Message::Begin)?;
        }
        let until = Instant::now() + AGREEMENT;
        let mut are_ready = vec![false; self.nodes.len()];
        loop {
            // All in turns: one that hears nothing for some seconds would take this program for stopped.
            for (node, is_ready) in self.nodes.iter_mut().zip(&mut are_ready) {
                let name = &node.endpoints.node;
                match node.dialog.hear(Duration::ZERO)? {
                    Some(Message::Begin) => *is_ready = true,
                    Some(Message::Refused { why }) => return Err(PacketError::Refused(format!("{name}: {why}"))),
                    Some(Message::Stop { why }) => {
                        return Err(PacketError::Failed(format!("{name} ended the run before it began: {why}")));
                    }
                    // One that has begun may tell of itself already.
                    Some(message) if *is_ready => node.early.push_back(message),
                    Some(_) => return Err(PacketError::Unexpected("something else than that it is ready")),
                    None => {}
                }
            }
            let waits_for = self.nodes.iter().zip(&are_ready).find(|(_, is_ready)| !**is_ready);
            let Some((node, _)) = waits_for else { return Ok(()) };
            if self.setup.stop.ended_early() {
                return Err(PacketError::Failed("ended before the run began".to_owned()));
            }
            if Instant::now() > until {
                let (name, within) = (&node.endpoints.node, AGREEMENT.as_secs());
                return Err(PacketError::Failed(format!("{name} did not get ready within {within} s")));
            }
            std::thread::sleep(PERIOD);
        }
    }

    /// Sends all orders, and hears of the nodes until they have told what they did with them.
    pub(crate) fn carry_out(&mut self, watching: &Watching, observe: &mut dyn FnMut(&Live)) {
        self.started = moment_now();
        let started_ns = self.started.realtime.as_ns();
        for node in &mut self.nodes {
            node.lateness.begin_at(started_ns);
            node.clocks_seen.round_trips.begin_at(started_ns);
        }
        watching.run_starts(self.started);
        self.throttle.run_begins();
        let interval_ns = self.plan.interval_ns;
        // At whole intervals of the clock that all share: who looks at an edge knows where it belongs.
        let start_ns = (started_ns + LEAD_NS).div_euclid(interval_ns) * interval_ns + interval_ns;
        self.sending.member.begin_at(start_ns);
        let began = Instant::now();
        let (mut ended_at, mut next_show) = (None::<Instant>, began);
        loop {
            self.clocks.look();
            self.take_over();
            if !self.reported && self.sending.member.is_finished() {
                self.reported = true;
                self.say_what_was_sent();
                ended_at = Some(Instant::now());
            }
            self.hand_on_ended(watching);
            self.hear_all(watching);
            if self.setup.stop.ended_early() && self.stopped.is_none() {
                self.stopped = Some("it was ended on this node".to_owned());
            }
            if self.stopped.is_some()
                || self.setup.stop.watchdog_fired()
                || self.nodes.iter().all(|node| node.gone.is_some())
            {
                self.sending.shared.stop.store(true, Ordering::Relaxed);
                self.sending.member.call_off();
                ended_at.get_or_insert_with(Instant::now);
            }
            let is_told = self.nodes.iter().all(|node| node.half.is_some() || node.gone.is_some());
            let is_over = self.reported && is_told;
            if is_over || ended_at.is_some_and(|at| at.elapsed() > HANDING_OVER) {
                break;
            }
            if Instant::now() >= next_show {
                next_show = Instant::now() + SHOW_PERIOD;
                observe(&self.live(began));
            }
            self.clocks.sleep(PERIOD);
        }
        let until = Instant::now() + GRACE;
        while !self.sending.member.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        for node in &mut self.nodes {
            node.exchange.end();
            if node.half.is_none() && node.gone.is_none() {
                node.gone = Some(PartnerGone("it did not hand its half of the record over".to_owned()));
            }
        }
        self.take_over();
    }

    /// The last words before the nodes make their halves: what was sent, or that the run was ended.
    fn say_what_was_sent(&mut self) {
        for (number, node) in self.nodes.iter_mut().enumerate().filter(|(_, node)| node.gone.is_none()) {
            let report: SentReport = self.sending.shared.report(number);
            if let Err(gone) = node.dialog.say(&Message::Sent { report }) {
                node.lose(&gone, self.started);
            }
        }
    }

    /// Hands the server's own intervals on, where it is time.
    fn hand_on_ended(&mut self, watching: &Watching) {
        self.take_fresh();
        if self.fresh.is_due() {
            let own = self.so_far(watching);
            let half = self.fresh.put_into(own.clone());
            self.hand_on(half, own);
        }
    }

    /// Takes the server's intervals that have ended.
    pub(crate) fn take_fresh(&mut self) {
        let mut fresh = std::mem::take(&mut self.fresh);
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let flow = u32::try_from(number).unwrap_or(u32::MAX);
            let place = |direction| Place::Flow { flow, direction, queue: None };
            fresh.take(&place(Direction::Sent), &mut node.lateness);
            fresh.take(&place(Direction::RoundTrip), &mut node.clocks_seen.round_trips);
        }
        self.fresh = fresh;
    }

    /// Hands on the intervals of a half, with the record of all nodes until now, of which `own` is the server's.
    fn hand_on(&self, half: Record, own: Record) {
        let Some(sink) = self.setup.sink else { return };
        let mut so_far = own;
        for mut told in self.nodes.iter().filter_map(|node| node.told.so_far()) {
            ::pulse::join::goes_on(&mut told);
            // One of another run was not read.
            so_far = ::pulse::join::join(so_far.clone(), told).unwrap_or(so_far);
        }
        so_far.label.clone_from(&self.setup.context.label);
        complete(&mut so_far);
        hand_on_half(sink, half, so_far);
    }

    fn hear_all(&mut self, watching: &Watching) {
        let mut told = Vec::new();
        for node in self.nodes.iter_mut().filter(|node| node.gone.is_none()) {
            // One that has handed its half over waits for that of the others, and hears that this program lives; it may go, too.
            if node.half.is_some() {
                let _ = node.dialog.hear(Duration::ZERO);
                continue;
            }
            for _ in 0..MOST_HEARD {
                match node.hear() {
                    Ok(Some(Message::Half { record })) => {
                        node.half = Some(record);
                        break;
                    }
                    Ok(Some(Message::Stop { why })) => {
                        self.stopped.get_or_insert(format!("{} ended the run: {why}", node.endpoints.node));
                    }
                    Ok(Some(Message::Told { piece })) => {
                        told.extend(node.told.hear(&piece));
                        let heard = if piece.is_last { node.dialog.say(&Message::Heard) } else { Ok(()) };
                        if let Err(gone) = heard {
                            node.lose(&gone, self.started);
                            break;
                        }
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(gone) => {
                        node.lose(&gone, self.started);
                        break;
                    }
                }
            }
        }
        for half in told {
            // After what the node told, so that the orders which arrived are among those sent.
            let own = self.so_far(watching);
            self.hand_on(half, own);
        }
    }

    /// Takes over what waits in the rings.
    fn take_over(&mut self) {
        let mut long = Vec::new();
        for (node, shared) in self.nodes.iter_mut().zip(&self.sending.shared.nodes) {
            for exchanged in node.exchange.take() {
                node.clocks_seen.take(&exchanged, &self.clocks);
            }
            let (lateness, clocks) = (&mut node.lateness, &self.clocks);
            shared.ring.drain(|slots| lateness.take_slots(slots, clocks));
            long.extend(node.lateness.take_long());
        }
        let _ = self.throttle.look(now_ns(ClockId::Monotonic), &[long]);
    }

    fn live(&self, began: Instant) -> Live {
        let flows = self.nodes.iter().enumerate().map(|(flow, node)| {
            let sent = self.sending.shared.report(flow).sent;
            let place =
                Place::Flow { flow: u32::try_from(flow).unwrap_or(u32::MAX), direction: Direction::Sent, queue: None };
            LiveSeries { place, detail: LiveDetail::Sent { sent }, ..node.lateness.live() }
        });
        let clocks = self.nodes.iter().filter_map(|node| {
            let seen = node.clocks_seen.last?;
            let what = "the server's clock less the node's";
            Some(LiveSeries::clock(what, None, Some(seen.offset_ns), Some(seen.bound.into())))
        });
        Live {
            elapsed_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            duration_ns: self.plan.duration_ns,
            series: flows.chain(clocks).collect(),
            bins: Vec::new(),
        }
    }
}

/// Starts the thread that sends, over ends that are all of one path.
fn start_sending(
    setup: &ServerSetup<'_>,
    plan: &PacketPlan,
    data: Vec<(Data, Session)>,
) -> Result<Sending, PacketError> {
    let (mut udp, mut link, mut xdp) = (Vec::new(), Vec::new(), Vec::new());
    for (data, session) in data {
        match data {
            Data::Udp { sender, .. } => udp.push((*sender, session)),
            Data::Link { sender, .. } => link.push((*sender, session)),
            Data::Xdp(end) => xdp.push((end.split().0, session)),
        }
    }
    let request = setup.request;
    let send_plan = SendPlan {
        orders: Orders {
            lead_ns: request.lead.0,
            active_ns: request.active().0,
            mark: request.mark.map_or(0, u64::from),
        },
        size: usize::try_from(request.size).unwrap_or(0),
        interval_ns: plan.interval_ns,
        schedules: plan.schedules,
    };
    Ok(started(udp, setup, plan, send_plan)
        .or_else(|| started(link, setup, plan, send_plan))
        .or_else(|| started(xdp, setup, plan, send_plan))
        .ok_or_else(|| PacketError::Failed("there is no node to send to".to_owned()))??)
}

fn started<E: PacketEndpoint + Send + 'static>(
    ends: Vec<(E, Session)>,
    setup: &ServerSetup<'_>,
    plan: &PacketPlan,
    send_plan: SendPlan,
) -> Option<Result<Sending, ArmError>> {
    if ends.is_empty() {
        return None;
    }
    let wanted = RequestedScheduling { thread: 0, policy: plan.policy, cpu: plan.cpu };
    Some(Sending::start(ends, send_plan, wanted, setup.stop.watchdog()))
}
