//! The program that serves: keys, store, threads and both ports.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum_server::Handle;
use axum_server::accept::DefaultAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use rustls::ServerConfig;
use store::{Quotas, Read as _, Sqlite};
use terminal::output;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle as Task;

use crate::apart::ApartLog;
use crate::backup::{damage, overdue};
use crate::clock::now_wall_ns;
use crate::door::{Door, Visitors};
use crate::folder::{self, Folder};
use crate::hub::Hub;
use crate::keys::Keys;
use crate::limits::Limits;
use crate::news::Newsroom;
use crate::programs::Programs;
use crate::readers::Readers;
use crate::sessions::Sessions;
use crate::spent::Spent;
use crate::writer::Writer;
use crate::{agents, people, tls};

/// Bytes of a request's head at most.
const MOST_HEAD_BYTES: usize = 16 * 1024;
/// How long requests under way may take when the hub ends.
const END_WITHIN: Duration = Duration::from_secs(5);
/// Readers of the store for people.
const PEOPLE_READERS: usize = 4;

/// How people speak with the hub.
#[derive(Clone, Debug)]
pub enum PeopleSpeak {
    /// HTTP: on this machine alone, or to a proxy that stands before it.
    Http,
    /// TLS, by the hub's own certificate, which browsers warn of.
    OwnCertificate,
    /// TLS, by a certificate of the user's (PEM).
    Certificate {
        /// The certificate, with those of its authorities behind it.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

/// What a hub is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder.
    pub folder: PathBuf,
    /// Where agents connect.
    pub agents: SocketAddr,
    /// Where people connect.
    pub people: SocketAddr,
    /// How people speak with it.
    pub people_speak: PeopleSpeak,
    /// Whether everybody may read.
    pub is_public: bool,
    /// Bounds.
    pub limits: Limits,
    /// How much a node may send.
    pub quotas: Quotas,
}

/// A hub that serves, until it is dropped.
pub struct Running {
    /// What its ports share.
    pub hub: Arc<Hub>,
    /// Where agents connect.
    pub agents: SocketAddr,
    /// Where people connect.
    pub people: SocketAddr,
    ports: Vec<(Handle<SocketAddr>, Task<std::io::Result<()>>)>,
    writing: Option<JoinHandle<()>>,
    runtime: Runtime,
}

impl Running {
    /// Starts a hub.
    ///
    /// # Errors
    /// Where its folder, its store, a key or a port cannot be used.
    pub fn start(options: &Options) -> anyhow::Result<Self> {
        let folder = Folder::make(&options.folder)?;
        folder.check_whole()?;
        let keys = Keys::load_or_make(&folder)?;
        let people_config = match &options.people_speak {
            PeopleSpeak::Http => None,
            PeopleSpeak::OwnCertificate => Some(tls::config(&keys.people)?),
            PeopleSpeak::Certificate { certificate, key } => Some(tls::config_of_files(certificate, key)?),
        };
        let agents_config = tls::config(&keys.agents)?;
        let listen = |address: SocketAddr, who: &str, option: &str| {
            let bound = TcpListener::bind(address).and_then(|listener| {
                listener.set_nonblocking(true)?;
                Ok((listener.local_addr()?, listener))
            });
            bound.with_context(|| format!("{who} cannot connect at {address}: choose another address with {option}"))
        };
        let (agents, agents_listener) = listen(options.agents, "agents", "--agents")?;
        let (people, people_listener) = listen(options.people, "people", "--people")?;
        // Connections are files; where the limit stays, fewer of them are open.
        let _ = kernel::process::raise_file_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().enable_time().build()?;
        if !folder.store().exists() {
            // SQLite gives the files beside it the permissions that this one has.
            folder::write_new(&folder.store(), b"")?;
        }
        let store = Sqlite::open(&folder.store(), options.quotas, now_wall_ns())?;
        let readers = std::thread::available_parallelism().map_or(2, usize::from) * 2;
        let (for_agents, for_people) = (Readers::new(&store, readers)?, Readers::new(&store, PEOPLE_READERS)?);
        let epoch = store.epoch()?;
        let apart = ApartLog::new(&folder, keys.hub());
        // What a kill left undone; a hub without it serves, and says what a restore would not know.
        match apart.complete(&store, now_wall_ns()) {
            Ok(found) if found.epoch() > epoch => anyhow::bail!(
                "{} knows a later life of this hub (epoch {}) than its store has (epoch {epoch}): the hub was restored \
                 elsewhere, or an older store was put here by hand, and nodes refuse it; 'punctual-hub restore FILE' makes a \
                 hub of a backup",
                apart.path().display(),
                found.epoch()
            ),
            Ok(found) => damage(&found).iter().for_each(|said| output::warning(said)),
            Err(error) => {
                output::warning(&format!("a hub restored from a backup would not know who was revoked: {error}"));
            }
        }
        let has_nodes = !store.nodes()?.is_empty();
        if let Some(said) = overdue(store.last_backup()?, has_nodes, now_wall_ns()) {
            output::warning(&said);
        }
        let newsroom = Arc::new(Newsroom::new(&folder, &keys.steps));
        runtime.spawn(Arc::clone(&newsroom).keep_looking());
        let (writer, writing) = Writer::start(store, options.limits.queue)?;
        let hub = Arc::new(Hub {
            keys,
            epoch,
            writer,
            for_agents,
            for_people,
            apart,
            limits: options.limits,
            spent: Spent::default(),
            newsroom,
            programs: Arc::new(Programs::new(&folder)),
            sessions: Sessions::new(&folder)?,
            is_public: options.is_public,
            is_over_tls: people_config.is_some(),
        });
        let mut running = Self { hub, agents, people, ports: Vec::new(), writing: Some(writing), runtime };
        running.open(agents_listener, Some(agents_config), agents::routes(Arc::clone(&running.hub)))?;
        running.open(people_listener, people_config, people::routes(Arc::clone(&running.hub)))?;
        Ok(running)
    }

    /// Opens a port.
    fn open(&mut self, listener: TcpListener, tls: Option<Arc<ServerConfig>>, routes: Router) -> std::io::Result<()> {
        let limits = self.hub.limits;
        let visitors = Visitors::new(limits);
        let handle = Handle::new();
        let _inside = self.runtime.enter();
        let mut server = axum_server::from_tcp(listener)?
            .http1_only()
            .first_request_timeout(limits.first_request)
            .handle(handle.clone());
        server.http_builder().http1().header_read_timeout(limits.head).max_buf_size(MOST_HEAD_BYTES);
        let service = routes.into_make_service();
        let task = match tls {
            Some(config) => {
                let tls = RustlsAcceptor::new(RustlsConfig::from_config(config)).handshake_timeout(limits.handshake);
                self.runtime.spawn(server.acceptor(Door::new(tls, visitors, self.hub.keys.hub())).serve(service))
            }
            None => {
                let door = Door::new(DefaultAcceptor, visitors, self.hub.keys.hub());
                self.runtime.spawn(server.acceptor(door).serve(service))
            }
        };
        self.ports.push((handle, task));
        Ok(())
    }

    /// Waits until the program is asked to end (SIGINT, SIGTERM), or a port fails.
    ///
    /// # Errors
    /// Where a port failed.
    pub fn wait(&mut self) -> anyhow::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let [(_, agents), (_, people)] = &mut self.ports[..] else { return Ok(()) };
        self.runtime.block_on(async {
            let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            tokio::select! {
                _ = interrupt.recv() => Ok(()),
                _ = terminate.recv() => Ok(()),
                ended = agents => Ok(ended??),
                ended = people => Ok(ended??),
            }
        })
    }

    /// Ends it in order: requests under way are answered, and what was acknowledged is durable anyway.
    pub fn stop(self) {
        let Self { hub, ports, writing, runtime, .. } = self;
        // Who waits for news is answered that there are none.
        hub.newsroom.close();
        for (handle, _) in &ports {
            handle.graceful_shutdown(Some(END_WITHIN));
        }
        runtime.block_on(async {
            for (_, task) in ports {
                if !task.is_finished() {
                    // Its outcome is of no interest any more.
                    let _ = task.await;
                }
            }
        });
        runtime.shutdown_timeout(END_WITHIN);
        drop(hub);
        // The thread ends when the last writer is gone; a panic of its own was said by then.
        let _ = writing.map(JoinHandle::join);
    }
}
