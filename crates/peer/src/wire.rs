//! One TLS connection over a non-blocking socket: bytes to frames and frames to bytes, as far as the socket allows.
//!
//! Nothing here waits. What was received is kept and can be fetched, whatever happens to the connection later.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use farm::frame::{Frame, FrameError, FrameReader};
use rustls::Connection;

/// Bytes that are read at a stretch, so that writing gets its turn.
const READ_AT_ONCE: usize = 256 * 1024;
/// Bytes that are handed to TLS ahead of the socket, so that a long message is not held twice.
const AHEAD: usize = 64 * 1024;

/// The moment `wait` after another, or one so late that nobody waits for it.
pub(crate) fn later(moment: Instant, wait: Duration) -> Instant {
    const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    moment + wait.min(A_YEAR)
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CloseReason {
    /// The partner said goodbye (TLS's close_notify).
    Closed,
    /// The partner's end was closed without a goodbye.
    Cut,
    /// The socket failed.
    Socket(ErrorKind, String),
    /// The bytes are no TLS, or not of this session.
    Tls(rustls::Error),
    /// The bytes inside of TLS are no frames, or too long ones.
    Frame(FrameError),
}

pub(crate) struct Wire {
    socket: TcpStream,
    tls: Connection,
    reader: FrameReader,
    /// Frames on their way out, the first perhaps in part.
    outgoing: VecDeque<Vec<u8>>,
    /// Bytes of the first that TLS has.
    handed_over: usize,
    last_heard: Instant,
    last_sent: Instant,
    end: Option<CloseReason>,
    /// Why nothing can be sent any more. What the partner sent before can still be read.
    write_failure: Option<CloseReason>,
    goodbye: Goodbye,
}

/// Whether this side says goodbye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goodbye {
    NotYet,
    /// After what waits to be sent.
    Wanted,
    Said,
}

impl Wire {
    /// Takes a connected socket. It must not block (`O_NONBLOCK`).
    pub(crate) fn new(socket: TcpStream, mut tls: Connection, most_bytes: usize) -> Self {
        tls.set_buffer_limit(Some(AHEAD));
        let now = Instant::now();
        Self {
            socket,
            tls,
            reader: FrameReader::new(most_bytes),
            outgoing: VecDeque::new(),
            handed_over: 0,
            last_heard: now,
            last_sent: now,
            end: None,
            write_failure: None,
            goodbye: Goodbye::NotYet,
        }
    }

    pub(crate) const fn tls(&self) -> &Connection {
        &self.tls
    }

    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// When something came last.
    pub(crate) const fn last_heard(&self) -> Instant {
        self.last_heard
    }

    /// When something was sent last.
    pub(crate) const fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// How the connection ended, once all that came before has been read from the socket.
    pub(crate) const fn end(&self) -> Option<&CloseReason> {
        self.end.as_ref()
    }

    /// Why nothing can be sent any more.
    pub(crate) const fn write_failure(&self) -> Option<&CloseReason> {
        self.write_failure.as_ref()
    }

    /// Sets another bound for the length of received frames.
    pub(crate) const fn set_most(&mut self, most_bytes: usize) {
        self.reader.set_most(most_bytes);
    }

    /// Bytes of frames that nobody has fetched.
    pub(crate) fn unfetched_bytes(&self) -> usize {
        self.reader.pending_bytes()
    }

    /// Whether a frame, or an error among frames, can be fetched.
    pub(crate) fn has_frame(&self) -> bool {
        self.reader.has_frame()
    }

    /// The next frame that came.
    pub(crate) fn next_frame(&mut self) -> Option<Frame> {
        match self.reader.next_frame() {
            Ok(frame) => frame,
            Err(error) => {
                // What follows cannot be read either.
                self.end = Some(CloseReason::Frame(error));
                None
            }
        }
    }

    /// Puts a frame at the end of those that wait to be sent.
    pub(crate) fn queue(&mut self, frame: Vec<u8>) {
        if self.can_send() {
            self.outgoing.push_back(frame);
        }
    }

    /// Whether more can be sent: nothing has failed, and no goodbye was said.
    pub(crate) fn can_send(&self) -> bool {
        self.write_failure.is_none() && self.goodbye == Goodbye::NotYet
    }

    /// Whether everything has been given to the kernel.
    pub(crate) fn is_drained(&self) -> bool {
        self.outgoing.is_empty() && self.goodbye != Goodbye::Wanted && !self.tls.wants_write()
    }

    /// Whether there is something to write as soon as the socket takes it.
    pub(crate) fn wants_write(&self) -> bool {
        self.write_failure.is_none()
            && (self.tls.wants_write() || (!self.outgoing.is_empty() && !self.tls.is_handshaking()))
    }

    /// Says goodbye once, after all that waits to be sent; nothing can be queued after that.
    pub(crate) fn say_goodbye(&mut self) {
        if self.goodbye == Goodbye::NotYet {
            self.goodbye = Goodbye::Wanted;
        }
    }

    /// Reads what the socket has.
    pub(crate) fn fill(&mut self) {
        let mut taken = 0;
        while self.end.is_none() && taken < READ_AT_ONCE {
            match self.tls.read_tls(&mut self.socket) {
                Ok(0) => self.end = Some(CloseReason::Cut),
                Ok(bytes) => {
                    taken += bytes;
                    self.last_heard = Instant::now();
                    self.take_over();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => self.end = Some(CloseReason::Socket(error.kind(), error.to_string())),
            }
        }
    }

    /// Decrypts what came.
    fn take_over(&mut self) {
        let processed = self.tls.process_new_packets();
        // What came before the damage is good.
        let mut chunk = [0; 16 * 1024];
        while let Ok(bytes @ 1..) = self.tls.reader().read(&mut chunk) {
            self.reader.push(chunk.get(..bytes).unwrap_or_default());
        }
        match processed {
            Ok(state) if state.peer_has_closed() => self.end = Some(CloseReason::Closed),
            Ok(_) => {}
            Err(error) => self.end = Some(CloseReason::Tls(error)),
        }
    }

    /// Writes what the socket takes.
    pub(crate) fn flush(&mut self) {
        while self.write_failure.is_none() {
            self.hand_over();
            if !self.tls.wants_write() {
                return;
            }
            match self.tls.write_tls(&mut Quiet(&self.socket)) {
                Ok(_) => self.last_sent = Instant::now(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.write_failure = Some(CloseReason::Socket(error.kind(), error.to_string()));
                    self.outgoing.clear();
                }
            }
        }
    }

    /// Gives frames to TLS until it has enough ahead of the socket.
    fn hand_over(&mut self) {
        if self.tls.is_handshaking() {
            return;
        }
        while let Some(frame) = self.outgoing.front() {
            let rest = frame.get(self.handed_over..).unwrap_or_default();
            // It takes nothing where it has enough; it has no errors of its own.
            let taken = self.tls.writer().write(rest).unwrap_or(0);
            if taken == 0 && !rest.is_empty() {
                return;
            }
            self.handed_over += taken;
            if taken == rest.len() {
                self.outgoing.pop_front();
                self.handed_over = 0;
            }
        }
        if self.goodbye == Goodbye::Wanted {
            self.tls.send_close_notify();
            self.goodbye = Goodbye::Said;
        }
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A socket written to by `send` with `MSG_NOSIGNAL`, which `writev` lacks: a partner that has gone is an error then, and no
/// signal, whatever this process does with SIGPIPE.
struct Quiet<'socket>(&'socket TcpStream);

impl Write for Quiet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
