//! What was seen of time services and clocks during a run of `sync`, beside the offsets, which are series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockName, format};

use crate::{Moment, Place};

/// What was seen of the sources of time during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncRun {
    /// How much the rate of an uncorrected clock is assumed to differ from the reference's at most (parts per billion).
    /// Hard bounds grow with it between two exchanges. 0 where no bound rests on it, as in imported logs.
    pub max_drift_ppb: u32,
    /// The sources, in the order in which they were found.
    pub sources: Vec<SyncSource>,
    /// What changed during the run, in the order of time; at most [`SyncRun::MOST_EVENTS`].
    pub events: Vec<SyncEvent>,
    /// Events after the last one that is kept.
    #[serde(default)]
    pub events_left_out: u64,
    /// Sources that are there and could not be followed, each with the reason, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_followed: Vec<String>,
}

/// One source of time: a service, or a pair of clocks that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncSource {
    /// Which program or device says it.
    pub service: SyncService,
    /// The program's version, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The place of its series. What follows a change of the time that is told (a step, another reference or time scale) is a
    /// source of its own, whose place is that of the first one with "(part 2)" and so on behind the port.
    pub place: Place,
    /// The clock that is compared with the reference; absent if an imported source does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockName>,
    /// What the clock is compared with, in words: "grand master 0cc47a.fffe.8a1b2c", "server 192.168.1.1".
    pub reference: String,
    /// The identity of the clock to which the bounds reach, as every node that follows it states it: a PTP clock identity
    /// ("0cc47a.fffe.8a1b2c"), the address of an NTP server. Absent if the source does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_id: Option<String>,
    /// Bounds on the offset that hold without trust in a servo, or why there are none.
    pub bound: HardBound,
    /// Spread of the offsets; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// What the service itself says of its offset; absent if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_estimate: Option<OwnEstimate>,
    /// Allan deviation of the offsets by averaging time, shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allan: Vec<AllanPoint>,
    /// By how much the offset would have grown without corrections, after each of a few times, shortest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<GrowthPoint>,
    /// State of the source over time: each entry holds from its moment until the next one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateChange>,
    /// Offset, bound and delay over time, in the order of time; at most [`SyncSource::MOST_POINTS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub track: Vec<TrackPoint>,
    /// What could be missed, in words: "changes between two polls, 250 ms apart".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub could_be_missed: Vec<String>,
}

impl SyncRun {
    /// The largest number of events in a record.
    pub const MOST_EVENTS: usize = 1_000;
}

impl SyncSource {
    /// The largest number of points in a track: neighboring ones are joined until no more are left.
    pub const MOST_POINTS: usize = 4_096;

    /// By how much the offset would have grown without corrections; `None` if that is not known.
    #[must_use]
    pub fn growth_in_words(&self) -> Option<String> {
        growth_in_words(&self.growth)
    }

    /// Service and place as one name: "ptp4l eth0 domain 0", "chronyd".
    #[must_use]
    pub fn name(&self) -> String {
        let place = self.place.to_string();
        let service = self.service.name();
        if place.starts_with(service) || self.service == SyncService::Phc {
            place
        } else {
            format!("{service} {place}")
        }
    }

    /// The clock that is compared, or words that stand for a clock without a name: "that the source does not name".
    #[must_use]
    pub fn clock_words(&self) -> String {
        match (&self.clock, self.service) {
            (Some(clock), _) => clock.to_string(),
            (None, SyncService::Capture) => "that stamped the capture".to_owned(),
            (None, _) => "that the source does not name".to_owned(),
        }
    }
}

/// A program or device that says what time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncService {
    /// ptp4l of linuxptp, over its management socket.
    Linuxptp,
    /// chronyd, over its command protocol.
    Chrony,
    /// The kernel's own clock discipline (adjtimex(2)).
    Kernel,
    /// A PTP hardware clock, compared with the system clock.
    Phc,
    /// ClockBound's daemon, over the memory that it shares.
    Clockbound,
    /// The fbclock daemon, over the memory that it shares.
    Fbclock,
    /// What the hypervisor says of a virtual machine's clock (/dev/vmclock0).
    Vmclock,
    /// phc2sys of linuxptp, by its log.
    Phc2sys,
    /// ts2phc of linuxptp, by its log.
    Ts2phc,
    /// Captured messages of a time service, by whoever exchanged them.
    Capture,
}

impl SyncService {
    /// The name as users know it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linuxptp => "ptp4l",
            Self::Chrony => "chronyd",
            Self::Kernel => "kernel",
            Self::Phc => "phc",
            Self::Clockbound => "clockbound",
            Self::Fbclock => "fbclock",
            Self::Vmclock => "vmclock",
            Self::Phc2sys => "phc2sys",
            Self::Ts2phc => "ts2phc",
            Self::Capture => "capture",
        }
    }
}

/// Bounds on an offset during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HardBound {
    /// The offset was between the two bounds at every moment at which it was looked at.
    Stated {
        /// The lowest lower bound of the run (ns).
        lowest_ns: i64,
        /// The highest upper bound of the run (ns).
        highest_ns: i64,
        /// The narrowest pair of bounds at one moment (ns): the least that could be said of the offset then.
        narrowest_ns: (i64, i64),
        /// The widest pair of bounds at one moment (ns).
        widest_ns: u64,
        /// What has to be true for the bounds to hold, as a sentence.
        trusts: String,
    },
    /// No bound can be stated.
    Missing {
        /// Why, and what would provide one, as a sentence.
        reason: String,
    },
}

/// How offsets are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Number of offsets.
    pub count: u64,
    /// Their median (ns).
    pub median_ns: i64,
    /// The lowest (ns).
    pub lowest_ns: i64,
    /// The highest (ns).
    pub highest_ns: i64,
    /// Mean (ns).
    pub mean_ns: f64,
    /// Standard deviation about the mean (ns).
    pub deviation_ns: f64,
}

/// What a service says of its own offset: its servo's view, which cannot see an asymmetric path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnEstimate {
    /// Number of values.
    pub count: u64,
    /// Root mean square of the values (ns).
    pub rms_ns: f64,
    /// Largest magnitude of the values (ns).
    pub largest_ns: u64,
}

/// Allan deviation of offsets at one averaging time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllanPoint {
    /// The averaging time (ns).
    pub averaging_ns: u64,
    /// The deviation: a ratio of frequencies, without unit.
    pub deviation: f64,
    /// Number of second differences that it was computed from.
    pub count: u64,
}

/// By how much an offset would have changed at most after a time, had the corrections of the clock ended at a moment of the run
/// and the rate stayed as it was then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthPoint {
    /// The time (ns).
    pub after_ns: u64,
    /// The largest change of the offset, to either side (ns). It contains the jitter of the offsets.
    pub largest_ns: u64,
    /// Number of moments from which it was followed; those of a long time overlap.
    pub count: u64,
}

fn growth_in_words(growth: &[GrowthPoint]) -> Option<String> {
    // Not "within": the jitter of a moment can be larger than what is there after a longer time.
    let words =
        |point: &GrowthPoint| format!("{} after {}", format::latency(point.largest_ns), format::span(point.after_ns));
    let points: Vec<String> = growth.iter().map(words).collect();
    (!points.is_empty()).then(|| {
        format!(
            "had its corrections ended at a moment of the run, the offset would have changed by up to {}, the jitter of offsets \
             included",
            points.join(", ")
        )
    })
}

/// A moment at which the state of a source changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateChange {
    /// When it was noticed.
    pub at: Moment,
    /// The state from then on.
    pub state: SyncState,
}

/// State of a source of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncState {
    /// The source answers, and follows no reference yet.
    Starting,
    /// The clock follows its reference.
    Locked,
    /// This node is itself the reference of others.
    Reference,
    /// The reference is gone, and the clock runs on by what was learned.
    Holdover,
    /// Nothing steers the clock.
    Free,
    /// The source does not answer any more, or has lost its reference.
    Lost,
}

impl SyncState {
    /// The state as one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Locked => "locked",
            Self::Reference => "reference",
            Self::Holdover => "holdover",
            Self::Free => "free",
            Self::Lost => "lost",
        }
    }
}

/// What was seen of a source within a short time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackPoint {
    /// When the first of its offsets was taken.
    pub at: Moment,
    /// Number of offsets that are joined in this point; 0 if only the bound was looked at.
    pub count: u64,
    /// The lowest offset (ns); absent if `count` is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowest_ns: Option<i64>,
    /// The highest offset (ns); absent if `count` is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_ns: Option<i64>,
    /// The lowest lower bound and the highest upper bound (ns); absent if there was no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<(i64, i64)>,
    /// The narrowest of the pairs of bounds that are joined in this point (ns); absent if it is `bound_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrowest_ns: Option<(i64, i64)>,
    /// The longest path delay: half of a round trip (ns); absent if none was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<i64>,
    /// The frequency correction of the clock in force (parts per billion); absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_ppb: Option<f64>,
}

impl TrackPoint {
    /// A moment at which only the bound was looked at: its lower and its upper end (ns).
    #[must_use]
    pub const fn bound_alone(at: Moment, bound_ns: (i64, i64)) -> Self {
        Self {
            at,
            count: 0,
            lowest_ns: None,
            highest_ns: None,
            bound_ns: Some(bound_ns),
            narrowest_ns: None,
            delay_ns: None,
            frequency_ppb: None,
        }
    }

    /// The narrowest pair of bounds at one moment (ns); `None` if there was no bound.
    #[must_use]
    pub fn narrowest_bound_ns(&self) -> Option<(i64, i64)> {
        self.narrowest_ns.or(self.bound_ns)
    }
}

/// Something that changed at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncEvent {
    /// When it was noticed.
    pub at: Moment,
    /// The place of the source that it concerns.
    pub place: Place,
    /// The kind of change; the details are beside it.
    pub what: SyncChange,
    /// The details, in words.
    pub detail: String,
}

/// A change of a source of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncChange {
    /// The state changed.
    State,
    /// Another grand master, or another server, is followed.
    Reference,
    /// The clock was set to another time.
    Step,
    /// A leap second was announced, or an announcement withdrawn.
    Leap,
    /// The difference of TAI and UTC changed, as the kernel knows it.
    TaiOffset,
    /// The reference states another time scale, or another relation of it to UTC: which time it gives has changed.
    TimeScale,
    /// The grand master states that it has lost its primary reference, and runs on by what it learned.
    Holdover,
    /// What the reference states of its own quality got worse, such as its clock class, accuracy or stratum.
    Worse,
    /// What the reference states of its own quality changed, and did not get worse.
    Quality,
    /// The source appeared or disappeared, or was restarted.
    Source,
    /// The hypervisor moved or restored this virtual machine: what was known of its clocks is void.
    Disruption,
    /// The source reported something that keeps it from its work: no time stamp of a message, no link, a failed correction.
    Fault,
}

impl SyncChange {
    /// The change as users read it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Reference => "reference",
            Self::Step => "step",
            Self::Leap => "leap second",
            Self::TaiOffset => "TAI offset",
            Self::TimeScale => "time scale",
            Self::Holdover => "holdover",
            Self::Worse => "worse quality",
            Self::Quality => "quality",
            Self::Source => "source",
            Self::Disruption => "disruption",
            Self::Fault => "fault",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growth_is_of_its_moment_and_not_of_all_before() {
        // A jitter that meets the short time alone: "within 10 s" would be false.
        let point = |s: u64, largest_ns| GrowthPoint { after_ns: s * 1_000_000_000, largest_ns, count: 9 };
        let growth = vec![point(1, 13_000), point(10, 597)];
        let words = growth_in_words(&growth).unwrap();
        assert!(words.contains("13.0 us after 1 s, 597 ns after 10 s"), "{words}");
        assert_eq!(growth_in_words(&[]), None);
    }
}
