//! A node's half of a run while it goes on: its threads, what they hand over, and what is said to the partner.

use std::time::{Duration, Instant};

use kernel::clock::KernelClock;
use packet::dialog::{Endpoints, Message, SentReport};
use packet::hardware::HardwareScale;
use packet::receiving::{Clocks, Receiving};
use packet::stragglers::{self, Awaiting, Wait};
use record::{Direction, Live, LiveDetail, LiveSeries, Moment, Place, Record};
use units::ClockId;

use super::clocks::ClockExchange;
use super::clocks_seen::ClocksSeen;
use super::delays::Delays;
use super::ends::Data;
use super::explain::Explaining;
use super::flows::{ReceivedFlow, SentFlow, start_threads};
use super::halves::{Fresh, keeping};
use super::hardware::Hardware;
use super::launch::Launcher;
use super::plan::{PacketPlan, Role};
use super::services::Services;
use super::{Beside, Ends, OfKind, PacketError, PartnerGone, PartnerLink, ReceiverStart, Setup};
use crate::clock_watch::{ClockWatch, moment_now};
use crate::crew::{Ground, GroundPlan, LEAD_NS, Watching, now_ns};
use crate::witness::{Grant, Measuring, Orders, ThrottleWatch};

/// Between two looks at the rings.
pub(crate) const PERIOD: Duration = Duration::from_millis(20);
/// Between two looks of a person.
pub(crate) const SHOW_PERIOD: Duration = Duration::from_millis(200);
/// How long a thread may take to end after it was stopped, and the partner to say what it sent.
pub(crate) const GRACE: Duration = Duration::from_secs(3);
/// Messages of the partner that are heard at once.
pub(crate) const MOST_HEARD: usize = 64;
/// Exchanges of the clocks that a run waits for before it begins, and how long at most.
pub(crate) const FIRST_EXCHANGES: u64 = 5;
pub(crate) const FIRST_EXCHANGES_WITHIN: Duration = Duration::from_secs(1);

/// How a half ended before its time.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// Why it was stopped, by whom.
    pub(super) stopped: Option<String>,
    pub(super) gone: Option<PartnerGone>,
    /// When the partner said that it had sent all.
    partner_sent: Option<Instant>,
    /// What the partner said that it had sent, if all of it has had the time to arrive.
    pub(super) partner_report: Option<SentReport>,
    /// How it was waited for what is missing of that; absent if nothing is.
    pub(super) awaited: Option<Awaited>,
    /// The partner's half, where it came before this node was done.
    pub(super) partner_half: Option<String>,
}

/// A wait for packets that are missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    /// From the partner's word that it sent the last to the end of the wait (ns).
    pub(super) ns: u64,
    /// Whether others still came when it ended.
    pub(super) may_still_come: bool,
}

/// A node's half of a run, its threads ready.
pub(super) struct Half<'a> {
    pub(super) setup: &'a Setup<'a>,
    pub(super) plan: PacketPlan,
    pub(super) partner: Endpoints,
    pub(super) way: String,
    pub(super) launcher: Option<Launcher>,
    pub(super) ground: Ground,
    pub(super) throttle: ThrottleWatch,
    pub(super) grants: Vec<Grant>,
    pub(super) sent: Option<SentFlow>,
    pub(super) received: Option<ReceivedFlow>,
    pub(super) exchange: ClockExchange,
    pub(super) clocks_seen: ClocksSeen,
    /// The stamps of this node's interface, where they are asked for.
    pub(super) hardware: Option<Hardware>,
    /// The clock of the partner's interface, where it stamps what the partner sends.
    partner_hardware: Option<HardwareScale>,
    /// What follows the time services, where they are asked.
    pub(super) services: Option<Services>,
    /// What explains late packets, where this node's user asked for it.
    pub(super) explaining: Option<Explaining>,
    pub(super) clocks: ClockWatch,
    pub(super) started: Moment,
    /// Intervals that have ended and were not handed on.
    pub(super) fresh: Fresh,
    /// What the kind makes of it.
    pub(super) beside: Box<dyn Beside + 'a>,
}

impl<'a> Half<'a> {
    /// Starts the threads, and begins to compare the clocks.
    pub(super) fn arm(
        setup: &'a Setup<'a>,
        mut ends: Ends,
        partner: &Endpoints,
        of_kind: OfKind<'a, impl ReceiverStart>,
    ) -> Result<(Self, Watching), PacketError> {
        let OfKind { start, beside, flow, follow_services, .. } = of_kind;
        let plan = PacketPlan::new(setup.request, setup.role, setup.threads, setup.machine)?;
        let plan = match flow {
            Some(flow) => plan.with_flow(flow),
            None => plan,
        };
        let (keeping, are_handed_on) = (keeping(setup), setup.sink.is_some() || partner.wants_half);
        let way = ends.in_words();
        ends.aim(partner)?;
        let reaches = ends.clock_of(partner);
        let Ends { clock, data, hardware, launcher, .. } = ends;
        let ground = Ground::take(GroundPlan {
            clock: ClockId::Monotonic,
            cpu: plan.cpu,
            housekeeping: &plan.housekeeping,
            lock_memory: true,
            real_time: plan.policy.priority() > 0,
        });
        let online = &setup.machine.online;
        let explaining = setup.explain.clone().map(|(config, cost)| Explaining::load(config, cost, &plan, online));
        let recorded = explaining.as_ref().and_then(Explaining::recorded);
        let asks = setup.role == Role::Initiator;
        let exchange = ClockExchange::begin(clock, reaches, setup.session, asks, &plan.housekeeping)
            .map_err(PacketError::Failed)?;
        let services = if plan.request.sync {
            let begun = Services::begin(setup.machine, plan.request.max_drift_ppb, follow_services);
            Some(begun.map_err(PacketError::Failed)?)
        } else {
            None
        };
        let start_ns = now_ns(ClockId::Realtime);
        let interval_maximum_ns = plan.interval_maximum_ns;
        let series = move |name| Delays::new(name, start_ns, interval_maximum_ns).keeping(keeping, are_handed_on);
        let (sent, received) = match data {
            Data::Udp { receiver, sender } => {
                start_threads(&plan, setup, *receiver, *sender, &series, launcher, recorded, start)?
            }
            Data::Link { receiver, sender } => {
                start_threads(&plan, setup, *receiver, *sender, &series, launcher, recorded, start)?
            }
            Data::Xdp(end) => {
                let (sender, receiver) = end.split();
                start_threads(&plan, setup, receiver, sender, &series, launcher, recorded, start)?
            }
        };
        let members: Vec<(u32, Grant)> = sent
            .iter()
            .map(|flow| (flow.sending.member.tid, flow.sending.member.grant.clone()))
            .chain(received.iter().map(|flow| (flow.receives.member.tid, flow.receives.member.grant.clone())))
            .collect();
        let priority = plan.policy.priority();
        let measuring = |(tid, _): &(u32, Grant)| Measuring { tid: *tid, cpu: plan.cpu, priority };
        let throttle = ThrottleWatch::begin(&members.iter().map(measuring).collect::<Vec<_>>());
        let grants: Vec<Grant> = members.into_iter().map(|(_, grant)| grant).collect();
        let measured = plan.cpu.into_iter().collect();
        let ranked = if priority > 0 { Orders::ranked(&grants, &measured) } else { Vec::new() };
        let known = (&plan.housekeeping, ground.memory());
        let orders = Orders { ranked, ..Orders::of_pinned(grants.clone(), measured, known, are_handed_on) };
        let watched = if let Some(cpu) = plan.cpu { [cpu].into_iter().collect() } else { setup.machine.online.clone() };
        let watching = Watching::begin(&watched, orders);
        let half = Self {
            setup,
            partner: partner.clone(),
            way,
            launcher,
            ground,
            throttle,
            grants,
            sent,
            received,
            exchange,
            clocks_seen: ClocksSeen::new(plan.request.max_drift_ppb, series),
            hardware,
            partner_hardware: partner.hardware_stamps.then(HardwareScale::default),
            services,
            explaining,
            clocks: ClockWatch::new(ClockId::Realtime),
            plan,
            started: moment_now(),
            fresh: Fresh::default(),
            beside,
        };
        Ok((half, watching))
    }

    /// Waits until the clocks have been compared a few times, so that the first packets are related too.
    pub(super) fn wait_for_clocks(&self) {
        let until = Instant::now() + FIRST_EXCHANGES_WITHIN;
        while self.exchange.complete() < FIRST_EXCHANGES && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lets this node receive. The partner is told to begin only afterwards, so that none of its packets can come before.
    pub(super) fn listen(&mut self) -> Result<(), PacketError> {
        let Some(flow) = &self.received else { return Ok(()) };
        if let Some(explaining) = &mut self.explaining {
            explaining.begin(&flow.receives, &self.plan);
        }
        Ok(flow.receives.listen()?)
    }

    /// The run starts now. Whoever is told of the clocks while it lasts knows of them from the beginning: the first packet may come as
    /// soon as the partner is told to begin.
    pub(super) fn start(&mut self, watching: &Watching) {
        self.started = moment_now();
        self.count_from(self.started.realtime.as_ns());
        watching.run_starts(self.started);
        self.throttle.run_begins();
        self.take_over(false);
    }

    /// Runs to the end, and makes the record of this half; also how it ended.
    pub(super) fn carry_out(
        mut self,
        watching: Watching,
        link: &mut PartnerLink<'_, '_>,
        observe: &mut dyn FnMut(&Live),
    ) -> (Record, Ending) {
        let start_ns = now_ns(ClockId::Monotonic) + LEAD_NS;
        if let Some(flow) = &self.sent {
            let ahead_ns = self.started.realtime.as_ns() - self.started.monotonic.as_ns();
            flow.sending.shared.realtime_ahead_ns.store(ahead_ns, std::sync::atomic::Ordering::Relaxed);
            flow.sending.member.begin_at(start_ns);
        }
        let ending = self.watch(&watching, link, observe);
        (self.finish(watching, &ending, link.halves), ending)
    }

    /// Lets the intervals of everything that is collected begin with the run, so that all of them have one axis of time. Nothing
    /// was collected yet.
    fn count_from(&mut self, start_ns: i64) {
        self.each_series(|_, delays| delays.begin_at(start_ns));
        if let Some(flow) = &mut self.received {
            flow.receiving = Receiving::from(start_ns, self.plan.bringing_ns());
        }
    }

    /// Visits everything that is collected, each with its place.
    pub(super) fn each_series(&mut self, mut visit: impl FnMut(&Place, &mut Delays)) {
        let place = |flow: u8, direction| Place::Flow { flow: flow.into(), direction, queue: None };
        if let Some(SentFlow { lateness, launched, .. }) = &mut self.sent {
            let place = place(self.plan.own_flow(), Direction::Sent);
            [lateness, launched].into_iter().for_each(|delays| visit(&place, delays));
        }
        if let Some(flow) = &mut self.received {
            let place = place(self.plan.partner_flow(), Direction::Received);
            let ReceivedFlow { delays, to_driver, between, to_program, hardware, .. } = flow;
            let all = [delays, to_driver, between, to_program].into_iter().chain(&mut hardware.parts);
            all.for_each(|delays| visit(&place, delays));
        }
        let place = place(self.plan.own_flow(), Direction::RoundTrip);
        visit(&place, &mut self.clocks_seen.round_trips);
        self.beside.each_series(&mut visit);
    }

    /// The half so far, with the intervals that have ended since the last time, where it is time to hand them on.
    fn ended(&mut self, watching: &Watching) -> Option<Record> {
        self.take_fresh();
        if !self.fresh.is_due() {
            return None;
        }
        let so_far = self.so_far(watching);
        Some(self.fresh.put_into(so_far))
    }

    /// Takes the intervals that have ended.
    pub(super) fn take_fresh(&mut self) {
        let mut fresh = std::mem::take(&mut self.fresh);
        self.each_series(|place, delays| fresh.take(place, delays));
        self.fresh = fresh;
    }

    /// Takes over what the threads hand out until the run is over.
    fn watch(&mut self, watching: &Watching, link: &mut PartnerLink<'_, '_>, observe: &mut dyn FnMut(&Live)) -> Ending {
        let began = Instant::now();
        let mut ending = Ending::default();
        let (mut given_up, mut next_show) = (None, began);
        loop {
            self.clocks.look();
            self.take_over(false);
            let report = self.newly_sent();
            if let Some(hardware) = &mut self.hardware {
                // All stamps of what was sent lie before a last reading.
                if report.is_some() {
                    hardware.read();
                } else {
                    hardware.look();
                }
                for reading in hardware.take_unsaid() {
                    note(&mut ending, link.dialog.say(&Message::HardwareClock { reading }));
                }
            }
            if let Some(report) = report {
                note(&mut ending, link.dialog.say(&Message::Sent { report }));
            }
            if let Some(so_far) = self.ended(watching) {
                link.halves.take_own(so_far);
            }
            if let Some(piece) = link.halves.piece().filter(|_| ending.gone.is_none()) {
                match link.dialog.offer(&Message::Told { piece }) {
                    Ok(true) => link.halves.went(),
                    Ok(false) => {}
                    Err(gone) => note(&mut ending, Err(gone)),
                }
            }
            // No more at once than come in a long turn.
            for _ in 0..MOST_HEARD {
                match link.dialog.hear(Duration::ZERO) {
                    Ok(Some(message)) => self.heard(message, &mut ending, link, watching),
                    Ok(None) => break,
                    // One that has handed its half over may go.
                    Err(_) if ending.partner_half.is_some() => break,
                    Err(gone) => {
                        note(&mut ending, Err(gone));
                        break;
                    }
                }
            }
            if self.setup.stop.ended_early() && ending.stopped.is_none() {
                ending.stopped = Some("it was ended on this node".to_owned());
                note(&mut ending, link.dialog.say(&Message::Stop { why: "it was ended there".to_owned() }));
            }
            if ending.stopped.is_some() || ending.gone.is_some() || self.setup.stop.watchdog_fired() {
                self.stop_sending();
                given_up.get_or_insert_with(|| Instant::now() + GRACE);
            }
            if self.is_over(ending.partner_sent, given_up, &ending) {
                break;
            }
            if Instant::now() >= next_show {
                next_show = Instant::now() + SHOW_PERIOD;
                observe(&self.live(began));
            }
            self.clocks.sleep(PERIOD);
        }
        let partner_sent = ending.partner_sent;
        // What was on its way then may not have come yet.
        let wait = partner_sent.map_or(Wait::GoOn, |at| self.awaiting(at, ending.partner_report));
        ending.partner_report = ending.partner_report.filter(|_| wait != Wait::GoOn);
        ending.awaited = partner_sent.filter(|_| matches!(wait, Wait::Lost | Wait::Open)).map(|at| Awaited {
            ns: u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX),
            may_still_come: wait == Wait::Open,
        });
        self.stop_all();
        ending
    }

    /// Takes what the partner said.
    fn heard(&mut self, message: Message, ending: &mut Ending, link: &mut PartnerLink<'_, '_>, watching: &Watching) {
        match message {
            Message::Sent { report } => {
                ending.partner_sent = Some(Instant::now());
                ending.partner_report = Some(report);
            }
            Message::HardwareClock { reading } => {
                let _ = self.partner_hardware.as_mut().map(|scale| scale.take(reading));
            }
            Message::Stop { why } => {
                ending.stopped.get_or_insert(format!("the partner ended the run: {why}"));
            }
            Message::Told { piece } => {
                if link.halves.hear(&piece, || self.so_far(watching)) {
                    note(ending, link.dialog.say(&Message::Heard));
                }
            }
            Message::Heard => link.halves.was_heard(),
            Message::Half { record } => {
                ending.partner_sent.get_or_insert_with(Instant::now);
                ending.partner_half = Some(record);
            }
            Message::Ready { .. } | Message::Refused { .. } | Message::Begin => {}
        }
    }

    /// Whether nothing more is to come.
    fn is_over(&self, partner_sent: Option<Instant>, given_up: Option<Instant>, ending: &Ending) -> bool {
        let now = Instant::now();
        let own_is_done = self.sent.as_ref().is_none_or(|flow| flow.report.is_some());
        let partner_is_done = self.received.is_none()
            || partner_sent.is_some_and(|at| {
                self.awaiting(at, ending.partner_report) != Wait::GoOn && self.is_done_beside(at.elapsed())
            });
        (own_is_done && (partner_is_done || ending.gone.is_some())) || given_up.is_some_and(|at| now >= at)
    }

    /// Whether what came was dealt with, too.
    fn is_done_beside(&self, since_sent: Duration) -> bool {
        self.received.as_ref().is_none_or(|flow| self.beside.is_done(flow.receiving.arrivals().once, since_sent))
    }

    /// Whether more can come, once the partner has said what it sent.
    fn awaiting(&self, said_at: Instant, sent: Option<SentReport>) -> Wait {
        let since_said = said_at.elapsed();
        let (Some(flow), Some(sent)) = (&self.received, sent) else {
            return if since_said >= stragglers::LEAST { Wait::Complete } else { Wait::GoOn };
        };
        let delays = flow.delays.live();
        Awaiting {
            since_said,
            sent: sent.sent,
            arrived: flow.receiving.arrivals().once,
            since_arrival: flow.last_came.map(|at| at.elapsed()),
            longest_delay: delays.figures.map(|figures| Duration::from_nanos(figures.max_ns)),
        }
        .judge()
    }

    fn stop_sending(&self) {
        if let Some(flow) = &self.sent {
            flow.sending.shared.stop.store(true, std::sync::atomic::Ordering::Relaxed);
            flow.sending.member.call_off();
        }
    }

    fn stop_all(&mut self) {
        self.stop_sending();
        if let Some(flow) = &self.received {
            flow.receives.shared.stop.store(true, std::sync::atomic::Ordering::Relaxed);
            flow.receives.member.call_off();
        }
        let until = Instant::now() + GRACE;
        let is_finished = |half: &Self| {
            half.sent.as_ref().is_none_or(|flow| flow.sending.member.is_finished())
                && half.received.as_ref().is_none_or(|flow| flow.receives.member.is_finished())
        };
        while !is_finished(self) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.received.as_ref().is_some_and(|flow| !flow.receives.member.is_finished()) {
            self.beside.is_stuck();
        }
        // One more exchange, so that the last packets lie between two.
        std::thread::sleep(PERIOD * 2);
        self.exchange.end();
        if let Some(hardware) = &mut self.hardware {
            hardware.read();
        }
        self.take_over(true);
    }

    /// What this node has sent, once its thread has ended and it was not said yet.
    fn newly_sent(&mut self) -> Option<SentReport> {
        let flow = self.sent.as_mut().filter(|flow| flow.report.is_none() && flow.sending.member.is_finished())?;
        // What the loop counted is asked for at the end; what others need of it stands in what is shared.
        let report = flow.sending.shared.report();
        flow.report = Some(report);
        Some(report)
    }

    /// Takes over what waits in the rings.
    fn take_over(&mut self, is_end: bool) {
        for exchanged in self.exchange.take() {
            self.clocks_seen.take(&exchanged, &self.clocks);
        }
        self.beside.take_over(&self.clocks, &self.clocks_seen);
        let mut long = Vec::new();
        if let Some(flow) = &mut self.sent {
            let SentFlow { sending, lateness, launched, .. } = flow;
            let (shared, clocks) = (&sending.shared, &self.clocks);
            shared.ring.drain(|slots| lateness.take_slots(slots, clocks));
            shared.launched.drain(|slots| launched.take_slots(slots, clocks));
            long.push(flow.lateness.take_long());
        }
        if let Some(flow) = &mut self.received {
            while let Ok(some) = flow.receives.ring.read_chunk(flow.receives.ring.slots()) {
                if some.is_empty() {
                    break;
                }
                // In place: a packet and what it brings are long.
                let (first, rest) = some.as_slices();
                flow.receiving.take_all(first);
                flow.receiving.take_all(rest);
                some.commit_all();
                flow.last_came = Some(Instant::now());
            }
            let now_ns = kernel::clock::now_ns(KernelClock::from(ClockId::Realtime));
            let ReceivedFlow {
                receiving,
                settled,
                counted,
                worst,
                delays,
                to_driver,
                between,
                to_program,
                hardware,
                ..
            } = flow;
            let clocks = &self.clocks;
            let known = Clocks {
                relation: &self.clocks_seen.relation,
                sender: self.partner_hardware.as_ref(),
                receiver: self.hardware.as_ref().and_then(Hardware::receiving_scale),
            };
            let stamped = [known.sender.is_some(), known.receiver.is_some()];
            receiving.settle(&known, now_ns, is_end, settled);
            for one in settled.iter() {
                worst.take(one);
                if let Some(parts) = &one.hardware {
                    hardware.take(parts, one.received_ns, stamped, clocks);
                }
                let reading_error_ns = one.sent_to_received.map_or(0, |delay| delay.reading_error_ns);
                counted.reading_error_ns = counted.reading_error_ns.max(reading_error_ns);
            }
            counted.unrelated += delays.take_each(settled, |one| one.sent_to_received.as_ref(), clocks);
            between.take_each(settled, |one| one.transmitted_to_arrived.as_ref(), clocks);
            counted.without_transmitted += to_driver.take_each_exact(settled, |one| one.sent_to_transmitted_ns, clocks);
            counted.without_arrived += to_program.take_each_exact(settled, |one| one.arrived_to_received_ns, clocks);
            settled.clear();
            long.push(Vec::new());
            if let Some(explaining) = &mut self.explaining {
                explaining.look(&self.clocks, &flow.to_program);
            }
        }
        let _ = self.throttle.look(now_ns(ClockId::Monotonic), &long);
    }

    fn live(&self, began: Instant) -> Live {
        let sent = self.sent.as_ref().map(|flow| {
            let sent = flow.sending.shared.sent.load(std::sync::atomic::Ordering::Relaxed);
            (self.plan.own_flow(), Direction::Sent, LiveDetail::Sent { sent }, flow.lateness.live())
        });
        let received = self.received.as_ref().map(|flow| {
            let (sent, arrived) = (flow.receiving.known_sent(), flow.receiving.arrivals().once);
            (self.plan.partner_flow(), Direction::Received, LiveDetail::Received { sent, arrived }, flow.delays.live())
        });
        let flows = sent.into_iter().chain(received).map(|(flow, direction, detail, live)| LiveSeries {
            place: Place::Flow { flow: flow.into(), direction, queue: None },
            detail,
            ..live
        });
        let clocks = self.clocks_seen.last.map(|seen| {
            LiveSeries::clock(
                "this node's clock less the partner's",
                None,
                Some(seen.offset_ns),
                Some(seen.bound.into()),
            )
        });
        Live {
            elapsed_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            duration_ns: self.plan.duration_ns,
            series: flows.chain(clocks).collect(),
            bins: Vec::new(),
        }
    }
}

fn note(ending: &mut Ending, said: Result<(), PartnerGone>) {
    if let Err(gone) = said {
        ending.gone.get_or_insert(gone);
    }
}
