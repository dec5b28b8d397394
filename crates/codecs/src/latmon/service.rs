//! The other side of the dialog: what `latmon` does, faults included, of latencies that somebody else measures. By it a run of ours is
//! proved without a board.

use super::{FRAME, MOST_CELLS, MOST_PERIOD_US, Request};

/// Faults that a service has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// An answer that is given up ends the measuring without a word, as in Zephyr 4.2.
    pub ends_at_overrun: bool,
    /// The frame of this number, from 0, finds its queue full once: it is not sent, and the measuring ends without a word.
    pub unsent_frame: Option<u64>,
    /// The latency of all answers of a frame that an earlier run left in its queue (ns): it is sent when measuring begins.
    pub left_over_ns: Option<u32>,
}

/// What a service did, whatever it said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// How often it was asked to measure.
    pub sessions: u64,
    /// Pulses that it made.
    pub pulses: u64,
    /// Answers that it entered into its histogram.
    pub answers: u64,
    /// Overruns that it said.
    pub overruns: u64,
    /// Answers of its warm-up.
    pub warm_up: u64,
    /// Answers of frames that it did not send.
    pub unsent: u64,
}

/// A service between a request and its end.
#[derive(Debug, Default)]
pub struct Service {
    faults: Faults,
    truth: Truth,
    period_us: u32,
    histogram: Vec<u32>,
    is_measuring: bool,
    is_warm: bool,
    frames: u64,
    sum_ns: u64,
    min_ns: u32,
    max_ns: u32,
    overruns: u32,
    samples: u32,
}

impl Service {
    /// One that nobody has asked yet.
    #[must_use]
    pub fn new(faults: Faults) -> Self {
        Self { faults, min_ns: u32::MAX, ..Self::default() }
    }

    /// Whether it makes pulses now.
    #[must_use]
    pub const fn is_measuring(&self) -> bool {
        self.is_measuring
    }

    /// Time that it waits before its next pulse (us): none as long as it warms up.
    #[must_use]
    pub const fn pause_us(&self) -> u32 {
        if self.is_warm { self.period_us } else { 0 }
    }

    /// What it did until now.
    #[must_use]
    pub const fn truth(&self) -> Truth {
        self.truth
    }

    /// It is asked something; what it says to it.
    pub fn ask(&mut self, request: [u8; 8]) -> Vec<u8> {
        let number = |bytes: [u8; 4]| u32::from_be_bytes(bytes);
        let [a, b, c, d, e, f, g, h] = request;
        let asked = Request { period_us: number([a, b, c, d]), cells: number([e, f, g, h]) };
        self.is_measuring = (1..=MOST_PERIOD_US).contains(&asked.period_us) && asked.cells <= MOST_CELLS;
        if self.is_measuring {
            self.period_us = asked.period_us;
            self.histogram = vec![0; usize::try_from(asked.cells).unwrap_or(0)];
            (self.is_warm, self.frames) = (false, 0);
            self.truth.sessions += 1;
            self.reset();
            return self.left_over(asked);
        }
        let mut said = if self.samples > 0 { self.frame() } else { Vec::new() };
        said.extend(self.frame());
        said.extend(self.histogram.iter().flat_map(|count| count.to_be_bytes()));
        said
    }

    /// It made a pulse, whose answer took so long (ns), or was given up; what it says.
    pub fn pulsed(&mut self, latency_ns: Option<u32>) -> Vec<u8> {
        self.truth.pulses += 1;
        let Some(latency_ns) = latency_ns else {
            self.overruns += 1;
            // What it counts in its warm-up is forgotten with that.
            self.truth.overruns += u64::from(self.is_warm || self.faults.ends_at_overrun);
            self.is_measuring = !self.faults.ends_at_overrun;
            return Vec::new();
        };
        self.truth.answers += 1;
        self.sum_ns += u64::from(latency_ns);
        (self.min_ns, self.max_ns) = (self.min_ns.min(latency_ns), self.max_ns.max(latency_ns));
        let mut cell = latency_ns / 1_000;
        while cell > self.period_us {
            self.overruns += 1;
            self.truth.overruns += 1;
            cell -= self.period_us;
        }
        let last = self.histogram.len().saturating_sub(1);
        if let Some(count) = self.histogram.get_mut(usize::try_from(cell).unwrap_or(last).min(last)) {
            *count += 1;
        }
        self.samples += 1;
        let request = Request { period_us: self.period_us, cells: 0 };
        if self.samples < request.answers_a_frame() { Vec::new() } else { self.end_of_second() }
    }

    fn end_of_second(&mut self) -> Vec<u8> {
        let samples = u64::from(self.samples);
        if !self.is_warm {
            self.is_warm = true;
            self.truth.warm_up += samples;
            self.reset();
            return Vec::new();
        }
        self.frames += 1;
        if self.faults.unsent_frame.is_some_and(|unsent| unsent + 1 == self.frames) {
            self.truth.unsent += samples;
            self.reset();
            (self.is_measuring, self.faults.unsent_frame) = (false, None);
            return Vec::new();
        }
        self.frame()
    }

    /// The frame that an earlier run left in its queue.
    fn left_over(&mut self, asked: Request) -> Vec<u8> {
        let Some(latency_ns) = self.faults.left_over_ns.take() else { return Vec::new() };
        let samples = asked.answers_a_frame();
        self.sum_ns = u64::from(latency_ns) * u64::from(samples);
        (self.min_ns, self.max_ns, self.samples) = (latency_ns, latency_ns, samples);
        self.frame()
    }

    fn frame(&mut self) -> Vec<u8> {
        let high = u32::try_from(self.sum_ns >> 32).unwrap_or(u32::MAX);
        let low = u32::try_from(self.sum_ns & 0xffff_ffff).unwrap_or(u32::MAX);
        let numbers = [high, low, self.min_ns, self.max_ns, self.overruns, self.samples];
        self.reset();
        let mut frame = Vec::with_capacity(FRAME);
        numbers.iter().for_each(|number| frame.extend(number.to_be_bytes()));
        frame
    }

    fn reset(&mut self) {
        (self.sum_ns, self.min_ns, self.max_ns, self.overruns, self.samples) = (0, u32::MAX, 0, 0, 0);
    }
}
