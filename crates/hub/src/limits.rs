//! What strangers may cost a hub.

use std::time::Duration;

/// Bounds on connections, requests and what waits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For the handshake of TLS.
    pub handshake: Duration,
    /// From the handshake to the head of the first request.
    pub first_request: Duration,
    /// For the head of a request, and between two requests.
    pub head: Duration,
    /// For the body of a request.
    pub body: Duration,
    /// For who takes nothing of an answer.
    pub taking: Duration,
    /// Connections at once, of all hosts.
    pub connections: usize,
    /// Connections of one node that do not count among those that nobody knows: it has two, and one of before that nobody has ended.
    pub known_of_node: usize,
    /// Connections of one host that have not shown to be an enrolled node's. 500 nodes may stand behind one address, and all of them
    /// connect as the hub starts.
    pub unknown_of_host: usize,
    /// The same of all hosts together.
    pub unknown: usize,
    /// Bytes of bodies that are there at once: as received, as decompressed, and until they are written.
    pub body_bytes: usize,
    /// The same of one host.
    pub body_bytes_of_host: usize,
    /// Batches that wait for the thread that writes.
    pub queue: usize,
    /// Bytes of an enrolled node's messages, as decompressed, that are opened in a day and of which nothing is taken.
    pub refused_bytes_of_node: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            first_request: Duration::from_secs(10),
            head: Duration::from_secs(30),
            body: Duration::from_secs(30),
            taking: Duration::from_secs(30),
            connections: 20_000,
            known_of_node: 4,
            unknown_of_host: 1_024,
            unknown: 8_192,
            body_bytes: 64 << 20,
            body_bytes_of_host: 32 << 20,
            queue: 1_024,
            refused_bytes_of_node: 64 << 20,
        }
    }
}
