//! Makes the record of the server's half.

use record::{
    ClockRelation, Counters, Detail, Direction, Measurement, Node, NodeClocks, NodeServices, PacketFlow, PacketRun,
    Place, PulseNode, PulseRun, ReasonCode, Record, Request, Series, Validity,
};
use units::ClockId;
use units::format::{count, span};

use super::clocks_apart;
use super::obeyed::{requested, role_name, run_of};
use super::send::SentCounts;
use super::server::{Followed, Server};
use crate::clock_watch::moment_now;
use crate::collect::Keeping;
use crate::crew::{MemberReport, WatchEvidence, Watching, now_ns};
use crate::interval_sink::CUT_SHORT;
use crate::judge::{ClockFacts, Facts, Stops, ThreadEnd, ThreadFacts, judge};
use crate::nodes::delays::Delays;
use crate::nodes::halves::{kept_until, without_intervals};
use crate::nodes::plan::Role;
use crate::stop::ended_after;
use crate::witness::{LookoutObservations, Witnessed};
use crate::worst::worst_of;

/// What is known of the server's half beside what its nodes told, at a moment or at its end.
struct Known<'a> {
    /// Whether the run is over.
    is_over: bool,
    thread: &'a MemberReport<SentCounts>,
    witnessed: &'a Witnessed,
    seen: &'a LookoutObservations,
    services: Option<NodeServices>,
    /// What is wrong with the server's clock by its time services.
    of_services: Validity,
}

impl<'a> Server<'a> {
    /// The half until now, without its intervals, as it would be were the run cut short now.
    pub(crate) fn so_far(&self, watching: &Watching) -> Record {
        let WatchEvidence { witnessed, seen } = watching.so_far();
        self.record(Known {
            is_over: false,
            thread: &MemberReport::so_far(),
            witnessed: &witnessed,
            seen: &seen,
            services: None,
            of_services: Validity::default(),
        })
    }

    /// The half at its end, with the intervals that are kept.
    pub(crate) fn finish(mut self, watching: Watching) -> (Record, Vec<Followed<'a>>) {
        let ended_ns = now_ns(ClockId::Realtime);
        for node in &mut self.nodes {
            node.lateness.end(ended_ns);
            node.clocks_seen.round_trips.end(ended_ns);
        }
        self.take_fresh();
        let WatchEvidence { witnessed, mut seen } = watching.end();
        let thread = self.sending.member.report();
        let at_end = thread.report.as_ref().and_then(|report| report.at_end.clone());
        self.grants.iter().for_each(|grant| seen.compare_end(grant, at_end.as_ref()));
        let mut of_services = Validity::default();
        let services = self.services.take().and_then(|services| services.end(self.setup.node, &mut of_services));
        let known = Known { is_over: true, thread: &thread, witnessed: &witnessed, seen: &seen, services, of_services };
        let mut record = self.record(known);
        if kept_until(self.plan.request.end, self.setup.sink.is_some()) == Keeping::None {
            record = self.fresh.put_into(without_intervals(record));
        }
        (record, std::mem::take(&mut self.nodes))
    }

    fn record(&self, known: Known<'_>) -> Record {
        let Known { is_over, thread: MemberReport { report, end }, witnessed, seen, services, of_services } = known;
        let end = *end;
        let counts = report.as_ref().map(|report| report.counts.clone()).unwrap_or_default();
        let mut counters = Counters::default();
        let mut facts = ThreadFacts {
            place: "the sender".to_owned(),
            end,
            taken: None,
            dropped: 0,
            faults: None,
            migrations: None,
            lacks: None,
        };
        if let Some(report) = report {
            report.add_to(&mut counters);
            facts.faults = Some(report.faults());
            facts.migrations = report.migrations().filter(|_| self.plan.cpu.is_some());
        }
        let mut series = Vec::new();
        let (mut flows, mut clocks) = (Vec::new(), Vec::new());
        for (number, node) in self.nodes.iter().enumerate() {
            let flow = u32::try_from(number).unwrap_or(u32::MAX);
            let sent = self.sending.shared.report(number);
            let dropped = self.sending.shared.nodes.get(number).map_or(0, |shared| shared.ring.dropped());
            facts.taken = Some(facts.taken.unwrap_or(0) + sent.sent);
            facts.dropped += dropped;
            let of_flow = Counters { dropped, missed_periods: sent.skipped, ..counters.clone() };
            let of = |delays, direction, counters| self.series(delays, (flow, direction), is_over, counters);
            series.extend(of(&node.lateness, Direction::Sent, &of_flow));
            let trips = of(&node.clocks_seen.round_trips, Direction::RoundTrip, &Counters::default());
            series.extend(trips.map(|series| Series { interval_ns: None, ..series }));
            let is_known = end != ThreadEnd::Stuck;
            flows.push(PacketFlow {
                flow,
                from: self.setup.node.to_owned(),
                to: node.endpoints.node.clone(),
                sent_by: Some(self.way.clone()),
                size_bytes: self.plan.request.size,
                interval_ns: self.setup.request.interval.unsigned(),
                sent: is_known.then_some(sent.sent),
                skipped: is_known.then_some(sent.skipped),
                refused: is_known.then_some(sent.refused),
                may_still_come: !is_over,
                ..PacketFlow::default()
            });
            clocks.push(self.relation(node));
        }
        let refusals: Vec<String> = counts
            .refusals
            .iter()
            .zip(&self.nodes)
            .enumerate()
            .filter_map(|(number, (refusal, node))| {
                let first = (*refusal)?;
                let refused = self.sending.shared.report(number).refused;
                Some(format!("{} orders for {} (first: {first})", count(refused), node.endpoints.node))
            })
            .collect();
        facts.lacks = (!refusals.is_empty()).then(|| (ReasonCode::PacketsRefused, refusals.join("; ")));
        let ended = moment_now();
        let elapsed_ns = ended.monotonic.since(self.started.monotonic).0;
        let ended_early = if is_over {
            self.stopped.clone().map(|why| format!("{}: {why}", ended_after(elapsed_ns, self.plan.duration_ns)))
        } else {
            Some(CUT_SHORT.to_owned())
        };
        let worst = worst_of(Vec::new());
        let mut validity = judge(&Facts {
            measurement: Measurement::Pulse,
            witnessed,
            seen,
            stops: Stops::Spoil(&self.throttle),
            threads: &[facts],
            clock: Some(ClockFacts { name: "realtime".to_owned(), steps: self.clocks.steps(), started: self.started }),
            watchdog_fired: self.setup.stop.watchdog_fired(),
            ended_early,
            worst: &worst,
        });
        if let Some(stepped_ns) = counts.all.stepped_ns.filter(|_| !validity.has(ReasonCode::ClockStepped)) {
            let into_ns = stepped_ns - self.started.monotonic.as_ns();
            validity.add(
                ReasonCode::ClockStepped,
                format!("the server's clock was set {} into the run: no order was sent after that", span(into_ns)),
            );
        }
        self.judge_clocks(&mut validity);
        let apart = self
            .nodes
            .iter()
            .find_map(|node| clocks_apart(self.setup.request, &node.endpoints.node, node.clocks_seen.track.points()));
        if let Some(why) = apart {
            validity.add(ReasonCode::ClocksApart, why);
        }
        for reason in of_services.reasons().iter().filter(|reason| !validity.has(reason.code)).collect::<Vec<_>>() {
            validity.add(reason.code, reason.detail.clone());
        }
        let request = Request::Pulse(self.setup.request.clone());
        let requested = requested(self.setup.request, self.plan.requested());
        let mut record = self.setup.context.record(request, requested, self.started, ended);
        (record.validity, record.series, record.worst) = (validity, series, worst);
        let packets = PacketRun { flows, clocks, services: services.into_iter().collect(), ..PacketRun::default() };
        let nodes = self.nodes.iter().enumerate().map(|(number, node)| self.node(number, node, end)).collect();
        record.detail = Detail::Pulse(PulseRun { nodes, ..run_of(self.setup.request, packets) });
        let manifest = record.manifest_mut();
        manifest.effective = self.grants.iter().map(|grant| grant.effective(seen.memory_locked)).collect();
        manifest.clock_steps = self.clocks.steps().to_vec();
        manifest.instrument = self.ground.instrument();
        manifest.others_cpu_used = witnessed.others_cpu_used;
        seen.describe(manifest);
        let manifest = manifest.clone();
        let tai_less_utc_s = record.nodes.first().clocks.tai_less_utc_s;
        record.nodes = Node {
            name: self.setup.node.to_owned(),
            role: role_name(Role::Initiator).to_owned(),
            clocks: NodeClocks { read: vec![ClockId::Realtime.into()], tai_less_utc_s },
            manifest,
        }
        .into();
        record.with_node_named()
    }

    /// What the server alone knows of a node's orders.
    fn node(&self, number: usize, node: &Followed<'_>, end: ThreadEnd) -> PulseNode {
        let sent = self.sending.shared.report(number);
        let sent = (end != ThreadEnd::Stuck).then_some(::pulse::account::Sent {
            sent: sent.sent,
            skipped: sent.skipped,
            refused: sent.refused,
        });
        PulseNode {
            node: node.endpoints.node.clone(),
            flow: u32::try_from(number).unwrap_or(u32::MAX),
            output: self.setup.request.output.clone(),
            spin_ns: self.setup.request.spins().unsigned(),
            orders: ::pulse::account::orders(sent, None, false).unwrap_or_default(),
            ..PulseNode::default()
        }
    }

    fn series(
        &self,
        delays: &Delays,
        (flow, direction): (u32, Direction),
        is_over: bool,
        counters: &Counters,
    ) -> Option<Series> {
        let (place, interval_ns) =
            (Place::Flow { flow, direction, queue: None }, self.setup.request.interval.unsigned());
        let one = if is_over {
            delays.series(&place, interval_ns, false, counters)
        } else {
            delays.so_far(&place, interval_ns, false, counters)
        };
        one.map(|(series, _)| series)
    }

    fn relation(&self, node: &Followed<'_>) -> ClockRelation {
        let seen = &node.clocks_seen;
        ClockRelation {
            node: self.setup.node.to_owned(),
            partner: node.endpoints.node.clone(),
            max_drift_ppb: self.plan.request.max_drift_ppb,
            exchanges: seen.exchanges,
            incomplete: node.exchange.begun().saturating_sub(seen.exchanges),
            offset: seen.offsets.spread(),
            track: seen.track.points().to_vec(),
            ..ClockRelation::default()
        }
    }

    fn judge_clocks(&self, validity: &mut Validity) {
        let into_run = |at: record::Moment| span(at.monotonic.as_ns() - self.started.monotonic.as_ns());
        let (mut unrelated, mut contradicting, mut stepped, mut gone) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for node in &self.nodes {
            let (name, seen) = (&node.endpoints.node, &node.clocks_seen);
            if seen.exchanges == 0 {
                unrelated.push(format!("of {} exchanges with {name} none was complete", count(node.exchange.begun())));
            }
            if let Some(at) = seen.contradiction {
                contradicting.push(format!("the exchanges with {name}, from {} into the run on", into_run(at)));
            }
            if self.clocks.steps().is_empty() {
                stepped.extend(seen.own_steps.iter().map(|step| (self.setup.node, step)));
            }
            if let Some(why) = &node.gone {
                gone.push(format!("{name}: {why}"));
            }
        }
        let stepped: Vec<String> = stepped
            .into_iter()
            .map(|(name, (at, step_ns))| {
                format!(
                    "the system clock of {name} was stepped by {}, noticed {} into the run",
                    span(*step_ns),
                    into_run(*at)
                )
            })
            .collect();
        for (code, details) in [
            (ReasonCode::ClocksUnrelated, unrelated),
            (ReasonCode::BoundsContradict, contradicting),
            (ReasonCode::ClockStepped, stepped),
            (ReasonCode::PartnerLost, gone),
        ] {
            if !details.is_empty() && !validity.has(code) {
                validity.add(code, details.join("; "));
            }
        }
    }
}
