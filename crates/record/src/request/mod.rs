//! Requests for a measurement. The command line is parsed into one, a record keeps it, and it can be sent to another
//! process that runs it.
//!
//! This module defines the form and the defaults. Whoever runs the request checks it against the machine.

mod answer;
mod app;
mod clock;
mod event;
mod gpio;
mod local;
mod noise;
mod packet;
mod pulse;
mod response;
mod run;
mod run_length;
mod sync;
mod wakeup;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

pub use self::answer::{ANNOUNCED, AnswerRequest};
pub use self::app::{AppRequest, AppTarget};
pub use self::clock::ClockRequest;
pub use self::event::{CpuPair, EventMeans, EventRequest, PairPlacement};
pub use self::gpio::GpioRequest;
pub use self::local::{LocalAddress, LocalCommand, LocalLine, LocalPath};
pub use self::noise::NoiseRequest;
pub use self::packet::{HardwareMode, PacketDirection, PacketPath, PacketRequest, ReceiveMode};
pub use self::pulse::{ActsBy, NO_OUTPUT, PulseRequest, PulseShape};
pub use self::response::ResponseRequest;
pub use self::run::{LoadRequest, PartnerRequest, RunRequest, RunRequestError, partners};
pub use self::run_length::RunLength;
pub use self::sync::{SourceChoice, SyncRequest};
pub use self::wakeup::{EvidenceSource, ExplainRequest, Placement, PolicyChoice, RunEnd, Stagger, WakeupRequest};
use crate::Measurement;

/// A request for a measurement: its kind and its parameters. Omitted parameters take their defaults; durations are
/// strings with a unit, such as `"200us"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Request {
    /// Timer wake-up latency.
    Wakeup(WakeupRequest),
    /// Cost of reading clocks.
    Clock(ClockRequest),
    /// Time stolen from a thread that never sleeps.
    Noise(NoiseRequest),
    /// Latencies of the threads of a user's own program.
    App(AppRequest),
    /// How far clocks are apart.
    Sync(SyncRequest),
    /// Delay of packets between two nodes.
    Packet(PacketRequest),
    /// The hand-over from one thread to another.
    Event(EventRequest),
    /// Cost of writing a GPIO line.
    Gpio(GpioRequest),
    /// How late nodes act that are ordered to switch an output.
    Pulse(PulseRequest),
    /// Response to an edge of a GPIO line.
    Response(ResponseRequest),
    /// Answer to an edge that somebody else makes.
    Answer(AnswerRequest),
}

impl Request {
    /// The request of the kind, as a trait object.
    fn kind_request(&self) -> &dyn KindRequest {
        match self {
            Self::Wakeup(request) => request,
            Self::Clock(request) => request,
            Self::Noise(request) => request,
            Self::App(request) => request,
            Self::Sync(request) => request,
            Self::Packet(request) => request,
            Self::Event(request) => request,
            Self::Gpio(request) => request,
            Self::Pulse(request) => request,
            Self::Response(request) => request,
            Self::Answer(request) => request,
        }
    }

    fn kind_request_mut(&mut self) -> &mut dyn KindRequest {
        match self {
            Self::Wakeup(request) => request,
            Self::Clock(request) => request,
            Self::Noise(request) => request,
            Self::App(request) => request,
            Self::Sync(request) => request,
            Self::Packet(request) => request,
            Self::Event(request) => request,
            Self::Gpio(request) => request,
            Self::Pulse(request) => request,
            Self::Response(request) => request,
            Self::Answer(request) => request,
        }
    }

    /// The request, where it is one for nodes that act together.
    ///
    /// # Errors
    /// Itself, where it is of another kind.
    pub fn into_pulse(self) -> Result<PulseRequest, Box<Self>> {
        match self {
            Self::Pulse(request) => Ok(request),
            other => Err(Box::new(other)),
        }
    }

    /// The request, where it is one for packets between two nodes.
    ///
    /// # Errors
    /// Itself, where it is of another kind.
    pub fn into_packets(self) -> Result<PacketRequest, Box<Self>> {
        match self {
            Self::Packet(request) => Ok(request),
            other => Err(Box::new(other)),
        }
    }

    /// The requested kind of measurement.
    #[must_use]
    pub fn measurement(&self) -> Measurement {
        self.kind_request().measurement()
    }

    /// The latency that no sample may exceed; `None` if no deadline is stated.
    #[must_use]
    pub fn deadline(&self) -> Option<Ns> {
        self.kind_request().deadline()
    }

    /// How long the run takes according to its parameters; `None` if it runs until it is stopped.
    #[must_use]
    pub fn takes(&self) -> Option<Ns> {
        self.kind_request().takes()
    }

    /// The highest real-time priority (1 to 99) that its measuring threads ask for; `None` if they ask for none.
    #[must_use]
    pub fn real_time_priority(&self) -> Option<u32> {
        self.kind_request().real_time_priority()
    }

    /// Whether a deadline counts from the wake-up where no timer ended a wait ([`AppRequest::from_wake_up`]).
    #[must_use]
    pub const fn counts_from_wake_up(&self) -> bool {
        matches!(self, Self::App(request) if request.from_wake_up)
    }

    /// Sets how long the run lasts; returns `false` if its kind has no duration.
    #[must_use]
    pub fn last_for(&mut self, duration: Ns) -> bool {
        self.kind_request_mut().last_for(duration)
    }
}

/// What the request of every kind implements.
trait KindRequest {
    /// See [`Request::measurement`].
    fn measurement(&self) -> Measurement;

    /// See [`Request::deadline`].
    fn deadline(&self) -> Option<Ns>;

    /// See [`Request::takes`].
    fn takes(&self) -> Option<Ns>;

    /// See [`Request::real_time_priority`].
    fn real_time_priority(&self) -> Option<u32>;

    /// See [`Request::last_for`].
    fn last_for(&mut self, duration: Ns) -> bool;
}

/// The time that `samples` samples take at `each` per sample; `None` if it exceeds the range of [`Ns`] (292 years).
fn time_of(samples: u64, each: Ns) -> Option<Ns> {
    each.0.checked_mul(i64::try_from(samples).ok()?).map(Ns)
}

schemars::only_where_made! {
    impl Request {
        /// The published JSON Schema.
        #[must_use]
        pub fn json_schema() -> serde_json::Value {
            schemars::schema_for!(Self).to_value()
        }
    }
}

#[cfg(test)]
mod tests {
    use units::{ClockId, CpuSet};

    use super::*;

    fn read(text: &str) -> Result<Request, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn omitted_fields_take_their_defaults() {
        assert_eq!(read(r#"{"kind": "wakeup"}"#), Ok(Request::Wakeup(WakeupRequest::default())));
        assert_eq!(read(r#"{"kind": "noise"}"#), Ok(Request::Noise(NoiseRequest::default())));
        assert_eq!(read(r#"{"kind": "clock"}"#), Ok(Request::Clock(ClockRequest::default())));
        let text = r#"{"kind": "wakeup", "interval": "1ms", "deadline": "100us", "end": {"after": "5s"},
                       "placement": {"pinned": "2-3"}, "policy": {"deadline": {"runtime": "20us"}}}"#;
        let Ok(Request::Wakeup(request)) = read(text) else { panic!("{:?}", read(text)) };
        assert_eq!((request.interval, request.deadline), (Ns::from_ms(1), Some(Ns::from_us(100))));
        assert_eq!((request.end, request.priority), (RunEnd::After(Ns::from_s(5)), 98));
        assert_eq!(request.placement, Placement::Pinned("2-3".parse().unwrap()));
        assert_eq!(request.policy, PolicyChoice::Deadline { runtime: Ns::from_us(20) });
    }

    #[test]
    fn fields_of_another_kind_are_rejected() {
        let error = read(r#"{"kind": "noise", "interval": "1ms"}"#).unwrap_err();
        assert!(error.contains("unknown field `interval`"), "{error}");
        assert!(read(r#"{"kind": "syncing"}"#).unwrap_err().contains("unknown variant `syncing`"));
        assert!(read(r#"{"kind": "wakeup", "interval": "200"}"#).unwrap_err().contains("has no unit"));
        assert!(read(r#"{"interval": "1ms"}"#).unwrap_err().contains("kind"));
    }

    #[test]
    fn every_request_survives_a_round_trip_through_json() {
        let cpus: CpuSet = "1-3".parse().unwrap();
        let wakeup = WakeupRequest {
            placement: Placement::Unpinned,
            threads: Some(2),
            policy: PolicyChoice::RoundRobin,
            align_to: Some(Ns::from_s(1)),
            stagger: Stagger::AfterInterval { all: Ns::from_us(3), each: Ns::ZERO },
            end: RunEnd::Samples(1_000),
            clock: ClockId::Tai,
            controller_cpus: Some(cpus.clone()),
            explain: Some(ExplainRequest { source: Some(EvidenceSource::Events), ..ExplainRequest::default() }),
            jitter: Some(7),
            ..WakeupRequest::default()
        };
        let noise = NoiseRequest { cpus: Some(cpus), priority: Some(10), ..NoiseRequest::default() };
        let app = AppRequest::new(AppTarget::Process { pid: 7 });
        let all = [
            Request::Wakeup(wakeup),
            Request::Noise(noise),
            Request::Clock(ClockRequest::default()),
            Request::App(app),
            Request::Sync(SyncRequest { limit: Some(Ns::from_us(10)), ..SyncRequest::default() }),
            Request::Packet(PacketRequest { path: PacketPath::Xdp, cpu: Some(1), ..PacketRequest::default() }),
            Request::Event(EventRequest {
                means: EventMeans::FutexPi,
                placement: PairPlacement::Between(vec![CpuPair { waker: 1, woken: 2 }]),
                ..EventRequest::default()
            }),
            Request::Response(ResponseRequest {
                output: "gpiochip0/4".into(),
                input: "gpiochip0/seen".into(),
                acting_cpu: Some(0),
                deadline: Some(Ns::from_us(100)),
                ..ResponseRequest::default()
            }),
        ];
        for request in all {
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(read(&text).as_ref(), Ok(&request), "{text}");
            let kind = request.measurement().name();
            assert!(text.starts_with(&format!("{{\"kind\":\"{kind}\"")), "{text}");
        }
    }
}
