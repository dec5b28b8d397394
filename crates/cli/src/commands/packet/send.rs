//! `punctual packet send`: the node that asks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use farm::{Job, Token};
use kernel::sched::Policy;
use measure::packet::{self as measured, Dialog as _, Ends, Role, Setup};
use measure::{Machine, Stop};
use packet::dialog::{Message, PacketJob, session};
use peer::{Endpoint, connect, read_token, resolve};
use record::{
    End, Live, PacketDirection, PacketPath, PacketRequest, PartnerRequest, ReceiveMode, Record, Request, RunEvent,
};
use units::Ns;

use super::dialog::{Connection, SESSION};
use super::{ExplainArgs, Explains, StampArgs, ThreadArgs, length_ns, names, say_why, warn_of_loss};
use crate::begin::AnywayArgs;
use crate::destination::{Destination, OutputArgs};
use crate::exit::Exit;
use crate::session::{self as run_session, LabelArgs};
use crate::view::live::LiveRun;
use crate::view::packet as view;

const CONNECTING: Duration = Duration::from_secs(10);
const ANSWERING: Duration = Duration::from_secs(15);

/// Measure packets to or from a node that listens
#[derive(clap::Args)]
pub(crate) struct SendArgs {
    /// The node that listens: ADDRESS[:PORT] or NAME[:PORT]
    #[arg(long, value_name = "HOST[:PORT]")]
    to: String,
    /// File with the token that the listening node wrote
    #[arg(long, value_name = "FILE", conflicts_with = "token", required_unless_present = "token")]
    token_file: Option<PathBuf>,
    /// The token that the listening node printed; who sees this machine's processes sees it
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The way of the packets through both systems
    #[arg(long, value_name = "PATH", default_value = "udp", value_parser = path())]
    path: PacketPath,
    /// Which node sends: this one (to), the one that listens (from), or both
    #[arg(long, value_name = "DIRECTION", default_value = "to", value_parser = direction())]
    direction: PacketDirection,
    /// From one packet to the next
    #[arg(short, long, value_name = "D", default_value = "1ms")]
    interval: Ns,
    /// How long to measure [default: 60s]
    #[arg(short = 'D', long, visible_alias = "time", value_name = "D", conflicts_with = "samples")]
    duration: Option<Ns>,
    /// How many packets to send
    #[arg(short, long, value_name = "N")]
    samples: Option<u64>,
    /// Payload of each packet (bytes)
    #[arg(long, value_name = "BYTES", default_value_t = 128)]
    size: u32,
    /// How the receiver waits: asleep until a packet wakes it (block), asking without a pause (poll), or asleep until shortly before a packet is due (schedule)
    #[arg(long, value_name = "HOW", default_value = "block", value_parser = receive())]
    receive: ReceiveMode,
    /// The delay that no packet may exceed, within its error; exit 1 if one does or is lost, 3 if the error is too large to tell
    #[arg(long, visible_alias = "deadline", value_name = "D")]
    limit: Option<Ns>,
    /// Priority of the packets within the sending system (SO_PRIORITY, 0 to 15); that of the threads is --sched-priority
    #[arg(long, value_name = "N")]
    priority: Option<u32>,
    /// Differentiated services code point of the packets (0 to 63)
    #[arg(long, value_name = "N")]
    dscp: Option<u8>,
    /// VLAN of the packets (1 to 4094), on the path l2
    #[arg(long, value_name = "N")]
    vlan: Option<u16>,
    /// Have the sending system let each packet go so long after its schedule (SO_TXTIME; needs the queueing discipline etf or fq)
    #[arg(long, value_name = "D")]
    launch_time: Option<Ns>,
    /// Do not ask time services how far the clocks are apart: the exchange of the two programs alone says it
    #[arg(long)]
    no_sync: bool,
    /// How much the rates of the two clocks differ at most: the error grows with it between two exchanges
    #[arg(long, value_name = "PPM", default_value = "100ppm", value_parser = crate::commands::measure::sync::drift_ppb)]
    max_drift: u32,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    stamps: StampArgs,
    #[command(flatten)]
    explain: ExplainArgs,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

fn path() -> impl clap::builder::TypedValueParser<Value = PacketPath> {
    names([
        ("udp", "UDP sockets", PacketPath::Udp),
        ("l2", "sockets of the link layer (AF_PACKET)", PacketPath::L2),
        ("xdp", "sockets that the driver fills (AF_XDP)", PacketPath::Xdp),
    ])
}

fn direction() -> impl clap::builder::TypedValueParser<Value = PacketDirection> {
    names([
        ("to", "this node sends", PacketDirection::To),
        ("from", "the node that listens sends", PacketDirection::From),
        ("both", "both send at the same time", PacketDirection::Both),
    ])
}

fn receive() -> impl clap::builder::TypedValueParser<Value = ReceiveMode> {
    names([
        ("block", "asleep until a packet wakes it", ReceiveMode::Block),
        ("poll", "asking without a pause", ReceiveMode::Poll),
        ("schedule", "asleep until shortly before a packet is due, then asking", ReceiveMode::Schedule),
    ])
}

impl SendArgs {
    fn request(&self) -> PacketRequest {
        let end = match (self.samples, self.duration) {
            (Some(samples), _) => End::Samples(samples),
            (None, Some(duration)) => End::After(duration),
            (None, None) => PacketRequest::default().end,
        };
        PacketRequest {
            path: self.path,
            direction: self.direction,
            interval: self.interval,
            end,
            size: self.size,
            receive: self.receive,
            limit: self.limit,
            priority: self.priority,
            vlan: self.vlan,
            dscp: self.dscp,
            launch_time: self.launch_time,
            cpu: self.threads.cpu,
            sched_priority: self.threads.sched_priority.0,
            hardware_stamps: self.stamps.hardware_stamps,
            sync: !self.no_sync,
            max_drift_ppb: self.max_drift,
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let request = self.request();
        if self.explain.explain && self.direction == PacketDirection::To {
            bail!(
                "--explain says why a receiver had packets late, and with --direction to this node sends alone: give it to \
                 'punctual packet listen' on the other node, or measure with --direction from or both"
            );
        }
        let token = match (&self.token, self.token_file) {
            (Some(text), _) => TokenSource::Given(text.parse()?),
            (None, Some(path)) => TokenSource::File(path),
            (None, None) => {
                bail!("the token is missing: --token-file FILE or --token TOKEN, as the listening node wrote it")
            }
        };
        let partner = Partner { to: &self.to, token, explain: self.explain };
        partner.measure(&request, self.anyway, (self.output, &self.label.label))
    }
}

/// Carries a request out.
pub(crate) fn carry_out(
    request: &PacketRequest,
    partner: &PartnerRequest,
    anyway: AnywayArgs,
    output: (OutputArgs, &str),
) -> anyhow::Result<Exit> {
    let token = TokenSource::File(PathBuf::from(&partner.token_file));
    Partner { to: &partner.to, token, explain: ExplainArgs::default() }.measure(request, anyway, output)
}

/// What a token is taken from.
enum TokenSource {
    Given(Token),
    File(PathBuf),
}

/// The node that listens.
struct Partner<'a> {
    to: &'a str,
    token: TokenSource,
    /// Which of this node's late packets are explained, if any.
    explain: ExplainArgs,
}

impl Partner<'_> {
    fn measure(
        self,
        request: &PacketRequest,
        anyway: AnywayArgs,
        (output, label): (OutputArgs, &str),
    ) -> anyhow::Result<Exit> {
        let threads = (request.cpu, request.sched_priority);
        let machine = Machine::read();
        measured::check(request, Role::Initiator, threads, &machine)?;
        anyway.check_policy(request.sched_priority.map_or(Policy::Other, Policy::Fifo))?;
        // Before anything is connected: what is wrong with a file is said at once.
        let token = match self.token {
            TokenSource::Given(token) => token,
            TokenSource::File(path) => read_token(&path)?,
        };
        let to = Endpoint::parse(self.to)?;
        let mut destination = output.prepare()?;
        let addresses = resolve(&to.host, to.port_or_default(), Instant::now() + CONNECTING)?;
        addresses.iter().try_for_each(|address| measured::check_way(*address))?;
        let explain = self.explain.with_cost(request, threads, &Stop::new());
        let channel = connect(&to.host, to.port_or_default(), &token, CONNECTING)?;
        // Until here nothing has to be ended in order, and a signal may simply end this program.
        let stop = Stop::on_signals().context("cannot handle signals")?;
        let mut connection = Connection::new(channel, None);
        let measured = run_with(&mut connection, (request, explain), (&machine, label, &stop), &mut destination);
        connection.close();
        let record = measured?;
        warn_of_loss(&record);
        destination.deliver(&record, |colour| view::table(&record, colour))
    }
}

/// One run with a node that has let this one in.
fn run_with(
    connection: &mut Connection<'_>,
    (request, explain): (&PacketRequest, Explains),
    (machine, label, stop): (&Machine, &str, &Stop),
    destination: &mut Destination,
) -> anyhow::Result<Record> {
    let channel = &connection.channel;
    let (local, reaches) = (channel.local_address()?, channel.partner().address);
    let key = channel.shared_key(SESSION)?;
    let ends = Ends::open(request, (Role::Initiator, request.hardware_stamps), local, reaches)?;
    let (_, _, _, node) = kernel::process::system_names();
    let job = Job::Packet(PacketJob { request: request.clone(), initiator: ends.endpoints(&node) });
    connection.channel.send(&job)?;
    let partner = match connection.await_message(ANSWERING, stop)? {
        Some(Message::Ready { partner }) => partner,
        Some(Message::Refused { why }) => bail!("the node that listens refuses: {why}"),
        Some(_) => bail!("the node that listens answered something else: both need the same version of punctual"),
        None if stop.ended_early() => {
            let _ = connection.say(&Message::Stop { why: "it was ended there".to_owned() });
            bail!("ended before the run began")
        }
        None => bail!("the node that listens did not answer within 15 s: see what it printed"),
    };
    let started = RunEvent::Started {
        measurement: Request::Packet(request.clone()).measurement(),
        label: label.to_owned(),
        duration_ns: length_ns(request.end),
    };
    destination.begin(started, &machine.housekeeping(&machine.isolated))?;
    let context = run_session::context(label);
    let live = LiveRun::with_head("packet", length_ns(request.end));
    let setup = Setup {
        request,
        role: Role::Initiator,
        threads: (request.cpu, request.sched_priority),
        session: session(&key),
        node: &node,
        machine,
        context: &context,
        stop,
        explain,
    };
    let mut watch = |so_far: &Live| {
        live.show(so_far);
        destination.live(so_far);
    };
    let record = measured::lead(&setup, ends, &partner, connection, &mut watch)
        .inspect_err(|error| say_why(connection, error))?;
    live.finish();
    Ok(record)
}
