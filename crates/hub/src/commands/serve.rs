use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kernel::supervisor::Supervisor;
use store::Quotas;
use terminal::output;

use super::Addresses;
use crate::folder::Folder;
use crate::keys::hexadecimal;
use crate::limits::Limits;
use crate::own_machine::{self, OwnMachine};
use crate::serve::{Options, PeopleSpeak, Running};

/// The port of agents: not assigned to anybody, next to the one that 'punctual listen' has.
const AGENTS_PORT: u16 = 5378;
/// The port of people.
const PEOPLE_PORT: u16 = 5379;

/// Takes what agents send, and shows it: until it is stopped (Ctrl-C, SIGTERM)
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// Where agents connect [default: port 5378 of all addresses]
    #[arg(long, value_name = "ADDRESS:PORT")]
    agents: Option<SocketAddr>,
    /// Where people's browsers connect; over plain HTTP only on this machine (give a certificate, or put a proxy before it)
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, PEOPLE_PORT)))]
    people: SocketAddr,
    /// How people's browsers reach the hub, where that is not at its own address: for the links that it prints
    #[arg(long, value_name = "URL")]
    people_url: Option<String>,
    /// Speak TLS with people by a certificate of the hub's own, which browsers warn of
    #[arg(long, conflicts_with = "people_certificate")]
    people_tls: bool,
    /// Speak TLS with people by this certificate (PEM, with those of its authorities behind it)
    #[arg(long, value_name = "FILE", requires = "people_key")]
    people_certificate: Option<PathBuf>,
    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "people_certificate")]
    people_key: Option<PathBuf>,
    /// Speak plain HTTP with people of other machines too: for a proxy on another machine, over a network that you trust
    #[arg(long)]
    people_plain_http: bool,
    /// Show all pages to everybody, without a link
    #[arg(long)]
    public: bool,
    /// Do not have this machine monitored by the program 'punctual' beside this one, which else is the first node of a new hub
    #[arg(long)]
    no_own_machine: bool,
}

impl ServeArgs {
    pub(super) fn run(self, folder: &Path) -> anyhow::Result<ExitCode> {
        let people_speak = match (self.people_certificate, self.people_key) {
            (Some(certificate), Some(key)) => PeopleSpeak::Certificate { certificate, key },
            _ if self.people_tls => PeopleSpeak::OwnCertificate,
            _ if self.people.ip().is_loopback() || self.people_plain_http => PeopleSpeak::Http,
            _ => anyhow::bail!(
                "over plain HTTP others of the network would read along at {}: give a certificate (--people-certificate, \
                 --people-tls), or say that it is wanted (--people-plain-http)",
                self.people
            ),
        };
        let is_new = Folder::open(folder).is_err();
        let options = Options {
            folder: folder.to_owned(),
            agents: self.agents.unwrap_or_else(usual_agents),
            people: self.people,
            people_speak,
            is_public: self.public,
            limits: Limits::default(),
            quotas: Quotas::default(),
        };
        let mut running = Running::start(&options)?;
        let scheme = if running.hub.is_over_tls { "https" } else { "http" };
        let own = || format!("{scheme}://{}/", running.people);
        let mut people = self.people_url.unwrap_or_else(own);
        if !people.ends_with('/') {
            people.push('/');
        }
        let addresses = Addresses { agents_port: running.agents.port(), people };
        addresses.write(&Folder::open(folder)?)?;
        output::announce(&format!(
            "agents  {} (certificate {})\n",
            running.agents,
            hexadecimal(running.hub.keys.agents.fingerprint())
        ));
        output::announce(&format!("people  {}\n", addresses.people));
        // A log is no place for a secret: a service's user asks for a link.
        if !self.public && (is_new || output::stdout_is_terminal()) {
            output::announce(&format!(
                "link    {} (for one browser)\n",
                addresses.link(&running.hub.sessions.new_link()?)
            ));
        }
        // A service may not measure: this machine's agent is a service of its own then.
        let is_service = ["NOTIFY_SOCKET", "STATE_DIRECTORY"].iter().any(|name| std::env::var_os(name).is_some());
        let own_machine = if self.no_own_machine || is_service {
            None
        } else {
            monitor_this_machine(&Folder::open(folder)?, is_new, running.agents)
        };
        let supervisor = Supervisor::from_environment()?;
        supervisor.is_ready();
        let ended = running.wait();
        supervisor.ends();
        // What it measured last is taken before the hub ends.
        drop(own_machine);
        running.stop();
        ended.map(|()| ExitCode::SUCCESS)
    }
}

/// Has this machine monitored, where it can be; a hub without it serves all the same.
fn monitor_this_machine(folder: &Folder, is_new: bool, agents: SocketAddr) -> Option<OwnMachine> {
    let program = own_machine::program().filter(|_| is_new || own_machine::was_node(folder))?;
    match own_machine::start(&program, folder, agents) {
        Ok(started) => {
            let said = match &started {
                Some(_) => format!("this machine (what its agent says is in {})", own_machine::log(folder).display()),
                None => {
                    "none of this machine: an agent works here already, for the hub that it is enrolled at".to_owned()
                }
            };
            output::announce(&format!("node    {said}\n"));
            started
        }
        Err(error) => {
            output::warning(&format!("this machine is not monitored: {error:#}"));
            None
        }
    }
}

/// All addresses of this machine, of both families where it has both.
fn usual_agents() -> SocketAddr {
    let has_ipv6 = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok();
    if has_ipv6 { (Ipv6Addr::UNSPECIFIED, AGENTS_PORT).into() } else { (Ipv4Addr::UNSPECIFIED, AGENTS_PORT).into() }
}
