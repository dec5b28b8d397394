//! Whether the real-time throttle struck: the kernel says so once a boot in its log (kernel/sched/rt.c).

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;

const LOG: &str = "/dev/kmsg";
const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const SAYS: &str = "RT throttling activated";
/// `O_NONBLOCK` (asm-generic/fcntl.h), the same on all architectures that we build for.
const NONBLOCK: i32 = 0o4000;

/// The kernel's log from the start of a run on.
#[derive(Debug)]
pub(crate) enum ThrottleWatch {
    /// Throttling is switched off.
    Off,
    /// Open at its end.
    Log(File),
    /// Why it cannot be read.
    Unreadable(String),
}

/// What the log said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Quiet,
    Hit(String),
    Unreadable(String),
}

impl ThrottleWatch {
    pub(crate) fn begin() -> Self {
        if fs::read_to_string(RUNTIME).is_ok_and(|text| text.trim() == "-1") {
            return Self::Off;
        }
        let open = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(LOG).and_then(|mut file| {
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        });
        match open {
            Ok(file) => Self::Log(file),
            Err(error) => Self::Unreadable(format!("real-time throttling ({LOG}: {error})")),
        }
    }

    pub(crate) fn end(self) -> Verdict {
        match self {
            Self::Off => Verdict::Quiet,
            Self::Unreadable(why) => Verdict::Unreadable(why),
            Self::Log(mut file) => {
                // One read is one line; the kernel asks for room for the longest.
                let mut line = vec![0_u8; 8_192];
                // Bounded, should lines come faster than they are read.
                for _ in 0..100_000 {
                    match file.read(&mut line) {
                        Ok(0) => break,
                        Ok(length) => {
                            let text = String::from_utf8_lossy(&line[..length]);
                            if text.contains(SAYS) {
                                return Verdict::Hit(format!("the kernel's log says: {SAYS}"));
                            }
                        }
                        // EPIPE: lines were overwritten before they were read; the next read goes on behind them.
                        Err(error) if error.raw_os_error() == Some(32) => {}
                        Err(_) => break,
                    }
                }
                Verdict::Quiet
            }
        }
    }
}
