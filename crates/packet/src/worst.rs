//! The parts of the worst packets, so that each of them says where on its way the time passed.

use record::{NamedLatency, WorstSample};

use crate::receiving::Settled;

/// How many packets are kept: as many as a record lists.
const KEPT: usize = 64;

/// Keeps the packets with the longest delays; the common case costs one comparison.
#[derive(Clone, Debug, Default)]
pub struct WorstPackets {
    kept: Vec<(i64, Settled)>,
    /// A delay has to exceed this to be kept (ns); `None` as long as there is room.
    above_ns: Option<i64>,
}

impl WorstPackets {
    /// Takes the next packet; one without a delay is not kept.
    #[inline]
    pub fn take(&mut self, one: &Settled) {
        let Some(delay) = &one.sent_to_received else { return };
        if self.above_ns.is_none_or(|above_ns| delay.ns > above_ns) {
            self.keep(delay.ns, one);
        }
    }

    #[cold]
    fn keep(&mut self, ns: i64, one: &Settled) {
        self.kept.push((ns, one.clone()));
        if self.kept.len() == 2 * KEPT {
            self.kept.select_nth_unstable_by_key(KEPT - 1, |(ns, one)| (std::cmp::Reverse(*ns), one.received_ns));
            self.kept.truncate(KEPT);
            self.above_ns = self.kept.iter().map(|(ns, _)| *ns).min();
        }
    }

    /// Adds their parts to the worst samples of the same flow.
    pub fn add_parts(&self, worst: &mut [WorstSample]) {
        for sample in worst {
            let received_ns = sample.to.at.realtime.as_ns();
            let is_it = |(ns, one): &&(i64, Settled)| *ns == sample.latency_ns && one.received_ns == received_ns;
            let Some((_, found)) = self.kept.iter().find(is_it) else { continue };
            let hardware = found.hardware.as_deref().copied().unwrap_or_default();
            let parts = [
                ("sent_to_transmitted", found.sent_to_transmitted_ns),
                ("transmitted_to_arrived", found.transmitted_to_arrived.map(|delay| delay.ns)),
                ("arrived_to_received", found.arrived_to_received_ns),
                ("transmitted_to_hw_transmitted", hardware.transmitted_to_hw_transmitted.map(|delay| delay.ns)),
                ("hw_transmitted_to_hw_arrived", hardware.hw_transmitted_to_hw_arrived.map(|delay| delay.ns)),
                ("hw_arrived_to_arrived", hardware.hw_arrived_to_arrived.map(|delay| delay.ns)),
            ];
            let known =
                parts.into_iter().filter_map(|(name, ns)| Some(NamedLatency { name: name.to_owned(), ns: ns? }));
            sample.besides.extend(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{Moment, Point};
    use units::Timestamp;

    use super::*;
    use crate::receiving::HardwareParts;
    use crate::relation::Delay;

    fn settled(ns: i64, received_ns: i64) -> Settled {
        let delay = |ns| Delay { ns, below_ns: 1, above_ns: 1, ..Delay::default() };
        Settled {
            sequence: 0,
            received_ns,
            sent_to_received: Some(delay(ns)),
            sent_to_transmitted_ns: Some(7),
            transmitted_to_arrived: Some(delay(ns - 10)),
            arrived_to_received_ns: Some(3),
            hardware: Some(Box::new(HardwareParts {
                transmitted_to_hw_transmitted: Some(delay(1)),
                hw_transmitted_to_hw_arrived: Some(delay(ns - 13)),
                hw_arrived_to_arrived: Some(delay(2)),
                contradicting: 0,
            })),
        }
    }

    fn sample(ns: i64, received_ns: i64) -> WorstSample {
        let at = Moment { realtime: Timestamp::from_ns(received_ns), ..Moment::default() };
        WorstSample { latency_ns: ns, to: Point::from(at), ..WorstSample::default() }
    }

    #[test]
    fn the_parts_of_the_worst_packets_survive_a_long_run_and_add_up() {
        let mut worst = WorstPackets::default();
        for number in 0..10_000 {
            let ns = if number == 137 { 9_000_000 } else { 1_000 + (number * 7_919) % 5_003 };
            worst.take(&settled(ns, number));
        }
        worst.take(&Settled { sent_to_received: None, ..settled(0, 20_000) });
        let mut samples = [sample(9_000_000, 137), sample(9_000_000, 138)];
        worst.add_parts(&mut samples);
        let [found, other] = &samples;
        let [a, network, b, of_network @ ..] = &found.besides[..] else { panic!("{:?}", found.besides) };
        assert_eq!([a, network, b].map(|part| part.ns).iter().sum::<i64>(), 9_000_000);
        assert_eq!(of_network.iter().map(|part| part.ns).sum::<i64>(), network.ns);
        assert_eq!(found.besides[1].name, "transmitted_to_arrived");
        assert!(other.besides.is_empty(), "another packet with the same delay");
        assert!(worst.kept.len() < 2 * KEPT, "{}", worst.kept.len());
    }
}
