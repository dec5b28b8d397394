//! What a node did with its orders, as its controller takes it over.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ::pulse::account::Obeyed;
use ::pulse::numbers::OrderNumbers;
use packet::relation::OffsetMeasurement;
use record::{
    ActsBy, Counters, Detail, Direction, Measurement, PacketRequest, PacketRun, Place, PulseNode, PulseRequest,
    PulseRun, ReasonCode, Record, Request, Requested, Series, WorstSample,
};
use units::format::{count, count_of, span};
use units::{ClockId, Ns};

use super::act::Acting;
use super::act::acting_clock::Ahead;
use super::act::hot::{Done, Fate, Refusal};
use super::act::pending::MOST_PENDING;
use super::clocks_apart;
use super::guard::state::{GRACE_NS, SILENT_NS};
use crate::clock_watch::ClockWatch;
use crate::crew::now_ns;
use crate::nodes::Beside;
use crate::nodes::clocks_seen::ClocksSeen;
use crate::nodes::delays::Delays;
use crate::nodes::plan::Role;

/// How much longer than the lead the node waits for an order that it was not told about any more.
const PATIENCE: Duration = Duration::from_secs(1);
/// How far back the rate is looked for at which the clocks drift apart (ns).
const RATE_OVER_NS: i64 = 2_000_000_000;

/// Why orders were refused, and how many of each.
#[derive(Clone, Copy, Debug, Default)]
struct Refusals {
    no_clock: u64,
    full: u64,
    no_order: u64,
    too_long: u64,
    too_fast: u64,
    too_far: u64,
    halted: u64,
    failed: u64,
}

impl Refusals {
    /// As parts of a sentence; empty if there are none.
    fn words(&self) -> Vec<String> {
        let full = format!("since {MOST_PENDING} waited already");
        [
            (self.no_clock, "that came before the clocks were compared, or after the node's own was set"),
            (self.full, &full),
            (self.no_order, "without an order"),
            (self.too_long, "for longer than the output may be active"),
            (
                self.too_fast,
                "nearer to another one than the output may be switched, as ordered or since the node was late",
            ),
            (self.too_far, "for a time more than 20 s ahead: the clocks are of different times"),
            (self.halted, "after the output had lost its guard"),
            (self.failed, "that the output's driver did not carry out"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, why)| format!("{} {why}", count(number)))
        .collect()
    }
}

/// What is collected of an acting thread.
pub(crate) struct Orders {
    request: PulseRequest,
    flow: u8,
    node: String,
    output_words: Option<String>,
    acting: Acting,
    obeyed: Obeyed,
    refusals: Refusals,
    kept: OrderNumbers,
    too_late: OrderNumbers,
    to_acted: Delays,
    to_returned: Delays,
    to_armed: Delays,
    /// What the acting thread was told of the clocks last, where it acts by that.
    acting_clock: Ahead,
    /// Offsets of the clocks lately, with their moments, for the rate.
    lately: Vec<(i64, i64)>,
    /// From an ordered time to the end of the switching, at most (ns).
    to_returned_max_ns: Option<i64>,
    /// Why the output was not guarded any longer: nothing was switched after that.
    unguarded: Option<String>,
    /// When the output is safe again after the last act, if not before.
    safe_by: Option<Instant>,
    /// Between what the acting clock lay, less the server's (ns).
    ahead_ns: Option<(i64, i64)>,
    /// What became of orders since the last look.
    fresh: Vec<Done>,
}

impl Orders {
    /// Before the run; `output_words` says what the output is.
    pub(crate) fn new(
        request: &PulseRequest,
        flow: u8,
        node: &str,
        output_words: Option<String>,
        acting: Acting,
        series: impl Fn(&'static str) -> Delays,
    ) -> Self {
        Self {
            request: request.clone(),
            flow,
            node: node.to_owned(),
            output_words,
            acting,
            obeyed: Obeyed::default(),
            refusals: Refusals::default(),
            kept: OrderNumbers::default(),
            too_late: OrderNumbers::default(),
            to_acted: series("ordered_to_acted"),
            to_returned: series("acted_to_returned"),
            to_armed: series("scheduled_to_armed"),
            acting_clock: Ahead::default(),
            lately: Vec::new(),
            to_returned_max_ns: None,
            ahead_ns: None,
            unguarded: None,
            safe_by: None,
            fresh: Vec::new(),
        }
    }

    fn place(&self) -> Place {
        Place::Flow { flow: self.flow.into(), direction: Direction::Received, queue: None }
    }

    /// Takes what became of orders, in the order in which the thread was done with them.
    fn take_all(&mut self, mut all: &[Done], clocks: &ClockWatch) {
        let is_acted = |done: &Done| done.fate == Fate::Acted;
        while let Some(first) = all.first() {
            // Nearly all were carried out, and many at once cost less.
            let acted = all.iter().position(|done| !is_acted(done)).unwrap_or(all.len());
            let (some, rest) = all.split_at(acted);
            if some.is_empty() {
                self.take_other(first, clocks);
                all = &rest[1..];
            } else {
                self.take_acted(some, clocks);
                all = rest;
            }
        }
    }

    /// Takes orders that were carried out.
    fn take_acted(&mut self, all: &[Done], clocks: &ClockWatch) {
        let tolerance_ns = self.request.tolerance.0;
        let mut most_ns = self.to_returned_max_ns.unwrap_or(i64::MIN);
        let mut kept = (0, 0);
        for done in all {
            if done.acted_ns - done.ordered_ns > tolerance_ns {
                self.obeyed.beyond += 1;
            } else if done.sequence == kept.1 {
                kept.1 += 1;
            } else {
                self.kept.push_stretch(kept.0, kept.1);
                kept = (done.sequence, done.sequence.saturating_add(1));
            }
            most_ns = most_ns.max(done.returned_ns - done.ordered_ns);
        }
        self.kept.push_stretch(kept.0, kept.1);
        self.to_returned_max_ns = Some(most_ns);
        self.obeyed.acted += u64::try_from(all.len()).unwrap_or(u64::MAX);
        self.to_acted.take_pairs(all, |done| (done.ordered_ns, done.acted_ns), clocks);
        self.to_returned.take_pairs(all, |done| (done.acted_ns, done.returned_ns), clocks);
        self.to_armed.take_pairs(all, |done| (done.scheduled_ns, done.armed_ns), clocks);
        // A marked pulse is twice as long, and one that was late ends in time.
        let times = if self.request.mark.is_some() { 2 } else { 1 };
        let longest_ns = self.request.active().unsigned().saturating_mul(times);
        self.safe_by = Some(Instant::now() + Duration::from_nanos(longest_ns));
    }

    /// Takes one that was not.
    fn take_other(&mut self, done: &Done, clocks: &ClockWatch) {
        let is_armed = match done.fate {
            // What it needed is known, and is what decides.
            Fate::TooLate => {
                self.obeyed.too_late += 1;
                self.too_late.push(done.sequence);
                true
            }
            Fate::Failed => {
                (self.obeyed.refused, self.refusals.failed) = (self.obeyed.refused + 1, self.refusals.failed + 1);
                true
            }
            Fate::Dropped => {
                self.obeyed.dropped += 1;
                false
            }
            Fate::Refused(why) => {
                self.obeyed.refused += 1;
                let number = match why {
                    Refusal::NoClock => &mut self.refusals.no_clock,
                    Refusal::Full => &mut self.refusals.full,
                    Refusal::NoOrder => &mut self.refusals.no_order,
                    Refusal::TooLong => &mut self.refusals.too_long,
                    Refusal::TooFast => &mut self.refusals.too_fast,
                    Refusal::TooFar => &mut self.refusals.too_far,
                    Refusal::Halted => &mut self.refusals.halted,
                };
                *number += 1;
                false
            }
            // With others of its kind.
            Fate::Acted => false,
        };
        if is_armed {
            self.to_armed.take_exact(done.armed_ns - done.scheduled_ns, done.armed_ns, clocks);
        }
    }

    /// Takes over how far the clocks are apart, and tells the acting thread where it acts by that.
    fn take_clocks(&mut self, seen: &ClocksSeen) {
        let (Some(last), Some(at_ns)) = (seen.last, seen.last_ns) else { return };
        let Some((_, before_ns)) = self.lately.last().copied() else {
            self.lately.push((last.offset_ns, at_ns));
            self.take_ahead(&last, 0);
            self.hand_clock(last.offset_ns, at_ns);
            return;
        };
        if before_ns == at_ns {
            // Nothing new: what is known gets older.
            let now_ns = now_ns(ClockId::Realtime);
            self.take_ahead(&last, now_ns - at_ns);
            self.widen_ahead(&last, self.acted_by_ns(&last, now_ns), now_ns - at_ns);
            return;
        }
        // What it has acted by until now, as this exchange sees it: a clock that was steered meanwhile shows here alone.
        self.widen_ahead(&last, self.acted_by_ns(&last, at_ns), at_ns - before_ns);
        self.lately.push((last.offset_ns, at_ns));
        self.lately.retain(|(_, then_ns)| (0..=RATE_OVER_NS).contains(&(at_ns - then_ns)));
        self.take_ahead(&last, at_ns - before_ns);
        self.hand_clock(last.offset_ns, at_ns);
    }

    /// Widens what the acting clock lay between, less the server's, by what was known for so long (ns).
    fn take_ahead(&mut self, last: &OffsetMeasurement, known_for_ns: i64) {
        self.widen_ahead(last, last.offset_ns, known_for_ns);
    }

    /// By how much the acting thread takes its clock to be ahead at a moment (ns).
    const fn acted_by_ns(&self, last: &OffsetMeasurement, at_ns: i64) -> i64 {
        let server_ns = at_ns.wrapping_sub(last.offset_ns);
        self.acting_clock.on_own(server_ns).wrapping_sub(server_ns)
    }

    /// The same where the node acted by its own clock less so much (ns), if not by that alone.
    fn widen_ahead(&mut self, last: &OffsetMeasurement, acted_by_ns: i64, known_for_ns: i64) {
        let drift_ns = known_for_ns.max(0).saturating_mul(i64::from(self.request.max_drift_ppb)) / 1_000_000_000;
        // The clock that it acts by is its own, less what it takes that to be ahead.
        let used_ns = if self.request.by == ActsBy::Exchange { acted_by_ns } else { 0 };
        let (lower_ns, upper_ns) = (last.bound.lower_ns - used_ns - drift_ns, last.bound.upper_ns - used_ns + drift_ns);
        let before = self.ahead_ns.unwrap_or((lower_ns, upper_ns));
        self.ahead_ns = Some((before.0.min(lower_ns), before.1.max(upper_ns)));
    }

    /// Tells the acting thread how far its clock is ahead of the server's, where it acts by that.
    fn hand_clock(&mut self, offset_ns: i64, at_ns: i64) {
        if self.request.by != ActsBy::Exchange {
            return;
        }
        let ppb = self.lately.first().map_or(0, |(first_ns, then_ns)| {
            let passed_ns = at_ns - then_ns;
            // Over less time the spread of the exchanges would make a rate of its own.
            if passed_ns < RATE_OVER_NS / 2 {
                0
            } else {
                (offset_ns - first_ns).saturating_mul(1_000_000) / (passed_ns / 1_000)
            }
        });
        self.acting_clock = Ahead { ns: offset_ns, at_ns, ppb };
        self.acting.shared.clock.set(self.acting_clock);
    }
}

impl Beside for Orders {
    fn measurement(&self) -> Measurement {
        Measurement::Pulse
    }

    fn request(&self, _: &PacketRequest) -> Request {
        Request::Pulse(self.request.clone())
    }

    fn requested(&self, of_packets: Requested) -> Requested {
        requested(&self.request, of_packets)
    }

    fn role(&self, role: Role) -> &'static str {
        role_name(role)
    }

    fn take_over(&mut self, clocks: &ClockWatch, seen: &ClocksSeen) {
        if let (Some(guard), None) = (&mut self.acting.guard, &self.unguarded) {
            self.unguarded = guard.lost();
            self.acting.shared.halt.store(self.unguarded.is_some(), Ordering::Relaxed);
        }
        self.take_clocks(seen);
        let mut fresh = std::mem::take(&mut self.fresh);
        while let Ok(some) = self.acting.done.read_chunk(self.acting.done.slots()) {
            let (first, rest) = some.as_slices();
            if first.is_empty() {
                break;
            }
            fresh.extend_from_slice(first);
            fresh.extend_from_slice(rest);
            some.commit_all();
        }
        self.take_all(&fresh, clocks);
        fresh.clear();
        self.fresh = fresh;
    }

    fn is_stuck(&mut self) {
        if let Some(guard) = &mut self.acting.guard {
            guard.leave();
        }
    }

    fn is_done(&self, arrived: u64, since_sent: Duration) -> bool {
        let told = self.obeyed.arrived().saturating_add(self.acting.shared.dropped.load(Ordering::Relaxed));
        // The last order waits for its time, and then its pulse lasts for a while.
        let longest = Duration::from_nanos(self.request.lead.unsigned()) + PATIENCE;
        (told >= arrived || since_sent > longest) && self.safe_by.is_none_or(|at| Instant::now() >= at)
    }

    fn each_series(&mut self, visit: &mut dyn FnMut(&Place, &mut Delays)) {
        let place = self.place();
        [&mut self.to_acted, &mut self.to_returned, &mut self.to_armed]
            .into_iter()
            .for_each(|delays| visit(&place, delays));
    }

    fn add_series(&self, is_over: bool, series: &mut Vec<Series>, worst: &mut Vec<WorstSample>) {
        let (place, interval_ns) = (self.place(), self.request.interval.unsigned());
        for (delays, is_judged) in [(&self.to_acted, true), (&self.to_returned, false), (&self.to_armed, false)] {
            let counters = Counters {
                dropped: if is_judged { self.acting.shared.dropped.load(Ordering::Relaxed) } else { 0 },
                ..Counters::default()
            };
            let one = if is_over {
                delays.series(&place, interval_ns, is_judged, &counters)
            } else {
                delays.so_far(&place, interval_ns, is_judged, &counters)
            };
            if let Some((one, its_worst)) = one {
                series.push(one);
                worst.extend(its_worst);
            }
        }
    }

    fn detail(&self, packets: PacketRun) -> Detail {
        let arming_ns = self.acting.shared.arming_ns.load(Ordering::Relaxed);
        let node = PulseNode {
            node: self.node.clone(),
            flow: self.flow.into(),
            output: self.request.output.clone(),
            output_words: self.output_words.clone(),
            arming_ns: u64::try_from(arming_ns).ok(),
            spin_ns: self.request.spins().unsigned(),
            orders: ::pulse::account::orders(None, Some(self.obeyed), false).unwrap_or_default(),
            kept: Some(self.kept.to_text()),
            too_late: Some(self.too_late.to_text()),
            known_below: None,
            ordered_to_returned_max_ns: self.to_returned_max_ns,
            clock_ahead_ns: self.ahead_ns,
        };
        Detail::Pulse(PulseRun { nodes: vec![node], ..run_of(&self.request, packets) })
    }

    fn judge(&self, record: &mut Record) {
        let relations = record.packets().map_or(&[][..], |packets| &packets.clocks);
        let apart = relations.iter().find_map(|one| clocks_apart(&self.request, &one.partner, &one.track));
        if let Some(why) = apart {
            record.validity.add(ReasonCode::ClocksApart, why);
        }
        let dropped = self.acting.shared.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            let detail =
                format!("what became of {} orders was lost between the acting thread and the record", count(dropped));
            record.validity.add(ReasonCode::SamplesDropped, detail);
        }
        let refused = self.refusals.words();
        if !refused.is_empty() {
            record.validity.add(ReasonCode::OrdersRefused, refused.join("; "));
        }
        let failures = self.acting.shared.unsafe_failures.load(Ordering::Relaxed);
        let mut failed = Vec::new();
        if failures > 0 {
            failed.push(format!("{} the driver did not set it to its safe level", count_of(failures, "time", "times")));
        }
        let (interventions, not_made_safe) =
            self.acting.guard.as_ref().map_or((0, 0), |guard| (guard.state.interventions(), guard.state.failures()));
        for (number, what) in [
            (interventions, "its guard made it safe"),
            (not_made_safe, "the driver did not set it to its safe level when its guard told it to, at least at first"),
        ] {
            if number > 0 {
                failed.push(format!(
                    "in {} it was still active more than {} after its time, or the thread that acts had not run for {} while it \
                     was, and {what}",
                    count_of(number, "pulse", "pulses"),
                    span(GRACE_NS),
                    span(SILENT_NS),
                ));
            }
        }
        failed.extend(self.unguarded.iter().map(|why| format!("{why}; nothing was switched after that")));
        if !failed.is_empty() {
            record.validity.add(ReasonCode::OutputFailed, failed.join("; "));
        }
    }
}

/// What was requested, as the manifest of each node has it.
pub(crate) fn requested(request: &PulseRequest, of_packets: Requested) -> Requested {
    Requested { deadline_ns: Some(request.tolerance.unsigned()), ..of_packets }
}

/// A node's role in the table of kinds.
pub(crate) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Initiator => "server",
        Role::Partner => "node",
    }
}

/// What a request says of the run, without nodes.
pub(crate) fn run_of(request: &PulseRequest, packets: PacketRun) -> PulseRun {
    let ns = |ns: Ns| ns.unsigned();
    PulseRun {
        packets,
        interval_ns: ns(request.interval),
        lead_ns: ns(request.lead),
        width_ns: ns(request.active()),
        shape: request.shape,
        by: request.by,
        tolerance_ns: ns(request.tolerance),
        mark: request.mark,
        ..PulseRun::default()
    }
}
