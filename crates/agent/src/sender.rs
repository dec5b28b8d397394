//! Sends what is on the disk to the hub, and takes its marks, by a thread that nobody waits for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use farm::monitor::{BatchBody, MarkBody, Refused, ToldBody};
use farm::stream::{Common, Mark, Marked};

use crate::finding::connect;
use crate::hub::{HubConnection, HubError};
use crate::key::NodeIdentity;
use crate::known_hub::KnownHub;
use crate::listener::Listener;
use crate::signals::{DISK_WAIT, SendError, Signals, WAIT, is_lasting, jittered};
use crate::spool::DiskSpool;
use crate::state::{State, StateError};
use crate::status::SenderStatus;

/// The most items of a batch, and about the most bytes.
const BATCH: (usize, usize) = (512, 512 * 1024);
/// The longest wait of all nodes after their intervals end together, so that they do not send together.
const MOST_SPREAD: Duration = Duration::from_secs(20);
/// The hub is asked how far it holds a stream after so many intervals without an answer of it, and after this time at the latest: while
/// intervals come, their marks say it, and no question is needed.
const ASK_AFTER: (u32, Duration) = (2, Duration::from_secs(600));

/// Sends all that waits to the hub that this node is enrolled at, and takes its marks: at each of its addresses in turn, until one takes
/// all. What [`monitor`](crate::monitor()) does again and again.
///
/// # Errors
/// Where not all of it was acknowledged, with what the last address answered; it is kept.
pub fn send_once(state: &State, spool: &Arc<Mutex<DiskSpool>>) -> Result<(), SendError> {
    let identity = Arc::new(state.identity()?.ok_or(StateError::NotEnrolled)?);
    let signals = Arc::new(Signals::default());
    let mut sender = Sender::new(state.clone(), identity, Arc::clone(spool), signals, Duration::ZERO)?;
    let mut sent = sender.round();
    for _ in 1..sender.hub.endpoints().len() {
        if sent.is_ok() {
            break;
        }
        sender.turn();
        sent = sender.round();
    }
    sent
}

/// Sends what a spool keeps to one hub.
pub struct Sender {
    identity: Arc<NodeIdentity>,
    hub: Arc<KnownHub>,
    spool: Arc<Mutex<DiskSpool>>,
    signals: Arc<Signals>,
    /// Whether the enrolment was shown in this round.
    has_shown: bool,
    /// The address that answered last.
    at: usize,
    connection: Option<HubConnection>,
    /// The longest wait before what an interval's end brought is sent.
    spread: Duration,
    /// How long the hub's last mark is believed where nothing is to be sent.
    ask_after: Duration,
    /// When the hub gave its last mark; `None` before the first.
    marked_at: Option<Instant>,
    /// How many questions were answered: each is about another stream.
    questions: usize,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("hub", &self.hub).finish_non_exhaustive()
    }
}

impl Sender {
    /// The node's way to the hub of its enrolment. `interval`: how long its intervals are; what one brought is sent within a tenth of
    /// that, and where two of them bring nothing, the hub is asked whether it still holds what it acknowledged.
    ///
    /// # Errors
    /// Where the node is not enrolled, an address of the hub is none, or TLS cannot be set up.
    pub fn new(
        state: State,
        identity: Arc<NodeIdentity>,
        spool: Arc<Mutex<DiskSpool>>,
        signals: Arc<Signals>,
        interval: Duration,
    ) -> Result<Self, SendError> {
        let hub = Arc::new(KnownHub::of(state)?);
        let addresses = hub.addresses();
        signals.told(|status| *status = SenderStatus { addresses, ..SenderStatus::default() });
        let spread = (interval / 10).min(MOST_SPREAD);
        // An earlier life than that in which it was enrolled is an old one from the first mark on.
        spool.lock().unwrap_or_else(PoisonError::into_inner).know_epoch(hub.enrolment().epoch)?;
        Ok(Self {
            identity,
            hub,
            spool,
            signals,
            has_shown: false,
            at: 0,
            connection: None,
            spread,
            ask_after: interval.saturating_mul(ASK_AFTER.0).min(ASK_AFTER.1),
            marked_at: None,
            questions: 0,
        })
    }

    /// Sends until it is over; for a thread of its own.
    pub fn run(mut self) {
        let mut wait = WAIT.0;
        loop {
            let sent = self.round();
            // A connection that waits for five minutes is one that the hub has to keep.
            self.connection = None;
            let failed = sent.as_ref().err().map(ToString::to_string);
            let is_refused = matches!(&sent, Err(SendError::Hub(error)) if is_lasting(error));
            self.told(|status| status.error = failed);
            let is_over = match sent {
                Ok(()) => {
                    wait = WAIT.0;
                    let is_over = self.signals.wait(self.until_question(), true);
                    is_over || (self.signals.wait(jittered(self.spread), false))
                }
                Err(SendError::Spool(_)) => self.signals.wait(DISK_WAIT, false),
                Err(_) => {
                    self.turn();
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

    /// Tries the next address from now on.
    fn turn(&mut self) {
        self.connection = None;
        self.at = self.at.wrapping_add(1);
    }

    /// What waits for the hub's news beside this, for a thread of its own.
    #[must_use]
    pub fn listener(&self) -> Listener {
        Listener {
            identity: Arc::clone(&self.identity),
            hub: Arc::clone(&self.hub),
            spool: Arc::clone(&self.spool),
            signals: Arc::clone(&self.signals),
        }
    }

    fn told(&self, change: impl FnOnce(&mut SenderStatus)) {
        self.signals.told(change);
    }

    fn spool(&self) -> std::sync::MutexGuard<'_, DiskSpool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long it is until the hub is asked.
    fn until_question(&self) -> Duration {
        self.marked_at.map_or(self.ask_after, |at| self.ask_after.saturating_sub(at.elapsed()))
    }

    /// What is asked where nothing is to be sent, if it is time to.
    fn question(&self) -> Option<BatchBody> {
        let is_due = self.marked_at.is_none_or(|at| at.elapsed() >= self.ask_after);
        if is_due { self.spool().question(self.questions) } else { None }
    }

    /// Sends all there is; where that is nothing, asks whether the hub still holds what it acknowledged, once.
    fn round(&mut self) -> Result<(), SendError> {
        self.has_shown = false;
        let mut has_mark = false;
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
                    return Err(SendError::OldHub { found: common.epoch, seen });
                }
                continue;
            }
            let waiting = self.spool().batch(BATCH.0, BATCH.1)?;
            let is_question = waiting.is_none();
            let Some(batch) = waiting.or_else(|| self.question().filter(|_| !has_mark)) else { return Ok(()) };
            let before = batch.items.first().map_or(0, |item| item.span.before());
            let MarkBody { stream, sequence, hash, epoch, lacks } =
                self.ask(|connection, by| connection.send(&batch, by))?;
            let (marked, seen) = {
                let mut spool = self.spool();
                let seen = spool.epoch();
                (spool.take_mark(&Mark { stream, sequence, hash, epoch, lacks })?, seen)
            };
            if marked != Marked::OldHub {
                (self.marked_at, has_mark) = (Some(Instant::now()), true);
                self.questions = self.questions.wrapping_add(usize::from(is_question));
            }
            match marked {
                Marked::OldHub => return Err(SendError::OldHub { found: epoch, seen }),
                // What the hub has lost since waits from now on.
                _ if is_question => {}
                Marked::Committed if sequence > before => self.told(|status| {
                    status.batches += 1;
                    status.error = None;
                }),
                // A hub that was restored holds less: it goes on from there.
                Marked::Committed if epoch > seen => {}
                Marked::Diverged => {}
                // It goes on from where the hub is; if that is where it was, not at once.
                Marked::SendAgain if sequence < before => {}
                Marked::SendAgain | Marked::Committed | Marked::Unknown => return Err(SendError::NoProgress),
            }
        }
    }

    /// Asks over the connection, or over a new one where it ended meanwhile. A hub that does not know this node is shown the enrolment
    /// that it has signed, once a round: it was restored to before it.
    fn ask<T>(
        &mut self,
        ask: impl Fn(&mut HubConnection, (&NodeIdentity, farm::monitor::HubKey)) -> Result<T, HubError>,
    ) -> Result<T, SendError> {
        match self.ask_once(&ask) {
            Err(SendError::Hub(error)) if error.refused() == Some(Refused::NotEnrolled) && !self.has_shown => {
                self.has_shown = true;
                self.show_enrolment()?;
                self.ask_once(&ask)
            }
            answer => answer,
        }
    }

    fn ask_once<T>(
        &mut self,
        ask: impl Fn(&mut HubConnection, (&NodeIdentity, farm::monitor::HubKey)) -> Result<T, HubError>,
    ) -> Result<T, SendError> {
        let mut connection = match self.connection.take().filter(HubConnection::is_usable) {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let answer = ask(&mut connection, (&self.identity, self.hub.key()));
        // A hub that refuses a message listens on.
        if answer.as_ref().err().is_none_or(|error| error.refused().is_some()) {
            self.connection = Some(connection);
        }
        Ok(answer?)
    }

    fn show_enrolment(&mut self) -> Result<(), SendError> {
        let shown = self.hub.enrolment().signed;
        let (enrolled, signed) = self.ask_once(|connection, by| connection.return_to(&shown, by))?;
        let seen = self.spool().epoch();
        if enrolled.epoch < seen {
            return Err(SendError::OldHub { found: enrolled.epoch, seen });
        }
        // A disk that refuses keeps the earlier one, which is as good.
        let _ = self.hub.change(|enrolment| {
            enrolment.name = units::printable::line(&enrolled.name).into_owned();
            enrolment.epoch = enrolled.epoch;
            enrolment.signed = String::from_utf8_lossy(&signed).into_owned();
        });
        Ok(())
    }

    /// Connects, and proves that the connection is this node's: the hub keeps it before strangers', and tells what is new.
    fn connect(&mut self) -> Result<HubConnection, HubError> {
        let mut connection = connect(&self.hub, &mut self.at)?;
        let told = connection.listen(self.hub.told(), Duration::ZERO, (&self.identity, self.hub.key()));
        // A hub of before has no such question, and one that refuses this node says so when it is asked for more.
        if let Ok(ToldBody { epoch, news: Some(news), .. }) = told {
            let seen = self.spool().epoch();
            if epoch >= seen {
                // The next connection hears it again.
                let _ = self.hub.take(&news);
                let addresses = self.hub.addresses();
                self.told(|status| status.addresses = addresses);
            }
        }
        if connection.is_usable() { Ok(connection) } else { connect(&self.hub, &mut self.at) }
    }
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
