//! A program that listens, in a thread of the test.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use farm::Token;
use peer::{Channel, Listener, Settings, TurnedAway};

/// Longer than anything takes that works.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Accepts partners one after the other until it is stopped, and gives each to a function.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) token: Token,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(usize, TurnedAway)>,
}

impl Server {
    pub(crate) fn start(host: &str, settings: Settings, serve: impl Fn(Channel) + Send + 'static) -> Self {
        let mut listener = Listener::bind_to_free_port(host, settings).unwrap();
        let (port, token) = (listener.address().port(), listener.token().clone());
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut served = 0;
            while let Some(channel) = listener.accept(&|| flag.load(Ordering::Acquire)).unwrap() {
                served += 1;
                serve(channel);
            }
            (served, listener.turned_away())
        });
        Self { port, token, stop, thread }
    }

    /// Answers each text with the same text, until the partner closes.
    pub(crate) fn echo(host: &str, settings: Settings) -> Self {
        Self::start(host, settings, |mut channel| {
            while let Ok(Some(text)) = channel.receive::<String>(PATIENCE) {
                channel.send(&text).unwrap();
            }
        })
    }

    /// How many were served and how many turned away.
    pub(crate) fn stop(self) -> (usize, TurnedAway) {
        self.stop.store(true, Ordering::Release);
        self.thread.join().unwrap()
    }
}

/// Waits until something is so, looking again and again.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come about in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
