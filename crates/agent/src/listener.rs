//! Waits for what the hub tells: a thread of its own with a connection of its own, since the answer may take minutes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::finding::connect;
use crate::hub::HubConnection;
use crate::key::NodeIdentity;
use crate::known_hub::KnownHub;
use crate::signals::{SendError, Signals, WAIT, is_lasting, jittered};
use crate::spool::DiskSpool;

/// How long one question waits for news: less than what lies between forgets a connection that is silent.
const WAITS: Duration = Duration::from_secs(100);

/// Waits for news of the hub: where else it is, which certificate it will have.
pub struct Listener {
    pub(crate) identity: Arc<NodeIdentity>,
    pub(crate) hub: Arc<KnownHub>,
    pub(crate) spool: Arc<Mutex<DiskSpool>>,
    pub(crate) signals: Arc<Signals>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("hub", &self.hub).finish_non_exhaustive()
    }
}

impl Listener {
    /// Listens until it is over; for a thread of its own, which nobody waits for.
    pub fn run(self) {
        let (mut connection, mut wait, mut at) = (None, WAIT.0, 0);
        loop {
            let heard = self.hear(&mut connection, at);
            self.signals.told(|status| status.is_connected = heard.is_ok());
            let pause = match &heard {
                Ok(()) => {
                    wait = WAIT.0;
                    Duration::ZERO
                }
                Err(error) => {
                    connection = None;
                    at += 1;
                    // A hub of before has no such question.
                    let is_lasting = matches!(error, SendError::Hub(error) if is_lasting(error));
                    let now = if is_lasting { WAIT.1 } else { wait };
                    wait = (wait * 2).min(WAIT.1);
                    jittered(now)
                }
            };
            if self.signals.rest(pause) {
                return;
            }
        }
    }

    /// Asks once, and takes what is told.
    fn hear(&self, connection: &mut Option<HubConnection>, at: usize) -> Result<(), SendError> {
        let hub = self.hub.key();
        let mut open = match connection.take().filter(HubConnection::is_usable) {
            Some(open) => open,
            None => {
                let open = connect(&self.hub, &mut { at })?;
                self.signals.told(|status| status.is_connected = true);
                open
            }
        };
        let told = open.listen(self.hub.told(), WAITS, (&self.identity, hub))?;
        let seen = self.spool.lock().unwrap_or_else(PoisonError::into_inner).epoch();
        if told.epoch < seen {
            return Err(SendError::OldHub { found: told.epoch, seen });
        }
        if let Some(news) = &told.news {
            self.hub.take(news)?;
            let addresses = self.hub.addresses();
            self.signals.told(|status| status.addresses = addresses);
        }
        *connection = Some(open);
        Ok(())
    }
}
