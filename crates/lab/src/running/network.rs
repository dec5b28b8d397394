//! The segments of a running lab: one switch for each, in a thread of the keeper.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::relay::relay_words;
use crate::guest::Interface;
use crate::scenario::{self, HOST_INTERFACE, Node, Segment};
use crate::switch::{BoundSwitch, Impairment, LinkChange, PortConfig, PortOutcome, SwitchConfig, SwitchOrder};

/// How long a switch may take to answer; it checks for orders every 20 ms.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// The settings of one segment, and its frame counters so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SegmentReport {
    /// Name of the segment.
    pub name: String,
    /// One entry for each node on it.
    pub ports: Vec<PortReport>,
}

/// The link between one node and its segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PortReport {
    /// Name of the node.
    pub node: String,
    /// Impairment of frames from the node.
    pub from_guest: Impairment,
    /// Impairment of frames to the node.
    pub to_guest: Impairment,
    /// Frame counters of the link.
    pub outcome: PortOutcome,
}

/// A change of a link while the lab runs; segment and node identify the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkOrder {
    /// Name of the segment.
    pub segment: String,
    /// Name of the node.
    pub node: String,
    /// New impairment from the node to the segment; `None`: unchanged.
    pub from_guest: Option<Impairment>,
    /// New impairment from the segment to the node; `None`: unchanged.
    pub to_guest: Option<Impairment>,
}

/// The configuration of a segment's switch; `folder` contains the lab's files.
fn config(segment: &Segment, number: usize, folder: &Path) -> SwitchConfig {
    // Short names, since the length of a socket's path is bounded and the folder may be deeply nested.
    let socket = |port: usize, end: &str| folder.join(format!("s{number}p{port}{end}"));
    let ports = segment.port.iter().enumerate().map(|(place, port)| PortConfig {
        local: socket(place, "s"),
        remote: socket(place, "g"),
        capture: port.capture.clone(),
        from_guest: port.from_guest.clone(),
        to_guest: port.to_guest.clone(),
    });
    SwitchConfig { seed: segment.seed, port: ports.collect() }
}

/// A segment with its running switch.
struct Running {
    segment: Segment,
    config: SwitchConfig,
    orders: mpsc::Sender<SwitchOrder>,
    /// Why the switch ended, if it failed.
    failed: Arc<OnceLock<String>>,
}

/// All running segments of a lab.
pub(super) struct Network {
    running: Vec<Running>,
    stop: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Network {
    /// Makes all sockets, which guests need at their start, and starts the switches.
    pub(super) fn start(segments: Vec<Segment>, folder: &Path) -> Result<Self, String> {
        let mut network = Self { running: Vec::new(), stop: Arc::default(), threads: Mutex::default() };
        for (number, segment) in segments.into_iter().enumerate() {
            let config = config(&segment, number, folder);
            let failed = |why: String| format!("segment {}: {why}", segment.name);
            let switch = BoundSwitch::bind(config.clone()).map_err(|error| failed(error.to_string()))?;
            let (orders, taken) = mpsc::channel();
            let (stop, reason) = (Arc::clone(&network.stop), Arc::new(OnceLock::new()));
            let failure = Arc::clone(&reason);
            let thread = thread::Builder::new().name(format!("lab-{}", segment.name)).spawn(move || {
                if let Err(error) = switch.run(&stop, &taken) {
                    let _ = failure.set(error.to_string());
                }
            });
            let thread = thread.map_err(|error| failed(error.to_string()))?;
            network.threads().push(thread);
            network.running.push(Running { segment, config, orders, failed: reason });
        }
        Ok(network)
    }

    /// QEMU's arguments for a node's network cards.
    pub(super) fn arguments(&self, node: &Node, interfaces: &[Interface]) -> Vec<String> {
        let machine = node.architecture().machine();
        let mut arguments = Vec::new();
        for (number, Interface { name, mac, .. }) in interfaces.iter().enumerate() {
            let id = format!("net{number}");
            let netdev = if *name == HOST_INTERFACE && !node.host_ports.is_empty() {
                Some(scenario::netdev(&id, &node.host_ports, &relay_words()))
            } else {
                self.port(node, name).map(|port| port.netdev_argument(&id))
            };
            let Some(netdev) = netdev else { continue };
            let device = format!("{},netdev={id},mac={mac}", machine.network_card);
            arguments.extend(["-netdev".to_owned(), netdev, "-device".to_owned(), device]);
        }
        arguments
    }

    /// The port of a node on the segment of this name.
    fn port(&self, node: &Node, segment: &str) -> Option<&PortConfig> {
        let running = self.running.iter().find(|running| running.segment.name == segment)?;
        let place = running.segment.port.iter().position(|port| port.node == node.name)?;
        running.config.port.get(place)
    }

    /// The settings and counters of each segment.
    pub(super) fn report(&self) -> Result<Vec<SegmentReport>, String> {
        self.running.iter().map(|running| running.ask(None)).collect()
    }

    /// Changes a link and returns the new settings of its segment.
    pub(super) fn change(&self, order: LinkOrder) -> Result<SegmentReport, String> {
        let LinkOrder { segment, node, from_guest, to_guest } = order;
        let running = self.running.iter().find(|running| running.segment.name == segment).ok_or_else(|| {
            let known: Vec<&str> = self.running.iter().map(|running| running.segment.name.as_str()).collect();
            format!("the lab has no segment {segment}; it has: {}", known.join(", "))
        })?;
        let port = running.segment.port.iter().position(|port| port.node == node);
        let port = port.ok_or_else(|| {
            let known: Vec<&str> = running.segment.port.iter().map(|port| port.node.as_str()).collect();
            format!("node {node} is not on segment {segment}; on it are: {}", known.join(", "))
        })?;
        running.ask(Some(LinkChange { port, from_guest, to_guest }))
    }

    /// Ends the switches, which completes their captures.
    pub(super) fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads().drain(..) {
            // A panic of the thread has already been printed; the lab ends in any case.
            let _ = thread.join();
        }
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn ask(&self, change: Option<LinkChange>) -> Result<SegmentReport, String> {
        let name = &self.segment.name;
        let (answer, report) = mpsc::channel();
        let asked = self.orders.send(SwitchOrder { change, answer }).is_ok();
        let outcome = asked.then(|| report.recv_timeout(ANSWER_PATIENCE).ok()).flatten();
        let outcome = outcome.ok_or_else(|| {
            let why = self.failed.get().map_or("it does not answer", String::as_str);
            format!("the switch of segment {name}: {why}")
        })?;
        let ports = self.segment.port.iter().zip(outcome.config.port).zip(outcome.ports);
        let ports = ports.map(|((port, link), outcome)| PortReport {
            node: port.node.clone(),
            from_guest: link.from_guest,
            to_guest: link.to_guest,
            outcome,
        });
        Ok(SegmentReport { name: name.clone(), ports: ports.collect() })
    }
}
