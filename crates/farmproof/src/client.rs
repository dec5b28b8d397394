//! As much of HTTP/1.1 as is needed to ask a hub quickly, over connections that are kept: TLS for nodes, plain for people.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use farm::monitor::{HubKey, ListenBody, NODE_LABEL, Purpose};
use farm::stream::ContentHash;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::nodes::MadeNode;

/// How long an answer may take: one that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of an answer: the document of 10,000 nodes has some 20 MB.
const MOST_BYTES: usize = 1 << 28;
/// How long an answer's head may be (bytes).
const MOST_HEAD_BYTES: usize = 1 << 16;

/// A connection.
pub(crate) struct Client<S> {
    stream: S,
    buffer: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// A node's connection.
pub(crate) type NodeClient = Client<StreamOwned<ClientConnection, TcpStream>>;
/// A person's connection.
pub(crate) type PersonClient = Client<TcpStream>;

/// How nodes speak TLS with a hub.
pub(crate) fn tls(fingerprint: [u8; 32]) -> Result<Arc<ClientConfig>, rustls::Error> {
    peer::client_config(&[fingerprint], b"http/1.1")
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

impl NodeClient {
    /// Connects, and shakes hands.
    pub(crate) fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> io::Result<Self> {
        let name = ServerName::try_from("punctual").map_err(io::Error::other)?;
        let tls = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(tls, connect(address)?);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Says whose connection it is, as an agent does, and asks for news.
    pub(crate) fn prove(&mut self, node: &MadeNode, hub: HubKey) -> anyhow::Result<()> {
        let connection = ContentHash(self.stream.conn.export_keying_material([0; 32], NODE_LABEL, Some(&hub.0))?);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let body = serde_json::to_vec(&ListenBody { connection, knows: None, for_s: 0, version })?;
        let answer = self.post("/v1/listen", &node.signed(Purpose::Listen, hub, body))?;
        anyhow::ensure!(answer.status == 200, "a node was answered {}: {}", answer.status, answer.text());
        Ok(())
    }
}

impl PersonClient {
    /// Connects.
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { stream: connect(address)?, buffer: Vec::new() })
    }
}

impl<S: Read + Write> Client<S> {
    /// Asks for a path.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: hub\r\n\r\n").as_bytes())
    }

    /// Sends a message.
    pub(crate) fn post(&mut self, path: &str, body: &[u8]) -> io::Result<Answer> {
        let mut bytes =
            format!("POST {path} HTTP/1.1\r\nHost: hub\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        self.ask(&bytes)
    }

    /// Sends bytes as they are, and reads an answer.
    pub(crate) fn ask(&mut self, bytes: &[u8]) -> io::Result<Answer> {
        self.stream.write_all(bytes)?;
        self.stream.flush()?;
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if self.buffer.len() > MOST_HEAD_BYTES {
                return Err(io::Error::other("a head that does not end"));
            }
            self.read_more()?;
        };
        let head = String::from_utf8_lossy(self.buffer.get(..end).unwrap_or_default()).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no answer of HTTP: {head:?}")))?;
        let mut answer = Answer { status, head, body: Vec::new() };
        let length: usize = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if length > MOST_BYTES {
            return Err(io::Error::other(format!("an answer of {length} bytes")));
        }
        while self.buffer.len() < end + length {
            self.read_more()?;
        }
        answer.body = self.buffer.drain(..end + length).skip(end).collect();
        Ok(answer)
    }

    fn read_more(&mut self) -> io::Result<()> {
        let mut part = vec![0; 64 * 1024];
        let count = self.stream.read(&mut part)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend(part.iter().take(count));
        Ok(())
    }
}

impl Answer {
    /// A line of its head, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What it says, where it is text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
