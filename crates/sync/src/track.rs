//! What a source showed over time, in bounded memory: neighboring points are joined, so that extremes are never lost.

use record::{SyncSource, TrackPoint};

use crate::bound::OffsetBound;

/// A track of at most [`SyncSource::MOST_POINTS`] points, however long it is followed.
#[derive(Clone, Debug)]
pub struct Track {
    points: Vec<TrackPoint>,
    /// How many points that were taken are joined in each that is kept.
    joined: u64,
    /// How many are in the last one.
    in_last: u64,
}

impl Default for Track {
    fn default() -> Self {
        Self { points: Vec::new(), joined: 1, in_last: 0 }
    }
}

impl Track {
    /// Takes what was seen next.
    pub fn take(&mut self, point: TrackPoint) {
        match self.points.last_mut() {
            Some(last) if self.in_last < self.joined => {
                *last = joined(last, &point);
                self.in_last += 1;
            }
            _ => {
                if self.points.len() == SyncSource::MOST_POINTS {
                    self.points = self
                        .points
                        .chunks(2)
                        .map(|pair| pair.iter().skip(1).fold(pair[0], |a, b| joined(&a, b)))
                        .collect();
                    self.joined *= 2;
                }
                self.points.push(point);
                self.in_last = 1;
            }
        }
    }

    /// The points in the order of time.
    #[must_use]
    pub fn points(&self) -> &[TrackPoint] {
        &self.points
    }
}

/// Both extremes of two values, of which one may be missing.
fn either<T: Copy>(first: Option<T>, second: Option<T>, choose: impl Fn(T, T) -> T) -> Option<T> {
    match (first, second) {
        (Some(one), Some(other)) => Some(choose(one, other)),
        (one, other) => one.or(other),
    }
}

/// A point that stands for an earlier and a later one.
#[must_use]
pub fn joined(earlier: &TrackPoint, later: &TrackPoint) -> TrackPoint {
    TrackPoint {
        at: earlier.at,
        count: earlier.count.saturating_add(later.count),
        lowest_ns: either(earlier.lowest_ns, later.lowest_ns, i64::min),
        highest_ns: either(earlier.highest_ns, later.highest_ns, i64::max),
        bound_ns: either(earlier.bound_ns, later.bound_ns, |one, other| (one.0.min(other.0), one.1.max(other.1))),
        narrowest_ns: either(earlier.narrowest_bound_ns(), later.narrowest_bound_ns(), |one, other| {
            OffsetBound::from(one).narrower(other.into()).into()
        }),
        delay_ns: either(earlier.delay_ns, later.delay_ns, i64::max),
        frequency_ppb: later.frequency_ppb.or(earlier.frequency_ppb),
    }
}

#[cfg(test)]
mod tests {
    use record::Moment;
    use units::{Ns, Timestamp};

    use super::*;

    fn point(second: i64, offset_ns: i64) -> TrackPoint {
        let start = Moment { monotonic: Timestamp::from_ns(0), realtime: Timestamp::from_ns(0) };
        TrackPoint {
            at: start.plus(Ns::from_s(second)),
            count: 1,
            lowest_ns: Some(offset_ns),
            highest_ns: Some(offset_ns),
            bound_ns: Some((offset_ns - 5, offset_ns + 5)),
            narrowest_ns: None,
            delay_ns: None,
            frequency_ppb: None,
        }
    }

    #[test]
    fn a_long_track_keeps_its_extremes_its_count_and_its_order() {
        let mut track = Track::default();
        let total = 112 * 86_400;
        for second in 0..total {
            let offset_ns = match second {
                5_000_001 => -77_000,
                9_000_000 => 99_000,
                _ => second % 100,
            };
            track.take(point(second, offset_ns));
        }
        let points = track.points();
        assert!(points.len() <= SyncSource::MOST_POINTS && points.len() > SyncSource::MOST_POINTS / 2);
        assert_eq!(points.iter().map(|one| one.count).sum::<u64>(), u64::try_from(total).unwrap());
        assert_eq!(points.iter().filter_map(|one| one.lowest_ns).min(), Some(-77_000));
        assert_eq!(points.iter().filter_map(|one| one.highest_ns).max(), Some(99_000));
        assert_eq!(crate::bound::hull_of(points).map(|hull| (hull.lower_ns, hull.upper_ns)), Some((-77_005, 99_005)));
        assert!(points.is_sorted_by_key(|one| one.at.monotonic.as_ns()));
    }

    #[test]
    fn a_point_without_an_offset_widens_the_bound_alone() {
        let only_bound =
            TrackPoint { count: 0, lowest_ns: None, highest_ns: None, bound_ns: Some((-9, 90)), ..point(1, 0) };
        let both = joined(&point(0, 3), &only_bound);
        assert_eq!((both.count, both.lowest_ns, both.highest_ns, both.bound_ns), (1, Some(3), Some(3), Some((-9, 90))));
    }
}
