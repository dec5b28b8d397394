//! Wake-ups of a thread whose CPU is taken away at known times.

use crate::rhythm::{LateThread, LateWakeup};
use units::Random;

pub(super) const US: f64 = 1e3;
pub(super) const MS: f64 = 1e6;
pub(super) const S: f64 = 1e9;
/// What an undisturbed wake-up takes at least, and what is no delay at all (ns).
const PLAIN_NS: f64 = 8_000.0;
pub(super) const BODY_NS: u64 = 20_000;

/// Time without the CPU: from and to (ns).
pub(super) type Stop = (f64, f64);

/// Which end of the stops lies on the grid of a period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Locked {
    Begin,
    End,
}

/// Stops with a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planted {
    pub(super) period_ns: f64,
    /// Standard deviation of each moment about its grid (ns).
    pub(super) jitter_ns: f64,
    pub(super) shortest_ns: f64,
    pub(super) longest_ns: f64,
    /// The share of the periods that bring a stop.
    pub(super) present: f64,
    pub(super) locked: Locked,
}

pub(super) fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.unit().ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

impl Planted {
    pub(super) fn stops(&self, random: &mut Random, run_ns: f64) -> Vec<Stop> {
        let mut at_ns = self.period_ns * random.unit();
        let mut stops = Vec::new();
        while at_ns < run_ns {
            if random.unit() < self.present {
                let length_ns = self.shortest_ns + (self.longest_ns - self.shortest_ns) * random.unit();
                let moment_ns = at_ns + self.jitter_ns * normal(random);
                stops.push(match self.locked {
                    Locked::Begin => (moment_ns, moment_ns + length_ns),
                    Locked::End => (moment_ns - length_ns, moment_ns),
                });
            }
            at_ns += self.period_ns;
        }
        stops
    }
}

/// Stops at random, so many a second, of lengths that fall off exponentially.
pub(super) fn at_random(random: &mut Random, (from_ns, to_ns): (f64, f64), rate_s: f64, mean_ns: f64) -> Vec<Stop> {
    let mut at_ns = from_ns;
    let mut stops = Vec::new();
    loop {
        at_ns -= random.unit().ln() / rate_s * S;
        if at_ns >= to_ns {
            return stops;
        }
        stops.push((at_ns, at_ns - random.unit().ln() * mean_ns));
    }
}

/// The wake-ups later than the body.
pub(super) fn thread(random: &mut Random, mut stops: Vec<Stop>, interval_ns: f64, run_ns: f64) -> LateThread {
    stops.sort_by(|a, b| f64::total_cmp(&a.0, &b.0));
    let mut wakeups = Vec::new();
    let (mut scheduled_ns, mut next) = (interval_ns * random.unit(), 0);
    let mut free_from_ns = 0.0_f64;
    let grid_ns = scheduled_ns;
    let mut turn = 0.0;
    while scheduled_ns < run_ns {
        let mut woke_ns = scheduled_ns + PLAIN_NS - 1_000.0 * random.unit().ln();
        // Stops that began before the thread ran hold it until their end.
        while next < stops.len() && stops[next].0 <= woke_ns {
            free_from_ns = free_from_ns.max(stops[next].1);
            next += 1;
            woke_ns = woke_ns.max(free_from_ns + PLAIN_NS / 2.0);
        }
        woke_ns = woke_ns.max(free_from_ns);
        let latency_ns = units::round_u64(woke_ns - scheduled_ns);
        if latency_ns > BODY_NS {
            let at = i64::try_from(units::round_u64(scheduled_ns)).unwrap();
            wakeups.push(LateWakeup { scheduled_ns: at, latency_ns });
        }
        turn += 1.0 + ((woke_ns - scheduled_ns) / interval_ns).floor();
        scheduled_ns = grid_ns + turn * interval_ns;
    }
    LateThread { cpu: Some(0), interval_ns: units::round_u64(interval_ns), wakeups }
}
