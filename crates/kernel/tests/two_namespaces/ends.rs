//! What tests do with an end of any kind.

use kernel::clock::{KernelClock, now_ns};
use kernel::packet::{Origin, PacketEndpoint, SentStamp};
use units::ClockId;

/// Longer than anything here takes; a test that waits for so long has failed.
const PATIENCE_NS: i64 = 5_000_000_000;

pub(crate) fn realtime_ns() -> i64 {
    now_ns(KernelClock::from(ClockId::Realtime))
}

pub(crate) fn monotonic_ns() -> i64 {
    now_ns(KernelClock::from(ClockId::Monotonic))
}

pub(crate) fn deadline_ns() -> i64 {
    monotonic_ns() + PATIENCE_NS
}

/// What was received, as a value of its own.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) payload: Vec<u8>,
    pub(crate) stack_ns: Option<i64>,
    pub(crate) vlan_tag: Option<u16>,
    pub(crate) from: Origin,
}

pub(crate) fn take(end: &mut impl PacketEndpoint) -> Option<Taken> {
    end.receive(|got| Taken {
        payload: got.payload.to_vec(),
        stack_ns: got.stack_ns,
        vlan_tag: got.vlan_tag,
        from: got.from(),
    })
    .unwrap()
}

pub(crate) fn wait_and_take(end: &mut impl PacketEndpoint) -> Taken {
    assert!(end.wait(deadline_ns()).unwrap(), "nothing came");
    take(end).unwrap()
}

/// All stamps of the packets that were sent, one value a packet.
pub(crate) fn stamps(end: &mut impl PacketEndpoint, packets: usize) -> Vec<SentStamp> {
    let mut all: Vec<SentStamp> = Vec::new();
    let complete = |all: &[SentStamp]| {
        all.len() == packets && all.iter().all(|stamp| stamp.queued_ns.is_some() && stamp.stack_ns.is_some())
    };
    let deadline = deadline_ns();
    while !complete(&all) && monotonic_ns() < deadline {
        let Some(stamp) = end.sent_stamp() else { continue };
        match all.iter_mut().find(|known| known.number == stamp.number) {
            Some(known) => {
                known.queued_ns = known.queued_ns.or(stamp.queued_ns);
                known.stack_ns = known.stack_ns.or(stamp.stack_ns);
            }
            None => all.push(stamp),
        }
    }
    all
}
