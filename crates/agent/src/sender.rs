//! Sends what is on the disk to the hub, and takes its marks, by a thread that nobody waits for.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use farm::monitor::{MarkBody, Refused};
use farm::stream::{Common, Mark, Marked};
use peer::Endpoint;
use rustls::ClientConfig;

use crate::enrolment::Enrolment;
use crate::hub::{HubConnection, HubError, address_text, tls};
use crate::key::{NodeIdentity, random};
use crate::spool::DiskSpool;
use crate::status::SenderStatus;

/// The most items of a batch, and about the most bytes.
const BATCH: (usize, usize) = (512, 512 * 1024);
/// The first wait after a failure, and the longest.
const WAIT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// The longest wait of all nodes after their intervals end together, so that they do not send together.
const MOST_SPREAD: Duration = Duration::from_secs(20);

/// What the sender shares with those who give it something to send.
#[derive(Debug, Default)]
pub struct Signals {
    state: Mutex<Asked>,
    news: Condvar,
    status: Mutex<SenderStatus>,
}

#[derive(Debug, Default)]
struct Asked {
    has_news: bool,
    is_over: bool,
}

impl Signals {
    /// Tells the sender that there is something to send.
    pub fn has_news(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).has_news = true;
        self.news.notify_one();
    }

    /// Tells the sender that nothing comes any more: it tries once more, and ends.
    pub fn is_over(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.news.notify_one();
    }

    /// How the sending goes.
    #[must_use]
    pub fn status(&self) -> SenderStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for news, the end, or a time; whether it is the end.
    fn wait(&self, at_most: Duration, for_news: bool) -> bool {
        let asked = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |asked: &mut Asked| !(asked.is_over || (for_news && asked.has_news));
        let (mut asked, _) =
            self.news.wait_timeout_while(asked, at_most, waits).unwrap_or_else(PoisonError::into_inner);
        asked.has_news = asked.has_news && !for_news;
        asked.is_over
    }
}

/// Why a round ended without everything being acknowledged.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(transparent)]
    Spool(#[from] crate::spool::SpoolError),
    #[error(
        "an old life of the hub answers (epoch {found}, and {seen} was seen): it was restored, and this one woke up"
    )]
    OldHub { found: u64, seen: u64 },
    #[error("the hub acknowledges nothing of what is sent")]
    NoProgress,
}

/// Sends what a spool keeps to one hub.
pub struct Sender {
    identity: Arc<NodeIdentity>,
    enrolment: Enrolment,
    endpoints: Vec<Endpoint>,
    config: Arc<ClientConfig>,
    spool: Arc<Mutex<DiskSpool>>,
    signals: Arc<Signals>,
    /// The address that answered last.
    at: usize,
    connection: Option<HubConnection>,
    /// The longest wait before what an interval's end brought is sent.
    spread: Duration,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("enrolment", &self.enrolment).finish_non_exhaustive()
    }
}

impl Sender {
    /// A sender to the hub of an enrolment. `interval`: how often there are news, which are sent within a tenth of that.
    ///
    /// # Errors
    /// Where an address of the hub is none, or TLS cannot be set up.
    pub fn new(
        (identity, enrolment): (Arc<NodeIdentity>, Enrolment),
        spool: Arc<Mutex<DiskSpool>>,
        signals: Arc<Signals>,
        interval: Duration,
    ) -> Result<Self, String> {
        let endpoints = enrolment.endpoints().map_err(|error| error.to_string())?;
        let config = tls(&enrolment.fingerprints()).map_err(|error| error.to_string())?;
        let addresses = endpoints.iter().map(address_text).collect();
        *signals.status.lock().unwrap_or_else(PoisonError::into_inner) =
            SenderStatus { addresses, ..SenderStatus::default() };
        let spread = (interval / 10).min(MOST_SPREAD);
        Ok(Self { identity, enrolment, endpoints, config, spool, signals, at: 0, connection: None, spread })
    }

    /// Sends until it is over; for a thread of its own.
    pub fn run(mut self) {
        let mut wait = WAIT.0;
        loop {
            let sent = self.round();
            // A connection that waits for five minutes is one that the hub has to keep.
            self.connection = None;
            let failed = sent.as_ref().err().map(ToString::to_string);
            let is_refused = matches!(&sent, Err(RoundError::Hub(error)) if is_lasting(error));
            self.told(|status| status.error = failed);
            let is_over = match sent {
                Ok(()) => {
                    wait = WAIT.0;
                    let is_over = self.signals.wait(Duration::from_secs(3_600), true);
                    is_over || (self.signals.wait(jittered(self.spread), false))
                }
                Err(_) => {
                    self.at = (self.at + 1) % self.endpoints.len().max(1);
                    let now = if is_refused { WAIT.1 } else { wait };
                    wait = (wait * 2).min(WAIT.1);
                    self.signals.wait(jittered(now), false)
                }
            };
            if is_over {
                // What was written last, once.
                let _ = self.round();
                return;
            }
        }
    }

    fn told(&self, change: impl FnOnce(&mut SenderStatus)) {
        change(&mut self.signals.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn spool(&self) -> std::sync::MutexGuard<'_, DiskSpool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends all there is.
    fn round(&mut self) -> Result<(), RoundError> {
        loop {
            let diverged = self.spool().diverged();
            if let Some((stream, places)) = diverged {
                let common = self.ask(|connection, by| connection.common((stream, places.clone()), by))?;
                let found = Common { sequence: common.sequence, end: common.end, of: common.of };
                let (seen, _) = {
                    let mut spool = self.spool();
                    (spool.epoch(), spool.divert(stream, &found, common.epoch)?)
                };
                if common.epoch < seen {
                    return Err(RoundError::OldHub { found: common.epoch, seen });
                }
                continue;
            }
            let Some(batch) = self.spool().batch(BATCH.0, BATCH.1)? else { return Ok(()) };
            let before = batch.items.first().map_or(0, |item| item.span.before());
            let MarkBody { stream, sequence, hash, epoch, lacks } =
                self.ask(|connection, by| connection.send(&batch, by))?;
            let (marked, seen) = {
                let mut spool = self.spool();
                let seen = spool.epoch();
                (spool.take_mark(&Mark { stream, sequence, hash, epoch, lacks })?, seen)
            };
            match marked {
                Marked::OldHub => return Err(RoundError::OldHub { found: epoch, seen }),
                Marked::Committed if sequence > before => self.told(|status| {
                    status.batches += 1;
                    status.error = None;
                }),
                // A hub that was restored holds less: it goes on from there.
                Marked::Committed if epoch > seen => {}
                Marked::Diverged => {}
                // It goes on from where the hub is; if that is where it was, not at once.
                Marked::SendAgain if sequence < before => {}
                Marked::SendAgain | Marked::Committed | Marked::Unknown => return Err(RoundError::NoProgress),
            }
        }
    }

    /// Asks over the connection, or over a new one where it ended meanwhile.
    fn ask<T>(
        &mut self,
        ask: impl Fn(&mut HubConnection, (&NodeIdentity, farm::monitor::HubKey)) -> Result<T, HubError>,
    ) -> Result<T, RoundError> {
        let mut connection = match self.connection.take().filter(HubConnection::is_usable) {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let answer = ask(&mut connection, (&self.identity, self.enrolment.hub_key()))?;
        self.connection = Some(connection);
        Ok(answer)
    }

    fn connect(&mut self) -> Result<HubConnection, HubError> {
        let count = self.endpoints.len();
        let mut refused = None;
        for turn in 0..count {
            let at = (self.at + turn) % count;
            match HubConnection::open(&self.endpoints[at], &self.config) {
                Ok(connection) => {
                    self.at = at;
                    return Ok(connection);
                }
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or(HubError::Unreadable { address: String::new(), what: "no address is known".to_owned() }))
    }
}

/// Whether another attempt soon is in vain.
fn is_lasting(error: &HubError) -> bool {
    matches!(
        error.refused(),
        Some(Refused::NotEnrolled | Refused::Revoked | Refused::Malformed | Refused::NotSigned | Refused::Quota)
    )
}

/// Somewhere between half of a time and all of it.
fn jittered(time: Duration) -> Duration {
    let share = random().unwrap_or(0) % 512;
    time / 2 + time / 1_024 * u32::try_from(share).unwrap_or(0)
}

/// Waits for a thread, for so long.
pub(crate) fn join_within<T>(thread: std::thread::JoinHandle<T>, patience: Duration) {
    let until = Instant::now() + patience;
    while !thread.is_finished() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    if thread.is_finished() {
        let _ = thread.join();
    }
}
