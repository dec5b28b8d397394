//! `punctual packet listen`: the node that is asked.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use farm::{Job, Policy};
use packet::dialog::{Endpoints, Message, PacketJob};
use peer::{ChannelError, Listener, local_policy, read_policy};
use record::{ExplainingCost, Measurement, PacketRequest, Record, Request, RunRequest};
use run::{Beside, Connected, Dialog, Explaining, Machine, Part, Partner, Role, Stop, Surroundings};

use super::dialog::Connection;
use super::{ExplainArgs, StampArgs, ThreadArgs, say_cost_comes_first, warn_of_loss};
use crate::begin::AnywayArgs;
use crate::destination::{Destination, OutputArgs};
use crate::exit::Exit;
use crate::session::{self, LabelArgs};
use crate::view::live::LiveRun;
use crate::view::packet as view;
use terminal::output;

/// How long the initiator may take to say what it wants.
const ASKING: Duration = Duration::from_secs(10);

/// Wait for another node that measures packets to and from this one, and print the command for it
///
/// Each time it starts it makes a certificate and a token of its own; who has the token may measure, and nothing else unless
/// a policy file allows it.
#[derive(clap::Args)]
pub(crate) struct ListenArgs {
    /// Address to listen at, or a name of this machine: ADDRESS[:PORT]; '*' for all addresses
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "*")]
    on: String,
    /// Write the token to this file (mode 0600) instead of printing it, once partners can connect
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// End after one run
    #[arg(long)]
    once: bool,
    /// What partners may ask for (TOML, see docs/peer.md) [default: /etc/punctual/policy.toml; without it measurements alone]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
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

impl ListenArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if !self.once && self.output.keeps_the_record() {
            bail!(
                "--output and --json need --once: without it one run follows the other; the nodes that ask for them have the \
                 records of both"
            );
        }
        let policy = match &self.policy {
            Some(path) => read_policy(path)?,
            None => local_policy()?,
        };
        self.anyway.check_policy(self.threads.policy())?;
        let stop = Stop::on_signals().context("cannot handle signals")?;
        // Before anybody can connect: what is wrong with the file is said at once.
        let destination = self.output.clone().prepare()?;
        let own = self.own_choices(&stop)?;
        let mut listener = Listener::bind(&self.on)?;
        if let Err(error) = run::check_ways_from(listener.address()) {
            output::warning(&format!("nobody may be able to connect: {error}"));
        }
        match &self.token_file {
            Some(path) => {
                listener.write_token(path)?;
                output::note(&format!(
                    "listening at {}; the token is in {}: punctual packet send --to {} --token-file {}",
                    listener.listens_at(),
                    path.display(),
                    listener.reachable_at(),
                    path.display()
                ));
            }
            None => output::note(&format!(
                "listening at {}; on the other node:\n{}",
                listener.listens_at(),
                listener.one_line_for_the_other_side()
            )),
        }
        let ended = self.serve_all(&mut listener, &policy, &own, (destination, &stop));
        if let Some(path) = &self.token_file {
            listener.withdraw_token(path);
        }
        ended
    }

    /// What is the same for all partners. What they will ask for is not known yet.
    fn own_choices(&self, stop: &Stop) -> anyhow::Result<Own> {
        let (machine, (cpu, sched_priority), explain) =
            (Machine::read(), self.threads.choice(), self.explain.request());
        let cost = explain.and_then(|explain| {
            say_cost_comes_first();
            run::receiving_cost(&PacketRequest::default(), (cpu, sched_priority), explain, &machine, stop)
        });
        let hardware_stamps = self.stamps.hardware_stamps;
        Ok(Own {
            part: Part { role: Role::Partner, cpu, sched_priority, hardware_stamps, explain },
            cost,
            program: session::own_program()?,
        })
    }

    /// One partner after the other, or one alone.
    fn serve_all(
        &self,
        listener: &mut Listener,
        policy: &Policy,
        own: &Own,
        (destination, stop): (Destination, &Stop),
    ) -> anyhow::Result<Exit> {
        let (once, mut destination) = (self.once, Some(destination));
        loop {
            let Some(channel) = listener.accept(&|| stop.ended_early())? else {
                if once {
                    bail!("ended before a partner came: nothing was measured");
                }
                return Ok(Exit::Holds);
            };
            let partner = channel.partner().to_string();
            let mut asking = Asking { connection: Connection::new(channel, Some(listener)), endpoints: None };
            let served = asking.serve(policy, own, self.anyway, (&self.label.label, stop));
            asking.connection.close();
            match served {
                Ok(record) => {
                    warn_of_loss(&record);
                    let exit = match destination.take_if(|_| once) {
                        Some(destination) => destination.deliver(&record, |colour| view::table(&record, colour))?,
                        None => {
                            output::data(&view::table(&record, output::colour_stdout()));
                            session::exit_of(&record)
                        }
                    };
                    if once || stop.ended_early() {
                        return Ok(exit);
                    }
                }
                Err(error) if once => return Err(error.context(format!("with {partner}"))),
                Err(error) => output::warning(&format!("with {partner}: {error:#}")),
            }
        }
    }
}

/// What this node chooses itself, whatever a partner asks for.
struct Own {
    part: Part,
    /// What explaining costs here, where it is asked for.
    cost: Option<ExplainingCost>,
    program: PathBuf,
}

/// A partner that has the token.
struct Asking<'a> {
    connection: Connection<'a>,
    /// Where it sends and receives, once it has said so.
    endpoints: Option<Endpoints>,
}

impl Asking<'_> {
    /// One run with it.
    fn serve(
        &mut self,
        policy: &Policy,
        own: &Own,
        anyway: AnywayArgs,
        (label, stop): (&str, &Stop),
    ) -> anyhow::Result<Record> {
        let job = self.job(stop)?;
        if let Err(denied) = policy.judge_on(&job, self.connection.channel.interface().as_deref()) {
            return Err(self.refuse(&denied.to_string()));
        }
        let Job::Packet(PacketJob { request, initiator }) = job else {
            return Err(self.refuse("'punctual packet listen' takes part in measurements of packets alone"));
        };
        output::note(&format!("{} measures packets", self.connection.channel.partner()));
        let node = own_name(&initiator.node);
        self.endpoints = Some(initiator);
        let machine = Machine::read();
        let surroundings = Surroundings {
            machine: &machine,
            own_program: &own.program,
            anyway: anyway.choice(),
            part: Some(&own.part),
        };
        let asked = RunRequest { request: Request::Packet(request), load: None, partner: None };
        let prepared = match run::prepare(asked, Explaining::Known(own.cost.clone()), &surroundings) {
            Ok(prepared) => prepared,
            Err(error) => return Err(self.refuse(&error.to_string())),
        };
        let (addresses, session) = self.connection.ends()?;
        let mut live = LiveRun::new(Measurement::Packet, label, prepared.about());
        let context = session::context(label);
        let partner = Some(Connected { node: &node, addresses, session, partner: self });
        let record = prepared.run(&surroundings, Beside { partner, ..Beside::new(&context, stop, &mut live) });
        live.finish();
        Ok(record?)
    }

    /// What it asks for.
    fn job(&mut self, stop: &Stop) -> anyhow::Result<Job> {
        match self.connection.await_message(ASKING, stop) {
            Ok(Some(job)) => Ok(job),
            Ok(None) if stop.ended_early() => bail!("ended on this node before the partner asked for anything"),
            Ok(None) => bail!("it connected and asked for nothing within 10 s: see what that program printed"),
            Err(ChannelError::Closed { .. }) => {
                bail!("it ended the connection before it asked for anything: see what that program printed")
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Tells it why not, and makes an error of it.
    fn refuse(&mut self, why: &str) -> anyhow::Error {
        let _ = self.connection.say(&Message::Refused { why: why.to_owned() });
        anyhow::anyhow!("refused: {why}")
    }
}

impl Partner for Asking<'_> {
    fn dialog(&mut self) -> &mut dyn Dialog {
        &mut self.connection
    }

    fn agree(&mut self, own: Endpoints) -> Result<Endpoints, Box<dyn Error + Send + Sync>> {
        let its = self.endpoints.take().ok_or("the partner has not said where it receives")?;
        self.connection.say(&Message::Ready { partner: own })?;
        Ok(its)
    }
}

/// The name of this node in a run with another one: two namespaces of a machine have one host name.
fn own_name(initiator: &str) -> String {
    let (_, _, _, host) = kernel::process::system_names();
    if host == initiator { format!("{host} (partner)") } else { host }
}
