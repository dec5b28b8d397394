//! `punctual pulse send`: the server, which orders.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use farm::{Job, Token};
use packet::dialog::{Endpoints, Message};
use peer::{Channel, Endpoint, connect, read_token, resolve};
use pulse::job::PulseJob;
use record::{
    ActsBy, Measurement, PacketPath, PartnerRequest, PulseRequest, PulseShape, Record, Request, RunEnd, RunLength,
    RunRequest,
};
use run::{Beside, Connected, Dialog, Explaining, IntervalSink, Machine, Partner, Prepared, Stop, Surroundings, Watch};
use units::Ns;

use crate::begin::AnywayArgs;
use crate::commands::packet::{ThreadArgs, names, path, warn_of_loss};
use crate::connection::Connection;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::other_node::OtherNode;
use crate::session::{self, LabelArgs, ProgressReporter};
use crate::view::result;

const CONNECTING: Duration = Duration::from_secs(10);
const ANSWERING: Duration = Duration::from_secs(15);
/// Between two looks whether all are connected.
const LOOK: Duration = Duration::from_millis(20);

/// Order nodes to act, and measure how late each does
#[derive(clap::Args)]
pub(crate) struct SendArgs {
    /// A node that is to act, and the file with the token that its 'punctual listen' wrote; once for each node
    #[arg(long, value_name = "HOST[:PORT]=TOKENFILE", required = true)]
    to: Vec<OtherNode>,
    /// From one order to the next
    #[arg(short, long, value_name = "D", default_value = "1ms")]
    interval: Ns,
    /// How long after its schedule an order is to be carried out
    #[arg(long, value_name = "D", default_value = "800us")]
    lead: Ns,
    /// The output that each node switches, by the name in its policy file; 'none' switches nothing
    #[arg(long, value_name = "NAME", default_value = "none")]
    output_name: String,
    /// What the output does
    #[arg(long, value_name = "SHAPE", default_value = "pulse", value_parser = shape())]
    shape: PulseShape,
    /// How long a pulse takes [default: a quarter of the interval, at most 1ms]
    #[arg(long, value_name = "D")]
    width: Option<Ns>,
    /// Make every N-th pulse twice as long, and spell its number by the 24 after it, so that who sees the edges can number them
    #[arg(long, value_name = "N")]
    mark: Option<u32>,
    /// By which clock the nodes act: each by its own, as its time service has it, or by this node's, as the exchange of messages with it shows it
    #[arg(long, value_name = "CLOCK", default_value = "service", value_parser = by())]
    by: ActsBy,
    /// An act that is later than this is a miss; exit 1 if there is one, or an order was not carried out
    #[arg(long, visible_alias = "limit", value_name = "D", default_value = "100us")]
    tolerance: Ns,
    /// How long before its time a node asks the clock without a pause, instead of sleeping [default: 100us, at most 10 % of the interval]
    #[arg(long, value_name = "D")]
    spin: Option<Ns>,
    /// How long to go on [default: 60s]; `unlimited` goes on until Ctrl-C on a node
    #[arg(short = 'D', long, visible_alias = "time", value_name = "D", conflicts_with = "samples")]
    duration: Option<RunLength>,
    /// How many orders to send
    #[arg(short, long, visible_alias = "orders", value_name = "N")]
    samples: Option<u64>,
    /// The way of the packets through all systems
    #[arg(long, value_name = "PATH", default_value = "udp", value_parser = path())]
    path: PacketPath,
    /// Payload of each packet (bytes)
    #[arg(long, value_name = "BYTES", default_value_t = 128)]
    size: u32,
    /// Priority of the packets within the sending system (SO_PRIORITY, 0 to 15); that of the thread is --sched-priority
    #[arg(long, value_name = "N")]
    priority: Option<u32>,
    /// Differentiated services code point of the packets (0 to 63)
    #[arg(long, value_name = "N")]
    dscp: Option<u8>,
    /// VLAN of the packets (1 to 4094), on the path l2
    #[arg(long, value_name = "N")]
    vlan: Option<u16>,
    /// Do not ask time services how far the clocks are apart: the exchange of the programs alone says it
    #[arg(long)]
    no_sync: bool,
    /// How much the rates of two clocks differ at most: the error grows with it between two exchanges
    #[arg(long, value_name = "PPM", default_value = "100ppm", value_parser = crate::commands::measure::sync::drift_ppb)]
    max_drift: u32,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

pub(super) fn shape() -> impl clap::builder::TypedValueParser<Value = PulseShape> {
    names([
        ("pulse", "active for a short time", PulseShape::Pulse),
        ("square", "active for half of the interval", PulseShape::Square),
    ])
}

pub(super) fn by() -> impl clap::builder::TypedValueParser<Value = ActsBy> {
    names([
        ("service", "each node's own clock, as its time service has it", ActsBy::Service),
        ("exchange", "this node's clock, as the exchange with it shows it", ActsBy::Exchange),
    ])
}

impl SendArgs {
    fn request(&self) -> PulseRequest {
        let end = match (self.samples, self.duration) {
            (Some(samples), _) => RunEnd::Samples(samples),
            (None, Some(RunLength::For(duration))) => RunEnd::After(duration),
            (None, Some(RunLength::Unlimited)) => RunEnd::WhenTold,
            (None, None) => PulseRequest::default().end,
        };
        let (cpu, sched_priority) = self.threads.choice();
        PulseRequest {
            path: self.path,
            interval: self.interval,
            lead: self.lead,
            end,
            output: self.output_name.clone(),
            shape: self.shape,
            width: self.width,
            mark: self.mark,
            by: self.by,
            tolerance: self.tolerance,
            spin: self.spin,
            size: self.size,
            priority: self.priority,
            vlan: self.vlan,
            dscp: self.dscp,
            cpu,
            sched_priority,
            sync: !self.no_sync,
            max_drift_ppb: self.max_drift,
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let request = self.request();
        order(&request, &self.to, self.anyway, self.output, &self.label.label)
    }
}

/// Carries a request out.
pub(crate) fn carry_out(
    request: &PulseRequest,
    partners: Vec<PartnerRequest>,
    anyway: AnywayArgs,
    output: OutputArgs,
    label: &str,
) -> anyhow::Result<Exit> {
    let node = |PartnerRequest { to, token_file }: PartnerRequest| {
        anyhow::Ok(OtherNode { to: Endpoint::parse(&to)?, token_file: token_file.to_string().into() })
    };
    let to = partners.into_iter().map(node).collect::<anyhow::Result<Vec<_>>>()?;
    order(request, &to, anyway, output, label)
}

fn order(
    request: &PulseRequest,
    to: &[OtherNode],
    anyway: AnywayArgs,
    output: OutputArgs,
    label: &str,
) -> anyhow::Result<Exit> {
    let program = session::own_program()?;
    let machine = Machine::read();
    let surroundings = Surroundings { machine: &machine, own_program: &program, anyway: anyway.choice(), part: None };
    let prepared = prepare(request, to, &surroundings)?;
    // Before anything is connected: what is wrong with a file is said at once.
    let tokens = tokens(to)?;
    let mut destination = output.prepare()?;
    let channels = connect_all(to, &tokens)?;
    // Until here nothing has to be ended in order, and a signal may simply end this program.
    let stop = Stop::on_signals().context("cannot handle signals")?;
    destination.grow(&prepared.about().housekeeping)?;
    destination.begin(&prepared.about().housekeeping)?;
    let mut seen = ProgressReporter::new(Measurement::Pulse, label, prepared.about(), &destination, Vec::new());
    let followed = Followed { watch: &mut seen, sink: destination.sink() };
    let record = carry_out_once(request, (to, channels), prepared, (&surroundings, label, &stop), followed);
    seen.finish();
    let record = record?;
    warn_of_loss(&record);
    destination.deliver(&record, |color| result::table(&record, color))
}

/// Plans a run of this node as the server.
pub(super) fn prepare(
    request: &PulseRequest,
    to: &[OtherNode],
    surroundings: &Surroundings<'_>,
) -> anyhow::Result<Prepared> {
    let asked = RunRequest { request: Request::Pulse(request.clone()), load: None, partner: Vec::new() };
    let prepared = run::prepare(asked, Explaining::MeasuredFirst, surroundings)?;
    let most = Measurement::Pulse.kind().most_partners;
    if to.len() > most {
        bail!("{} nodes are too many: at most {most} act together", to.len());
    }
    Ok(prepared)
}

/// The tokens of the nodes, in their order.
pub(super) fn tokens(to: &[OtherNode]) -> anyhow::Result<Vec<Token>> {
    Ok(to.iter().map(|node| read_token(&node.token_file)).collect::<Result<Vec<Token>, _>>()?)
}

/// One of those that are waited for, until it goes.
struct Come<'a>(&'a AtomicUsize);

impl Drop for Come<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Connects to all nodes at once; the connections are in their order.
pub(super) fn connect_all(to: &[OtherNode], tokens: &[Token]) -> anyhow::Result<Vec<Channel>> {
    let one = |node: &OtherNode, token: &Token| {
        let (host, port) = (&node.to.host, node.to.port_or_default());
        let addresses = resolve(host, port, Instant::now() + CONNECTING)?;
        addresses.iter().try_for_each(|address| run::check_way(*address))?;
        connect(host, port, token, CONNECTING).with_context(|| format!("with {}", node.to))
    };
    let waiting = AtomicUsize::new(to.len());
    let one_of_all = &|node, token| {
        // Also where it fails.
        let come = Come(&waiting);
        let mut connected = one(node, token);
        drop(come);
        // One that hears nothing while another is slow would give this program up.
        while waiting.load(Ordering::Relaxed) > 0 {
            if let Ok(channel) = &mut connected {
                let _ = channel.keep_alive();
            }
            std::thread::sleep(LOOK);
        }
        connected
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            to.iter().zip(tokens).map(|(node, token)| scope.spawn(move || one_of_all(node, token))).collect();
        let joined = |thread: std::thread::ScopedJoinHandle<'_, anyhow::Result<Channel>>| {
            thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the thread that connects has failed")))
        };
        threads.into_iter().map(joined).collect()
    })
}

/// Who follows a run while it goes on.
pub(super) struct Followed<'a> {
    /// Sees how far it is.
    pub(super) watch: &'a mut dyn Watch,
    /// Takes the intervals of all nodes as they end.
    pub(super) sink: Option<&'a dyn IntervalSink>,
}

/// One run with nodes that are connected; the connections are ended with it.
pub(super) fn carry_out_once(
    request: &PulseRequest,
    (to, channels): (&[OtherNode], Vec<Channel>),
    prepared: Prepared,
    (surroundings, label, stop): (&Surroundings<'_>, &str, &Stop),
    followed: Followed<'_>,
) -> anyhow::Result<Record> {
    let connected = |((flow, channel), node): ((u8, Channel), &OtherNode)| Listening {
        connection: Connection::new(channel, None),
        request,
        flow,
        stop,
        name: node.to.to_string(),
    };
    let mut nodes: Vec<Listening<'_>> = (0..).zip(channels).zip(to).map(connected).collect();
    let measured = measure(&mut nodes, prepared, (surroundings, label, stop), followed);
    nodes.into_iter().for_each(|node| node.connection.close());
    measured
}

fn measure(
    nodes: &mut [Listening<'_>],
    prepared: Prepared,
    (surroundings, label, stop): (&Surroundings<'_>, &str, &Stop),
    Followed { watch, sink }: Followed<'_>,
) -> anyhow::Result<Record> {
    let ((_, _, _, own_name), context) = (kernel::process::system_names(), session::context(label));
    let mut partners = Vec::new();
    for node in nodes {
        let (addresses, session) = node.connection.ends()?;
        partners.push(Connected { node: &own_name, addresses, session, partner: node });
    }
    Ok(prepared.run(surroundings, Beside { sink, partners, ..Beside::new(&context, stop, watch) })?)
}

/// A node that is to act, once it has let this one in.
struct Listening<'a> {
    connection: Connection<'a>,
    request: &'a PulseRequest,
    flow: u8,
    stop: &'a Stop,
    /// As the user named it.
    name: String,
}

impl Partner for Listening<'_> {
    fn dialog(&mut self) -> &mut dyn Dialog {
        &mut self.connection
    }

    fn keep_alive(&mut self) {
        // One that is gone says so where something is said to it.
        let _ = self.connection.channel.keep_alive();
    }

    fn agree(
        &mut self,
        own: Endpoints,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Endpoints, Box<dyn Error + Send + Sync>> {
        let job = Job::Pulse(PulseJob { request: self.request.clone(), flow: self.flow, server: own });
        self.connection.channel.send(&job)?;
        let name = &self.name;
        Err(match self.connection.await_while(ANSWERING, self.stop, meanwhile)? {
            Some(Message::Ready { partner }) => return Ok(partner),
            Some(Message::Refused { why }) => format!("{name} refuses: {why}"),
            Some(_) => format!("{name} answered something else: all nodes need the same version of punctual"),
            None if self.stop.ended_early() => {
                let _ = self.connection.say(&Message::Stop { why: "it was ended there".to_owned() });
                "ended before the run began".to_owned()
            }
            None => format!("{name} did not answer within 15 s: see what it printed"),
        }
        .into())
    }
}
