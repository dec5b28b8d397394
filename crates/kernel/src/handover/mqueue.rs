//! By a POSIX message queue: `mq_send(3)` and `mq_receive(3)` of one byte.

use std::ffi::CString;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{CallFailed, Found, HandOver, HandOverError};

/// A POSIX message queue without a name (`mq_overview(7)`). Its sending end does not block; one message is on the way at most.
#[derive(Debug)]
pub struct Mqueue {
    receiving: Descriptor,
    sending: Descriptor,
}

/// One end of a queue.
#[derive(Debug)]
struct Descriptor(libc::mqd_t);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: it is open, and nobody else closes it.
        unsafe { libc::mq_close(self.0) };
    }
}

/// Messages that find room: the one of a hand-over, and those that end the waiting.
const ROOM: libc::c_long = 4;
/// Queues that this process has opened, for their names.
static OPENED: AtomicU32 = AtomicU32::new(0);

impl Mqueue {
    fn why() -> HandOverError {
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOSYS) => HandOverError::NoMqueue,
            Some(libc::EMFILE | libc::ENOSPC | libc::ENOMEM) => HandOverError::MqueueLimit(error),
            _ => HandOverError::Refused { what: "a POSIX message queue", error },
        }
    }
}

impl HandOver for Mqueue {
    fn open() -> Result<Self, HandOverError> {
        let name = format!("/punctual-{}-{}", std::process::id(), OPENED.fetch_add(1, Ordering::Relaxed));
        let Ok(name) = CString::new(name) else { return Err(HandOverError::NoMqueue) };
        // SAFETY: mq_attr consists of integers alone, for all of which 0 is a value.
        let mut sizes: libc::mq_attr = unsafe { std::mem::zeroed() };
        sizes.mq_maxmsg = ROOM;
        sizes.mq_msgsize = 1;
        let mode: libc::mode_t = 0o600;
        // SAFETY: name and sizes are valid for the length of the call; where it may make a queue it is given mode and sizes.
        let receiving = unsafe {
            let flags = libc::O_RDONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
            libc::mq_open(name.as_ptr(), flags, mode, &raw mut sizes)
        };
        if receiving < 0 {
            return Err(Self::why());
        }
        let receiving = Descriptor(receiving);
        // SAFETY: the name is valid for the length of the call.
        let sending = unsafe { libc::mq_open(name.as_ptr(), libc::O_WRONLY | libc::O_NONBLOCK | libc::O_CLOEXEC) };
        let why = (sending < 0).then(Self::why);
        // SAFETY: the name is valid for the length of the call. The queue lasts as long as it is open.
        unsafe { libc::mq_unlink(name.as_ptr()) };
        match why {
            Some(why) => Err(why),
            None => Ok(Self { receiving, sending: Descriptor(sending) }),
        }
    }

    #[inline(always)]
    fn wake(&self) -> Result<Found, CallFailed> {
        let byte: libc::c_char = 1;
        // SAFETY: the message is valid for its length.
        let sent = unsafe { libc::mq_send(self.sending.0, &raw const byte, 1, 0) };
        if sent != 0 { Err(CallFailed::last()) } else { Ok(Found::Unknown) }
    }

    #[inline(always)]
    fn wait(&self) -> Result<u32, CallFailed> {
        let mut byte: libc::c_char = 0;
        // SAFETY: the buffer is valid and writable for its length; the priority is not asked for.
        let got = unsafe { libc::mq_receive(self.receiving.0, &raw mut byte, 1, std::ptr::null_mut()) };
        if got < 0 { Err(CallFailed::last()) } else { Ok(0) }
    }
}
