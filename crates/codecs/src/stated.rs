//! What a service's message states of its time, as statements that a follower takes.
//!
//! Each function names every field of its message, so that a new field does not compile until it has a line here.

use sync::facts::{Fact, Statement};

use crate::capture::ntp::NtpMessage;
use crate::capture::ptp::Announce;
use crate::chrony::log::{Measurement, TrackingUpdate};
use crate::chrony::{LeapStatus, Tracking};
use crate::linuxptp::{ClockQuality, CurrentDataSet, ParentDataSet, TimeProperties, TimeStatus};

/// What a ptp4l states of its parent. Identities are followed by name.
#[must_use]
pub fn of_parent(data: &ParentDataSet) -> Vec<Statement> {
    let ParentDataSet {
        // By `Follower::reference`.
        parent_port_identity: _,
        grandmaster_identity: _,
        // linuxptp never measures these.
        parent_stats: _,
        observed_parent_offset_scaled_log_variance: _,
        observed_parent_clock_phase_change_rate: _,
        grandmaster_priority1,
        grandmaster_clock_quality,
        grandmaster_priority2,
    } = *data;
    let mut all = of_quality(grandmaster_clock_quality);
    all.extend([
        (Fact::Priority1, i64::from(grandmaster_priority1)),
        (Fact::Priority2, i64::from(grandmaster_priority2)),
    ]);
    all
}

/// What a clock states of its quality.
#[must_use]
pub fn of_quality(quality: ClockQuality) -> Vec<Statement> {
    let ClockQuality { class, accuracy, offset_scaled_log_variance } = quality;
    vec![
        (Fact::ClockClass, i64::from(class)),
        (Fact::ClockAccuracy, i64::from(accuracy)),
        (Fact::ClockVariance, i64::from(offset_scaled_log_variance)),
    ]
}

/// What a grand master states of its time scale. The UTC offset comes before the flags that announce its change.
#[must_use]
pub fn of_time(data: &TimeProperties) -> Vec<Statement> {
    let TimeProperties {
        current_utc_offset_s,
        leap61,
        leap59,
        current_utc_offset_valid,
        ptp_timescale,
        time_traceable,
        frequency_traceable,
        time_source,
    } = *data;
    vec![
        (Fact::TimeScale, i64::from(ptp_timescale)),
        (Fact::UtcOffset, i64::from(current_utc_offset_s)),
        (Fact::UtcOffsetValid, i64::from(current_utc_offset_valid)),
        (Fact::Leap61, i64::from(leap61)),
        (Fact::Leap59, i64::from(leap59)),
        (Fact::TimeTraceable, i64::from(time_traceable)),
        (Fact::FrequencyTraceable, i64::from(frequency_traceable)),
        (Fact::TimeSource, i64::from(time_source.0)),
    ]
}

/// What a ptp4l states of the way to its grand master.
#[must_use]
pub fn of_current(data: &CurrentDataSet) -> Vec<Statement> {
    // Offset and delay are the measurement itself.
    let CurrentDataSet { steps_removed, offset_from_master: _, mean_path_delay: _ } = *data;
    vec![(Fact::StepsRemoved, i64::from(steps_removed))]
}

/// What a ptp4l states with its last offset.
#[must_use]
pub fn of_status(data: &TimeStatus) -> Vec<Statement> {
    let TimeStatus {
        // The measurement itself.
        master_offset_ns: _,
        ingress_time_ns: _,
        // The rate of the grand master is in the time stamps; what changed last is known by the indicator.
        cumulative_scaled_rate_offset: _,
        scaled_last_gm_phase_change: _,
        last_gm_phase_change: _,
        gm_time_base_indicator,
        // By the states of the ports, and by `Follower::reference`.
        gm_present: _,
        gm_identity: _,
    } = *data;
    vec![(Fact::TimeBase, i64::from(gm_time_base_indicator))]
}

/// What a chronyd states of the clock, where it is synchronized.
#[must_use]
pub fn of_tracking(data: &Tracking) -> Vec<Statement> {
    let Tracking {
        // By `Follower::reference`.
        reference_id: _,
        address: _,
        stratum,
        leap,
        // Parts of the offset and its bound.
        reference_time: _,
        system_offset: _,
        last_offset: _,
        rms_offset: _,
        frequency_ppm: _,
        residual_frequency_ppm: _,
        skew_ppm: _,
        root_delay: _,
        root_dispersion: _,
        last_update_interval: _,
    } = *data;
    vec![(Fact::Stratum, i64::from(stratum)), (Fact::NtpLeap, leap_value(leap))]
}

/// What a line of chronyd's `tracking.log` states.
#[must_use]
pub fn of_tracking_update(data: &TrackingUpdate<'_>) -> Vec<Statement> {
    let TrackingUpdate {
        stratum,
        leap,
        // By `Follower::reference`.
        source: _,
        // Parts of the offset and its bound.
        time: _,
        frequency_ppm: _,
        skew_ppm: _,
        offset_s: _,
        offset_standard_deviation_s: _,
        remaining_correction_s: _,
        root_delay_s: _,
        root_dispersion_s: _,
        max_error_s: _,
        // How many servers agree, beside the one that is followed.
        combined_sources: _,
    } = *data;
    vec![(Fact::Stratum, i64::from(stratum)), (Fact::NtpLeap, leap_value(leap))]
}

/// What a line of chronyd's `measurements.log` states of its server.
#[must_use]
pub fn of_measurement(data: &Measurement<'_>) -> Vec<Statement> {
    let Measurement {
        leap,
        stratum,
        reference_id,
        // The place of its series.
        source: _,
        // The measurement itself.
        time: _,
        tests_passed: _,
        local_poll_log2_s: _,
        remote_poll_log2_s: _,
        poll_score: _,
        offset_s: _,
        peer_delay_s: _,
        peer_dispersion_s: _,
        root_delay_s: _,
        root_dispersion_s: _,
        timestamps: _,
    } = *data;
    let upstream = reference_id.map(|id| (Fact::UpstreamReference, i64::from(id)));
    let fixed = [(Fact::Stratum, i64::from(stratum)), (Fact::NtpLeap, leap_value(leap))];
    upstream.into_iter().chain(fixed).collect()
}

/// The number of a leap status: 0 for none, 1 for an inserted second, 2 for one that is left out.
#[must_use]
pub const fn leap_value(leap: LeapStatus) -> i64 {
    match leap {
        LeapStatus::InsertSecond => 1,
        LeapStatus::DeleteSecond => 2,
        LeapStatus::Normal | LeapStatus::Unsynchronized | LeapStatus::Other(_) => 0,
    }
}

/// What a captured Announce states. Identities are followed by name.
#[must_use]
pub fn of_announce(data: &Announce) -> Vec<Statement> {
    let Announce { grandmaster: _, quality, priority1, priority2, steps_removed, time } = *data;
    let mut all = of_time(&time);
    all.extend(of_quality(quality));
    all.extend([
        (Fact::Priority1, i64::from(priority1)),
        (Fact::Priority2, i64::from(priority2)),
        (Fact::StepsRemoved, i64::from(steps_removed)),
    ]);
    all
}

/// What a captured answer of a synchronized server states.
#[must_use]
pub fn of_ntp(data: &NtpMessage) -> Vec<Statement> {
    let NtpMessage {
        stratum,
        leap: (is_inserted, is_left_out),
        reference_id,
        // Answers of servers that are not synchronized give no offset, and are counted.
        side: _,
        is_synchronized: _,
        // In the bound.
        precision_log2_s: _,
        // Not in the bound: that reaches to the server alone, as the record says.
        root_delay: _,
        root_dispersion: _,
        // The measurement itself.
        origin: _,
        receive: _,
        transmit: _,
    } = *data;
    vec![
        (Fact::Stratum, i64::from(stratum)),
        (Fact::UpstreamReference, i64::from(reference_id)),
        (Fact::NtpLeap, i64::from(is_inserted) + 2 * i64::from(is_left_out)),
    ]
}
