//! `punctual packet listen`: the node that is asked.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use farm::{Job, Policy};
use measure::packet::{self as measured, Ends, Role, Setup};
use measure::{Machine, Stop};
use packet::dialog::{Message, PacketJob, session};
use peer::{ChannelError, Listener, local_policy, read_policy};
use record::{PacketRequest, Record};

use super::dialog::{Connection, SESSION};
use super::{ExplainArgs, Explains, StampArgs, ThreadArgs, length_ns, say_why, warn_of_loss};
use crate::begin::AnywayArgs;
use crate::destination::{Destination, OutputArgs};
use crate::exit::Exit;
use crate::session::{self as run_session, LabelArgs};
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
        // What partners will ask for is not known yet.
        let explain = self.explain.with_cost(&PacketRequest::default(), self.threads.choice(), &stop);
        let mut listener = Listener::bind(&self.on)?;
        if let Err(error) = measured::check_ways_from(listener.address()) {
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
        let ended = self.serve_all(&mut listener, (&policy, &explain), destination, &stop);
        if let Some(path) = &self.token_file {
            listener.withdraw_token(path);
        }
        ended
    }

    /// One partner after the other, or one alone.
    fn serve_all(
        &self,
        listener: &mut Listener,
        (policy, explain): (&Policy, &Explains),
        destination: Destination,
        stop: &Stop,
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
            let own = (&self.threads, self.stamps, explain);
            match serve(Connection::new(channel, Some(listener)), policy, own, (&self.label.label, stop)) {
                Ok(record) => {
                    warn_of_loss(&record);
                    let exit = match destination.take_if(|_| once) {
                        Some(destination) => destination.deliver(&record, |colour| view::table(&record, colour))?,
                        None => {
                            output::data(&view::table(&record, output::colour_stdout()));
                            run_session::exit_of(&record)
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

/// One run with a partner that has the token.
fn serve(
    mut connection: Connection<'_>,
    policy: &Policy,
    (threads, stamps, explain): (&ThreadArgs, StampArgs, &Explains),
    (label, stop): (&str, &Stop),
) -> anyhow::Result<Record> {
    let job: Job = match connection.await_message(ASKING, stop) {
        Ok(Some(job)) => job,
        Ok(None) if stop.ended_early() => bail!("ended on this node before the partner asked for anything"),
        Ok(None) => bail!("it connected and asked for nothing within 10 s: see what that program printed"),
        Err(ChannelError::Closed { .. }) => {
            bail!("it ended the connection before it asked for anything: see what that program printed")
        }
        Err(error) => return Err(error.into()),
    };
    let channel = &connection.channel;
    let partner = channel.partner().clone();
    let (local, interface) = (channel.local_address()?, channel.interface());
    let key = channel.shared_key(SESSION)?;
    let refuse = |mut connection: Connection<'_>, why: String| {
        let _ = measured::Dialog::say(&mut connection, &Message::Refused { why: why.clone() });
        // Only then does it get there: what the partner said meanwhile was not read.
        connection.close();
        anyhow::anyhow!("refused: {why}")
    };
    if let Err(denied) = policy.judge_on(&job, interface.as_deref()) {
        return Err(refuse(connection, denied.to_string()));
    }
    let Job::Packet(PacketJob { request, initiator }) = job else {
        let why = "'punctual packet listen' takes part in measurements of packets alone".to_owned();
        return Err(refuse(connection, why));
    };
    output::note(&format!("{partner} measures packets"));
    let node = own_name(&initiator.node);
    let ends = match Ends::open(&request, (Role::Partner, stamps.hardware_stamps), local, partner.address) {
        Ok(ends) => ends,
        Err(error) => return Err(refuse(connection, error.to_string())),
    };
    measured::Dialog::say(&mut connection, &Message::Ready { partner: ends.endpoints(&node) })?;
    let (machine, context) = (Machine::read(), run_session::context(label));
    let live = LiveRun::with_head("packet", length_ns(request.end));
    let setup = Setup {
        request: &request,
        role: Role::Partner,
        threads: threads.choice(),
        session: session(&key),
        node: &node,
        machine: &machine,
        context: &context,
        stop,
        explain: explain.clone(),
    };
    let record = match measured::follow(&setup, ends, &initiator, &mut connection, &mut |so_far| live.show(so_far)) {
        Ok(record) => record,
        Err(error) => {
            say_why(&mut connection, &error);
            connection.close();
            return Err(error.into());
        }
    };
    live.finish();
    connection.close();
    Ok(record)
}

/// The name of this node in a run with another one: two namespaces of a machine have one host name.
fn own_name(initiator: &str) -> String {
    let (_, _, _, host) = kernel::process::system_names();
    if host == initiator { format!("{host} (partner)") } else { host }
}
