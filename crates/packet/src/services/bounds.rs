//! A bound on the offset of one clock from another over time.

use record::TrackPoint;
use sync::bound::OffsetBound;

/// Bounds at moments of a node's system clock (ns since 1970), in the order of time.
#[derive(Clone, Debug)]
pub(super) enum Bounds {
    /// The offset is known at every moment (ns).
    Always(i64),
    /// It is bounded at these moments; between two of them it lies where both allow, opened by the drift since the nearer one.
    At(Vec<(i64, OffsetBound)>),
}

impl Bounds {
    pub(super) const fn always(offset_ns: i64) -> Self {
        Self::Always(offset_ns)
    }

    /// Those of a source's track. A point that stands for several holds from its moment until the next one.
    pub(super) fn of_track(track: &[TrackPoint]) -> Self {
        let bounded = |point: &TrackPoint| Some((point.at.realtime.as_ns(), OffsetBound::from(point.bound_ns?)));
        Self::At(track.iter().filter_map(bounded).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::At(points) if points.is_empty())
    }

    /// Whether they exclude each other at one moment.
    pub(super) fn is_contradiction(&self) -> bool {
        matches!(self, Self::At(points) if points.iter().any(|(_, bound)| bound.is_contradiction()))
    }

    /// The bounds with their moments moved (ns).
    pub(super) fn moved(&self, by_ns: i64) -> Self {
        match self {
            Self::Always(offset_ns) => Self::Always(*offset_ns),
            Self::At(points) => Self::At(points.iter().map(|(at, bound)| (at.saturating_add(by_ns), *bound)).collect()),
        }
    }

    /// The bounds, lower by a number of nanoseconds.
    pub(super) fn shifted(&self, by_ns: i64) -> Self {
        let less = |bound: OffsetBound| OffsetBound {
            lower_ns: bound.lower_ns.saturating_sub(by_ns),
            upper_ns: bound.upper_ns.saturating_sub(by_ns),
        };
        match self {
            Self::Always(offset_ns) => Self::Always(offset_ns.saturating_sub(by_ns)),
            Self::At(points) => Self::At(points.iter().map(|(at, bound)| (*at, less(*bound))).collect()),
        }
    }

    /// The middle of the bounds' hull (ns).
    pub(super) fn middle_ns(&self) -> Option<i64> {
        let hull = match self {
            Self::Always(offset_ns) => return Some(*offset_ns),
            Self::At(points) => points.iter().map(|(_, bound)| *bound).reduce(OffsetBound::hull)?,
        };
        i64::try_from((i128::from(hull.lower_ns) + i128::from(hull.upper_ns)).div_euclid(2)).ok()
    }

    /// This offset less another one of the same reference, at the moments of both.
    pub(super) fn less(&self, other: &Self, drift_ppb: u32) -> Self {
        let mut moments: Vec<i64> = [self, other].into_iter().flat_map(Self::moments).collect();
        moments.sort_unstable();
        moments.dedup();
        if let (Self::Always(one), Self::Always(two)) = (self, other) {
            return Self::Always(one.saturating_sub(*two));
        }
        let at = |moment: i64| {
            let (one, two) = (self.within((moment, moment), drift_ppb)?, other.within((moment, moment), drift_ppb)?);
            let apart = OffsetBound {
                lower_ns: one.lower_ns.saturating_sub(two.upper_ns),
                upper_ns: one.upper_ns.saturating_sub(two.lower_ns),
            };
            Some((moment, apart))
        };
        Self::At(moments.into_iter().filter_map(at).collect())
    }

    fn moments(&self) -> impl Iterator<Item = i64> + '_ {
        match self {
            Self::Always(_) => [].iter(),
            Self::At(points) => points.iter(),
        }
        .map(|(at, _)| *at)
    }

    /// The points between two moments; all of a constant's are those two.
    pub(super) fn points(&self, between_ns: Option<(i64, i64)>) -> impl Iterator<Item = (i64, OffsetBound)> + '_ {
        let (constant, points): (Vec<_>, _) = match self {
            Self::Always(ns) => {
                let bound = OffsetBound { lower_ns: *ns, upper_ns: *ns };
                (between_ns.map(|(from, to)| [(from, bound), (to, bound)]).into_iter().flatten().collect(), [].iter())
            }
            Self::At(points) => (Vec::new(), points.iter()),
        };
        constant.into_iter().chain(points.copied())
    }

    /// What holds during all of a time, from its first moment to its last; `None` where the time is not within the bounds'
    /// moments. A clock that is steered between two looks may leave the straight way by as much as the drift allows since the
    /// nearer look.
    pub(super) fn within(&self, (from_ns, to_ns): (i64, i64), drift_ppb: u32) -> Option<OffsetBound> {
        let points = match self {
            Self::Always(ns) => return Some(OffsetBound { lower_ns: *ns, upper_ns: *ns }),
            Self::At(points) => points,
        };
        let first = points.partition_point(|(at, _)| *at <= from_ns).checked_sub(1)?;
        let last = points.partition_point(|(at, _)| *at < to_ns);
        let covering = points.get(first..=last)?;
        let hull = covering.iter().map(|(_, bound)| *bound).reduce(OffsetBound::hull)?;
        let is_at_one = from_ns == to_ns && covering.first().is_some_and(|(at, _)| *at == from_ns);
        let longest_ns = if is_at_one {
            0
        } else {
            covering.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).max().unwrap_or(0)
        };
        let opened_ns =
            i64::try_from(i128::from(longest_ns) * i128::from(drift_ppb) / 2_000_000_000).ok()?.saturating_add(1);
        let opened_ns = if is_at_one { 0 } else { opened_ns };
        Some(OffsetBound {
            lower_ns: hull.lower_ns.saturating_sub(opened_ns),
            upper_ns: hull.upper_ns.saturating_add(opened_ns),
        })
    }
}
