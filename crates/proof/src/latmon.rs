//! A witness of answers for the lab: what `latmon` does on a board, on two lines of a GPIO chip whose truth is known.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use anyhow::{Context as _, anyhow};
use codecs::latmon::{Faults, GIVEN_UP_AFTER_NS, PORT, Service};
use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::gpio::{Chip, EdgeLine, OutputLine, Waited};
use kernel::sched::Policy;
use units::ClockId;

/// What the kernel tells others of who uses the lines.
const CONSUMER: &str = "punctual-proof";

/// Serve as a witness of answers on two lines, until one connection has ended
#[derive(clap::Args)]
pub(crate) struct LatmonArgs {
    /// The line of its pulses, which it holds high between them
    #[arg(long, value_name = "CHIP/LINE")]
    pulse: String,
    /// The line at which it sees the answers
    #[arg(long, value_name = "CHIP/LINE")]
    ack: String,
    /// Where it listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from(([0, 0, 0, 0], PORT)))]
    on: SocketAddr,
    /// Real-time priority of its loop under SCHED_FIFO, below that of the thread that answers
    #[arg(long, value_name = "P", default_value_t = 60)]
    priority: u32,
    /// An answer that is given up ends its measuring without a word
    #[arg(long)]
    ends_at_overrun: bool,
}

/// Its two lines.
struct Pins {
    pulse: OutputLine,
    ack: EdgeLine,
}

impl LatmonArgs {
    /// Serves, and prints what it did as one line of JSON on stdout.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        let line = |named: &str| -> anyhow::Result<(Chip, u32)> {
            let (chip, number) = named.rsplit_once('/').ok_or_else(|| anyhow!("'{named}' is not CHIP/LINE"))?;
            Ok((Chip::open(chip)?, number.parse().with_context(|| format!("'{number}' is no number of a line"))?))
        };
        let ((pulse, pulse_line), (ack, ack_line)) = (line(&self.pulse)?, line(&self.ack)?);
        // Low is its active level: it is high between pulses.
        let pins =
            Pins { pulse: pulse.output(pulse_line, true, CONSUMER)?, ack: ack.edges(ack_line, false, CONSUMER)? };
        let listener = TcpListener::bind(self.on).with_context(|| format!("cannot listen on {}", self.on))?;
        eprintln!("listening on {}", self.on);
        let (stream, _) = listener.accept()?;
        kernel::sched::set_policy(Policy::Fifo(self.priority))?;
        let faults = Faults { ends_at_overrun: self.ends_at_overrun, unsent_frame: None, left_over_ns: None };
        let mut service = Service::new(faults);
        let ended = serve(stream, &pins, &mut service);
        kernel::sched::set_policy(Policy::Other)?;
        let truth = service.truth();
        println!(
            "{{\"sessions\": {}, \"pulses\": {}, \"answers\": {}, \"overruns\": {}, \"warm-up\": {}}}",
            truth.sessions, truth.pulses, truth.answers, truth.overruns, truth.warm_up
        );
        ended.map(|()| true)
    }
}

/// Until the peer hangs up.
fn serve(mut stream: TcpStream, pins: &Pins, service: &mut Service) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = [0; 8];
    loop {
        stream.set_nonblocking(service.is_measuring())?;
        match stream.read_exact(&mut request) {
            Ok(()) => {
                let said = service.ask(request);
                stream.set_nonblocking(false)?;
                stream.write_all(&said)?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // It hung up, whether it said so or not.
            Err(_) => return Ok(()),
        }
        if service.is_measuring() {
            // Each wait is bounded. As on a board there is no pause while it warms up.
            let latency_ns = pins.answered()?;
            let said = service.pulsed(latency_ns);
            stream.set_nonblocking(false)?;
            stream.write_all(&said)?;
            if service.pause_us() > 0 {
                sleep_for(i64::from(service.pause_us()) * 1_000);
            }
        }
    }
}

impl Pins {
    /// Makes a pulse, and waits for its answer; how long that took (ns), by the kernel's stamp of the answer.
    fn answered(&self) -> anyhow::Result<Option<u32>> {
        let give_up_ms = i32::try_from(GIVEN_UP_AFTER_NS / 1_000_000)?;
        // Answers that came after their pulses had been given up.
        while matches!(self.ack.wait(0), Ok(Waited::Edge(_))) {}
        let made_ns = now_ns(KernelClock::from(ClockId::Monotonic));
        self.pulse.set(true)?;
        let waited = self.ack.wait(give_up_ms);
        self.pulse.set(false)?;
        let latency_ns = match waited {
            Ok(Waited::Edge(edge)) => edge.at_ns.saturating_sub(made_ns),
            _ => return Ok(None),
        };
        Ok(u32::try_from(latency_ns).ok().filter(|ns| u64::from(*ns) <= GIVEN_UP_AFTER_NS))
    }
}

fn sleep_for(ns: i64) {
    let clock = KernelClock::from(ClockId::Monotonic);
    let _ = sleep_until(clock, &Schedule::at_ns(now_ns(clock).saturating_add(ns)));
}
