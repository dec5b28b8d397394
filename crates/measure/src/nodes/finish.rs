//! Makes the record of a node's half.

use std::sync::atomic::Ordering;

use packet::dialog::SentReport;
use record::{
    ClockRelation, Counters, Direction, Instrument, Node, NodeClocks, NodeExplanation, NodeServices, PacketFlow,
    PacketRun, Place, ReasonCode, Record, Series, Validity, WorstSample,
};
use units::ClockId;
use units::format::{count, span};

use super::PartnerGone;
use super::clocks_seen::ClocksSeen;
use super::delays::Delays;
use super::flows::{ReceivedFlow, SentFlow};
use super::half::{Ending, Half};
use super::halves::Halves;
use super::receive::hot::ReceiveCounts;
use super::send::hot::SendCounts;
use crate::clock_watch::moment_now;
use crate::crew::{MemberReport, WatchEvidence, Watching, now_ns};
use crate::interval_sink::CUT_SHORT;
use crate::judge::{ClockFacts, Facts, Stops, ThreadEnd, ThreadFacts, judge};
use crate::stop::ended_after;
use crate::witness::{LookoutObservations, Witnessed};

/// What the halves of a run have beside their validity.
#[derive(Default)]
struct Parts {
    series: Vec<Series>,
    worst: Vec<WorstSample>,
    flows: Vec<PacketFlow>,
    threads: Vec<ThreadFacts>,
    /// What was counted of the receiver's thread.
    receiver: Option<Counters>,
}

/// What a series is of.
#[derive(Clone, Copy)]
struct About<'a> {
    place: &'a Place,
    /// From one packet to the next (ns).
    interval_ns: u64,
    is_judged: bool,
    /// Whether the run is over: then the series has the intervals that are kept.
    is_over: bool,
}

impl About<'_> {
    /// The series and its worst samples; `None` if there is no sample.
    fn series(self, delays: &Delays, counters: &Counters) -> Option<(Series, Vec<WorstSample>)> {
        let Self { place, interval_ns, is_judged, is_over } = self;
        if is_over {
            delays.series(place, interval_ns, is_judged, counters)
        } else {
            delays.so_far(place, interval_ns, is_judged, counters)
        }
    }
}

/// What is known of a half beside its flows, at a moment or at its end.
struct Known<'a> {
    /// How it ended; `None` while it goes on.
    ending: Option<&'a Ending>,
    witnessed: &'a Witnessed,
    seen: &'a LookoutObservations,
    services: Option<NodeServices>,
    explanation: Option<NodeExplanation>,
    /// What is wrong with this node's clock by its time services.
    of_services: Validity,
}

impl Half<'_> {
    /// The half until now, without its intervals, as it would be were the run cut short now.
    pub(super) fn so_far(&mut self, watching: &Watching) -> Record {
        let WatchEvidence { witnessed, seen } = watching.so_far();
        let mut parts = Parts::default();
        if let Some(flow) = &self.sent {
            self.take_sent(flow, &MemberReport::so_far(), false, &mut parts);
        }
        if let Some(flow) = &self.received {
            self.take_received(flow, &MemberReport::so_far(), None, &mut parts);
        }
        let (node, interval_ns) = (self.setup.node, self.plan.interval_maximum_ns);
        let explanation = self.explaining.as_mut().map(|explaining| explaining.so_far(node, interval_ns));
        self.record(
            parts,
            Known {
                ending: None,
                witnessed: &witnessed,
                seen: &seen,
                services: None,
                explanation,
                of_services: Validity::default(),
            },
        )
    }

    /// The half at its end, with the intervals that are kept.
    pub(super) fn finish(mut self, watching: Watching, ending: &Ending, halves: &mut Halves<'_>) -> Record {
        let ended_ns = now_ns(ClockId::Realtime);
        self.each_series(|_, delays| delays.end(ended_ns));
        self.take_fresh();
        let WatchEvidence { witnessed, mut seen } = watching.end();
        let mut parts = Parts::default();
        let mut at_end = Vec::new();
        if let Some(mut flow) = self.sent.take() {
            let of_thread = flow.sending.member.report();
            at_end.push(of_thread.report.as_ref().and_then(|report| report.at_end.clone()));
            self.take_sent(&flow, &of_thread, true, &mut parts);
            self.sent = Some(flow);
        }
        if let Some(mut flow) = self.received.take() {
            let of_thread = flow.receives.member.report();
            at_end.push(of_thread.report.as_ref().and_then(|report| report.at_end.clone()));
            self.take_received(&flow, &of_thread, Some(ending), &mut parts);
            self.received = Some(flow);
        }
        self.grants.iter().zip(&at_end).for_each(|(grant, at_end)| seen.compare_end(grant, at_end.as_ref()));
        let mut of_services = Validity::default();
        let services = self.services.take().and_then(|services| services.end(self.setup.node, &mut of_services));
        let explaining = self.explaining.take();
        let explanation = explaining.map(|explaining| explaining.finish(self.setup.node, parts.receiver.as_ref()));
        let known =
            Known { ending: Some(ending), witnessed: &witnessed, seen: &seen, services, explanation, of_services };
        let record = self.record(parts, known);
        halves.take_last(record, &mut self.fresh)
    }

    /// The record of what was taken of the flows, and is known beside.
    fn record(&self, mut parts: Parts, known: Known<'_>) -> Record {
        let Known { ending, witnessed, seen, services, explanation, of_services } = known;
        let counted = self.received.as_ref().map(|flow| flow.counted).unwrap_or_default();
        let hw_reading_error_ns = self.received.as_ref().map_or(0, |flow| flow.hardware.reading_error_ns);
        let ended = moment_now();
        let ended_early = match ending {
            None => Some(CUT_SHORT.to_owned()),
            Some(ending) => ending.stopped.clone().map(|why| {
                let elapsed_ns = ended.monotonic.since(self.started.monotonic).0;
                format!("{}: {why}", ended_after(elapsed_ns, self.plan.duration_ns))
            }),
        };
        self.beside.add_series(ending.is_some(), &mut parts.series, &mut parts.worst);
        let worst = crate::worst::worst_of(std::mem::take(&mut parts.worst));
        let mut validity = judge(&Facts {
            measurement: self.beside.measurement(),
            witnessed,
            seen,
            stops: Stops::Spoil(&self.throttle),
            threads: &parts.threads,
            clock: Some(ClockFacts { name: "realtime".to_owned(), steps: self.clocks.steps(), started: self.started }),
            watchdog_fired: self.setup.stop.watchdog_fired(),
            ended_early,
            worst: &worst,
        });
        self.judge_clocks(counted.unrelated, ending.and_then(|ending| ending.gone.as_ref()), &mut validity);
        for reason in of_services.reasons().iter().filter(|reason| !validity.has(reason.code)).collect::<Vec<_>>() {
            validity.add(reason.code, reason.detail.clone());
        }
        if let Some(NodeExplanation { explanation, .. }) = &explanation {
            crate::explain::judge(explanation, &mut validity);
        }
        let (request, requested) =
            (self.beside.request(&self.plan.request), self.beside.requested(self.plan.requested()));
        let mut record = self.setup.context.record(request, requested, self.started, ended);
        record.validity = validity;
        let place = Place::Flow { flow: self.plan.own_flow().into(), direction: Direction::RoundTrip, queue: None };
        let ClocksSeen { exchanges, offsets, track, round_trips, .. } = &self.clocks_seen;
        let about =
            About { place: &place, interval_ns: self.interval_ns(), is_judged: false, is_over: ending.is_some() };
        if let Some((series, _)) = about.series(round_trips, &Counters::default()) {
            parts.series.push(Series { interval_ns: None, ..series });
        }
        let clocks = ClockRelation {
            node: self.setup.node.to_owned(),
            partner: self.partner.node.clone(),
            max_drift_ppb: self.plan.request.max_drift_ppb,
            exchanges: *exchanges,
            incomplete: self.exchange.begun().saturating_sub(*exchanges),
            offset: offsets.spread(),
            track: track.points().to_vec(),
            reading_error_ns: counted.reading_error_ns,
            hw_reading_error_ns,
            services: Vec::new(),
        };
        (record.series, record.worst) = (parts.series, worst);
        record.detail = self.beside.detail(PacketRun {
            flows: parts.flows,
            clocks: vec![clocks],
            services: services.into_iter().collect(),
            hardware: self.hardware.iter().map(|hardware| hardware.describe(self.setup.node)).collect(),
            explanations: explanation.into_iter().collect(),
        });
        let manifest = record.manifest_mut();
        manifest.effective = self.grants.iter().map(|grant| grant.effective(seen.memory_locked)).collect();
        manifest.clock_steps = self.clocks.steps().to_vec();
        manifest.instrument = Instrument { ..self.ground.instrument() };
        manifest.others_cpu_used = witnessed.others_cpu_used;
        seen.describe(manifest);
        let manifest = manifest.clone();
        let tai_less_utc_s = record.nodes.first().clocks.tai_less_utc_s;
        // The name that both nodes have agreed upon: two namespaces of one machine have the same host name.
        record.nodes = Node {
            name: self.setup.node.to_owned(),
            role: self.beside.role(self.setup.role).to_owned(),
            clocks: NodeClocks { read: vec![ClockId::Realtime.into()], tai_less_utc_s },
            manifest,
        }
        .into();
        self.beside.judge(&mut record);
        record.with_node_named()
    }

    fn interval_ns(&self) -> u64 {
        u64::try_from(self.plan.interval_ns).unwrap_or(0)
    }

    fn take_sent(&self, flow: &SentFlow, of_thread: &MemberReport<SendCounts>, is_over: bool, parts: &mut Parts) {
        let SentFlow { sending, lateness, launched, .. } = flow;
        let number = u32::from(self.plan.own_flow());
        let place = Place::Flow { flow: number, direction: Direction::Sent, queue: None };
        let sent = sending.shared.report();
        let MemberReport { report, end } = of_thread;
        // One that hangs, or goes on, may send more.
        let is_known = is_over && *end != ThreadEnd::Stuck;
        let mut counters =
            Counters { dropped: sending.shared.ring.dropped(), missed_periods: sent.skipped, ..Counters::default() };
        let mut facts = ThreadFacts {
            place: format!("the sender of flow {number}"),
            end: *end,
            taken: Some(sent.sent),
            dropped: counters.dropped,
            faults: None,
            migrations: None,
            lacks: None,
        };
        if let Some(report) = report {
            report.add_to(&mut counters);
            facts.faults = Some(report.faults());
            facts.migrations = report.migrations().filter(|_| self.plan.cpu.is_some());
            counters.interrupted_sleeps = report.counts.interrupted_sleeps;
            facts.lacks = not_sent(&report.counts).map(|detail| (ReasonCode::PacketsRefused, detail));
        } else if is_over && *end == ThreadEnd::Whole {
            // It was called off before it began.
            facts.taken = Some(0);
        }
        parts.threads.push(facts);
        let about = About { place: &place, interval_ns: self.interval_ns(), is_judged: false, is_over };
        if let Some((mut series, _)) = about.series(lateness, &counters) {
            series.counters.missed_periods = sent.skipped;
            parts.series.push(series);
        }
        let counters = Counters { dropped: sending.shared.launched.dropped(), ..Counters::default() };
        parts.series.extend(about.series(launched, &counters).map(|(series, _)| series));
        let realtime_ahead_ns = self.started.realtime.as_ns() - self.started.monotonic.as_ns();
        let launch = self.plan.request.launch_time.zip(self.launcher);
        parts.flows.push(PacketFlow {
            from: self.setup.node.to_owned(),
            to: self.partner.node.clone(),
            sent_by: Some(self.way.clone()),
            launch: launch.map(|(after, launcher)| launcher.describe(after.0, realtime_ahead_ns)),
            sent: is_known.then_some(sent.sent),
            skipped: is_known.then_some(sent.skipped),
            refused: is_known.then_some(sent.refused),
            ..self.flow(number)
        });
    }

    fn flow(&self, flow: u32) -> PacketFlow {
        PacketFlow {
            flow,
            size_bytes: self.plan.request.size,
            interval_ns: u64::try_from(self.plan.interval_ns).unwrap_or(0),
            ..PacketFlow::default()
        }
    }

    fn take_received(
        &self,
        flow: &ReceivedFlow,
        of_thread: &MemberReport<ReceiveCounts>,
        ending: Option<&Ending>,
        parts: &mut Parts,
    ) {
        let ReceivedFlow { receives, receiving, counted, worst: worst_packets, delays, hardware, .. } = flow;
        let number = u32::from(self.plan.partner_flow());
        let place = Place::Flow { flow: number, direction: Direction::Received, queue: None };
        let strangers = &receives.shared.strangers;
        let [foreign, forged, dropped] =
            [&strangers.foreign, &strangers.forged, &strangers.dropped].map(|count| count.load(Ordering::Relaxed));
        let arrivals = receiving.arrivals();
        let sent: Option<SentReport> = ending.and_then(|ending| ending.partner_report);
        let MemberReport { report, end } = of_thread;
        // One that goes on, was stopped by the watchdog, or never ended, did not take all that came.
        let took_all = report.is_some() && !self.setup.stop.watchdog_fired();
        let mut counters = Counters { dropped, ..Counters::default() };
        let mut facts = ThreadFacts {
            place: format!("the receiver of flow {number}"),
            end: *end,
            taken: Some(arrivals.once),
            dropped,
            faults: None,
            migrations: None,
            lacks: None,
        };
        if let Some(report) = report {
            report.add_to(&mut counters);
            facts.faults = Some(report.faults());
            facts.migrations = report.migrations().filter(|_| self.plan.cpu.is_some());
            parts.receiver = Some(counters.clone());
            facts.lacks = not_received(&report.counts).map(|detail| (ReasonCode::PacketsNotReceived, detail));
        }
        parts.threads.push(facts);
        let awaited = ending.and_then(|ending| ending.awaited);
        let is_judged = self.beside.measurement().kind().judges(delays.name());
        let mut of_flow = PacketFlow {
            sent: sent.map(|report| report.sent),
            skipped: sent.map(|report| report.skipped),
            refused: sent.map(|report| report.refused),
            arrived: took_all.then_some(arrivals.once),
            too_old: arrivals.too_old,
            awaited_ns: awaited.map(|awaited| awaited.ns),
            may_still_come: awaited.is_some_and(|awaited| awaited.may_still_come),
            ..self.flow(number)
        };
        of_flow.lost = of_flow.lost_of();
        counters.lost = of_flow.lost;
        let about = About { place: &place, interval_ns: self.interval_ns(), is_judged, is_over: ending.is_some() };
        if let Some((series, mut worst)) = about.series(delays, &counters) {
            worst_packets.add_parts(&mut worst);
            parts.series.push(series);
            parts.worst.extend(worst);
        }
        let about = About { is_judged: false, ..about };
        for delays in [&flow.to_driver, &flow.between, &flow.to_program].into_iter().chain(&hardware.parts) {
            parts.series.extend(about.series(delays, &Counters::default()).map(|(series, _)| series));
        }
        parts.flows.push(PacketFlow {
            from: self.partner.node.clone(),
            to: self.setup.node.to_owned(),
            received_by: Some(format!("{}, {}", self.way, self.plan.request.receive.name())),
            doubled: arrivals.doubled,
            reordered: arrivals.reordered,
            foreign,
            forged,
            without_transmitted: counted.without_transmitted,
            without_arrived: counted.without_arrived,
            without_hw_transmitted: hardware.without[0],
            without_hw_arrived: hardware.without[1],
            hw_contradicting: hardware.contradicting,
            over_time: receiving.over_time().to_vec(),
            ..of_flow
        });
    }

    /// What the comparison of the clocks, and the partner's end, make of the validity.
    fn judge_clocks(&self, unrelated: u64, gone: Option<&PartnerGone>, validity: &mut Validity) {
        let seen = &self.clocks_seen;
        let into_run = |at: record::Moment| span(at.monotonic.as_ns() - self.started.monotonic.as_ns());
        if self.plan.receives() && seen.exchanges == 0 {
            let begun = self.exchange.begun();
            validity.add(
                ReasonCode::ClocksUnrelated,
                format!("of {} exchanges with {} none was complete", count(begun), self.partner.node),
            );
        } else if unrelated > 0 && seen.contradiction.is_none() {
            validity.add(
                ReasonCode::ClocksUnrelated,
                format!("{} packets arrived while no exchange related the clocks", count(unrelated)),
            );
        }
        if let Some(at) = seen.contradiction {
            validity.add(
                ReasonCode::BoundsContradict,
                format!(
                    "the exchanges with {}, from {} into the run on{}",
                    self.partner.node,
                    into_run(at),
                    if unrelated > 0 {
                        format!("; the delays of {} packets are not known", count(unrelated))
                    } else {
                        String::new()
                    }
                ),
            );
        }
        // Those that the clock watch has seen are in the validity already.
        let own_steps = if self.clocks.steps().is_empty() { &*seen.own_steps } else { &[] };
        let of_each = [(self.setup.node, own_steps), (&*self.partner.node, &*seen.partner_steps)];
        for (node, (at, step_ns)) in
            of_each.into_iter().flat_map(|(node, steps)| steps.iter().map(move |step| (node, step)))
        {
            validity.add(
                ReasonCode::ClockStepped,
                format!(
                    "the system clock of {node} was stepped by {}, noticed {} into the run",
                    span(*step_ns),
                    into_run(*at)
                ),
            );
        }
        if let Some(gone) = gone {
            let elapsed_ns = moment_now().monotonic.since(self.started.monotonic).0;
            validity.add(ReasonCode::PartnerLost, format!("{} into the run: {gone}", span(elapsed_ns)));
        }
    }
}

/// Why packets that were due may not have left this node.
fn not_sent(counts: &SendCounts) -> Option<String> {
    let refused = counts.refusal.map(|first| format!("{} packets (first: {first})", count(counts.refused)));
    let missed = (counts.launch_missed > 0).then(|| {
        format!(
            "{} packets whose launch time passed while they waited in the queueing discipline, which dropped them: they are among \
             the lost ones",
            count(counts.launch_missed)
        )
    });
    let both: Vec<String> = refused.into_iter().chain(missed).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// Why packets that reached this node may not have reached this program.
fn not_received(counts: &ReceiveCounts) -> Option<String> {
    let dropped = (counts.kernel_dropped > 0).then(|| {
        format!(
            "the kernel dropped {} packets since its buffer was full before this program could take them; they are among the lost ones, or are of others",
            count(counts.kernel_dropped)
        )
    });
    let failed = counts.failure.map(|first| {
        let times = if counts.failures == 1 { "once".to_owned() } else { format!("{} times", count(counts.failures)) };
        format!("it could not receive {times} (first: {first}); what came meanwhile is among the lost packets")
    });
    let both: Vec<String> = failed.into_iter().chain(dropped).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

#[cfg(test)]
mod tests {
    use kernel::packet::{ReceiveError, SendError};

    use super::*;

    #[test]
    fn what_kept_packets_on_this_node_is_named() {
        assert_eq!(not_sent(&SendCounts::default()), None);
        let refusal = Some(SendError::LaunchRefused);
        let counts = SendCounts { refused: 3, refusal, launch_missed: 8, ..SendCounts::default() };
        let words = not_sent(&counts).unwrap_or_default();
        for expected in ["3 packets", "refuses the launch time", "8 packets whose launch time passed"] {
            assert!(words.contains(expected), "{expected}: {words}");
        }
    }

    #[test]
    fn what_kept_packets_from_the_program_is_named() {
        assert_eq!(not_received(&ReceiveCounts::default()), None);
        let failure = Some(ReceiveError { errno: 100 });
        let counts = ReceiveCounts { failures: 2, failure, kernel_dropped: 7, ..ReceiveCounts::default() };
        let words = not_received(&counts).unwrap_or_default();
        for expected in ["2 times", "Network is down", "dropped 7 packets"] {
            assert!(words.contains(expected), "{expected}: {words}");
        }
    }
}
