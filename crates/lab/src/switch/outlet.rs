//! The last step to a guest: a short queue before its socket, since the kernel's own holds only some ten datagrams.
//!
//! The socket and the clock are arguments, so that a guest that stalls can be played in a test.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};

use super::state::{Delivery, PortCounters};

/// How many frames wait for one guest to read, at most; as many as one direction of a link has under way, so that
/// what comes due together is not lost for that.
pub const MAX_OUTLET_FRAMES: usize = 4_096;

/// How long after its due time a frame still waits for its guest to read: longer than an emulated machine on a busy
/// host stands still, and short enough that a guest whose network is down gets nothing stale later (ns).
pub const OUTLET_PATIENCE_NS: i64 = 100_000_000;

/// What was counted at one port. Always `counters.to_guest.left == sent + refused + absent`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortOutcome {
    /// What the switch itself counted.
    pub counters: PortCounters,
    /// Frames that the guest's socket took.
    pub sent: u64,
    /// Lost because the guest did not read for [`OUTLET_PATIENCE_NS`], or had [`MAX_OUTLET_FRAMES`] waiting, or had not
    /// read by the end.
    pub refused: u64,
    /// Lost because nobody listened at the guest's socket: it had not started yet, or had ended.
    pub absent: u64,
    /// How much later than due the latest frame was sent: what this machine, or a guest that did not read at once,
    /// added to the delay that was asked for (ns).
    pub late_max_ns: u64,
    /// The same, summed up over the sent frames (ns).
    pub late_total_ns: u64,
    /// Why the capture file is not whole.
    pub capture_error: Option<String>,
}

/// The queue before one guest's socket.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    waiting: VecDeque<Delivery>,
    /// All but the switch's own counters.
    pub(super) outcome: PortOutcome,
}

impl Outlet {
    /// Takes a frame that is due.
    pub(super) fn add(&mut self, delivery: Delivery) {
        if self.waiting.len() < MAX_OUTLET_FRAMES {
            self.waiting.push_back(delivery);
        } else {
            self.outcome.refused += 1;
        }
    }

    /// Sends what the guest's socket takes, and hands each sent frame with its time to `sent`.
    ///
    /// # Errors
    /// An answer of the socket that is neither being full nor being absent.
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

    /// Whether the guest has not yet read all.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What was counted, where nothing more is sent.
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
    fn a_guest_that_does_not_read_gets_nothing_stale() {
        let mut outlet = Outlet::default();
        outlet.add(frame(0, 0));
        outlet.add(frame(1, 1));
        assert!(flush(&mut outlet, OUTLET_PATIENCE_NS, 0).is_empty());
        assert_eq!(outlet.outcome.refused, 1);
        assert_eq!(outlet.finish().refused, 2, "what nobody read by the end is lost too");
    }

    #[test]
    fn a_full_queue_refuses() {
        let mut outlet = Outlet::default();
        (0..=MAX_OUTLET_FRAMES).for_each(|_| outlet.add(frame(0, 0)));
        assert_eq!(outlet.outcome.refused, 1);
    }

    #[test]
    fn an_absent_guest_is_no_error_and_another_answer_is() {
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
