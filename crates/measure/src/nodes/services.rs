//! The time services of this node while packets are exchanged: followed by a thread of its own, as `measure sync` does.

use std::thread::JoinHandle;

use packet::services::is_followed;
use record::{NodeServices, ReasonCode, Record, RunLength, SyncRequest, Validity};

use crate::machine::Machine;
use crate::stop::Stop;

/// What a run of packets takes over of what is wrong with a node's clock.
const TAKEN_OVER: [ReasonCode; 5] = [
    ReasonCode::ClockStepped,
    ReasonCode::VmDisrupted,
    ReasonCode::SyncLost,
    ReasonCode::ReferenceChanged,
    ReasonCode::BoundsContradict,
];

/// Follows every source of time that a node has until it is stopped, as `measure sync` does.
pub(crate) type FollowServices = fn(&SyncRequest, &Machine, &Stop) -> Result<Record, String>;

/// The thread that follows them.
pub(crate) struct Services {
    stop: Stop,
    thread: Option<JoinHandle<Result<Record, String>>>,
}

impl Services {
    /// Begins to follow every source of time that this node has.
    ///
    /// # Errors
    /// Where no thread is to be had.
    pub(crate) fn begin(machine: &Machine, max_drift_ppb: u32, measure: FollowServices) -> Result<Self, String> {
        let stop = Stop::new();
        let (machine, theirs) = (machine.clone(), stop.clone());
        let request = SyncRequest { duration: RunLength::Unlimited, max_drift_ppb, ..SyncRequest::default() };
        let follow = move || {
            kernel::signals::block_all_but_watchdog();
            measure(&request, &machine, &theirs)
        };
        let thread = std::thread::Builder::new()
            .name("punctual-time".to_owned())
            .spawn(follow)
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends, and gives what they said; `validity` is told what is wrong with this node's clock.
    pub(crate) fn end(mut self, node: &str, validity: &mut Validity) -> Option<NodeServices> {
        self.stop.end_early();
        let told = self.thread.take()?.join().unwrap_or_else(|_| Err("the thread that follows them died".to_owned()));
        let record = match told {
            Ok(record) => record,
            Err(why) => {
                validity.add(ReasonCode::NoTimeService, why);
                return None;
            }
        };
        let run = record.sync()?.clone();
        for reason in record.validity.reasons().iter().filter(|reason| TAKEN_OVER.contains(&reason.code)) {
            if !validity.has(reason.code) {
                validity.add(reason.code, reason.detail.clone());
            }
        }
        if !run.sources.iter().any(is_followed) {
            let why = record.validity.reasons().iter().find(|reason| reason.code == ReasonCode::NoSamples);
            let refused = run.not_followed.join("; ");
            let words = match why {
                _ if !refused.is_empty() => refused,
                Some(why) => why.detail.clone(),
                None => "none runs here".to_owned(),
            };
            validity.add(
                ReasonCode::NoTimeService,
                format!("{words}: the delays rest on the exchange of the two programs alone"),
            );
        }
        let addresses = kernel::interface::addresses().unwrap_or_default();
        Some(NodeServices {
            node: node.to_owned(),
            addresses: addresses.iter().map(|one| one.address.to_string()).collect(),
            run,
        })
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        self.stop.end_early();
    }
}
