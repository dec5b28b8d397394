//! `punctual measure`: one measurement, with a record.

pub(crate) mod claim;
pub(crate) mod clock;
#[cfg(feature = "packet")]
mod elsewhere;
pub(crate) mod event;
pub(crate) mod gpio;
pub(crate) mod noise;
mod request;
pub(crate) mod sync;
pub(crate) mod wakeup;

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
    /// The hand-over from one thread to another: eventfd, pipe, futex, signal, message queue, condition variable
    Event(event::EventArgs),
    /// What writing a GPIO line costs; with --loop-back the response to an edge, through a wire; with --answer that to a board
    Gpio(gpio::GpioArgs),
    /// How far clocks are apart: ptp4l, chronyd, hardware clocks, the kernel
    Sync(sync::SyncArgs),
    /// What a file asks for: a request as JSON, of any kind
    Request(request::RequestArgs),
}

impl MeasureArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.measurement {
            Measurement::Wakeup(args) => args.run(),
            Measurement::Clock(args) => args.run(),
            Measurement::Noise(args) => args.run(),
            Measurement::Event(args) => args.run(),
            Measurement::Gpio(args) => args.run(),
            Measurement::Sync(args) => args.run(),
            Measurement::Request(args) => args.run(),
        }
    }
}
