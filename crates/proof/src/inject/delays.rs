//! Delays of random length with a known tail, made by the kernel module: they test predictions of the worst case.

use std::fs;
use std::path::Path;

use kernel::clock::{KernelClock, now_ns};
use units::{ClockId, Ns, Random, approx_f64, round_u64};

use super::{InjectError, sleep_until};
use lab::injection::Injection;

/// The folder of the module's plan and log.
pub(crate) const MODULE_FOLDER: &str = "/sys/kernel/debug/punctual_inject";
/// Longest delay (ns), even if the distribution is unbounded: the machine has to stay responsive.
pub(crate) const MAX_DELAY_NS: i64 = 10_000_000;
/// Largest number of delays in one plan; the module accepts 256.
const AT_ONCE: u64 = 200;
/// Time between writing a plan and its first delay (ns): arming the timers takes a while.
const MARGIN_NS: i64 = 50_000_000;

/// The requested delays: `least + scale (u^-shape - 1) / shape` with u uniformly distributed from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DelaysPlan {
    /// The CPU to delay, with interrupts off.
    pub(crate) cpu: u32,
    /// Each delay begins before a multiple of this (ns of CLOCK_MONOTONIC); at least twice the longest delay.
    pub(crate) every_ns: i64,
    /// How long before that multiple it begins (ns).
    pub(crate) lead_ns: i64,
    /// Shortest delay (ns, above 0).
    pub(crate) least_ns: i64,
    /// Scale of the generalized Pareto distribution (ns, at least 0).
    pub(crate) scale_ns: i64,
    /// Shape of the distribution (-10 to below 1).
    pub(crate) shape: f64,
    /// Number of delays.
    pub(crate) count: u64,
    /// Seed of the random numbers.
    pub(crate) seed: u64,
}

impl DelaysPlan {
    fn check(&self) -> Result<(), InjectError> {
        let plan = |what: String| Err(InjectError::Plan { what });
        let fields = [("lead", self.lead_ns), ("scale", self.scale_ns)];
        if let Some((name, ns)) = fields.into_iter().find(|(_, ns)| !(0..=MAX_DELAY_NS).contains(ns)) {
            return plan(format!("a {name} of {} is out of range: 0 to {} are possible", Ns(ns), Ns(MAX_DELAY_NS)));
        }
        if !(1..=MAX_DELAY_NS).contains(&self.least_ns) {
            return plan(format!(
                "a least delay of {} is out of range: 1ns to {} are possible",
                Ns(self.least_ns),
                Ns(MAX_DELAY_NS)
            ));
        }
        if self.every_ns < 2 * MAX_DELAY_NS {
            let least = Ns(2 * MAX_DELAY_NS);
            return plan(format!("{} from one delay to the next is too short: at least {least}", Ns(self.every_ns)));
        }
        if !(-10.0..1.0).contains(&self.shape) {
            return plan(format!("a shape of {} is out of range: it must be from -10 to below 1", self.shape));
        }
        Ok(())
    }

    /// Draws the next length (ns).
    fn length_ns(&self, random: &mut Random) -> i64 {
        // The argument is above 0, so that the length is finite.
        let away = -(1.0 - random.unit()).ln();
        let excess = if self.shape.abs() < 1e-9 { away } else { (self.shape * away).exp_m1() / self.shape };
        let scale = approx_f64(u64::try_from(self.scale_ns).unwrap_or(0));
        let added_ns = i64::try_from(round_u64(scale * excess)).unwrap_or(MAX_DELAY_NS);
        self.least_ns.saturating_add(added_ns).min(MAX_DELAY_NS)
    }
}

/// Makes the module in `folder` inject the delays, one plan after the other, and returns what really happened. It takes
/// `count * every_ns`, and a little more for every two hundred delays.
///
/// # Errors
/// If the plan is out of range, the module refuses it or is not loaded, or a delay did not happen.
pub(crate) fn delays(plan: &DelaysPlan, folder: &Path) -> Result<Vec<Injection>, InjectError> {
    plan.check()?;
    let clock = KernelClock::from(ClockId::Monotonic);
    let mut random = Random::new(plan.seed);
    let mut made = Vec::new();
    let mut left = plan.count;
    while left > 0 {
        let now = left.min(AT_ONCE);
        left -= now;
        // The first multiple that leaves enough time to arm all timers.
        let first = (now_ns(clock) + MARGIN_NS + plan.lead_ns).div_euclid(plan.every_ns) + 1;
        let mut asked = String::from("\n");
        let mut last_ns = 0;
        for turn in (first..).take(usize::try_from(now).unwrap_or(0)) {
            last_ns = turn.saturating_mul(plan.every_ns);
            let length_ns = plan.length_ns(&mut random);
            asked += &format!("irqs-off {} {} {length_ns}\n", plan.cpu, last_ns - plan.lead_ns);
        }
        let (path, log) = (folder.join("plan"), folder.join("log"));
        let refused = |path: &Path| InjectError::refused(path.display().to_string());
        fs::write(&path, asked).map_err(refused(&path))?;
        sleep_until(last_ns + MAX_DELAY_NS)?;
        let text = fs::read_to_string(&log).map_err(refused(&log))?;
        let logged = Injection::from_log(&text).map_err(|error| InjectError::Plan { what: error.to_string() })?;
        made.extend(logged);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: DelaysPlan = DelaysPlan {
        cpu: 0,
        every_ns: 20_000_000,
        lead_ns: 10_000,
        least_ns: 10_000,
        scale_ns: 20_000,
        shape: 0.0,
        count: 1,
        seed: 1,
    };

    /// The share of lengths above a value (ns).
    fn beyond(shape: f64, ns: i64) -> f64 {
        let mut random = Random::new(5);
        let plan = DelaysPlan { shape, ..PLAN };
        let count = (0..20_000).filter(|_| plan.length_ns(&mut random) > ns).count();
        f64::from(u32::try_from(count).unwrap()) / 20_000.0
    }

    #[test]
    fn lengths_follow_the_requested_distribution() {
        // Exceedances of GPD: (1 + shape x)^(-1 / shape), at x = 0.5 and 2 scales.
        for (shape, ns, share) in [
            (0.0, 20_000, 0.6065),
            (0.0, 50_000, 0.1353),
            (-1.0, 20_000, 0.5),
            (-1.0, 30_000, 0.0),
            (0.5, 50_000, 0.25),
            (-0.25, 50_000, 0.0625),
        ] {
            assert!((beyond(shape, ns) - share).abs() < 0.012, "{shape} {ns}: {}", beyond(shape, ns));
        }
        let mut random = Random::new(5);
        let endless = DelaysPlan { shape: 0.99, scale_ns: MAX_DELAY_NS, ..PLAN };
        assert!((0..20_000).all(|_| endless.length_ns(&mut random) <= MAX_DELAY_NS), "the machine stays responsive");
    }

    #[test]
    fn what_is_out_of_range_is_refused_before_the_module_is_used() {
        let refused = |plan: DelaysPlan| delays(&plan, Path::new("/nowhere")).unwrap_err().to_string();
        assert!(refused(DelaysPlan { lead_ns: -1, ..PLAN }).contains("lead"));
        assert!(refused(DelaysPlan { scale_ns: MAX_DELAY_NS + 1, ..PLAN }).contains("scale"));
        assert!(refused(DelaysPlan { least_ns: 0, ..PLAN }).contains("least"));
        assert!(refused(DelaysPlan { every_ns: 1_000_000, ..PLAN }).contains("20ms"));
        assert!(refused(DelaysPlan { shape: f64::NAN, ..PLAN }).contains("shape"));
        assert!(refused(DelaysPlan { shape: 1.0, ..PLAN }).contains("shape"));
        assert!(refused(PLAN).contains("/nowhere/plan"), "the module is not loaded");
    }
}
