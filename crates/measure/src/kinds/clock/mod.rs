//! What reading a clock costs: tests 1 and 2 of Gutiérrez et al. (ACM TECS).
//!
//! Test 1 reads one clock twice (`read_to_read`). Test 2 reads a clock between two readings of a reference
//! (`reference_to_reference`), both ways round. Each by the C library, which uses the vDSO where there is one, and by
//! a real system call. Beside the single readings, whole blocks of 1,000 are timed, since a single reading is no finer
//! than the clock's own resolution.

mod hot;

use kernel::clock::KernelClock;
use record::{ClockRequest, Measurement, Record, Request, SeriesDetail};
use units::{ClockId, ClockName, approx_f64_i64};

use self::hot::{Pairing, Path};
use crate::context::RunContext;
use crate::machine::Machine;
use crate::repeated::{self, Plan, Repeated, RepeatedError};
use crate::stop::Stop;

/// Readings between two looks at the stop flag, and in one timed block.
const BLOCK: u64 = 1_000;
/// Blocks that are timed as a whole.
const MAX_TIMED_BLOCKS: u64 = 1_000;

/// Why clocks cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// As for all that is repeated.
    #[error(transparent)]
    Repeated(#[from] RepeatedError),
    /// A clock that this kernel lacks.
    #[error("this kernel does not know the clock {clock}: {error}")]
    Unknown {
        /// What was asked.
        clock: ClockId,
        /// The kernel's reason.
        error: std::io::Error,
    },
}

/// Measures, and makes the record; `progress` hears the share done (0 to 1).
///
/// # Errors
/// Where nothing can be measured as asked.
pub fn measure(
    config: &ClockRequest,
    machine: &Machine,
    context: &RunContext,
    stop: &Stop,
    progress: &mut (dyn FnMut(f64) + Send),
) -> Result<Record, ClockError> {
    let cpu = Plan::cpu(config.cpu, machine)?;
    let read = || config.clocks.iter().chain(config.pairs.iter().flat_map(|(a, b)| [a, b])).copied();
    for clock in read() {
        kernel::clock::resolution_ns(KernelClock::from(clock)).map_err(|error| ClockError::Unknown { clock, error })?;
    }
    let plan = Plan {
        measurement: Measurement::Clock,
        thread: "punctual-clock",
        cpu,
        priority: config.priority,
        samples: config.samples,
        block: BLOCK,
        steppable: read().find(|clock| clock.can_step()),
        if_cut: "some clocks have fewer readings than asked, or none",
    };
    let request = Request::Clock(config.clone());
    let mut record = repeated::measure(plan, all(config), request, (machine, context, stop), progress)?;
    let names: Vec<ClockName> = read().map(ClockName::from).fold(Vec::new(), |mut names, name| {
        if !names.contains(&name) {
            names.push(name);
        }
        names
    });
    record.nodes.first_mut().clocks.read = names;
    Ok(record)
}

/// All that is read, one after the other.
fn all(config: &ClockRequest) -> Vec<Repeated<'static>> {
    let mut all = Vec::new();
    for path in [Path::Library, Path::Syscall] {
        for &clock in &config.clocks {
            let variant = format!("{clock} {}", path.name());
            all.push(of("read_to_read", variant, Pairing::Alone(clock.into()), path, config.samples));
        }
        for &(clock, reference) in &config.pairs {
            for (inner, outer) in [(clock, reference), (reference, clock)] {
                let variant = format!("{inner} between two {outer} {}", path.name());
                let pairing = Pairing::Between { inner: inner.into(), outer: outer.into() };
                all.push(of("reference_to_reference", variant, pairing, path, config.samples));
            }
        }
    }
    all
}

fn of(name: &'static str, variant: String, pairing: Pairing, path: Path, samples: u64) -> Repeated<'static> {
    let fill = move |out: &mut [i64]| {
        hot::readings(pairing, path, out);
        Ok(())
    };
    let detail = move |rest: &dyn Fn()| match pairing {
        Pairing::Alone(clock) => {
            SeriesDetail::Readings { block_mean_median_ns: timed_blocks(clock, path, samples, rest) }
        }
        Pairing::Between { .. } => SeriesDetail::None,
    };
    Repeated { name, variant, fill: Box::new(fill), detail: Box::new(detail) }
}

/// Median over blocks of the mean of 1,000 readings without anything between them (ns).
fn timed_blocks(clock: KernelClock, path: Path, samples: u64, rest: &dyn Fn()) -> f64 {
    let blocks = (samples / BLOCK).clamp(1, MAX_TIMED_BLOCKS);
    let timed = |_: u64| {
        rest();
        hot::timed_block(clock, path, BLOCK)
    };
    let mut totals: Vec<i64> = (0..blocks).map(timed).collect();
    totals.sort_unstable();
    approx_f64_i64(totals[totals.len() / 2]) / units::approx_f64(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reading_asked_for_is_in_the_record() {
        let config = ClockRequest { samples: 3_500, ..ClockRequest::default() };
        let record = measure(&config, &Machine::read(), &RunContext::default(), &Stop::new(), &mut |_| {}).unwrap();
        // Two paths, each two clocks alone and one pair both ways round.
        assert_eq!(record.series.len(), 8);
        for series in &record.series {
            let below = series.below_zero.as_ref().map_or(0, record::Histogram::count);
            assert_eq!(series.histogram.count() + below, 3_500, "{}", series.variant);
        }
        let alone = record.series.iter().filter(|series| series.name == "read_to_read");
        assert!(alone.into_iter().all(|series| series.block_mean_median_ns().is_some_and(|ns| ns > 0.0)));
        assert_eq!(record.nodes.first().clocks.read.len(), 2);
    }
}
