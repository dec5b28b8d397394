//! As much of HTTP/1.1 (RFC 9112) as a node says to its hub: one request after the other over one TLS connection, each answer bounded
//! in size and time.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// The most bytes of an answer's head.
const MOST_HEAD: usize = 16 * 1024;
/// The most bytes of an answer.
pub(crate) const MOST_ANSWER: usize = 64 * 1024;

/// What went wrong between a node and its hub.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The network, or the time.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The other end is not the hub, or does not speak TLS 1.3.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
    /// The answer is none of HTTP/1.1 with a length.
    #[error("the answer is not as a hub's: {0}")]
    Answer(&'static str),
}

/// What a server answered to one request, whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A stream that ends waiting at a given time, however slowly the other end goes on.
#[derive(Debug)]
struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(late()) } else { Ok(left) }
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it took too long")
}

/// A blocking call that ran into its time-out says that it would block.
fn in_words(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { late() } else { error }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer).map_err(in_words)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes).map_err(in_words)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A connection to a hub.
pub(crate) struct Connection {
    stream: StreamOwned<ClientConnection, Timed>,
    host: String,
    patience: Duration,
    is_usable: bool,
}

impl Connection {
    /// Connects, within `patience`, which each exchange may take too.
    pub(crate) fn open(
        (host, port): (&str, u16),
        config: &Arc<ClientConfig>,
        patience: Duration,
    ) -> Result<Self, HttpError> {
        let until = Instant::now() + patience;
        let addresses = peer::resolve(host, port, until).map_err(io::Error::other)?;
        let mut refused = io::Error::other("the host has no address");
        let mut connected = None;
        for address in addresses {
            let left = until.saturating_duration_since(Instant::now());
            match TcpStream::connect_timeout(&address, left.max(Duration::from_millis(1))) {
                Ok(stream) => {
                    connected = Some(stream);
                    break;
                }
                Err(error) => refused = in_words(error),
            }
        }
        let stream = connected.ok_or(refused)?;
        // A request is written at once.
        stream.set_nodelay(true)?;
        // The certificate is known by its fingerprint; the name is not looked at, and not told.
        let name = ServerName::try_from("punctual").map_err(io::Error::other)?;
        let tls = ClientConnection::new(Arc::clone(config), name)?;
        let mut stream = StreamOwned::new(tls, Timed { stream, until });
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(tls_or_io)?;
        }
        Ok(Self { stream, host: format!("{host}:{port}"), patience, is_usable: true })
    }

    /// Whether another request may follow.
    pub(crate) const fn is_usable(&self) -> bool {
        self.is_usable
    }

    /// A value that the two ends of this connection alone derive (RFC 8446, section 7.5).
    pub(crate) fn own_value(&self, label: &[u8], context: &[u8]) -> Result<[u8; 32], HttpError> {
        Ok(self.stream.conn.export_keying_material([0; 32], label, Some(context))?)
    }

    /// From now on an exchange may take so long.
    pub(crate) fn wait_for(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Asks for something, and waits for the answer.
    pub(crate) fn get(&mut self, path: &str) -> Result<Answer, HttpError> {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        self.exchange(&head, &[])
    }

    /// Sends a message, and waits for the answer.
    pub(crate) fn post(&mut self, path: &str, body: &[u8]) -> Result<Answer, HttpError> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        self.exchange(&head, body)
    }

    fn exchange(&mut self, head: &str, body: &[u8]) -> Result<Answer, HttpError> {
        // Until the answer is there as a whole, what comes next is not known.
        self.is_usable = false;
        self.stream.sock.until = Instant::now() + self.patience;
        self.stream.write_all(head.as_bytes()).map_err(tls_or_io)?;
        self.stream.write_all(body).map_err(tls_or_io)?;
        self.stream.flush().map_err(tls_or_io)?;
        let mut buffer = Vec::new();
        let head = loop {
            if let Some(end) = end_of_head(&buffer) {
                break Head::parse(&buffer[..end])?.with_length(end);
            }
            if buffer.len() > MOST_HEAD {
                return Err(HttpError::Answer("its head is too long"));
            }
            self.read_more(&mut buffer)?;
        };
        let whole = head.end + head.length;
        while buffer.len() < whole {
            self.read_more(&mut buffer)?;
        }
        self.is_usable = head.goes_on && buffer.len() == whole;
        Ok(Answer { status: head.status, body: buffer[head.end..whole].to_vec() })
    }

    fn read_more(&mut self, buffer: &mut Vec<u8>) -> Result<(), HttpError> {
        let mut part = [0; 4_096];
        match self.stream.read(&mut part).map_err(tls_or_io)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended before the answer did").into()),
            length => {
                buffer.extend_from_slice(&part[..length]);
                Ok(())
            }
        }
    }
}

/// What TLS refuses comes as an error of its stream.
fn tls_or_io(error: io::Error) -> HttpError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return HttpError::Io(io::Error::new(error.kind(), "the connection ended before the answer did"));
    }
    match error.downcast::<rustls::Error>() {
        Ok(error) => HttpError::Tls(error),
        Err(error) => HttpError::Io(error),
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    /// The length of the body (bytes).
    length: usize,
    /// Whether the connection goes on after it.
    goes_on: bool,
    /// Where the body begins.
    end: usize,
}

impl Head {
    /// Reads a head with the empty line at its end.
    fn parse(bytes: &[u8]) -> Result<Self, HttpError> {
        let wrong = HttpError::Answer;
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("its head is no text"))?;
        let mut lines = text.split("\r\n");
        let first = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).ok_or(wrong("no HTTP/1.1"))?;
        let status = first.get(..3).and_then(|status| status.parse().ok()).ok_or(wrong("no status"))?;
        let (mut length, mut goes_on) = (None, true);
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or(wrong("a line of its head without a colon"))?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let stated: usize = value.parse().map_err(|_| wrong("a length that is no number"))?;
                if length.replace(stated).is_some_and(|other| other != stated) {
                    return Err(wrong("two lengths"));
                }
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(wrong("a body in pieces"));
            } else if name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close") {
                goes_on = false;
            }
        }
        let length = length.ok_or(wrong("no length"))?;
        if length > MOST_ANSWER {
            return Err(wrong("it is too long"));
        }
        Ok(Self { status, length, goes_on, end: 0 })
    }

    const fn with_length(self, end: usize) -> Self {
        Self { end, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_or_refused_by_what_is_wrong_with_it() {
        let read = |text: &str| Head::parse(text.as_bytes());
        let head = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nconnection: close\r\n\r\n").unwrap();
        assert_eq!(head, Head { status: 200, length: 5, goes_on: false, end: 0 });
        for (wrong, why) in [
            ("HTTP/2 200\r\nContent-Length: 5\r\n\r\n", "no HTTP/1.1"),
            ("HTTP/1.1 \u{e4}\r\n\r\n", "no status"),
            ("HTTP/1.1 200 OK\r\n\r\n", "no length"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "two lengths"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "too long"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "in pieces"),
            ("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "colon"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
    }
}
