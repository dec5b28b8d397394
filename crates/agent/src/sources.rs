//! What is known of the node's sources of time while it monitors: what each look saw, and the worst of an interval.
//!
//! The services are followed as `punctual measure sync` follows them, by a thread of its own for as long as a run lasts. The system clock
//! itself is looked at by the keeper with its other clocks: whether something keeps it right, and whether it was set.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use farm::monitor::{NOT_SYNCHRONIZED, SYNCHRONIZED, SYSTEM_CLOCK, SourceInterval, UNKNOWN};
use record::{Live, LiveDetail, Request, RunLength, RunRequest, SyncRequest, SyncService, SyncState};
use run::{Anyway, Beside, Machine, RunContext, Stop, Surroundings, Watch};

use crate::clocks::Look;

/// The most sources; a machine with more is known by some of them.
const MOST_SOURCES: usize = 32;
/// The most bytes of a source's name.
const MOST_NAME_BYTES: usize = 100;
/// What was said of the services longer ago than this says nothing of now: they are looked at twice a second.
const STALE: Duration = Duration::from_secs(3);
/// An interval in which nobody looked has what was seen so long before it at most (ns).
const NEAR_NS: i64 = 3_000_000_000;

/// What a service says now.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Service {
    name: String,
    state: SyncState,
    bound_ns: Option<u64>,
}

/// What the services said last, shared between who follows them and the keeper.
#[derive(Clone, Debug, Default)]
pub(crate) struct Services(Arc<Mutex<Option<Told>>>);

/// What was said of the services, and when.
type Told = (Instant, Vec<Service>);

impl Services {
    /// Follows the services until it is told to stop; where that cannot be, nothing is known of them.
    pub(crate) fn follow(&self, machine: &Machine, own_program: &Path, stop: &Stop) {
        let anyway = Anyway { is_wanted: false, warn: &|_| () };
        let surroundings = Surroundings { machine, own_program, anyway, part: None };
        let sync = SyncRequest { duration: RunLength::Unlimited, ..SyncRequest::default() };
        let request = RunRequest { request: Request::Sync(sync), load: None, partner: Vec::new() };
        let prepared = run::prepare(request, run::Explaining::Known(None), &surroundings);
        if let Ok(prepared) = prepared {
            let mut watch = Following(self);
            let context = RunContext { label: "monitoring".to_owned(), ..RunContext::default() };
            let beside = Beside { gives_way: true, ..Beside::new(&context, stop, &mut watch) };
            // Its record is of no use here: what was seen was told meanwhile.
            let _ = prepared.run(&surroundings, beside);
        }
        self.tell(None);
    }

    fn tell(&self, services: Option<Vec<Service>>) {
        let told = services.map(|services| (Instant::now(), services));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }

    /// What they say now; empty where that is not known.
    fn now(&self) -> Vec<Service> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.as_ref().filter(|(at, _)| at.elapsed() < STALE).map_or_else(Vec::new, |(_, services)| services.clone())
    }
}

/// Takes over what is seen of the services.
struct Following<'a>(&'a Services);

impl Watch for Following<'_> {
    fn live(&mut self, so_far: &Live) {
        self.0.tell(Some(services_of(so_far)));
    }
}

/// Those that have answered. The kernel's own word is the system clock's state, and stands there.
fn services_of(live: &Live) -> Vec<Service> {
    let mut all: Vec<Service> = Vec::new();
    for series in &live.series {
        let LiveDetail::Clock { name, state: Some(state), bound_ns, .. } = &series.detail else { continue };
        let name = shortened(name);
        if name == SyncService::Kernel.name() || all.iter().any(|known| known.name == name) || all.len() == MOST_SOURCES
        {
            continue;
        }
        let bound_ns = bound_ns.map(|(lower_ns, upper_ns)| lower_ns.unsigned_abs().max(upper_ns.unsigned_abs()));
        all.push(Service { name, state: *state, bound_ns });
    }
    all
}

fn shortened(name: &str) -> String {
    let mut name = units::printable::line(name).into_owned();
    let end = (0..=name.len().min(MOST_NAME_BYTES)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    name.truncate(end);
    name
}

/// What one look saw of one source.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Its name's place.
    source: usize,
    state: &'static str,
    bound_ns: Option<u64>,
    step_ns: i64,
}

/// What looks saw of the sources, as far back as it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    services: Services,
    /// How far back looks are kept (ns).
    keeps_ns: i64,
    names: Vec<String>,
    /// By their moment (ns, CLOCK_MONOTONIC).
    looks: VecDeque<(i64, Vec<Seen>)>,
    /// Services that were there at the look before: one that is gone without a word is unknown since.
    known: Vec<usize>,
}

impl Sources {
    /// Keeps looks for so long (ns).
    pub(crate) fn new(services: Services, keeps_ns: i64) -> Self {
        let names = vec![SYSTEM_CLOCK.to_owned()];
        Self { services, keeps_ns, names, looks: VecDeque::new(), known: Vec::new() }
    }

    /// A run begins: which services there are is not known before they answer.
    pub(crate) fn begins(&mut self) {
        self.known.clear();
    }

    /// Takes what the clocks said at a moment, by how much the system clock was set since the look before (ns), and what the services say.
    pub(crate) fn look(&mut self, look: &Look, step_ns: Option<i64>) {
        let services = self.services.now();
        self.take(look, step_ns, &services);
    }

    fn take(&mut self, look: &Look, step_ns: Option<i64>, services: &[Service]) {
        let (state, bound_ns) = match look.is_synchronized {
            None => (UNKNOWN, None),
            Some(false) => (NOT_SYNCHRONIZED, None),
            Some(true) => (SYNCHRONIZED, look.wall.error_ns),
        };
        let mut seen = vec![Seen { source: 0, state, bound_ns, step_ns: step_ns.unwrap_or(0) }];
        for service in services {
            let Some(source) = self.place(&service.name) else { continue };
            seen.push(Seen { source, state: service.state.word(), bound_ns: service.bound_ns, step_ns: 0 });
            if !self.known.contains(&source) {
                self.known.push(source);
            }
        }
        for source in &self.known {
            if !seen.iter().any(|seen| seen.source == *source) {
                seen.push(Seen { source: *source, state: UNKNOWN, bound_ns: None, step_ns: 0 });
            }
        }
        self.looks.push_back((look.monotonic_ns, seen));
        let from_ns = look.monotonic_ns.saturating_sub(self.keeps_ns);
        while self.looks.front().is_some_and(|(at_ns, _)| *at_ns < from_ns) {
            self.looks.pop_front();
        }
    }

    /// The place of a name; `None` where there are too many.
    fn place(&mut self, name: &str) -> Option<usize> {
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return Some(known);
        }
        (self.names.len() <= MOST_SOURCES).then(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// The worst of each source from a moment until another one (ns, CLOCK_MONOTONIC), by their names; of an interval in which nobody
    /// looked what was seen right before it. Empty where nothing was.
    pub(crate) fn worst(&self, from_ns: i64, to_ns: i64) -> Vec<SourceInterval> {
        let within = |(at_ns, _): &&(i64, Vec<Seen>)| (from_ns..to_ns).contains(at_ns);
        let mut looks: Vec<&(i64, Vec<Seen>)> = self.looks.iter().filter(within).collect();
        if looks.is_empty() {
            let before = self.looks.iter().rfind(|(at_ns, _)| *at_ns < from_ns && *at_ns >= from_ns - NEAR_NS);
            looks.extend(before);
        }
        let mut all: Vec<SourceInterval> = Vec::new();
        for seen in looks.into_iter().flat_map(|(_, seen)| seen) {
            let Some(name) = self.names.get(seen.source) else { continue };
            let one = SourceInterval {
                source: name.clone(),
                bound_ns: seen.bound_ns,
                state: seen.state.to_owned(),
                steps: u64::from(seen.step_ns != 0),
                largest_step_ns: seen.step_ns,
            };
            // From its first answer on: before it, it is not known to be there.
            match all.iter_mut().find(|known| known.source == one.source) {
                Some(known) => *known = known.with(&one),
                None => all.push(one),
            }
        }
        all.sort_by(|one, other| one.source.cmp(&other.source));
        all
    }
}

#[cfg(test)]
mod tests {
    use farm::monitor::WallTime;
    use record::LiveSeries;

    use super::*;

    const S: i64 = 1_000_000_000;

    fn look(at_s: i64, is_synchronized: Option<bool>, error_ns: u64) -> Look {
        let error_ns = Some(error_ns).filter(|_| is_synchronized == Some(true));
        let wall = WallTime { ns: at_s * S, is_synchronized: is_synchronized == Some(true), error_ns };
        Look { monotonic_ns: at_s * S, boottime_ns: at_s * S, wall, is_synchronized, took_ns: 100 }
    }

    fn service(name: &str, state: SyncState, bound_ns: Option<u64>) -> Service {
        Service { name: name.to_owned(), state, bound_ns }
    }

    fn words(all: &[SourceInterval]) -> Vec<String> {
        all.iter().map(|of| format!("{} {} {:?} {}", of.source, of.state, of.bound_ns, of.largest_step_ns)).collect()
    }

    #[test]
    fn an_interval_has_the_worst_of_each_source_and_what_cannot_be_read_is_unknown() {
        let mut sources = Sources::new(Services::default(), 300 * S);
        let locked = [service("chronyd", SyncState::Locked, Some(900))];
        sources.take(&look(1, Some(true), 5_000), None, &[]);
        sources.take(&look(2, Some(true), 7_000), None, &locked);
        sources.take(
            &look(3, Some(true), 6_000),
            Some(-4_000_000),
            &[service("chronyd", SyncState::Locked, Some(800))],
        );
        let worst = |sources: &Sources, from, to| words(&sources.worst(from * S, to * S));
        assert_eq!(
            worst(&sources, 0, 4),
            ["chronyd locked Some(900) 0", "system clock synchronized Some(7000) -4000000"]
        );
        // It answers no more; the kernel's word cannot be read.
        sources.take(&look(4, None, 0), None, &[]);
        assert_eq!(worst(&sources, 2, 5)[0], "chronyd unknown None 0");
        assert!(worst(&sources, 4, 5)[1].starts_with("system clock unknown None"));
        sources.take(&look(5, Some(false), 0), None, &[service("chronyd", SyncState::Lost, None)]);
        assert_eq!(worst(&sources, 2, 6), ["chronyd lost None 0", "system clock not synchronized None -4000000"]);
        // Nobody looked in it: what was seen right before.
        assert_eq!(worst(&sources, 6, 7), ["chronyd lost None 0", "system clock not synchronized None 0"]);
        assert_eq!(worst(&sources, 60, 70), Vec::<String>::new());
        // Another run: who does not answer is not there.
        sources.begins();
        sources.take(&look(400, Some(true), 1), None, &[]);
        assert_eq!(worst(&sources, 399, 401), ["system clock synchronized Some(1) 0"]);
        assert_eq!(sources.looks.len(), 1, "no more is kept than is asked for");
    }

    #[test]
    fn what_never_answered_is_not_there_and_the_kernel_s_word_stands_once() {
        let live = Live {
            series: vec![
                LiveSeries::clock("chronyd", None, None, None),
                LiveSeries::clock("kernel", Some(SyncState::Locked), None, None),
                LiveSeries::clock("ptp4l eth0", Some(SyncState::Locked), Some(-3), Some((-90, 40))),
                LiveSeries::clock("ptp4l eth0", Some(SyncState::Lost), None, None),
                LiveSeries::clock(&"é".repeat(200), Some(SyncState::Free), None, None),
            ],
            ..Live::default()
        };
        let all = services_of(&live);
        assert_eq!(all[0], service("ptp4l eth0", SyncState::Locked, Some(90)));
        assert_eq!((all.len(), all[1].name.len()), (2, MOST_NAME_BYTES));
    }
}
