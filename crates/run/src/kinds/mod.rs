//! The kinds of measurement: a file each, or one of several that are alike, and one line in [`plan`].

mod answer;
mod app;
mod event;
mod noise;
mod packet;
mod pulse;
mod repeated;
mod response;
mod sync;
mod wakeup;

use kernel::sched::Policy;
use measure::{Observer, Stop};
use record::{ExplainingCost, Live, Record, Request};
use units::{CpuSet, Ns};

use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::{Surroundings, Watch};

/// Where the cost of explaining comes from, where explaining is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Explaining {
    /// From short runs right before the run, beside its load.
    #[default]
    MeasuredFirst,
    /// From an earlier run; `None` where that could not tell it.
    Known(Option<ExplainingCost>),
}

impl Explaining {
    /// The cost that is known.
    pub(crate) fn cost(self) -> Option<ExplainingCost> {
        match self {
            Self::MeasuredFirst => None,
            Self::Known(cost) => cost,
        }
    }
}

/// What is known of a run before it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The CPUs that are measured; empty where the kernel chooses, or a program that is followed.
    pub measured: CpuSet,
    /// The CPUs for all that the run needs beside: who looks at it belongs there too.
    pub housekeeping: CpuSet,
    /// The policy that its threads ask for; `None` where it has none of its own.
    pub policy: Option<Policy>,
    /// How long it will take (ns), where that is known.
    pub length_ns: Option<u64>,
    /// What stands at the head of a view of it, in words.
    pub heading: String,
    /// Whether it is told while it goes on what the record has by then: intervals as they end, or the record so far.
    pub hands_on: bool,
    /// Whether it tells which turn of a load's parts each sample belongs to.
    pub tells_turns: bool,
    /// Why it takes no load; `None` where it takes one.
    pub no_load: Option<&'static str>,
    /// Whether short runs for the cost of explaining come first.
    pub measures_cost_first: bool,
}

/// A measurement that was planned. Nothing has started.
pub(crate) trait Planned: std::fmt::Debug {
    /// What is known of it.
    fn about(&self) -> About;

    /// Finds out now what explaining costs, where that is asked for and not known.
    fn measure_cost(&mut self, _: &Surroundings<'_>, _: &Stop) {}

    /// Arms it, says so ([`Watch::begins`]) in the moment between that and the first schedule, and measures.
    fn measure(self: Box<Self>, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError>;
}

/// Plans a request. `turns` is the length of an interval that the turns of a load's parts want.
pub(crate) fn plan(
    request: Request,
    turns: Option<Ns>,
    explaining: Explaining,
    surroundings: &Surroundings<'_>,
) -> Result<Box<dyn Planned>, RunError> {
    let machine = surroundings.machine;
    Ok(match request {
        Request::Wakeup(request) => Box::new(wakeup::Planned::new(request, turns, explaining, machine)?),
        Request::Noise(request) => Box::new(noise::Planned::new(&request, machine)?),
        Request::Clock(request) => Box::new(repeated::Planned::of_clock(request, machine)),
        Request::Sync(request) => Box::new(sync::Planned::new(request, machine)?),
        Request::App(request) => Box::new(app::Planned::new(request, turns, machine)),
        Request::Gpio(request) => Box::new(repeated::Planned::of_gpio(request, machine)),
        Request::Pulse(request) => Box::new(pulse::Planned::new(request, surroundings.part, machine)?),
        Request::Response(request) => Box::new(response::Planned::new(request, machine)?),
        Request::Answer(request) => Box::new(answer::Planned::new(request, machine)?),
        Request::Event(request) => Box::new(event::Planned::new(request, machine)?),
        Request::Packet(request) => Box::new(packet::Planned::new(request, surroundings.part, explaining, machine)?),
    })
}

/// How long a run of this request takes and how far its schedules are apart, where both are known and matter for its intervals.
pub(crate) fn length_and_interval(request: &Request) -> Option<(Ns, Ns)> {
    match request {
        Request::Wakeup(request) => Some((wakeup::length(request)?, request.interval)),
        Request::App(request) => Some((request.duration?, app::USUAL_PERIOD)),
        _ => None,
    }
}

/// A [`Watch`] as the measurements know it.
pub(crate) struct Threads<'a> {
    pub(crate) watch: &'a mut dyn Watch,
}

impl Observer for Threads<'_> {
    fn begins(&mut self) {
        self.watch.begins();
    }

    fn observe(&mut self, view: &Live) {
        self.watch.live(view);
    }
}
