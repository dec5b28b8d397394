//! The partner's program at the other end of the connection.

use std::time::Duration;

use measure::packet::{Dialog, PartnerGone};
use packet::dialog::Message;
use peer::Channel;

/// What the packets of two programs are recognized by is derived from their connection for this purpose.
pub(super) const SESSION: &str = "measured packets";

/// A connection over which a run is agreed upon.
pub(super) struct Connection(pub(super) Channel);

impl Dialog for Connection {
    fn say(&mut self, message: &Message) -> Result<(), PartnerGone> {
        self.0.send(message).map_err(|error| PartnerGone(error.to_string()))
    }

    fn hear(&mut self, within: Duration) -> Result<Option<Message>, PartnerGone> {
        self.0.receive(within).map_err(|error| PartnerGone(error.to_string()))
    }
}
