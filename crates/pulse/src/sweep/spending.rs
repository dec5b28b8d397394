//! How many orders without a miss a claim needs, and how the chance of a wrong claim is shared among all attempts.

/// The chance of a wrong claim that attempts have not used yet.
///
/// A sweep has one such chance, 1 - confidence, for all cycles and attempts together. Each attempt takes half of what is left:
/// alpha/2, alpha/4, and so on. An attempt calls a system with too many misses good with at most the chance that it took, whatever
/// came before it. So all attempts together do with at most alpha/2 + alpha/4 + ... < alpha, however many there are, and although
/// each of them depends on how the ones before it ended.
///
/// What would make it false: orders of one attempt that are used for another one, or an attempt that is begun anew without taking its
/// part, after a miss or because it showed nothing: whatever kept it from being looked at may have been what made it miss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spending {
    left: f64,
}

impl Spending {
    pub(super) const fn new(alpha: f64) -> Self {
        Self { left: alpha }
    }

    /// The chance that the next attempt would take.
    pub(super) fn next_alpha(self) -> f64 {
        self.left / 2.0
    }

    /// Takes the part of an attempt.
    pub(super) fn spend(&mut self) -> f64 {
        self.left /= 2.0;
        self.left
    }
}

/// How many orders without a miss show that fewer than `max_miss` (a share of all orders, above 0) are missed, with a chance of at
/// most `alpha` to be wrong: `ln(1 / alpha) / max_miss`, rounded up.
///
/// That many are enough. A system that misses each order with the probability p or more passes n orders with a probability of at
/// most `(1 - p)^n`. Since `ln(1 - p) <= -p`, that is at most `exp(-p n)`, and with `n >= ln(1 / alpha) / p` at most `alpha`.
/// The least number is `ln(alpha) / ln(1 - p)`, which is smaller by about `ln(1 / alpha) / 2` orders, whatever p is: for the first
/// attempt at 99 % that is less than 3 of 529,832. These few orders also make up for the rounding of this computation, whose result is
/// off by less than one order below 2^50 of them.
///
/// What would make it false: misses that come in bursts. Then orders are no independent trials, and what holds instead is what
/// [`burst_interval_ns`] says.
#[must_use]
pub fn orders_without_a_miss(max_miss: f64, alpha: f64) -> u64 {
    units::round_u64(((1.0 / alpha).ln() / max_miss).ceil())
}

/// How often (0 to 1) at least one of `orders` is missed by a system that misses each with the probability `miss`:
/// `1 - (1 - miss)^orders`.
///
/// With a tenth of what is asked as `miss` it says how often a system that is ten times better than asked is not confirmed.
#[must_use]
pub fn chance_of_a_miss(miss: f64, orders: u64) -> f64 {
    -(units::approx_f64(orders) * (-miss).ln_1p()).exp_m1()
}

/// The largest share of missed orders with which `orders` pass without a miss in more than a share `alpha` of all cases:
/// `1 - alpha^(1 / orders)`.
///
/// It assumes that orders are missed independently of each other.
#[must_use]
pub fn miss_rate_below(orders: u64, alpha: f64) -> f64 {
    -(alpha.ln() / units::approx_f64(orders)).exp_m1()
}

/// A time without a miss (ns) shows that bursts are rarer than one in this time (ns), with a chance of at most `alpha` to be wrong:
/// `time_ns / ln(1 / alpha)`, rounded down.
///
/// Bursts that begin at random moments, one in `t` on average, leave a time T without one with the probability `exp(-T / t)`.
///
/// What would make it false: bursts with a rhythm, or ones that wait for something that the confirmation did not have, such as
/// another load.
#[must_use]
pub fn burst_interval_ns(time_ns: u64, alpha: f64) -> u64 {
    units::round_u64((units::approx_f64(time_ns) / (1.0 / alpha).ln()).floor())
}

/// The share of orders (0 to 1) that is missed at least, after `misses` of `orders`, with a chance of at most `alpha` to be wrong;
/// 0 without a miss.
///
/// It is Chernoff's bound, q below the share that was seen with `orders * KL(seen, q) = ln(1 / alpha)`: n orders of a system that
/// misses fewer than q show so many misses with at most that probability. Where orders end at their first miss, as in simulations, it
/// is valid too: that the first miss comes so early has a probability of at most `orders * q`, and the bound is below
/// `alpha / orders`. It assumes that orders are missed independently of each other:
/// [`miss_rate_at_least_in_bursts`] does not.
#[must_use]
pub fn miss_rate_at_least(misses: u64, orders: u64, alpha: f64) -> f64 {
    let (misses, orders) = (units::approx_f64(misses), units::approx_f64(orders));
    let seen = misses / orders;
    // Not a number without orders.
    if !(misses > 0.0 && seen <= 1.0) {
        return 0.0;
    }
    let divergence = |rate: f64| {
        let hits = if seen < 1.0 { (1.0 - seen) * ((1.0 - seen) / (1.0 - rate)).ln() } else { 0.0 };
        seen * (seen / rate).ln() + hits
    };
    rate_that_differs(seen, |rate| orders * divergence(rate) >= (1.0 / alpha).ln())
}

/// The share of orders (0 to 1) that is missed at least where misses come in bursts, after `misses` of `orders`, with a chance of at
/// most `alpha` to be wrong; 0 without a miss.
///
/// Bursts are independent of each other, and none misses more than `together` orders. So many misses, divided by `together`, then have
/// an exponential moment of at most that of a Poisson number with the same mean, since the exponential function is convex. It is
/// Chernoff's bound for that number: one burst shows no more than one miss by itself does, times its length.
///
/// What would make it false: bursts that miss more, or that come together.
#[must_use]
pub fn miss_rate_at_least_in_bursts(misses: u64, orders: u64, together: u64, alpha: f64) -> f64 {
    if together <= 1 {
        return miss_rate_at_least(misses, orders, alpha);
    }
    let (misses, orders) = (units::approx_f64(misses), units::approx_f64(orders));
    let (seen, bursts) = (misses / orders, orders / units::approx_f64(together));
    // Not a number without orders.
    if !(misses > 0.0 && seen <= 1.0) {
        return 0.0;
    }
    rate_that_differs(seen, |rate| bursts * (seen * (seen / rate).ln() - seen + rate) >= (1.0 / alpha).ln())
}

/// The largest rate below the one that was seen that differs enough from it; all lower ones do, too.
fn rate_that_differs(seen: f64, differs: impl Fn(f64) -> bool) -> f64 {
    // By its logarithm, since it may be a billionth.
    let (mut low, mut high) = (-60.0_f64, seen.ln());
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if differs(middle.exp()) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.exp()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_attempt_takes_as_many_orders_as_the_documentation_says() {
        let alpha = Spending::new(1.0 - 0.99).spend();
        assert_eq!(orders_without_a_miss(1e-5, alpha), 529_832);
        // At 500 us: 265 s, and 44 minutes for one in a million.
        assert_eq!(orders_without_a_miss(1e-6, alpha), 5_298_318);
        assert_eq!(5_298_318_u64 * 500 / 1_000_000 / 60, 44);
        // A system that is ten times better fails in 41 of 100 cases.
        assert!((chance_of_a_miss(1e-6, 529_832) - 0.4113).abs() < 0.0001);
        assert_eq!(burst_interval_ns(529_832 * 500_000, alpha) / 1_000_000, 50_000);
    }

    #[test]
    fn what_all_attempts_spend_stays_below_what_there_is() {
        let mut spending = Spending::new(0.01);
        let spent: Vec<f64> = (0..20).map(|_| spending.spend()).collect();
        assert!((spent[0] - 0.005).abs() < 1e-18 && (spent[1] - 0.0025).abs() < 1e-18);
        let total: f64 = spent.iter().sum();
        assert!(total < 0.01 && total > 0.009_999_9, "{total}");
    }

    #[test]
    fn few_misses_show_a_rate_and_none_shows_none() {
        assert!(miss_rate_at_least(0, 1_000, 0.01) <= 0.0);
        assert!(miss_rate_at_least(0, 0, 0.01) <= 0.0);
        // One of 1,000: exactly 1 - 0.99^(1/1000), which is 1.005e-5, and Chernoff's bound is below.
        let one = miss_rate_at_least(1, 1_000, 0.01);
        assert!(one > 2e-6 && one < 1.005e-5, "{one}");
        let fifth = miss_rate_at_least(24_000, 120_000, 0.01);
        assert!(fifth > 0.196 && fifth < 0.2, "{fifth}");
        let all = miss_rate_at_least(1_000, 1_000, 0.01);
        assert!(all > 0.99 && all < 1.0, "{all}");
    }

    #[test]
    fn misses_that_come_together_show_less() {
        let (single, burst) =
            (miss_rate_at_least(24, 529_832, 0.01), miss_rate_at_least_in_bursts(24, 529_832, 24, 0.01));
        assert!(single > 2e-5 && burst < 1e-6, "{single} {burst}");
        // As one miss does by itself, times its length.
        let one = 24.0 * miss_rate_at_least(1, 529_832, 0.01);
        assert!((burst / one - 1.0).abs() < 1e-3, "{burst} {one}");
        assert!((miss_rate_at_least_in_bursts(24, 529_832, 1, 0.01) - single).abs() < 1e-15);
        assert!(miss_rate_at_least_in_bursts(0, 1_000, 5, 0.01) <= 0.0);
        // A fifth of all orders, each burst of a thousand.
        let fifth = miss_rate_at_least_in_bursts(24_000, 120_000, 1_000, 0.01);
        assert!(fifth > 0.1 && fifth < 0.2, "{fifth}");
    }

    proptest! {
        /// The exact law of few orders: a system that misses as few as the bound says shows so many misses in at most 1 % of all cases.
        #[test]
        fn a_rate_that_is_shown_is_wrong_as_rarely_as_promised(orders in 1_u64..150, share in 0.0_f64..1.0) {
            let misses = 1 + units::round_u64(share * units::approx_f64(orders - 1));
            let q = miss_rate_at_least(misses, orders, 0.01);
            let mut chance = (1.0 - q).powi(i32::try_from(orders).unwrap());
            let mut fewer = 0.0;
            for missed in 0..misses {
                fewer += chance;
                chance *= units::approx_f64(orders - missed) / units::approx_f64(missed + 1) * q / (1.0 - q);
            }
            prop_assert!(1.0 - fewer <= 0.01 + 1e-9, "{misses} of {orders}: {q}");
            // The first miss at the last of them.
            let first = miss_rate_at_least(1, orders, 0.01);
            prop_assert!(chance_of_a_miss(first, orders) <= 0.01);
        }

        /// The exact probability, by logarithms: no more than `alpha` pass, and far fewer orders would not do.
        #[test]
        fn so_many_orders_are_enough(log_p in -9.0_f64..-1.0, log_alpha in -12.0_f64..-0.31) {
            let (p, alpha) = (10_f64.powf(log_p), 10_f64.powf(log_alpha));
            let orders = orders_without_a_miss(p, alpha);
            let log_passes = |orders: u64| units::approx_f64(orders) * (-p).ln_1p();
            prop_assert!(log_passes(orders) <= alpha.ln(), "{orders}");
            let fewer = units::round_u64(units::approx_f64(orders) * 0.89);
            prop_assert!(fewer < 30 || log_passes(fewer) > alpha.ln(), "{orders}");
            prop_assert!(miss_rate_below(orders, alpha) <= p);
        }

        #[test]
        fn a_rate_that_is_shown_is_below_what_was_seen(misses in 1_u64..5_000, more in 0_u64..10_000_000) {
            let orders = misses + more;
            let at_least = miss_rate_at_least(misses, orders, 0.01);
            let seen = units::approx_f64(misses) / units::approx_f64(orders);
            prop_assert!(at_least > 0.0 && at_least <= seen);
            prop_assert!(miss_rate_at_least(misses + 1, orders + 1, 0.01) > at_least);
        }
    }
}
