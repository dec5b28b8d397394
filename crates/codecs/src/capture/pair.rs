//! Follows one pair of clocks through the exchanges of a capture.

use core::net::IpAddr;

use record::{Moment, Place, SyncService};

use super::bounds::{CaptureBounds, MOST_SLEW_PPB, Taken};
use crate::linuxptp::{ClockIdentity, PortIdentity};
use sync::bound::OffsetBound;
use sync::facts::Statement;
use sync::follow::{About, Follower, Shown};

/// Bounds that exclude each other more often than in one of so many exchanges are no steps of a clock.
const EXCHANGES_PER_STEP: u64 = 100;
/// So many are always taken for steps.
const PLAIN_STEPS: u64 = 3;

const NO_DIRECTION: &str = "the capture does not say which way each message went, so it is not known whether it was made on the \
                            machine whose clock asks; a Linux cooked capture says it (tcpdump -i any)";
const UNCONFIRMED: &str = "no exchange was followed by another one that agrees with it";

/// Which clocks exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// `requester` only where the capture does not say which requests this machine sent.
    Ptp {
        network: Network,
        master: PortIdentity,
        requester: Option<PortIdentity>,
    },
    Ntp {
        server: IpAddr,
        client: IpAddr,
    },
}

/// PTP messages that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    pub(super) transport_specific: u8,
    pub(super) domain: u8,
}

/// An exchange, and the bound at its moment.
#[derive(Clone, Copy, Debug)]
struct Exchanged {
    at: Moment,
    shown: Shown,
    /// As the exchanges before it left the bound.
    before: Option<OffsetBound>,
    /// As it is with this exchange.
    with: Option<OffsetBound>,
}

/// A pair of clocks.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) key: Key,
    pub(super) follower: Follower,
    pub(super) bounds: CaptureBounds,
    /// The last exchange: its bound is stated once the next one does not exclude it.
    last: Option<Exchanged>,
    pub(super) is_directed: bool,
    latest: Option<Moment>,
    pub(super) last_sync: u64,
    pub(super) exchanges: u64,
    /// Exchanges whose round trip was not above 0.
    pub(super) backward: u64,
    pub(super) excluded: u64,
    pub(super) first_excluded: Option<Moment>,
    pub(super) impossible: Option<Moment>,
    /// The grand master, and how many clocks are between.
    grandmaster: Option<(ClockIdentity, u16)>,
}

fn about(key: Key, is_directed: bool, max_drift_ppb: u32) -> About {
    let ppm = |ppb: u32| units::approx_f64(ppb.into()) / 1_000.0;
    let (port, domain, other, stamps) = match key {
        Key::Ptp { network, master, requester } => {
            let port =
                requester.map_or_else(|| master.to_string(), |requester| format!("{master} asked by {requester}"));
            (
                port,
                Some(network.domain),
                "master",
                "no message was received before it was sent, by the master's stamps and the capture's",
            )
        }
        Key::Ntp { server, client } => (
            format!("{server} asked by {client}"),
            None,
            "server",
            "no message was received before it was sent, by the server's stamps and the capture's",
        ),
    };
    About {
        service: SyncService::Capture,
        place: Place::Port { port, domain },
        clock: None,
        trusts: format!(
            "{stamps}; that one clock, on UTC, stamped the whole capture on the machine that asks; that this clock, uncorrected, drifts \
             from its {other} by at most {} ppm and is corrected by at most {} ppm; and that it was not set by less than the bound is wide",
            ppm(max_drift_ppb),
            ppm(MOST_SLEW_PPB)
        ),
        is_judged: true,
        without_bound: if is_directed { UNCONFIRMED } else { NO_DIRECTION }.to_owned(),
    }
}

impl Source {
    pub(super) fn begin(key: Key, is_directed: bool, max_drift_ppb: u32, started: Moment) -> Self {
        Self {
            key,
            follower: Follower::with_growing_intervals(about(key, is_directed, max_drift_ppb), started),
            bounds: CaptureBounds::new(max_drift_ppb),
            last: None,
            is_directed,
            latest: None,
            last_sync: 0,
            exchanges: 0,
            backward: 0,
            excluded: 0,
            first_excluded: None,
            impossible: None,
            grandmaster: None,
        }
    }

    /// Whether the capture was made where the messages of the reference begin and end: everywhere else a round trip takes time.
    pub(super) const fn is_at_master(&self) -> bool {
        self.backward * 2 > self.exchanges
    }

    /// When bounds first excluded each other, if a clock that was set does not explain it.
    pub(super) fn contradiction(&self) -> Option<Moment> {
        let is_often = self.excluded > PLAIN_STEPS && self.excluded.saturating_mul(EXCHANGES_PER_STEP) > self.exchanges;
        self.impossible.or(self.first_excluded.filter(|_| is_often))
    }

    /// An exchange that ended at a moment: its two ways as they were measured, and what each of them says of the offset.
    pub(super) fn exchanged(
        &mut self,
        at: Moment,
        at_ns: i64,
        (forward_ns, backward_ns): (i64, i64),
        upper: (i64, i64),
        lower: (i64, i64),
    ) {
        let (forward, backward) = (i128::from(forward_ns), i128::from(backward_ns));
        let half = |ns: i128| i64::try_from(ns.div_euclid(2)).unwrap_or(i64::MAX);
        let shown = Shown {
            offset_ns: half(forward - backward),
            delay_ns: Some(half(forward + backward)),
            frequency_ppb: None,
        };
        // Frames of several queues can be a little out of order: the moments of a record do not go back.
        let at = match self.latest {
            Some(latest) if latest.monotonic > at.monotonic => latest,
            _ => at,
        };
        self.latest = Some(at);
        self.exchanges += 1;
        self.backward += u64::from(forward + backward <= 0);
        if !self.is_directed {
            self.follower.offset(at, shown, None);
            return;
        }
        match self.bounds.take(at_ns, upper, lower) {
            Taken::Narrowed { before, with } => {
                self.flush(true);
                self.last = Some(Exchanged { at, shown, before, with: Some(with) });
            }
            Taken::Excluded(own) => {
                let before_ns = self.last.map_or(0, |last| last.shown.offset_ns);
                self.flush(false);
                self.follower.step(at, shown.offset_ns.saturating_sub(before_ns));
                self.excluded += 1;
                self.first_excluded.get_or_insert(at);
                self.last = Some(Exchanged { at, shown, before: None, with: Some(own) });
            }
            Taken::Impossible => {
                self.flush(false);
                self.impossible.get_or_insert(at);
                self.last = Some(Exchanged { at, shown, before: None, with: None });
            }
        }
    }

    /// Hands the last exchange over, with its bound if that was confirmed.
    pub(super) fn flush(&mut self, is_confirmed: bool) {
        let Some(Exchanged { at, shown, before, with }) = self.last.take() else { return };
        // How far the bound had grown until then is as little certain as what the exchange made of it.
        if let Some(before) = before.filter(|_| is_confirmed) {
            self.follower.bound(at, before);
        }
        self.follower.offset(at, shown, with.filter(|_| is_confirmed));
    }

    /// Takes what the reference states of its time. What was known of another time is void.
    pub(super) fn states(&mut self, at: Moment, statements: &[Statement]) {
        if self.follower.would_cut(statements) {
            self.flush(false);
            self.bounds.forget();
        }
        self.follower.states(at, statements);
    }

    /// Takes the words for the reference: the same grand master at another distance is no other one.
    pub(super) fn reference(&mut self, grandmaster: (ClockIdentity, u16), at: Moment, words: &str) {
        let before = self.grandmaster.replace(grandmaster);
        let known_as = self.follower.current_reference().unwrap_or_default().to_owned();
        if before.is_some_and(|(before, _)| before == grandmaster.0) {
            self.follower.name_reference(&known_as, words);
        } else if !known_as.is_empty() && known_as != words {
            self.flush(false);
            self.bounds.forget();
        }
        self.follower.reference(at, words);
    }
}
