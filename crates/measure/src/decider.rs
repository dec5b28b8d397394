//! Who decides, while a run goes on, that it has measured enough.

use record::Interval;

/// Asked a few times a second by the drain, on the housekeeping CPUs; samples wait in their rings meanwhile, for seconds.
pub trait Decider: Sync {
    /// Whether the run can end. `threads` are the finished intervals of each thread, `worst_ns` the worst of all samples.
    fn look(&self, threads: &[&[Interval]], worst_ns: u64) -> bool;
}
