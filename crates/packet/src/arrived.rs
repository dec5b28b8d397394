//! A packet as the receiving thread hands it over.

use rtrb::Producer;

use crate::header::{Genuine, NotOurs, Purpose, Session};
use crate::stamps::{Stamp, stamp};

/// A packet, as the receiving thread has taken it.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Its header.
    pub header: Genuine,
    /// When the network interface received it (ns, on its own clock).
    pub hardware_ns: Stamp,
    /// When the kernel received it (ns, `CLOCK_REALTIME` of the receiver).
    pub stack_ns: Stamp,
    /// When the program had it (ns, `CLOCK_REALTIME` of the receiver).
    pub received_ns: i64,
}

impl Arrived {
    /// Reads what was received at `received_ns` and stamped by the kernel and the interface.
    ///
    /// # Errors
    /// If it is no packet of the session and the flow.
    #[inline]
    pub fn read(
        session: &Session,
        flow: u8,
        payload: &[u8],
        [stack_ns, hardware_ns]: [Option<i64>; 2],
        received_ns: i64,
    ) -> Result<Self, NotOurs> {
        if Genuine::check(session, payload)? != flow {
            return Err(NotOurs::Foreign);
        }
        let [stack_ns, hardware_ns] = [stack_ns, hardware_ns].map(stamp);
        Ok(Self { header: Genuine::copied(payload), hardware_ns, stack_ns, received_ns })
    }
}

/// What the receiving thread itself has to know of a packet that it handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOver {
    /// Its number, if it is a measured one.
    pub measured: Option<u64>,
    /// There was no room for it.
    pub is_dropped: bool,
}

impl Arrived {
    /// As [`Self::read`], and hands it over at once.
    ///
    /// # Errors
    /// If it is no packet of the session and the flow.
    pub fn hand_over(
        ring: &mut Producer<Self>,
        session: &Session,
        flow: u8,
        payload: &[u8],
        stamps: [Option<i64>; 2],
        received_ns: i64,
    ) -> Result<HandedOver, NotOurs> {
        if Genuine::check(session, payload)? != flow {
            return Err(NotOurs::Foreign);
        }
        let [stack_ns, hardware_ns] = stamps.map(stamp);
        let arrived = |header| Self { header, hardware_ns, stack_ns, received_ns };
        // Each by itself: nearly all are long enough, and then the header is copied once, to where it stays.
        Ok(match Genuine::whole(payload) {
            Some(header) => arrived(header).push(ring),
            None => arrived(Genuine::padded(payload)).push(ring),
        })
    }

    #[inline(always)]
    fn push(self, ring: &mut Producer<Self>) -> HandedOver {
        let measured = (self.header.purpose() == Purpose::Measured).then(|| self.header.sequence());
        HandedOver { measured, is_dropped: ring.push(self).is_err() }
    }
}
