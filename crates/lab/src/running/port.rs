//! The connection to a guest's port: one stream for each start of the guest.
//!
//! What one start leaves half read or half written must not reach the next, so the stream is cut when the guest goes
//! down. QEMU then forgets what it holds of it, and who waited for the old stream learns at once that it has ended.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::guest::protocol::{Frame, Hello, Kind, is_time_limit};

/// Between two looks at what may have ended.
pub(super) const PERIOD: Duration = Duration::from_millis(50);

/// A guest's port, from outside.
pub(super) struct Port {
    path: PathBuf,
    stream: Option<UnixStream>,
    cut: Arc<Cut>,
}

/// Cuts the stream from another thread.
#[derive(Default)]
pub(super) struct Cut(Mutex<Option<UnixStream>>);

impl Cut {
    /// Ends the stream that there is.
    pub(super) fn now(&self) {
        if let Some(stream) = self.held().take() {
            // Closed already is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<UnixStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Port {
    /// The port whose socket QEMU makes at `path`; nothing is connected yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, stream: None, cut: Arc::default() }
    }

    /// What cuts its stream.
    pub(super) fn cut(&self) -> Arc<Cut> {
        Arc::clone(&self.cut)
    }

    /// The stream on which an agent has answered; `None` where that has ended since, as far as is known.
    pub(super) fn stream(&mut self) -> Option<&mut UnixStream> {
        if self.cut.held().is_none() {
            self.stream = None;
        }
        self.stream.as_mut()
    }

    /// Lets go of the stream: whatever was on it is over.
    pub(super) fn close(&mut self) {
        self.stream = None;
        self.cut.now();
    }

    /// Waits until an agent answers, on a new stream where the last has ended. `give_up` is asked all the time, and ends
    /// the wait by a reason.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn hello(&mut self, give_up: &mut dyn FnMut() -> Option<String>) -> Result<Hello, String> {
        self.close();
        loop {
            if let Some(why) = give_up() {
                self.close();
                return Err(why);
            }
            if self.stream().is_none() {
                if self.ask().is_err() {
                    // QEMU has not made it yet, or is ending, which the next look at it tells.
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

    /// Connects, and asks the agent whether it is there: the question waits in the port until one reads it.
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
    fn what_one_start_leaves_does_not_reach_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("port");
        let listener = UnixListener::bind(&path).unwrap();
        let mut port = Port::new(path);
        let guest = thread::spawn(move || {
            let (mut first, _) = listener.accept().unwrap();
            assert_eq!(Frame::read(&mut first).unwrap().unwrap().kind, Kind::Hello);
            hello("1").write(&mut first).unwrap();
            // A frame of a hundred bytes, of which three come before the machine goes down.
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
        // Who waits for the rest is told that there is none.
        assert!(Frame::read(port.stream().unwrap()).is_err());
        cutting.join().unwrap();
        assert!(port.stream().is_none());
        assert_eq!(port.hello(&mut patient()).unwrap().boot_id, "2");
        guest.join().unwrap();
    }

    #[test]
    fn an_agent_that_never_answers_is_waited_for_as_long_as_is_said() {
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
