//! `punctual measure`: one measurement, with a record.

pub(crate) mod claim;
pub(crate) mod clock;
pub(crate) mod noise;
mod request;
pub(crate) mod sync;
pub(crate) mod wakeup;

use kernel::sched::Policy;
use record::{PolicyChoice, Request};

use crate::exit::Exit;

#[derive(clap::Args)]
pub(crate) struct MeasureArgs {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(clap::Subcommand)]
enum Measurement {
    /// Timer wake-up latency: how late a thread runs after the time it slept for
    Wakeup(wakeup::WakeupArgs),
    /// What reading a clock costs, alone and across
    Clock(clock::ClockArgs),
    /// Time stolen from a thread that never sleeps
    Noise(noise::NoiseArgs),
    /// How far clocks are apart: ptp4l, chronyd, hardware clocks, the kernel
    Sync(sync::SyncArgs),
    /// What a file asks for: a request as JSON, of any kind
    Request(request::RequestArgs),
}

/// The policy that a request asks for its measuring threads; `None` where it has none of its own.
pub(crate) fn policy(request: &Request) -> Option<Policy> {
    match request {
        Request::Wakeup(wakeup) => match wakeup.policy {
            PolicyChoice::Fifo => Some(Policy::Fifo(wakeup.priority)),
            PolicyChoice::RoundRobin => Some(Policy::RoundRobin(wakeup.priority)),
            PolicyChoice::Other | PolicyChoice::Deadline { .. } => None,
        },
        Request::Noise(noise) => noise.priority.map(Policy::Fifo),
        Request::Clock(clock) => clock.priority.map(Policy::Fifo),
        Request::Packet(packet) => packet.sched_priority.map(Policy::Fifo),
        Request::App(_) | Request::Sync(_) => None,
    }
}

impl MeasureArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.measurement {
            Measurement::Wakeup(args) => args.run(),
            Measurement::Clock(args) => args.run(),
            Measurement::Noise(args) => args.run(),
            Measurement::Sync(args) => args.run(),
            Measurement::Request(args) => args.run(),
        }
    }
}
