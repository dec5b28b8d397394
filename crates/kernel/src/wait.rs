//! Waiting for several descriptors at once, for a time given in nanoseconds.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::clock::nanoseconds;

/// Descriptors that are waited for together (`ppoll(2)`).
///
/// The kernel may end a timed wait later by the thread's timer slack, 50 us unless
/// [`set_least_timer_slack`](crate::sched::set_least_timer_slack) was called.
#[derive(Debug)]
pub struct Readable<'fd> {
    fds: Vec<PollFd<'fd>>,
}

impl<'fd> Readable<'fd> {
    /// Those to wait for; their places in this order are what [`Self::ready`] returns.
    pub fn new(fds: impl IntoIterator<Item = BorrowedFd<'fd>>) -> Self {
        Self { fds: fds.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect() }
    }

    /// The same, where those with `true` are also waited for until they can be written.
    pub fn or_writable(fds: impl IntoIterator<Item = (BorrowedFd<'fd>, bool)>) -> Self {
        let flags = |write: bool| if write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        Self { fds: fds.into_iter().map(|(fd, write)| PollFd::from_borrowed_fd(fd, flags(write))).collect() }
    }

    /// Waits until at least one can be read, `timeout_ns` nanoseconds are over (at once where it is not above 0) or
    /// a signal handler ran.
    ///
    /// # Errors
    /// Where the kernel has no memory for the wait.
    pub fn wait(&mut self, timeout_ns: i64) -> io::Result<()> {
        let timeout_ns = timeout_ns.max(0);
        let timeout = Timespec { tv_sec: timeout_ns / 1_000_000_000, tv_nsec: nanoseconds(timeout_ns % 1_000_000_000) };
        match poll(&mut self.fds, Some(&timeout)) {
            Ok(_) => Ok(()),
            Err(rustix::io::Errno::INTR) => {
                // The kernel has not written what it found, so what stands there is of the wait before.
                self.fds.iter_mut().for_each(PollFd::clear_revents);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Indices of the descriptors that the last wait found readable (or writable, where that was asked), closed or broken; a
    /// read or a write shows which of these.
    pub fn ready(&self) -> impl Iterator<Item = usize> {
        self.fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty()).map(|(place, _)| place)
    }
}

/// Waits for so long, at most until nobody can read any more what is written to a pipe; whether that is so.
#[must_use]
pub fn reader_is_gone(pipe: BorrowedFd<'_>, within: Duration) -> bool {
    // Of a pipe without a reader the kernel says POLLERR, which is not asked for (pipe_poll() in fs/pipe.c).
    let mut fds = [PollFd::from_borrowed_fd(pipe, PollFlags::empty())];
    let timeout = Timespec {
        tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: nanoseconds(i64::from(within.subsec_nanos())),
    };
    let _ = poll(&mut fds, Some(&timeout));
    !fds[0].revents().is_empty()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixDatagram;

    use units::ClockId;

    use super::*;
    use crate::clock::now_ns;

    #[test]
    fn a_pipe_that_nobody_reads_any_more_is_told_from_one_that_is_read() {
        let (reads, writes) = rustix::pipe::pipe().unwrap();
        assert!(!reader_is_gone(writes.as_fd(), Duration::from_millis(1)));
        let other = reads.try_clone().unwrap();
        drop(reads);
        assert!(!reader_is_gone(writes.as_fd(), Duration::from_millis(1)));
        drop(other);
        assert!(reader_is_gone(writes.as_fd(), Duration::from_secs(60)));
    }

    #[test]
    fn only_the_one_with_something_to_read_is_ready() {
        let pairs = [UnixDatagram::pair().unwrap(), UnixDatagram::pair().unwrap()];
        let mut readable = Readable::new(pairs.iter().map(|(ours, _)| ours.as_fd()));
        pairs[1].1.send(b"x").unwrap();
        readable.wait(i64::MAX).unwrap();
        assert_eq!(readable.ready().collect::<Vec<_>>(), [1]);
        pairs[1].0.recv(&mut [0; 1]).unwrap();
        readable.wait(-1).unwrap();
        assert_eq!(readable.ready().count(), 0);
    }

    #[test]
    fn a_wait_with_nothing_to_read_lasts_its_time() {
        let (ours, _theirs) = UnixDatagram::pair().unwrap();
        let mut readable = Readable::new([ours.as_fd()]);
        let before_ns = now_ns(ClockId::Monotonic.into());
        readable.wait(2_000_000).unwrap();
        assert!(now_ns(ClockId::Monotonic.into()) - before_ns >= 2_000_000);
        assert_eq!(readable.ready().count(), 0);
    }
}
