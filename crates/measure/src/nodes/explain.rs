//! Explains why this node's receiver had packets late that the kernel already had (`arrived_to_received`).
//!
//! The flight recorder runs on every CPU: the kernel may take a packet, and wake the receiver, on another one than the
//! receiver's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use analysis::cause::Thread;
use record::{Counters, ExplainRequest, ExplainingCost, Explanation, NodeExplanation};
use units::{ClockId, CpuSet};

use super::delays::Delays;
use super::plan::PacketPlan;
use super::receive::{Receives, Recorded};
use crate::clock_watch::ClockWatch;
use crate::explain::{Begin, Explainer, FOLLOWED, Followed, Recorder, Threads, Watched, kernel_priority};

/// The latency that is explained.
pub(super) const EXPLAINED: &str = "arrived_to_received";
/// Between two looks at what latency is typical, which does not change so fast and takes long to find.
const TYPICAL_PERIOD: Duration = Duration::from_secs(1);
/// Why counters do not do.
const NO_COUNTERS: &str = "counters explain nothing of packets: it takes programs or events of the kernel's trace";

/// Where the cost could not be measured.
const COST_UNKNOWN: &str = "what explaining costs this receiver was not measured: it takes a CPU beside the receiver's for a \
    sender, and the loopback interface";

/// Where nothing says when the kernel had the packets.
const NO_STAMPS: &str =
    "no packet came with the receiving kernel's stamp, as on the path xdp, so that none could be explained";

/// What explains the packets of this node's receiver.
pub(super) struct Explaining {
    recorded: Option<Recorded>,
    config: ExplainRequest,
    cost: Option<ExplainingCost>,
    /// Why there is no recorder.
    missing: Vec<String>,
    explainer: Option<Explainer>,
    typical: Option<(Instant, i64)>,
    /// Packets that had the kernel's stamp so far.
    stamped: u64,
}

impl Explaining {
    /// Loads the recorder. Before any thread is real-time: loading changes code that runs on every CPU.
    pub(super) fn load(
        config: ExplainRequest,
        cost: Option<ExplainingCost>,
        plan: &PacketPlan,
        online: &CpuSet,
    ) -> Self {
        let mut explaining =
            Self { recorded: None, config, cost, missing: Vec::new(), explainer: None, typical: None, stamped: 0 };
        if !plan.receives() {
            explaining.missing.push("this node received no packets: its partner can explain its own".to_owned());
            return explaining;
        }
        let threads = Threads {
            real_time: plan.policy.priority() > 0,
            may_move: plan.cpu.is_none(),
            share_cpus: true,
            wakings: true,
        };
        let recorder = Recorder::new(online, threads, ClockId::Realtime, config);
        if recorder.records() {
            let above_ns = config.above.map_or(i64::MAX, |above| above.0);
            let watched = Arc::new(Watched::new(above_ns));
            explaining.recorded =
                Some(Recorded { recorder: Arc::new(recorder), watched, may_move: plan.cpu.is_none() });
        } else {
            explaining.missing = recorder.missing().into_iter().chain([NO_COUNTERS.to_owned()]).collect();
        }
        explaining
    }

    /// What the receiving thread is to have of it.
    pub(super) fn recorded(&self) -> Option<Recorded> {
        self.recorded.clone()
    }

    /// Begins to record for this receiver.
    pub(super) fn begin(&mut self, receives: &Receives, plan: &PacketPlan) {
        let Some(Recorded { recorder, watched, .. }) = self.recorded.clone() else { return };
        let (policy, prio) = kernel_priority(plan.policy);
        let own =
            Thread { tid: receives.member.tid, name: "punctual-r1".to_owned(), prio, policy, ..Thread::default() };
        let receiver = Followed {
            thread: 1,
            begin: Begin::Arrival(plan.request.receive),
            cpu: plan.cpu,
            interval_ns: Some(plan.interval_ns),
            own,
            watched,
        };
        let mut explainer = Explainer::new(recorder, self.config, vec![receiver], None);
        explainer.begin();
        self.explainer = Some(explainer);
    }

    /// Reads and explains the packet that waits for it, if one does.
    pub(super) fn look(&mut self, clocks: &ClockWatch, seen: &Delays) {
        let Some(explainer) = &mut self.explainer else { return };
        let typical_ns = self.typical.filter(|(at, _)| at.elapsed() < TYPICAL_PERIOD).map(|(_, ns)| ns);
        let known = seen.known(FOLLOWED, typical_ns);
        self.stamped = known.samples;
        if typical_ns.is_none() {
            self.typical = Some((Instant::now(), known.typical_ns));
        }
        explainer.look(clocks, &[known]);
    }

    /// What this node knows while the run goes on.
    pub(super) fn so_far(&mut self, node: &str, interval_maximum_ns: u64) -> NodeExplanation {
        let explanation = match &mut self.explainer {
            Some(explainer) => explainer.so_far(|_| None, interval_maximum_ns),
            None => Explanation { missing: self.missing.clone(), ..Explanation::default() },
        };
        let explanation = Explanation { cost: self.cost.clone(), ..explanation };
        NodeExplanation { node: node.to_owned(), latency: EXPLAINED.to_owned(), explanation }
    }

    /// What this node knows at the end; `counters` are those of its receiver.
    pub(super) fn finish(self, node: &str, counters: Option<&Counters>) -> NodeExplanation {
        let Self { cost, missing, explainer, stamped, .. } = self;
        let explanation = match explainer {
            Some(explainer) => {
                let unmeasured = cost.is_none().then(|| COST_UNKNOWN.to_owned());
                let mut explanation = explainer.finish(cost, |_| counters.cloned());
                explanation.missing.extend(unmeasured);
                explanation.missing.extend((stamped == 0).then(|| NO_STAMPS.to_owned()));
                explanation
            }
            None => Explanation { missing, ..Explanation::default() },
        };
        NodeExplanation { node: node.to_owned(), latency: EXPLAINED.to_owned(), explanation }
    }
}
