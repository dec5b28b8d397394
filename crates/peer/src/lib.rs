//! Two programs on two nodes that trust each other by a token.
//!
//! One listens: it makes a certificate for the occasion and a random secret, and prints a token with the certificate's
//! fingerprint and the secret. The other connects with that token. TLS 1.3 stands between them; the connecting program
//! knows the other one by the fingerprint, and proves inside of TLS that it has the secret. Names, dates and authorities
//! play no part, so a wrong clock cannot keep two nodes from each other.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use std::time::Duration;
//! # use peer::{Listener, Endpoint, connect, read_token};
//! // On one node:
//! let mut listener = Listener::bind("*")?;
//! eprintln!("on the other node: {}", listener.one_line_for_the_other_side());
//! if let Some(mut channel) = listener.accept(&|| false)? {
//!     let asked: Option<String> = channel.receive(Duration::from_secs(5))?;
//!     channel.send(&asked.as_deref().unwrap_or("nothing was asked"))?;
//!     channel.close(Duration::from_secs(1))?;
//! }
//! // On the other:
//! let to = Endpoint::parse("lime2:5377")?;
//! let token = read_token("token".as_ref())?;
//! let mut channel = connect(&to.host, to.port_or_default(), &token, Duration::from_secs(10))?;
//! channel.send(&"ready?")?;
//! let answer: Option<String> = channel.receive(Duration::from_secs(5))?;
//! # Ok(()) }
//! ```
//!
//! Everything runs in the calling thread: a [`Channel`] sends heartbeats while one of its methods runs, so call one at
//! least once a second. There is no async code and no thread. docs/peer.md describes the protocol,
//! docs/decisions/0029 its reasons.

#![forbid(unsafe_code)]

mod address;
mod channel;
mod connect;
mod identity;
mod listener;
mod policy_file;
mod resolve;
mod settings;
mod tls;
mod token_file;
mod wire;

pub use address::{AddressError, DEFAULT_PORT, Endpoint};
pub use channel::{Channel, ChannelError, Partner};
pub use connect::{ConnectError, connect, connect_with};
pub use identity::{Identity, IdentityError};
pub use listener::{AcceptError, BindError, Listener, TurnedAway};
pub use policy_file::{POLICY_FILE, PolicyFileError, local_policy, read_policy};
pub use resolve::{ResolveError, resolve};
pub use settings::Settings;
pub use tls::{client_config, client_config_for_anybody, has_certificate_signed};
pub use token_file::{TokenFileError, read_token};

#[cfg(test)]
mod impostors;
