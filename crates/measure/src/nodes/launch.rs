//! Which queueing discipline keeps packets until their launch time, and the clock that it has.

use std::net::SocketAddr;

use kernel::packet::interface::Interface;
use kernel::packet::qdisc::{LaunchSupport, Qdisc, QdiscDetail};
use kernel::packet::route::Route;
use kernel::packet::{LaunchClock, LookupError};
use record::PacketLaunch;
use units::ClockId;

use super::ends::HANDING_ON;

/// The clocks of the disciplines that keep packets back, etf and fq; the first one that is there decides.
const CLOCKS: [ClockId; 2] = [ClockId::Tai, ClockId::Monotonic];

/// Why no packet can be given a launch time.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// They would change nothing, or be the end of all packets.
    #[error(
        "packets leave this node through {interface}, where {what}: set up fq, or etf for these packets alone (tc-etf(8): clockid \
         CLOCK_TAI; it drops what has no launch time), or leave --launch-time out"
    )]
    NotKept {
        /// Name of the interface that leads to the partner.
        interface: String,
        /// What its queueing disciplines do.
        what: String,
    },
    /// The route to the partner, its interface or that one's disciplines cannot be read.
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

/// What keeps packets until their launch time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launcher {
    /// The discipline; `None` where it cannot be seen.
    discipline: Option<Discipline>,
    clock: ClockId,
    /// CLOCK_TAI less CLOCK_REALTIME, as this kernel has it (ns).
    tai_ahead_ns: i64,
}

/// A queueing discipline that keeps packets back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Discipline {
    Etf { ahead_ns: i32, is_offloaded: bool },
    Fq,
}

impl Launcher {
    /// Finds it on the way to a node, for packets of a priority.
    ///
    /// # Errors
    /// [`LaunchError`]. What stands behind an interface that hands packets on to others is not looked at: then it is said to be
    /// etf's clock.
    pub(crate) fn find(reaches: SocketAddr, priority: u32) -> Result<Self, LaunchError> {
        let interface = Interface::read_by_index(Route::to(reaches)?.interface_index)?;
        let tai_ahead_ns = tai_ahead_ns();
        if interface.kind.as_deref().is_some_and(|kind| HANDING_ON.contains(&kind)) {
            return Ok(Self { discipline: None, clock: ClockId::Tai, tai_ahead_ns });
        }
        let mut disciplines = Qdisc::read(interface.index)?;
        if let Some(vlan) = interface.vlan {
            disciplines.extend(Qdisc::read(vlan.lower_index)?);
        }
        match among(&disciplines, priority) {
            Ok((discipline, clock)) => Ok(Self { discipline: Some(discipline), clock, tai_ahead_ns }),
            Err(what) => Err(LaunchError::NotKept { interface: interface.name, what }),
        }
    }

    /// The clock that the sending socket is told.
    pub(crate) const fn clock(self) -> LaunchClock {
        of(self.clock)
    }

    /// That clock less CLOCK_REALTIME (ns), which is so much ahead of CLOCK_MONOTONIC.
    pub(crate) const fn ahead_ns(self, realtime_ahead_ns: i64) -> i64 {
        match self.clock {
            ClockId::Monotonic => -realtime_ahead_ns,
            _ => self.tai_ahead_ns,
        }
    }

    /// For the record.
    pub(crate) fn describe(self, after_ns: i64, realtime_ahead_ns: i64) -> PacketLaunch {
        let (kept_by, ahead_ns, is_offloaded) = match self.discipline {
            Some(Discipline::Etf { ahead_ns, is_offloaded }) => {
                (Some("etf"), ahead_ns.max(0).unsigned_abs(), is_offloaded)
            }
            Some(Discipline::Fq) => (Some("fq"), 0, false),
            None => (None, 0, false),
        };
        PacketLaunch {
            after_ns: after_ns.unsigned_abs(),
            clock: self.clock.into(),
            clock_ahead_ns: self.ahead_ns(realtime_ahead_ns),
            kept_by: kept_by.map(str::to_owned),
            ahead_ns: ahead_ns.into(),
            is_offloaded,
        }
    }
}

const fn of(clock: ClockId) -> LaunchClock {
    LaunchClock { clock, is_deadline: false }
}

/// CLOCK_TAI less CLOCK_REALTIME, as this kernel has it (ns).
fn tai_ahead_ns() -> i64 {
    crate::clock_watch::tai_less_utc_s().map_or(0, |seconds| i64::from(seconds) * 1_000_000_000)
}

/// Which of an interface's disciplines keeps packets of a priority back, and its clock; what is wrong with them where none does.
fn among(disciplines: &[Qdisc], priority: u32) -> Result<(Discipline, ClockId), String> {
    let support = |clock| Qdisc::launch_support(disciplines, of(clock), priority);
    if let Some(clock) = CLOCKS.into_iter().find(|clock| support(*clock) == LaunchSupport::Honored) {
        let etf = disciplines.iter().find_map(|one| match one.detail {
            QdiscDetail::Etf { clock: Some(own), delta_ns, is_deadline: false, is_offloaded } if own == clock => {
                Some(Discipline::Etf { ahead_ns: delta_ns, is_offloaded })
            }
            _ => None,
        });
        return Ok((etf.unwrap_or(Discipline::Fq), clock));
    }
    // An etf that is set up otherwise says more than an fq that lets these pass.
    Err(match (support(ClockId::Tai), support(ClockId::Monotonic)) {
        (LaunchSupport::OtherClock(clock), _) => {
            format!("the queueing discipline etf has the clock {}, which drops all of them", clock.name())
        }
        (LaunchSupport::OtherMode, _) => "the queueing discipline etf takes deadlines alone".to_owned(),
        (_, LaunchSupport::Bypassed) => {
            format!(
                "the queueing discipline fq sends packets of priority {priority} at once, whatever their launch time"
            )
        }
        _ => "no queueing discipline holds packets back until their launch time".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETF: Discipline = Discipline::Etf { ahead_ns: 200_000, is_offloaded: true };

    fn discipline(kind: &str, detail: QdiscDetail) -> Qdisc {
        Qdisc { kind: kind.to_owned(), handle: 0, parent: Qdisc::ROOT, detail }
    }

    fn other(kind: &str) -> Qdisc {
        discipline(kind, QdiscDetail::Other)
    }

    fn etf(clock: ClockId, is_deadline: bool) -> Qdisc {
        let detail = QdiscDetail::Etf { clock: Some(clock), delta_ns: 200_000, is_deadline, is_offloaded: true };
        discipline("etf", detail)
    }

    #[test]
    fn launch_times_are_on_the_clock_of_what_keeps_them() {
        for (disciplines, expected) in [
            (vec![other("prio"), etf(ClockId::Tai, false)], (ETF, ClockId::Tai)),
            (vec![other("fq")], (Discipline::Fq, ClockId::Monotonic)),
            (vec![etf(ClockId::Monotonic, false)], (ETF, ClockId::Monotonic)),
            (vec![other("mq"), other("fq"), other("fq")], (Discipline::Fq, ClockId::Monotonic)),
            // Which of both has the packets is decided by what is above them.
            (vec![other("mqprio"), other("fq"), etf(ClockId::Tai, false)], (ETF, ClockId::Tai)),
        ] {
            assert_eq!(among(&disciplines, 0), Ok(expected), "{disciplines:?}");
        }
    }

    #[test]
    fn launch_times_that_nothing_honors_are_refused_with_what_is_there() {
        for (disciplines, priority, words) in [
            (vec![], 0, "no queueing discipline"),
            (vec![other("prio")], 0, "no queueing discipline"),
            (vec![other("fq")], 7, "fq sends packets of priority 7 at once"),
            (vec![other("fq")], 15, "no fault"),
            (vec![etf(ClockId::Realtime, false)], 0, "has the clock realtime"),
            (vec![etf(ClockId::Tai, true)], 0, "deadlines alone"),
        ] {
            let fault = among(&disciplines, priority).err().unwrap_or_else(|| "no fault".to_owned());
            assert!(fault.contains(words), "{words}: {fault}");
        }
    }

    #[test]
    fn each_clock_is_as_far_ahead_as_the_kernel_has_it() {
        const REALTIME_AHEAD_NS: i64 = 1_700_000_000_000_000_000;
        let launcher = |discipline, clock| Launcher { discipline, clock, tai_ahead_ns: 37_000_000_000 };
        for (launcher, ahead_ns, words) in [
            (
                launcher(Some(ETF), ClockId::Tai),
                37_000_000_000,
                "to leave 500 us after their schedule (etf on the clock tai, 37 s ahead of realtime; it hands them to the driver \
                 200 us before; the interface keeps them until then)",
            ),
            (
                launcher(Some(Discipline::Fq), ClockId::Monotonic),
                -REALTIME_AHEAD_NS,
                "to leave 500 us after their schedule (fq on the clock monotonic)",
            ),
            (
                Launcher { tai_ahead_ns: 0, ..launcher(None, ClockId::Tai) },
                0,
                "to leave 500 us after their schedule (on the clock tai, which this kernel was never told to be ahead of realtime)",
            ),
        ] {
            let described = launcher.describe(500_000, REALTIME_AHEAD_NS);
            assert_eq!((described.clock_ahead_ns, &*described.in_words()), (ahead_ns, words));
        }
    }
}
