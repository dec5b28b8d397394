//! `punctual listen`: the node that is asked, for packets between both or for a run of its own.

mod packets;
mod pulses;
mod relay;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use farm::{Job, Policy};
use peer::{ChannelError, Listener, local_policy, read_policy};
use record::{ExplainingCost, PacketRequest, Record};
use run::{Machine, NodeThreads, Part, Role, Stop};

use super::packet::{ExplainArgs, StampArgs, ThreadArgs, say_cost_comes_first, warn_of_loss};
use crate::begin::AnywayArgs;
use crate::connection::Connection;
use crate::destination::{Destination, OutputArgs};
use crate::exit::Exit;
use crate::session::{self, LabelArgs};
use crate::view::result;
use terminal::output;

/// How long the initiator may take to say what it wants.
const ASKING: Duration = Duration::from_secs(10);

/// Wait for another node that measures packets to and from this one, or asks it for a run of its own, and print the command for it
///
/// Each time it starts it makes a certificate and a token of its own; who has the token may measure, and nothing else unless
/// a policy file allows it. Another node asks for a run by 'punctual measure request FILE --on HOST=TOKENFILE'.
#[derive(clap::Args)]
pub(crate) struct ListenArgs {
    /// Address to listen at, or a name of this machine: ADDRESS[:PORT]; '*' for all addresses
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "*")]
    on: String,
    /// Write the token to this file (mode 0600) instead of printing it, once partners can connect
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// What this node is called in the records [default: its host name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
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
        let ended = self.serve_all(&mut listener, &policy, &own, destination, &stop);
        if let Some(path) = &self.token_file {
            listener.withdraw_token(path);
        }
        ended
    }

    /// What is the same for all partners. What they will ask for is not known yet.
    fn own_choices(&self, stop: &Stop) -> anyhow::Result<Own> {
        if let Some(name) = self.name.as_deref().filter(|name| name.is_empty() || name.chars().any(char::is_control)) {
            bail!("--name '{}': a name has one letter or more, and no control characters", name.escape_debug());
        }
        let (machine, (cpu, sched_priority), explain) =
            (Machine::read(), self.threads.choice(), self.explain.request());
        let cost = explain.and_then(|explain| {
            say_cost_comes_first();
            run::receiving_cost(&PacketRequest::default(), NodeThreads { cpu, sched_priority }, explain, &machine, stop)
        });
        let hardware_stamps = self.stamps.hardware_stamps;
        Ok(Own {
            part: Part { role: Role::Partner, cpu, sched_priority, hardware_stamps, explain, acts: None },
            name: self.name.clone(),
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
            let mut connection = Connection::new(channel, Some(listener));
            let served = self.serve(&mut connection, policy, own, destination.as_mut().filter(|_| once), stop);
            connection.close();
            match served {
                Ok(record) => {
                    warn_of_loss(&record);
                    let table = |color| result::table_of_file(&record, None, color);
                    let exit = match destination.take_if(|_| once) {
                        Some(destination) => destination.deliver(&record, table)?,
                        None => {
                            output::announce(&table(output::color_stdout()));
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

    /// One run with a partner that has the token.
    fn serve(
        &self,
        connection: &mut Connection<'_>,
        policy: &Policy,
        own: &Own,
        destination: Option<&mut Destination>,
        stop: &Stop,
    ) -> anyhow::Result<Record> {
        let job = job(connection, stop)?;
        let denied =
            policy.judge_on(&job, connection.channel.interface().as_deref()).err().map(|denied| denied.to_string());
        let label = &self.label.label;
        match (job, denied) {
            (Job::Packet(_) | Job::Pulse(_), Some(why)) => Err(packets::refuse(connection, &why)),
            (Job::Run(_), Some(why)) => Err(relay::refuse(connection, &why)),
            (Job::Packet(job), None) => packets::measure(connection, job, own, self.anyway, label, stop, destination),
            (Job::Pulse(job), None) => {
                pulses::act(connection, job, policy, own, (self.anyway, label, stop), destination)
            }
            (Job::Run(run), None) => relay::measure(connection, run, own, self.anyway, label, stop),
        }
    }
}

/// What a partner asks for.
fn job(connection: &mut Connection<'_>, stop: &Stop) -> anyhow::Result<Job> {
    match connection.await_message(ASKING, stop) {
        Ok(Some(job)) => Ok(job),
        Ok(None) if stop.ended_early() => bail!("ended on this node before the partner asked for anything"),
        Ok(None) => bail!("it connected and asked for nothing within 10 s: see what that program printed"),
        Err(ChannelError::Closed { .. }) => {
            bail!("it ended the connection before it asked for anything: see what that program printed")
        }
        Err(error) => Err(error.into()),
    }
}

/// What this node chooses itself, whatever a partner asks for.
struct Own {
    part: Part,
    /// What explaining costs here, where it is asked for.
    cost: Option<ExplainingCost>,
    program: PathBuf,
    /// What this node is called in the records, where its user says so.
    name: Option<String>,
}
