//! Interrupts that arrive in a window, from two readings of `/proc/interrupts`.

use std::time::{Duration, Instant};

use profile::irq::{Interrupts, Irqs, arrivals_between};
use profile::{IssueReason, ProbeIssue, paths};

use crate::read::interrupts;
use crate::root::Root;
use crate::source::Source;

/// What arrived in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IrqWindow {
    /// How long the window really was, in nanoseconds.
    pub window_ns: u64,
    /// What arrived in it; `None` where the interrupts could not be read.
    pub arrivals: Option<Interrupts>,
}

impl IrqWindow {
    /// Puts the window's arrivals in the place of those since boot; affinities and threads stay.
    pub fn apply(&self, irqs: &mut Irqs) {
        let Some(arrivals) = &self.arrivals else { return };
        irqs.window_ns = Some(self.window_ns);
        irqs.architecture.clone_from(&arrivals.architecture);
        for line in &mut irqs.lines {
            let new = arrivals.lines.iter().find(|new| new.number == line.number);
            line.arrived_counts = new.map(|new| new.arrived_counts.clone()).unwrap_or_default();
        }
    }
}

/// Reads the interrupts, waits, and reads them again.
#[must_use]
pub fn read_irq_window(root: &Root, window: Duration) -> (IrqWindow, Vec<ProbeIssue>) {
    read_irq_window_during(root, || std::thread::sleep(window))
}

/// Reads the interrupts before and after something.
pub fn read_irq_window_during(root: &Root, something: impl FnOnce()) -> (IrqWindow, Vec<ProbeIssue>) {
    let source = Source::new(root);
    let before = interrupts(&source);
    let start = Instant::now();
    something();
    let after = interrupts(&source);
    let window_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    if before.is_some() != after.is_some() {
        source.issue(paths::INTERRUPTS, IssueReason::Unreadable, "only one of its two readings succeeded");
    }
    let arrivals = before.zip(after).map(|(before, after)| arrivals_between(&before, &after));
    (IrqWindow { window_ns, arrivals }, source.finish().0)
}
