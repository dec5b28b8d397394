//! The door of a port: who is let in, how many of one host, and who has to go where too many are in the doorway.
//!
//! A connection is unknown until an enrolled node has proved that it is its own, by a signature over a value that its two ends alone
//! derive: a message that somebody has seen elsewhere, and sends again, is no such proof. Where a host has too many of these, the one
//! that has been longest in its handshake makes room: an honest node's handshake takes some round trips, and one that is held open
//! takes for ever.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::middleware::AddExtension;
use axum_server::accept::Accept;
use farm::monitor::{HubKey, NODE_LABEL};
use farm::stream::{ContentHash, NodeKey};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::server::TlsStream;
use tower::Layer as _;

use crate::limits::Limits;

/// Who connects. Of IPv6 the network of a site counts, since one machine has all of its addresses.
fn host_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address @ IpAddr::V4(_) => address,
    }
}

/// One host.
#[derive(Debug, Default)]
struct Host {
    /// Its connections that nobody knows.
    unknown: usize,
    /// Those of them in their handshake, the oldest first; each ends when its word is said.
    handshakes: VecDeque<(u64, oneshot::Sender<()>)>,
    /// Bytes of bodies that it sends just now.
    body_bytes: usize,
}

#[derive(Debug, Default)]
struct Present {
    hosts: HashMap<IpAddr, Host>,
    /// How many connections are known to be a node's.
    of_nodes: HashMap<NodeKey, usize>,
    connections: usize,
    unknown: usize,
    body_bytes: usize,
    next: u64,
}

/// Who is in.
#[derive(Debug)]
pub struct Visitors {
    limits: Limits,
    present: Mutex<Present>,
}

/// Someone in the doorway, and the word that ends it.
#[derive(Debug)]
struct Entered {
    visitor: Visitor,
    must_go: oneshot::Receiver<()>,
}

impl Visitors {
    /// Nobody yet.
    #[must_use]
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, present: Mutex::default() })
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        // What is counted there is whole after each step.
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connections that are open just now.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.present().connections
    }

    fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Entered, Full> {
        let host = host_of(address);
        let mut present = self.present();
        if present.connections >= self.limits.connections {
            return Err(Full);
        }
        let is_crowded = present.unknown >= self.limits.unknown;
        let id = present.next;
        let of_host = present.hosts.entry(host).or_default();
        if is_crowded || of_host.unknown >= self.limits.unknown_of_host {
            let (_, word) = of_host.handshakes.pop_front().ok_or(Full)?;
            // Who has gone already makes room too.
            let _ = word.send(());
        }
        let (word, must_go) = oneshot::channel();
        of_host.handshakes.push_back((id, word));
        of_host.unknown += 1;
        present.next += 1;
        present.connections += 1;
        present.unknown += 1;
        let entry = Entry { visitors: Arc::clone(self), host, id, node: OnceLock::new() };
        Ok(Entered { visitor: Visitor { entry: Arc::new(entry), handshake: Duration::ZERO, own_value: None }, must_go })
    }
}

/// No room.
#[derive(Debug, PartialEq, Eq)]
struct Full;

impl Present {
    /// Forgets a host of which nothing is left.
    fn tidy(&mut self, host: IpAddr) {
        let is_gone = |host: &Host| host.unknown == 0 && host.body_bytes == 0 && host.handshakes.is_empty();
        if self.hosts.get(&host).is_some_and(is_gone) {
            self.hosts.remove(&host);
        }
    }

    fn no_longer_of(&mut self, node: &NodeKey) {
        if let Some(found) = self.of_nodes.get_mut(node) {
            *found = found.saturating_sub(1);
            if *found == 0 {
                self.of_nodes.remove(node);
            }
        }
    }

    fn no_longer_unknown(&mut self, host: IpAddr) {
        self.unknown = self.unknown.saturating_sub(1);
        if let Some(of_host) = self.hosts.get_mut(&host) {
            of_host.unknown = of_host.unknown.saturating_sub(1);
        }
    }
}

/// A connection that is counted until it is dropped.
#[derive(Debug)]
struct Entry {
    visitors: Arc<Visitors>,
    host: IpAddr,
    id: u64,
    /// Whose it is, once that is proved.
    node: OnceLock<NodeKey>,
}

impl Entry {
    fn end_handshake(&self) {
        if let Some(host) = self.visitors.present().hosts.get_mut(&self.host) {
            host.handshakes.retain(|(id, _)| *id != self.id);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.end_handshake();
        let mut present = self.visitors.present();
        present.connections = present.connections.saturating_sub(1);
        match self.node.get() {
            Some(node) => present.no_longer_of(node),
            None => present.no_longer_unknown(self.host),
        }
        present.tidy(self.host);
    }
}

/// A connection, for those who answer its requests.
#[derive(Clone, Debug)]
pub struct Visitor {
    entry: Arc<Entry>,
    /// How long its handshake took: a round trip at least.
    pub handshake: Duration,
    /// The connection's own value, which its ends alone derive ([`NODE_LABEL`]); none of a connection without TLS.
    pub own_value: Option<ContentHash>,
}

impl Visitor {
    /// An enrolled node has proved that it is its own: it counts no longer among those that nobody knows, unless the node has as many
    /// of them as it may.
    pub fn is_of(&self, node: NodeKey) {
        let mut present = self.entry.visitors.present();
        let found = present.of_nodes.entry(node).or_default();
        if *found < self.entry.visitors.limits.known_of_node && self.entry.node.set(node).is_ok() {
            *found += 1;
            present.no_longer_unknown(self.entry.host);
        }
    }

    /// Room for a body, none yet.
    #[must_use]
    pub fn room(&self) -> Room {
        Room { entry: Arc::clone(&self.entry), bytes: 0 }
    }
}

/// Room for a body and for what is made of it, until it is dropped.
#[derive(Debug)]
pub struct Room {
    entry: Arc<Entry>,
    bytes: usize,
}

/// Too much is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl Room {
    /// Takes so many bytes more.
    ///
    /// # Errors
    /// Where all hosts, or this one, have as much as they may.
    pub fn take(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let visitors = &self.entry.visitors;
        let mut present = visitors.present();
        let in_all = present.body_bytes.saturating_add(bytes);
        let host = present.hosts.entry(self.entry.host).or_default();
        let of_host = host.body_bytes.saturating_add(bytes);
        if in_all > visitors.limits.body_bytes || of_host > visitors.limits.body_bytes_of_host {
            return Err(NoRoom);
        }
        host.body_bytes = of_host;
        present.body_bytes = in_all;
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut present = self.entry.visitors.present();
        present.body_bytes = present.body_bytes.saturating_sub(self.bytes);
        if let Some(host) = present.hosts.get_mut(&self.entry.host) {
            host.body_bytes = host.body_bytes.saturating_sub(self.bytes);
        }
        present.tidy(self.entry.host);
    }
}

/// Counts who comes before `inner` shakes hands with them.
#[derive(Clone, Debug)]
pub struct Door<A> {
    inner: A,
    visitors: Arc<Visitors>,
    hub: HubKey,
}

/// A connection that may have a value of its own.
pub trait HasOwnValue {
    /// It, for a hub; `None` where there is none.
    fn own_value(&self, hub: HubKey) -> Option<ContentHash>;
}

impl HasOwnValue for TcpStream {
    fn own_value(&self, _: HubKey) -> Option<ContentHash> {
        None
    }
}

impl HasOwnValue for TlsStream<TcpStream> {
    fn own_value(&self, hub: HubKey) -> Option<ContentHash> {
        self.get_ref().1.export_keying_material([0; 32], NODE_LABEL, Some(&hub.0)).ok().map(ContentHash)
    }
}

impl<A> Door<A> {
    /// A door of a hub's.
    pub const fn new(inner: A, visitors: Arc<Visitors>, hub: HubKey) -> Self {
        Self { inner, visitors, hub }
    }
}

impl<A, S> Accept<TcpStream, S> for Door<A>
where
    A: Accept<TcpStream, S>,
    A::Future: Send + 'static,
    A::Stream: HasOwnValue + Send + 'static,
    A::Service: Send + 'static,
{
    type Stream = A::Stream;
    type Service = AddExtension<A::Service, Visitor>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let full = || io::Error::other("too many connections");
        let entered = stream.peer_addr().and_then(|peer| self.visitors.enter(peer.ip()).map_err(|Full| full()));
        // Answers are short and waited for. Without it they are only later.
        let _ = stream.set_nodelay(true);
        // Whoever takes nothing of what they asked for is let go. Without it they only stay.
        let _ = kernel::tcp::end_where_nothing_is_taken(&stream, self.visitors.limits.taking);
        let Entered { mut visitor, must_go } = match entered {
            Ok(entered) => entered,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let (began, hub) = (Instant::now(), self.hub);
        let accepted = self.inner.accept(stream, service);
        Box::pin(async move {
            let (stream, service) = tokio::select! {
                accepted = accepted => accepted?,
                _ = must_go => return Err(io::Error::other("a handshake that others waited for")),
            };
            visitor.entry.end_handshake();
            visitor.handshake = began.elapsed();
            visitor.own_value = stream.own_value(hub);
            Ok((stream, Extension(visitor).layer(service)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitors() -> Arc<Visitors> {
        let limits = Limits { connections: 6, known_of_node: 1, unknown_of_host: 2, unknown: 4, ..Limits::default() };
        Visitors::new(Limits { body_bytes: 100, body_bytes_of_host: 60, ..limits })
    }

    fn address(of: &str) -> IpAddr {
        of.parse().unwrap()
    }

    #[test]
    fn the_oldest_handshake_of_a_crowded_host_makes_room_and_nobody_else_does() {
        let visitors = visitors();
        let (one, other) = (address("192.0.2.1"), address("192.0.2.2"));
        let mut first = visitors.enter(one).unwrap();
        let mut second = visitors.enter(one).unwrap();
        let mut elsewhere = visitors.enter(other).unwrap();
        let third = visitors.enter(one).unwrap();
        assert_eq!(first.must_go.try_recv(), Ok(()));
        assert!(second.must_go.try_recv().is_err() && elsewhere.must_go.try_recv().is_err());
        drop(first);
        // Those that are past their handshake do not go.
        second.visitor.entry.end_handshake();
        third.visitor.entry.end_handshake();
        assert_eq!(visitors.enter(one).err(), Some(Full));
        // Who is known makes room, once, and no node for more than it may have.
        let node = NodeKey([1; 32]);
        third.visitor.is_of(node);
        third.visitor.is_of(node);
        let fourth = visitors.enter(one).unwrap();
        fourth.visitor.entry.end_handshake();
        fourth.visitor.is_of(node);
        assert_eq!(visitors.enter(one).err(), Some(Full));
        drop(third);
        fourth.visitor.is_of(node);
        drop((visitors.enter(one).unwrap(), second, fourth, elsewhere));
        let present = visitors.present();
        let left = (present.connections, present.unknown, present.hosts.len(), present.of_nodes.len());
        assert_eq!(left, (0, 0, 0, 0));
    }

    #[test]
    fn a_site_s_many_addresses_are_one_host() {
        assert_eq!(host_of(address("2001:db8:1:2:3::4")), host_of(address("2001:db8:1:2::1")));
        assert_ne!(host_of(address("2001:db8:1:3::1")), host_of(address("2001:db8:1:2::1")));
        assert_eq!(host_of(address("::ffff:192.0.2.1")), address("192.0.2.1"));
    }

    #[test]
    fn one_host_cannot_have_all_the_room_for_bodies() {
        let visitors = visitors();
        let one = visitors.enter(address("192.0.2.1")).unwrap().visitor;
        let other = visitors.enter(address("192.0.2.2")).unwrap().visitor;
        let (mut room, mut more) = (one.room(), other.room());
        assert_eq!((room.take(50), room.take(10)), (Ok(()), Ok(())));
        assert_eq!((one.room().take(1), room.take(1), more.take(41)), (Err(NoRoom), Err(NoRoom), Err(NoRoom)));
        assert_eq!(more.take(40), Ok(()));
        drop(room);
        assert_eq!(one.room().take(60), Ok(()));
        drop((more, one, other));
        assert!(visitors.present().hosts.is_empty());
    }
}
