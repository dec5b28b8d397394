//! A chronyd that repeats what a real one answered.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A chronyd of 4.3 that repeats one answer.
pub(crate) struct Chronyd {
    pub(crate) address: std::net::SocketAddr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Chronyd {
    pub(crate) fn start() -> Self {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let address = server.local_addr().unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let of = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 512];
            while !of.load(Ordering::Relaxed) {
                let Ok((length, from)) = server.recv_from(&mut buffer) else { continue };
                if let Some(answer) = chronyd_answer(&buffer[..length]) {
                    let _ = server.send_to(&answer, from);
                }
            }
        });
        Self { address, ends, thread: Some(thread) }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Chronyd {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What chronyd 4.3 answered as the client of a local server, to a question about the clock, with the question's number.
fn chronyd_answer(question: &[u8]) -> Option<Vec<u8>> {
    let text = include_str!("../../../codecs/fixtures/chrony/4.3/client-tracking.txt");
    let tracking = u16::from_be_bytes([*question.get(4)?, *question.get(5)?]) == 33;
    let line = text.lines().find_map(|line| line.strip_prefix("< ")).filter(|_| tracking)?;
    let mut answer: Vec<u8> =
        (0..line.len() / 2).map(|at| u8::from_str_radix(&line[2 * at..2 * at + 2], 16).unwrap()).collect();
    answer[16..20].copy_from_slice(question.get(8..12)?);
    Some(answer)
}
