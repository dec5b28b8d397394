//! The last step to a guest: a queue before its socket, since the kernel's queue holds only about ten datagrams.
//!
//! The socket and the clock are arguments, so that a test can simulate a guest that stalls.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};

use super::state::{Delivery, PortCounters};

/// How many frames may wait for one guest to read: as many as can be in transit in one direction of a link, so that
/// frames are not lost only because all become due together.
pub const MAX_OUTLET_FRAMES: usize = 4_096;

/// How long after its due time a frame still waits for its guest to read (ns). It is longer than an emulated machine
/// stalls on a busy host, and short enough that a guest whose network was down gets no stale frames.
pub const OUTLET_PATIENCE_NS: i64 = 100_000_000;

/// Counters of one port. Always `counters.to_guest.left == sent + refused + absent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortOutcome {
    /// Counters of the switch itself.
    pub counters: PortCounters,
    /// Frames that the guest's socket accepted.
    pub sent: u64,
    /// Frames lost because the guest did not read for [`OUTLET_PATIENCE_NS`], had [`MAX_OUTLET_FRAMES`] waiting, or had
    /// not read them by the end.
    pub refused: u64,
    /// Frames lost because nobody listened on the guest's socket: the guest had not started yet, or had ended.
    pub absent: u64,
    /// Largest lateness of a sent frame (ns): what this host, or a guest that did not read at once, added to the
    /// configured delay.
    pub late_max_ns: u64,
    /// Sum of the lateness of all sent frames (ns).
    pub late_total_ns: u64,
    /// Why the capture file is incomplete; `None` if it is complete.
    pub capture_error: Option<String>,
}

/// The queue before one guest's socket.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    waiting: VecDeque<Delivery>,
    /// The outcome so far, without the switch's own counters.
    pub(super) outcome: PortOutcome,
}

impl Outlet {
    /// Queues a frame that is due.
    pub(super) fn add(&mut self, delivery: Delivery) {
        if self.waiting.len() < MAX_OUTLET_FRAMES {
            self.waiting.push_back(delivery);
        } else {
            self.outcome.refused += 1;
        }
    }

    /// Sends what the guest's socket accepts, and passes each sent frame with its time to `sent`.
    ///
    /// # Errors
    /// If sending fails for another reason than a full or missing socket.
    pub(super) fn flush(
        &mut self,
        now_ns: impl Fn() -> i64,
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
        mut sent: impl FnMut(&mut PortOutcome, i64, &[u8]),
    ) -> io::Result<()> {
        while let Some(Delivery { frame, due_ns, .. }) = self.waiting.front() {
            let result = send(frame);
            let at_ns = now_ns();
            let late_ns = at_ns.saturating_sub(*due_ns);
            let outcome = &mut self.outcome;
            match result.map_err(|error| (error.kind(), error)) {
                Ok(_) => {
                    outcome.sent += 1;
                    let late_ns = u64::try_from(late_ns).unwrap_or(0);
                    outcome.late_max_ns = outcome.late_max_ns.max(late_ns);
                    outcome.late_total_ns = outcome.late_total_ns.saturating_add(late_ns);
                    sent(outcome, at_ns, frame);
                }
                Err((ErrorKind::WouldBlock, _)) if late_ns < OUTLET_PATIENCE_NS => break,
                Err((ErrorKind::WouldBlock, _)) => outcome.refused += 1,
                Err((ErrorKind::NotFound | ErrorKind::ConnectionRefused, _)) => outcome.absent += 1,
                Err((ErrorKind::Interrupted, _)) => continue,
                Err((_, error)) => return Err(error),
            }
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Whether frames still wait for the guest to read.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The final outcome: frames that still wait count as refused.
    pub(super) fn finish(mut self) -> PortOutcome {
        self.outcome.refused += u64::try_from(self.waiting.len()).unwrap_or(u64::MAX);
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn frame(number: u8, due_ns: i64) -> Delivery {
        Delivery { port: 0, frame: [number; 14].into(), due_ns }
    }

    /// Lets the socket take `room` frames, and returns their first bytes.
    fn flush(outlet: &mut Outlet, now_ns: i64, room: usize) -> Vec<u8> {
        let (left, mut sent) = (Cell::new(room), Vec::new());
        let send = |frame: &[u8]| match left.get() {
            0 => Err(ErrorKind::WouldBlock.into()),
            room => {
                left.set(room - 1);
                Ok(frame.len())
            }
        };
        outlet
            .flush(
                || now_ns,
                send,
                |_, at_ns, frame| {
                    assert_eq!(at_ns, now_ns);
                    sent.push(frame[0]);
                },
            )
            .unwrap();
        sent
    }

    #[test]
    fn a_guest_that_stalls_loses_nothing_and_keeps_the_order() {
        let mut outlet = Outlet::default();
        (0..5).for_each(|number| outlet.add(frame(number, i64::from(number))));
        assert_eq!(flush(&mut outlet, 10, 2), [0, 1]);
        assert!(outlet.is_waiting());
        outlet.add(frame(5, 20));
        assert_eq!(flush(&mut outlet, 50, 9), [2, 3, 4, 5]);
        assert!(!outlet.is_waiting());
        let PortOutcome { sent, refused, late_max_ns, late_total_ns, .. } = outlet.finish();
        assert_eq!((sent, refused, late_max_ns, late_total_ns), (6, 0, 48, 10 + 9 + 48 + 47 + 46 + 30));
    }

    #[test]
    fn a_guest_that_does_not_read_gets_no_stale_frames() {
        let mut outlet = Outlet::default();
        outlet.add(frame(0, 0));
        outlet.add(frame(1, 1));
        assert!(flush(&mut outlet, OUTLET_PATIENCE_NS, 0).is_empty());
        assert_eq!(outlet.outcome.refused, 1);
        assert_eq!(outlet.finish().refused, 2, "frames not read by the end are lost too");
    }

    #[test]
    fn a_full_queue_refuses() {
        let mut outlet = Outlet::default();
        (0..=MAX_OUTLET_FRAMES).for_each(|_| outlet.add(frame(0, 0)));
        assert_eq!(outlet.outcome.refused, 1);
    }

    #[test]
    fn an_absent_guest_is_not_an_error_but_other_failures_are() {
        let mut outlet = Outlet::default();
        for kind in [ErrorKind::NotFound, ErrorKind::ConnectionRefused] {
            outlet.add(frame(0, 0));
            outlet.flush(|| 0, |_| Err(kind.into()), |_, _, _| {}).unwrap();
        }
        assert_eq!(outlet.outcome.absent, 2);
        outlet.add(frame(0, 0));
        assert!(outlet.flush(|| 0, |_| Err(ErrorKind::PermissionDenied.into()), |_, _, _| {}).is_err());
    }
}
