//! What every run goes through, whatever its kind: planned, under its load, to its record.

use measure::load::RunningLoad;
use measure::{IntervalSink, LinearBins, LinearHistogram, RunContext, SampleTap, Stop};
use record::{Live, Record, RunRequest};

use crate::error::RunError;
use crate::give_way::HeldOff;
use crate::kinds::{self, About, Explaining, Planned};
use crate::loading::PreparedLoad;
use crate::partner::Connected;
use crate::surroundings::{Surroundings, Watch};

/// What goes beside a run.
pub struct Beside<'a> {
    /// What the manifest says of the caller.
    pub context: &'a RunContext,
    /// Ends it early.
    pub stop: &'a Stop,
    /// Sees it while it goes on.
    pub watch: &'a mut dyn Watch,
    /// Takes its intervals over as they end; kinds that have none hand none on ([`About::hands_on`]).
    pub sink: Option<&'a dyn IntervalSink>,
    /// What is made of its samples beside the record; kinds other than wake-ups take no notice.
    pub taps: Option<&'a mut Taps>,
    /// The other nodes; kinds that one node carries out take no notice.
    pub partners: Vec<Connected<'a>>,
    /// Whether it is the agent's monitoring, which gives way to other runs; those have it leave their CPUs first.
    pub gives_way: bool,
}

impl<'a> Beside<'a> {
    /// With nobody else beside.
    pub fn new(context: &'a RunContext, stop: &'a Stop, watch: &'a mut dyn Watch) -> Self {
        Self { context, stop, watch, sink: None, taps: None, partners: Vec::new(), gives_way: false }
    }
}

/// What is made of the samples of a run beside its record, for output in the form of older tools.
#[derive(Clone, Debug, Default)]
pub struct Taps {
    /// Gets each sample as it is drained.
    pub samples: Option<SampleTap>,
    /// Bins of equal width that are filled.
    pub bins: Option<LinearBins>,
    /// Once the run is over, one histogram of these bins for each thread, in the order of the record's series.
    pub histograms: Vec<LinearHistogram>,
}

/// A run that can begin.
#[derive(Debug)]
pub struct Prepared {
    planned: Box<dyn Planned>,
    about: About,
    load: Option<PreparedLoad>,
    rotate_over_ns: Option<u64>,
}

/// Plans a run, and refuses what can be refused before anything starts.
///
/// # Errors
/// Where this machine cannot carry the request out, its load is not there, or the run would be invalid and is not wanted all
/// the same.
pub fn prepare(
    request: RunRequest,
    explaining: Explaining,
    surroundings: &Surroundings<'_>,
) -> Result<Prepared, RunError> {
    let RunRequest { request, load, .. } = request;
    let length_and_interval = kinds::length_and_interval(&request);
    let turns = load
        .as_ref()
        .zip(length_and_interval)
        .and_then(|(load, (length, interval))| crate::loading::turns_interval(load, length, interval));
    let planned = kinds::plan(request, turns, explaining, surroundings)?;
    let about = planned.about();
    if let (Some(_), Some(why)) = (&load, about.no_load) {
        return Err(RunError::usage(why));
    }
    let load = load.map(|load| PreparedLoad::find(&load, &about.measured, surroundings.machine)).transpose()?;
    if load.as_ref().is_some_and(PreparedLoad::takes_turns) && !about.tells_turns {
        return Err(RunError::usage(
            "--rotate attributes wake-ups to parts of the load: it is for 'measure wakeup' and 'app'",
        ));
    }
    let rotate_over_ns = load.as_ref().map(|load| load.rotate_over(about.length_ns)).transpose()?.flatten();
    if let Some(policy) = about.policy {
        surroundings.anyway.check_policy(policy)?;
    }
    Ok(Prepared { planned, about, load, rotate_over_ns })
}

impl Prepared {
    /// What is known of it before it begins.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// Finds out whether its load can be started, long before it is ([`PreparedLoad::try_out`]).
    ///
    /// # Errors
    /// Where it cannot.
    pub fn try_load(&self, surroundings: &Surroundings<'_>) -> Result<(), RunError> {
        self.load.as_ref().map_or(Ok(()), |load| load.try_out(surroundings))
    }

    /// Finds out now what explaining costs, where that is asked for and not known: for a run whose partner is not to wait for it.
    /// Otherwise it is found out right before the run, beside its load.
    pub fn measure_cost(&mut self, surroundings: &Surroundings<'_>, stop: &Stop) {
        self.planned.measure_cost(surroundings, stop);
    }

    /// The load as a heading names it; `None` where it has none.
    #[must_use]
    pub fn load_title(&self) -> Option<String> {
        self.load.as_ref().map(PreparedLoad::title)
    }

    /// Starts the load, arms the measurement, opens the load's window as it begins, and makes the record.
    ///
    /// # Errors
    /// Where the load or the measurement cannot be started.
    pub fn run(self, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Self { planned, load, rotate_over_ns, about } = self;
        let _held_off = (!beside.gives_way).then(|| {
            let held_off = HeldOff::from(&about.measured);
            if let Err(error) = &held_off {
                let why =
                    format!("this machine's agent does not leave the CPUs ({error}): its threads disturb this run");
                (surroundings.anyway.warn)(&why);
            }
            held_off
        });
        let mut load = load.map(|load| load.start(surroundings)).transpose()?;
        let Beside { context, stop, watch, sink, taps, partners, gives_way } = beside;
        let mut watch = WithLoad { watch, load: load.as_mut(), rotate_over_ns };
        // Taken apart, since all of it has to live no longer than what watches now.
        let again = |Connected { node, addresses, session, partner }| Connected { node, addresses, session, partner };
        let partners = partners.into_iter().map(again).collect();
        let beside = Beside { context, stop, watch: &mut watch, sink, taps, partners, gives_way };
        let mut record = planned.measure(surroundings, beside)?;
        if let Some(load) = load {
            load.finish_into(&mut record);
        }
        Ok(record)
    }
}

/// Opens the window of the load as the measurement begins.
struct WithLoad<'a> {
    watch: &'a mut dyn Watch,
    load: Option<&'a mut RunningLoad>,
    rotate_over_ns: Option<u64>,
}

impl Watch for WithLoad<'_> {
    fn begins(&mut self) {
        if let Some(load) = &mut self.load {
            load.begin_window(self.rotate_over_ns);
        }
        self.watch.begins();
    }

    fn live(&mut self, so_far: &Live) {
        self.watch.live(so_far);
    }

    fn wants_bins(&self) -> bool {
        self.watch.wants_bins()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use measure::Machine;
    use record::{ClockRequest, LoadRequest, NoiseRequest, Request};
    use units::Ns;

    use super::*;
    use crate::Anyway;

    fn with_surroundings<T>(take: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let (machine, own_program) = (Machine::read(), Path::new("/nowhere"));
        let anyway = Anyway { is_wanted: false, warn: &|_| () };
        take(&Surroundings { machine: &machine, own_program, anyway, part: None })
    }

    struct Begun(u32);

    impl Watch for Begun {
        fn begins(&mut self) {
            self.0 += 1;
        }

        fn live(&mut self, _: &Live) {}
    }

    #[test]
    fn a_measurement_says_once_that_it_begins() {
        let gaps = NoiseRequest { duration: record::RunLength::For(Ns::from_ms(100)), ..NoiseRequest::default() };
        let clocks = ClockRequest { samples: 1_000, ..ClockRequest::default() };
        for request in [Request::Noise(gaps), Request::Clock(clocks)] {
            let begun = with_surroundings(|surroundings| {
                let planned = kinds::plan(request, None, Explaining::MeasuredFirst, surroundings).unwrap();
                let (context, stop, mut begun) = (RunContext::default(), Stop::new(), Begun(0));
                let record = planned.measure(surroundings, Beside::new(&context, &stop, &mut begun)).unwrap();
                assert!(record.samples() > 0 || record.measurement.name() == "noise", "{record:?}");
                begun
            });
            assert_eq!(begun.0, 1);
        }
    }

    #[test]
    fn a_load_that_a_kind_does_not_take_is_refused_before_it_is_looked_for() {
        let load = LoadRequest { name: Some("nobody-has-it".into()), ..LoadRequest::default() };
        let request =
            RunRequest { request: Request::Clock(ClockRequest::default()), load: Some(load), partner: Vec::new() };
        let refused = with_surroundings(|here| prepare(request, Explaining::MeasuredFirst, here).unwrap_err());
        assert!(refused.to_string().contains("without a load"), "{refused}");
    }
}
