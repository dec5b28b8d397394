//! The program of another node at the other end of a connection.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use packet::dialog::{Message, session};
use packet::header::Session;
use peer::{Channel, ChannelError, Listener};
use run::{Dialog, PartnerGone, Stop};
use serde::de::DeserializeOwned;

/// What the packets of two programs are recognized by is derived from their connection for this purpose.
const SESSION: &str = "measured packets";
/// How long what was said last may take to get there.
const CLOSING: Duration = Duration::from_secs(3);
/// Between two looks at the stop flag and at those who want to connect.
const LOOK: Duration = Duration::from_millis(100);

/// A connection over which a run is agreed upon and told.
pub(crate) struct Connection<'a> {
    pub(crate) channel: Channel,
    /// Who else connects is told that this partner is served.
    others: Option<&'a mut Listener>,
}

impl<'a> Connection<'a> {
    pub(crate) const fn new(channel: Channel, others: Option<&'a mut Listener>) -> Self {
        Self { channel, others }
    }

    /// This node's address of the connection and the partner's, and what the packets between them are recognized by.
    pub(crate) fn ends(&self) -> Result<((SocketAddr, SocketAddr), Session), ChannelError> {
        let addresses = (self.channel.local_address()?, self.channel.partner().address);
        Ok((addresses, session(&self.channel.shared_key(SESSION)?)))
    }

    /// The next message; `None` if none came within the time, or the run is ended on this node.
    pub(crate) fn await_message<T: DeserializeOwned>(
        &mut self,
        within: Duration,
        stop: &Stop,
    ) -> Result<Option<T>, ChannelError> {
        self.await_while(within, stop, &mut || {})
    }

    /// The same, and calls `meanwhile` between two looks.
    pub(crate) fn await_while<T: DeserializeOwned>(
        &mut self,
        within: Duration,
        stop: &Stop,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Option<T>, ChannelError> {
        let until = Instant::now() + within;
        loop {
            self.refuse_others();
            meanwhile();
            match self.channel.receive(LOOK)? {
                None if !stop.ended_early() && Instant::now() < until => {}
                heard => return Ok(heard),
            }
        }
    }

    /// Ends it in order. A partner that is gone does not need to hear the end.
    pub(crate) fn close(self) {
        let _ = self.channel.close(CLOSING);
    }

    /// Tells whoever else connects that this partner is served.
    pub(crate) fn refuse_others(&mut self) {
        if let Some(listener) = &mut self.others {
            // Where the kernel does not let others in now, the next wait for a partner says so.
            let _ = listener.refuse_others();
        }
    }
}

impl Dialog for Connection<'_> {
    fn say(&mut self, message: &Message) -> Result<(), PartnerGone> {
        self.channel.send(message).map_err(|error| PartnerGone(error.to_string()))
    }

    fn offer(&mut self, message: &Message) -> Result<bool, PartnerGone> {
        self.channel.offer(message).map_err(|error| PartnerGone(error.to_string()))
    }

    fn hear(&mut self, within: Duration) -> Result<Option<Message>, PartnerGone> {
        self.refuse_others();
        self.channel.receive(within).map_err(|error| PartnerGone(error.to_string()))
    }
}
