//! `punctual packet send`: the node that asks.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use farm::{Job, Token};
use packet::dialog::{Endpoints, Message, PacketJob};
use peer::{Endpoint, connect, read_token, resolve};
use record::{
    Measurement, PacketDirection, PacketPath, PacketRequest, ReceiveMode, Record, Request, RunEnd, RunLength,
    RunRequest,
};
use run::{Beside, Connected, Dialog, Explaining, Machine, Part, Partner, Prepared, Stop, Surroundings};
use units::Ns;

use super::{ExplainArgs, StampArgs, ThreadArgs, names, say_cost_comes_first, warn_of_loss};
use crate::begin::AnywayArgs;
use crate::connection::Connection;
use crate::destination::{Destination, OutputArgs};
use crate::exit::Exit;
use crate::session::{self, LabelArgs, ProgressReporter};
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
    /// How long to measure [default: 60s]; `unlimited` measures until Ctrl-C on either node
    #[arg(short = 'D', long, visible_alias = "time", value_name = "D", conflicts_with = "samples")]
    duration: Option<RunLength>,
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

pub(crate) fn path() -> impl clap::builder::TypedValueParser<Value = PacketPath> {
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
            (Some(samples), _) => RunEnd::Samples(samples),
            (None, Some(RunLength::For(duration))) => RunEnd::After(duration),
            (None, Some(RunLength::Unlimited)) => RunEnd::WhenTold,
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
                 'punctual listen' on the other node, or measure with --direction from or both"
            );
        }
        let source = match (&self.token, self.token_file) {
            (Some(text), _) => TokenSource::Given(text.parse()?),
            (None, Some(path)) => TokenSource::File(path),
            (None, None) => {
                bail!("the token is missing: --token-file FILE or --token TOKEN, as the listening node wrote it")
            }
        };
        let host = Host { to: &self.to, token: source };
        host.measure(request, self.explain, self.anyway, self.output, &self.label.label)
    }
}

/// Carries a request out.
pub(crate) fn carry_out(
    whole: RunRequest,
    anyway: AnywayArgs,
    output: OutputArgs,
    label: &str,
) -> anyhow::Result<Exit> {
    let RunRequest { request, mut partner, .. } = whole;
    let request = match request.into_pulse() {
        Ok(request) => return crate::commands::pulse::carry_out(&request, partner, anyway, output, label),
        Err(other) => *other,
    };
    let Ok(request) = request.into_packets() else { bail!("this request is not one of several nodes") };
    let Some(partner) = partner.pop() else { bail!("this request names no partner") };
    let token = TokenSource::File(PathBuf::from(&*partner.token_file));
    Host { to: &partner.to, token }.measure(request, ExplainArgs::default(), anyway, output, label)
}

/// What a token is taken from.
enum TokenSource {
    Given(Token),
    File(PathBuf),
}

/// The node that listens, and what it lets in.
struct Host<'a> {
    to: &'a str,
    token: TokenSource,
}

impl Host<'_> {
    fn measure(
        self,
        request: PacketRequest,
        explain: ExplainArgs,
        anyway: AnywayArgs,
        output: OutputArgs,
        label: &str,
    ) -> anyhow::Result<Exit> {
        let (machine, own_program) = (Machine::read(), session::own_program()?);
        let part = Part::asking(&request, explain.request());
        let anyway = anyway.choice();
        let surroundings = Surroundings { machine: &machine, own_program: &own_program, anyway, part: Some(&part) };
        let asked = RunRequest { request: Request::Packet(request.clone()), load: None, partner: Vec::new() };
        let mut prepared = run::prepare(asked, Explaining::MeasuredFirst, &surroundings)?;
        // Before anything is connected: what is wrong with a file is said at once.
        let token = match self.token {
            TokenSource::Given(token) => token,
            TokenSource::File(path) => read_token(&path)?,
        };
        let to = Endpoint::parse(self.to)?;
        let mut destination = output.prepare()?;
        let addresses = resolve(&to.host, to.port_or_default(), Instant::now() + CONNECTING)?;
        addresses.iter().try_for_each(|address| run::check_way(*address))?;
        // Before anybody is connected: none of it is part of a run.
        if prepared.about().measures_cost_first {
            say_cost_comes_first();
        }
        prepared.measure_cost(&surroundings, &Stop::new());
        let channel = connect(&to.host, to.port_or_default(), &token, CONNECTING)?;
        // Until here nothing has to be ended in order, and a signal may simply end this program.
        let stop = Stop::on_signals().context("cannot handle signals")?;
        let mut listening = Listening { connection: Connection::new(channel, None), request, stop: &stop };
        let measured = listening.measure(prepared, &surroundings, label, &mut destination);
        listening.connection.close();
        let record = measured?;
        warn_of_loss(&record);
        destination.deliver(&record, |color| view::table(&record, color))
    }
}

/// The node that listens, once it has let this one in.
struct Listening<'a> {
    connection: Connection<'a>,
    request: PacketRequest,
    stop: &'a Stop,
}

impl Listening<'_> {
    fn measure(
        &mut self,
        prepared: Prepared,
        surroundings: &Surroundings<'_>,
        label: &str,
        destination: &mut Destination,
    ) -> anyhow::Result<Record> {
        let (addresses, session) = self.connection.ends()?;
        destination.grow(&prepared.about().housekeeping)?;
        destination.begin(&prepared.about().housekeeping)?;
        let mut seen = ProgressReporter::new(Measurement::Packet, label, prepared.about(), destination, Vec::new());
        let ((_, _, _, node), context) = (kernel::process::system_names(), session::context(label));
        let stop = self.stop;
        let partners = vec![Connected { node: &node, addresses, session, partner: self }];
        let sink = destination.sink();
        let record = prepared.run(surroundings, Beside { sink, partners, ..Beside::new(&context, stop, &mut seen) });
        seen.finish();
        Ok(record?)
    }
}

impl Partner for Listening<'_> {
    fn dialog(&mut self) -> &mut dyn Dialog {
        &mut self.connection
    }

    fn agree(&mut self, own: Endpoints, _: &mut dyn FnMut()) -> Result<Endpoints, Box<dyn Error + Send + Sync>> {
        let job = Job::Packet(PacketJob { request: self.request.clone().into(), initiator: own });
        self.connection.channel.send(&job)?;
        Err(match self.connection.await_message(ANSWERING, self.stop)? {
            Some(Message::Ready { partner }) => return Ok(partner),
            Some(Message::Refused { why }) => format!("the node that listens refuses: {why}"),
            Some(_) => {
                "the node that listens answered something else: both need the same version of punctual".to_owned()
            }
            None if self.stop.ended_early() => {
                let _ = self.connection.say(&Message::Stop { why: "it was ended there".to_owned() });
                "ended before the run began".to_owned()
            }
            None => "the node that listens did not answer within 15 s: see what it printed".to_owned(),
        }
        .into())
    }
}
