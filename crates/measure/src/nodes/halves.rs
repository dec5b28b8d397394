//! Both halves of a run while it goes on: this node's, of which the partner is told, and the partner's, as it tells of it. So
//! each node's file has both until then, whoever is killed.

use std::time::Instant;

use packet::dialog::Endpoints;
use packet::join::JoinError;
use packet::told::{Hearer, Piece, Teller};
use record::{Fold, Interval, Place, Record, RunEnd, RunEvent};

use super::Setup;
use super::delays::Delays;
use super::plan::Role;
use crate::collect::{Keeping, MOST_KEPT, neighbors_merged};
use crate::interval_sink::{IntervalSink, TOGETHER_WITHIN, hand_on_the_rest};

/// How a kind makes one record of two halves.
#[derive(Clone, Copy)]
pub(crate) struct Joining {
    /// Of two halves, that of the node that asked first.
    pub(crate) join: fn(Record, Record) -> Result<Record, JoinError>,
    /// Marks a half that its node tells of while the run goes on.
    pub(crate) goes_on: fn(&mut Record),
    /// Adds what follows from both halves, where one of them goes on.
    pub(crate) conclude_so_far: fn(&mut Record),
}

/// What is known of both halves.
pub(crate) struct Halves<'a> {
    role: Role,
    joining: Joining,
    sink: Option<&'a dyn IntervalSink>,
    /// Which intervals of the partner stay in memory.
    keeping: Keeping,
    /// Tells the partner, where it wants that.
    teller: Option<Teller>,
    /// This node's half so far, without its intervals.
    own: Option<Record>,
    partner: ToldHalf,
}

impl<'a> Halves<'a> {
    /// Before the run begins.
    pub(crate) fn new(setup: &Setup<'a>, partner: &Endpoints, joining: Joining) -> Self {
        Self {
            role: setup.role,
            joining,
            sink: setup.sink,
            keeping: keeping(setup),
            teller: partner.wants_half.then(Teller::default),
            own: None,
            partner: ToldHalf::new(keeping(setup)),
        }
    }

    /// Takes this node's half so far, with the intervals that have ended since the last call.
    pub(crate) fn take_own(&mut self, so_far: Record) {
        if let Some(teller) = &mut self.teller {
            teller.tell(so_far.clone());
        }
        self.own = Some(without_intervals(so_far.clone()));
        self.hand_on(so_far);
    }

    /// What is to be said to the partner next, until it [went](Self::went).
    pub(crate) fn piece(&mut self) -> Option<Piece> {
        self.teller.as_mut()?.piece().cloned()
    }

    /// It was said.
    pub(crate) fn went(&mut self) {
        self.teller.iter_mut().for_each(Teller::went);
    }

    /// The partner has heard what it was told.
    pub(crate) fn was_heard(&mut self) {
        self.teller.iter_mut().for_each(Teller::was_heard);
    }

    /// Hears a piece; whether it was the last one of a telling. `own` makes this node's half so far.
    pub(crate) fn hear(&mut self, piece: &Piece, own: impl FnOnce() -> Record) -> bool {
        if let Some(partner) = self.partner.hear(piece) {
            if self.own.is_none() {
                self.own = Some(without_intervals(own()));
            }
            self.hand_on(partner);
        }
        piece.is_last
    }

    /// Hands on the intervals of one of the halves, with the record of both until now.
    fn hand_on(&self, half: Record) {
        let Some(sink) = self.sink else { return };
        let Some(mut own) = self.own.clone() else { return };
        (self.joining.goes_on)(&mut own);
        let mut so_far = match self.partner.so_far() {
            // Both were checked when they were read: they do not fit where the partner is of another run.
            Some(partner) => self.join(own.clone(), partner).unwrap_or(own),
            None => own,
        };
        (self.joining.conclude_so_far)(&mut so_far);
        hand_on_half(sink, half, so_far);
    }

    fn join(&self, own: Record, partner: Record) -> Result<Record, JoinError> {
        match self.role {
            Role::Initiator => (self.joining.join)(own, partner),
            Role::Partner => (self.joining.join)(partner, own),
        }
    }

    /// The last intervals of this node, with its half at its end: what of them is not kept in memory is left in it.
    pub(crate) fn take_last(&mut self, own: Record, last: &mut Fresh) -> Record {
        let with_last = last.put_into(without_intervals(own.clone()));
        self.teller.iter_mut().for_each(|teller| teller.tell(with_last.clone()));
        if self.keeping == Keeping::None { with_last } else { own }
    }

    /// Hands on what ended last, where intervals are not kept in memory: then the file has them all.
    pub(crate) fn hand_on_the_rest(&self, record: &mut Record) {
        if let Some(sink) = self.sink.filter(|_| self.keeping == Keeping::None) {
            hand_on_the_rest(record, sink);
        }
    }

    /// This node's half at its end, as the partner is to have it: without what it was told completely.
    pub(crate) fn rest(&mut self, own: &Record) -> Record {
        match self.teller.take() {
            Some(teller) => teller.rest(own.clone()),
            None => own.clone(),
        }
    }

    /// Both halves at their ends, `partner` with what it had not told before.
    ///
    /// # Errors
    /// If they are not of one run.
    pub(crate) fn conclude(&mut self, own: Record, partner: Record) -> Result<Record, JoinError> {
        let partner = self.partner.whole(partner);
        self.join(own, partner)
    }

    /// This node's half at its end, with what the partner told of its own until it was gone.
    pub(crate) fn conclude_alone(&mut self, own: Record) -> Record {
        match self.partner.until_lost() {
            Some(partner) => self.join(own.clone(), partner).unwrap_or(own),
            None => own,
        }
    }

    /// Why what the partner told could not be read.
    pub(crate) fn unread(&self) -> Option<&str> {
        self.partner.unread()
    }
}

/// A half as its node tells of it while the run goes on.
pub(crate) struct ToldHalf {
    /// Which of its intervals stay in memory.
    keeping: Keeping,
    hearer: Hearer,
    /// What it told until now, with the intervals that are kept.
    told: Fold,
    /// Why what it told could not be read, at first.
    unread: Option<String>,
}

impl ToldHalf {
    /// Before anything is told.
    pub(crate) fn new(keeping: Keeping) -> Self {
        Self { keeping, hearer: Hearer::default(), told: Fold::default(), unread: None }
    }

    /// Hears a piece. With the last one of a telling: the half so far, with the intervals that ended since the telling before.
    pub(crate) fn hear(&mut self, piece: &Piece) -> Option<Record> {
        match self.hearer.hear(piece) {
            Ok(Some(so_far)) => {
                self.take(&so_far);
                Some(so_far)
            }
            Ok(None) => None,
            Err(error) => {
                self.unread.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }

    fn take(&mut self, so_far: &Record) {
        let kept = if self.keeping == Keeping::None { without_intervals(so_far.clone()) } else { so_far.clone() };
        let mut told = std::mem::take(&mut self.told);
        told.take(RunEvent::Intervals { record: Box::new(kept) });
        if matches!(self.keeping, Keeping::Merged(_)) {
            let mut record = told.into_record();
            record.iter_mut().flat_map(|record| &mut record.series).for_each(|series| merge(&mut series.intervals));
            told = Fold::default();
            record.into_iter().for_each(|record| told.take(RunEvent::Intervals { record: Box::new(record) }));
        }
        self.told = told;
    }

    /// What it told until now, without its intervals; `None` where that is nothing.
    pub(crate) fn so_far(&self) -> Option<Record> {
        self.told.record().cloned().map(without_intervals)
    }

    /// The half at its end, of which `rest` has what was not told before.
    pub(crate) fn whole(&mut self, rest: Record) -> Record {
        let mut told = std::mem::take(&mut self.told);
        told.take(RunEvent::Finished { record: Box::new(rest) });
        told.into_record().unwrap_or_else(|| unreachable!("it was just taken"))
    }

    /// What was told until its node was lost; `None` where that is nothing.
    pub(crate) fn until_lost(&mut self) -> Option<Record> {
        std::mem::take(&mut self.told).into_record()
    }

    /// Why what it told could not be read.
    pub(crate) fn unread(&self) -> Option<&str> {
        self.unread.as_deref()
    }
}

/// Hands on the intervals of a half, with the record of all halves until now.
pub(crate) fn hand_on_half(sink: &dyn IntervalSink, half: Record, so_far: Record) {
    let mut fresh: Vec<(usize, Interval)> = Vec::new();
    for mut series in half.series {
        let intervals = std::mem::take(&mut series.intervals);
        if let Some(at) = so_far.series.iter().position(|one| one.is_of_the_same(&series)) {
            fresh.extend(intervals.into_iter().map(|interval| (at, interval)));
        }
    }
    fresh.sort_by_key(|(at, interval)| (interval.start_offset_ns, interval.length_ns, *at));
    sink.take(fresh, so_far);
}

/// Which intervals stay in memory.
pub(crate) fn keeping(setup: &Setup<'_>) -> Keeping {
    kept_until(setup.request.end, setup.sink.is_some())
}

/// Which intervals of a run stay in memory, by its end and by whether somebody takes them as they end.
pub(crate) const fn kept_until(end: RunEnd, is_handed_on: bool) -> Keeping {
    match end {
        // The plan says how many there will be.
        RunEnd::After(_) | RunEnd::Samples(_) => Keeping::All,
        RunEnd::WhenTold if is_handed_on => Keeping::None,
        RunEnd::WhenTold => Keeping::Merged(MOST_KEPT),
    }
}

/// Whether a node wants to be told of the other half while the run goes on: it has a file for it, or the run may last for ever,
/// and the partner does not keep its intervals.
#[must_use]
pub fn wants_half(sink: Option<&dyn IntervalSink>, end: RunEnd) -> bool {
    sink.is_some() || end == RunEnd::WhenTold
}

/// Intervals of this node that have ended and were not handed on.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    waiting: Vec<(Place, &'static str, Interval)>,
    since: Option<Instant>,
}

impl Fresh {
    /// Takes those of a series.
    pub(crate) fn take(&mut self, place: &Place, delays: &mut Delays) {
        let name = delays.name();
        self.waiting.extend(delays.hand_on().into_iter().map(|interval| (place.clone(), name, interval)));
        if !self.waiting.is_empty() {
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// Whether they have waited for those of the other series for as long as they may.
    pub(crate) fn is_due(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= TOGETHER_WITHIN)
    }

    /// Puts them into the record of their half. Those of a series that has no sample yet go on waiting.
    pub(crate) fn put_into(&mut self, mut half: Record) -> Record {
        self.since = None;
        self.waiting.retain(|(place, name, interval)| {
            let series = half.series.iter_mut().find(|series| series.place == *place && series.name == *name);
            let is_there = series.is_some();
            series.into_iter().for_each(|series| series.intervals.push(interval.clone()));
            !is_there
        });
        half
    }
}

pub(crate) fn without_intervals(mut record: Record) -> Record {
    record.series.iter_mut().for_each(|series| series.intervals.clear());
    record
}

/// Makes neighbors one, where there are too many to keep.
fn merge(intervals: &mut Vec<Interval>) {
    if u64::try_from(intervals.len()).unwrap_or(u64::MAX) >= MOST_KEPT {
        *intervals = neighbors_merged(intervals);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use record::{Detail, Manifest, Measurement, OrderCounts, PacketFlow, PacketRun, PulseNode, PulseRun};

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Option<Record>>);

    impl IntervalSink for Kept {
        fn take(&self, _: Vec<(usize, Interval)>, so_far: Record) {
            *self.0.lock().unwrap() = Some(so_far);
        }

        fn replace(&self, _: Record) {}
    }

    fn half(name: &str, nodes: Vec<PulseNode>, flows: Vec<PacketFlow>) -> Record {
        let mut manifest = Manifest::default();
        name.clone_into(&mut manifest.node.hostname);
        let mut record = Record::empty(format!("of-{name}"), Measurement::Pulse, manifest);
        let packets = PacketRun { flows, ..PacketRun::default() };
        record.detail = Detail::Pulse(PulseRun { packets, nodes, interval_ns: 1_000_000, ..PulseRun::default() });
        record.with_node_named()
    }

    /// A node that carried out 8 of the first 10 orders, and of the server what it told of the orders for it and for another node.
    #[test]
    fn the_file_of_a_node_that_acts_counts_its_schedules_while_the_run_goes_on() {
        let mut kept = ::pulse::numbers::OrderNumbers::below(4);
        kept.push_stretch(6, 10);
        let node = |flow: u32, orders| PulseNode { node: format!("n{flow}"), flow, orders, ..PulseNode::default() };
        let own = PulseNode {
            arming_ns: Some(2_000),
            kept: Some(kept.to_text()),
            too_late: Some(::pulse::numbers::OrderNumbers::default().to_text()),
            ..node(1, OrderCounts { scheduled: 8, acted: 8, ..OrderCounts::default() })
        };
        let flow = |flow: u32, sent: Option<u64>| PacketFlow { flow, sent, ..PacketFlow::default() };
        let own = half("n1", vec![own], vec![PacketFlow { received_by: Some("UDP".to_owned()), ..flow(1, None) }]);
        let sent = OrderCounts { scheduled: 12, unknown: 12, ..OrderCounts::default() };
        let server = half("server", vec![node(0, sent), node(1, sent)], vec![flow(0, Some(12)), flow(1, Some(12))]);

        let sink = Kept::default();
        let keeping = Keeping::None;
        let (teller, partner) = (None, ToldHalf::new(keeping));
        let (role, joining) = (Role::Partner, crate::kinds::pulse::JOINING);
        let mut halves = Halves { role, joining, sink: Some(&sink), keeping, teller, own: None, partner };
        let trials = || {
            let so_far = sink.0.lock().unwrap().take().unwrap();
            let run = so_far.pulses().unwrap();
            assert!(run.nodes.len() == 1 && run.nodes[0].flow == 1 && run.nodes[0].kept.is_none(), "{:?}", run.nodes);
            (run.trials.scheduled, run.trials.kept, run.trials.missed, run.trials.unknown)
        };
        // By itself it knows of 10, since that is the last one that it tells of.
        halves.take_own(own.clone());
        assert_eq!(trials(), (10, 8, 2, 0));
        halves.partner.take(&server);
        halves.take_own(own);
        assert_eq!(trials(), (12, 8, 2, 2));
    }
}
