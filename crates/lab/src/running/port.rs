//! The connection to a guest's port: one stream for each boot of the guest.
//!
//! Data that one boot leaves half read or half written must not reach the next, so the stream is closed when the guest
//! goes down. QEMU then drops its buffers, and whoever waits on the old stream is notified at once.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::guest::protocol::{Frame, Hello, Kind, is_time_limit};

/// Time between two checks of whether something has ended.
pub(super) const PERIOD: Duration = Duration::from_millis(50);

/// The host's side of a guest's port.
pub(super) struct Port {
    path: PathBuf,
    stream: Option<UnixStream>,
    cut: Arc<Cut>,
}

/// Closes the stream from another thread.
#[derive(Default)]
pub(super) struct Cut(Mutex<Option<UnixStream>>);

impl Cut {
    /// Closes the current stream, if any.
    pub(super) fn now(&self) {
        if let Some(stream) = self.held().take() {
            // An error means that it is closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<UnixStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Port {
    /// A port whose socket QEMU creates at `path`; not connected yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, stream: None, cut: Arc::default() }
    }

    /// A handle that closes its stream.
    pub(super) fn cut(&self) -> Arc<Cut> {
        Arc::clone(&self.cut)
    }

    /// The stream on which an agent has answered; `None` if it is known to have ended.
    pub(super) fn stream(&mut self) -> Option<&mut UnixStream> {
        if self.cut.held().is_none() {
            self.stream = None;
        }
        self.stream.as_mut()
    }

    /// Closes the stream and drops what was on it.
    pub(super) fn close(&mut self) {
        self.stream = None;
        self.cut.now();
    }

    /// Waits until an agent answers, on a new stream. `give_up` is called repeatedly; a reason from it ends the wait.
    ///
    /// # Errors
    /// The reason from `give_up`, or that the stream failed.
    pub(super) fn hello(&mut self, give_up: &mut dyn FnMut() -> Option<String>) -> Result<Hello, String> {
        self.close();
        loop {
            if let Some(why) = give_up() {
                self.close();
                return Err(why);
            }
            if self.stream().is_none() {
                if self.ask().is_err() {
                    // QEMU has not created the socket yet, or is ending, which `give_up` detects.
                    thread::sleep(PERIOD);
                }
                continue;
            }
            let Some(stream) = &mut self.stream else { continue };
            match Frame::read(stream) {
                Ok(Some(frame)) if frame.kind == Kind::Hello => {
                    let hello = frame.parse().map_err(|error| error.to_string())?;
                    stream.set_read_timeout(None).map_err(|error| error.to_string())?;
                    return Ok(hello);
                }
                Ok(Some(_)) => {}
                Err(error) if is_time_limit(&error) => {}
                Ok(None) | Err(_) => {
                    self.close();
                    thread::sleep(PERIOD);
                }
            }
        }
    }

    /// Connects and asks whether an agent is there: the question waits in the port until an agent reads it.
    fn ask(&mut self) -> io::Result<()> {
        let mut stream = UnixStream::connect(&self.path)?;
        stream.set_read_timeout(Some(PERIOD))?;
        Frame { kind: Kind::Hello, content: Vec::new() }.write(&mut stream)?;
        *self.cut.held() = Some(stream.try_clone()?);
        self.stream = Some(stream);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn hello(boot_id: &str) -> Frame {
        let hello = Hello {
            release: String::new(),
            host_name: String::new(),
            boot_id: boot_id.to_owned(),
            troubles: Vec::new(),
        };
        Frame::json(Kind::Hello, &hello).unwrap()
    }

    fn patient() -> impl FnMut() -> Option<String> {
        let began = Instant::now();
        move || (began.elapsed() > PATIENCE).then(|| "too late".to_owned())
    }

    #[test]
    fn data_of_one_boot_does_not_reach_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("port");
        let listener = UnixListener::bind(&path).unwrap();
        let mut port = Port::new(path);
        let guest = thread::spawn(move || {
            let (mut first, _) = listener.accept().unwrap();
            assert_eq!(Frame::read(&mut first).unwrap().unwrap().kind, Kind::Hello);
            hello("1").write(&mut first).unwrap();
            // A frame of 100 bytes, of which only three arrive before the machine goes down.
            first.write_all(&[b'o', 100, 0, 0, 0, 1, 2, 3]).unwrap();
            let (mut second, _) = listener.accept().unwrap();
            assert_eq!(Frame::read(&mut second).unwrap().unwrap().kind, Kind::Hello);
            hello("2").write(&mut second).unwrap();
            (first, second)
        });
        assert_eq!(port.hello(&mut patient()).unwrap().boot_id, "1");
        let cut = port.cut();
        let cutting = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            cut.now();
        });
        // Waiting for the rest ends with an error.
        assert!(Frame::read(port.stream().unwrap()).is_err());
        cutting.join().unwrap();
        assert!(port.stream().is_none());
        assert_eq!(port.hello(&mut patient()).unwrap().boot_id, "2");
        guest.join().unwrap();
    }

    #[test]
    fn waiting_for_an_agent_ends_when_give_up_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut port = Port::new(folder.path().join("port"));
        let mut looks = 0;
        let mut give_up = || {
            looks += 1;
            (looks > 3).then(|| "enough".to_owned())
        };
        assert_eq!(port.hello(&mut give_up).unwrap_err(), "enough");
        assert_eq!(looks, 4);
    }
}
