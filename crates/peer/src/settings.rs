//! Who this program says it is, and how long it waits.

use std::time::Duration;

use farm::{Hello, OUR_PROTOCOLS};

/// Who this program says it is, and how long it waits.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How it introduces itself.
    pub hello: Hello,
    /// A heartbeat is sent after this long without anything else to send (default: 1 s).
    pub heartbeat: Duration,
    /// A partner of which nothing was heard for this long is given up (default: 4 s). Partners send a heartbeat each
    /// second, so this is three lost ones.
    pub silence: Duration,
    /// A connection has this long to prove that it has the token (default: 10 s).
    pub handshake: Duration,
    /// The most bytes of received messages that wait to be fetched (default: 128 MiB, two of the longest messages).
    pub unfetched_bytes: usize,
}

impl Default for Settings {
    /// This version of the program on this host, with the default waits.
    fn default() -> Self {
        let (_, _, _, host) = kernel::process::system_names();
        Self {
            hello: Hello { program: env!("CARGO_PKG_VERSION").to_owned(), protocol: OUR_PROTOCOLS, host },
            heartbeat: Duration::from_secs(1),
            silence: Duration::from_secs(4),
            handshake: Duration::from_secs(10),
            unfetched_bytes: 2 * farm::frame::MOST_AFTER_TRUST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_that_stops_is_noticed_within_five_seconds() {
        let settings = Settings::default();
        // Its last heartbeat may have been sent right before.
        assert!(settings.silence <= Duration::from_secs(5));
        assert!(settings.silence >= 3 * settings.heartbeat, "two may be late or lost");
        assert!(!settings.hello.host.is_empty());
    }
}
