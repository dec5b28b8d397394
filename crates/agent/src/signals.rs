//! What the threads that talk to the hub share: what they are told, what they say of it, why they fail, and how long they wait then.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use farm::monitor::Refused;

use crate::hub::HubError;
use crate::key::random;
use crate::state::StateError;
use crate::status::SenderStatus;

/// The wait after a failure of this node's own disk: the hub is not to be spared, and nobody says when there is room again.
pub(crate) const DISK_WAIT: Duration = Duration::from_secs(10);

/// The first wait after a failure, and the longest.
pub(crate) const WAIT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// What the sender shares with those who give it something to send.
#[derive(Debug, Default)]
pub struct Signals {
    state: Mutex<Asked>,
    news: Condvar,
    status: Mutex<SenderStatus>,
    /// What is still to be said to people.
    said: Mutex<Vec<String>>,
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

    /// Changes what is said of the sending.
    pub(crate) fn told(&self, change: impl FnOnce(&mut SenderStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Has something said to people: threads of the agent have no words of their own.
    pub(crate) fn say(&self, what: String) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// What is to be said, once.
    pub(crate) fn take_said(&self) -> Vec<String> {
        std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for so long, or for the end; whether it is that.
    pub(crate) fn rest(&self, time: Duration) -> bool {
        self.wait(time, false)
    }

    /// Waits for news, the end, or a time; whether it is the end.
    pub(crate) fn wait(&self, at_most: Duration, for_news: bool) -> bool {
        let asked = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |asked: &mut Asked| !(asked.is_over || (for_news && asked.has_news));
        let (mut asked, _) =
            self.news.wait_timeout_while(asked, at_most, waits).unwrap_or_else(PoisonError::into_inner);
        asked.has_news = asked.has_news && !for_news;
        asked.is_over
    }
}

/// Why not everything that waits was acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The hub did not take a message.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The node's disk.
    #[error(transparent)]
    Spool(#[from] crate::spool::SpoolError),
    /// The node's own folder, or what stands in it.
    #[error(transparent)]
    State(#[from] StateError),
    /// An old life of the hub answers.
    #[error(
        "an old life of the hub answers (epoch {found}, and {seen} was seen): it was restored, and this one woke up"
    )]
    OldHub {
        /// The life that answers.
        found: u64,
        /// The latest one that was seen.
        seen: u64,
    },
    /// It would go on for ever.
    #[error("the hub acknowledges nothing of what is sent")]
    NoProgress,
    /// Nothing could be set up.
    #[error("{0}")]
    Start(String),
}

/// Whether another attempt soon is in vain.
pub(crate) fn is_lasting(error: &HubError) -> bool {
    matches!(
        error.refused(),
        Some(Refused::NotEnrolled | Refused::Revoked | Refused::Malformed | Refused::NotSigned | Refused::Quota)
    )
}

/// Somewhere between half of a time and all of it.
pub(crate) fn jittered(time: Duration) -> Duration {
    let share = random().unwrap_or(0) % 512;
    time / 2 + time / 1_024 * u32::try_from(share).unwrap_or(0)
}
