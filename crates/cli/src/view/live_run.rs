//! A run of any kind while it goes on, on a terminal.

use measure::sync::LiveSync;
use measure::{LiveView, Observer as _};
use record::{Figure, Measurement};
use run::{About, Watch};
use units::Ns;

use super::live::LiveTerminal;
use super::sync::Live as LiveClocks;

/// Draws on a terminal, is silent elsewhere.
pub(crate) enum LiveRun {
    /// Threads that are measured.
    Threads(LiveTerminal),
    /// Clocks that are followed.
    Clocks(LiveClocks),
}

impl LiveRun {
    /// For a run that is about to start.
    pub(crate) fn new(measurement: Measurement, label: &str, about: &About) -> Self {
        if measurement.kind().figure == Figure::Offsets {
            let length_ns = about.length_ns.and_then(|ns| i64::try_from(ns).ok());
            return Self::Clocks(LiveClocks::new(Ns(length_ns.unwrap_or(0))));
        }
        let kind = measurement.name();
        let name = if label.is_empty() || label == kind { kind.to_owned() } else { format!("{kind} {label}") };
        Self::Threads(LiveTerminal::with_head(&format!("{name}  {}", about.heading), about.length_ns))
    }

    /// Takes the picture away; the result follows.
    pub(crate) fn finish(&self) {
        match self {
            Self::Threads(live) => live.finish(),
            Self::Clocks(live) => live.finish(),
        }
    }
}

impl Watch for LiveRun {
    fn threads(&mut self, so_far: &LiveView) {
        if let Self::Threads(live) = self {
            live.observe(so_far);
        }
    }

    fn clocks(&mut self, so_far: &LiveSync) {
        if let Self::Clocks(live) = self {
            live.show(so_far);
        }
    }

    fn wants_bins(&self) -> bool {
        matches!(self, Self::Threads(live) if live.is_shown())
    }
}
