//! Pictures: maxima over time as SVG, drawn of at most two points a pixel, each its span's maximum.

use std::fmt::Write as _;

use store::{CpuHistory, GapSpan, SourceHistory};
use units::{approx_f64, approx_f64_i64, format};

use super::html::Text;
use super::words::{gap_why, local};

/// Width of the plot of a CPU (pixels of the picture).
pub(super) const PLOT_WIDTH: f64 = 860.0;
/// Points of a CPU that its plot shows at most: two a pixel.
pub(super) const MOST_POINTS: usize = 1_720;
const PLOT_HEIGHT: f64 = 110.0;
/// Room for a label, on phones in letters of twice the size.
const LEFT: f64 = 90.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;
const SPARK_WIDTH: f64 = 120.0;
const SPARK_HEIGHT: f64 = 24.0;

/// The largest latencies of a day by half hours, the latest on the right; a gap where nothing stands. By their logarithm, as the plots.
pub(super) fn sparkline(half_hours_ns: &[Option<i64>], limit_ns: Option<u64>) -> String {
    let latencies = half_hours_ns.iter().flatten().copied();
    let Some(scale) = Scale::of((0, 1), latencies.clone(), limit_ns) else { return String::new() };
    let (wide, high) = (SPARK_WIDTH - 4.0, SPARK_HEIGHT - 4.0);
    let y = |ns: f64| 2.0 + high * (1.0 - scale.part(ns));
    let steps = approx_f64(u64::try_from(half_hours_ns.len().saturating_sub(1).max(1)).unwrap_or(1));
    let mut path = String::new();
    let mut is_drawn = false;
    for (at, maximum) in (0_u64..).zip(half_hours_ns) {
        let Some(maximum) = maximum else {
            is_drawn = false;
            continue;
        };
        let (x, y) = (2.0 + wide * approx_f64(at) / steps, y(approx_f64_i64(*maximum)));
        // One that stands alone is a dot.
        let _ = if is_drawn { write!(path, "L{x:.1} {y:.1}") } else { write!(path, "M{x:.1} {y:.1}h0.8") };
        is_drawn = true;
    }
    let mut limit = String::new();
    if let Some(ns) = limit_ns.filter(|ns| (scale.least_ns..=scale.most_ns).contains(ns)) {
        let y = y(approx_f64(ns));
        let _ = write!(limit, "<line class=\"limit\" x1=\"0\" x2=\"{SPARK_WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
    format!(
        "<svg class=\"sparkline\" viewBox=\"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}\" width=\"{SPARK_WIDTH}\" height=\"{SPARK_HEIGHT}\" role=\"img\" \
         aria-label=\"maxima of a day by half hours, the largest {}\">{limit}<path class=\"spark\" d=\"{path}\"/></svg>",
        Text(&format::latency(latencies.max().unwrap_or(0))),
    )
}

/// The stretch of time and the latencies of a plot. Latencies stand by their logarithm: one stall of a hundred milliseconds would else
/// lay all that is usual, and the limit, on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// Its left end (ns since 1970).
    from_utc_ns: i64,
    /// Its right end (ns since 1970).
    to_utc_ns: i64,
    /// Its lower end (ns), more than zero; what is below stands there.
    least_ns: u64,
    /// Its upper end (ns).
    most_ns: u64,
}

/// A limit so many times beyond all that was measured would only make the rest flat.
const FAR: u64 = 20;
/// Lines across a plot at most.
const MOST_LINES: usize = 4;

/// 1, 2 or 5 times a power of ten: the next one from a value on (ns), and the one before it.
fn round_up(ns: u64) -> (u64, u64) {
    let (mut before, mut step) = (1, 1_u64);
    loop {
        for round in [step, step.saturating_mul(2), step.saturating_mul(5)] {
            if round >= ns {
                return (round, before);
            }
            before = round;
        }
        step = step.saturating_mul(10);
    }
}

/// A round latency as a label: "10 us", "500 us", "1 ms".
fn round_latency(ns: u64) -> String {
    let unit = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")].into_iter().find(|(unit, _)| ns % unit == 0);
    unit.map_or_else(|| format!("{ns} ns"), |(unit, name)| format!("{} {name}", ns / unit))
}

impl Scale {
    /// One for these latencies, and for the limit where it is near; `None` where nothing was measured.
    pub(super) fn of(
        (from_utc_ns, to_utc_ns): (i64, i64),
        latencies_ns: impl Iterator<Item = i64>,
        limit_ns: Option<u64>,
    ) -> Option<Self> {
        // A latency may be below zero, where the clock was read before its turn.
        let (mut least_ns, mut most_ns) = (u64::MAX, 0);
        for ns in latencies_ns {
            let ns = u64::try_from(ns).unwrap_or(0).max(1);
            (least_ns, most_ns) = (least_ns.min(ns), most_ns.max(ns));
        }
        if most_ns == 0 {
            return None;
        }
        if let Some(limit_ns) = limit_ns.filter(|limit_ns| *limit_ns > 0 && *limit_ns / FAR <= most_ns) {
            (least_ns, most_ns) = (least_ns.min(limit_ns), most_ns.max(limit_ns));
        }
        let (most_ns, below_most_ns) = round_up(most_ns);
        let (above_least_ns, before_ns) = round_up(least_ns);
        let least_ns = if above_least_ns == least_ns { least_ns } else { before_ns };
        Some(Self { from_utc_ns, to_utc_ns, least_ns: least_ns.min(below_most_ns), most_ns: most_ns.max(2) })
    }

    fn x(&self, utc_ns: i64) -> f64 {
        let whole = approx_f64_i64(self.to_utc_ns.saturating_sub(self.from_utc_ns).max(1));
        let part = approx_f64_i64(utc_ns.saturating_sub(self.from_utc_ns));
        LEFT + PLOT_WIDTH * (part / whole).clamp(0.0, 1.0)
    }

    /// How far up a latency stands: 0 at the lower end, 1 at the upper one.
    fn part(&self, ns: f64) -> f64 {
        let least = approx_f64(self.least_ns);
        ((ns.max(least) / least).ln() / (approx_f64(self.most_ns) / least).ln()).clamp(0.0, 1.0)
    }

    fn y(&self, ns: f64) -> f64 {
        TOP + PLOT_HEIGHT * (1.0 - self.part(ns))
    }

    /// Where lines stand, the lowest first: all that are 1, 2 or 5 of their power of ten where they are few, else powers of ten, else
    /// each so many.
    fn lines_ns(&self) -> Vec<u64> {
        let mut all = vec![self.least_ns];
        while let Some(last) = all.last().filter(|last| **last < self.most_ns) {
            all.push(round_up(last + 1).0);
        }
        if all.len() > MOST_LINES {
            all.retain(|ns| ns.to_string().starts_with('1'));
        }
        let each = all.len().div_ceil(MOST_LINES);
        all.into_iter().step_by(each.max(1)).collect()
    }
}

/// A change in a plot: a line at its moment, with the letter of its row below the plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// When (ns since 1970).
    pub(super) utc_ns: i64,
    /// The letter.
    pub(super) letter: char,
}

/// A limit with the time since which it holds: what was measured before was measured under another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// The latency that none should exceed (ns).
    pub(super) ns: u64,
    /// Since when (ns since 1970); absent where it is not known, then it is drawn throughout.
    pub(super) since_utc_ns: Option<i64>,
}

/// Maxima of a CPU over time, what was spoiled apart from them, gaps hatched with their reasons, the limit, and marks.
pub(super) fn over_time(
    cpu: &CpuHistory,
    gaps: &[GapSpan],
    limit: Option<Limit>,
    marks: &[Mark],
    scale: Scale,
) -> String {
    let of_cpu = gaps.iter().filter(|span| span.cpus.is_empty() || span.cpus.contains(&cpu.cpu));
    let mut curve = String::new();
    draw_points(&mut curve, cpu, scale);
    draw_marks(&mut curve, marks, scale);
    let is_inside = |limit: &Limit| (scale.least_ns..=scale.most_ns).contains(&limit.ns);
    if let Some(limit) = limit.filter(is_inside) {
        let y = scale.y(approx_f64(limit.ns));
        let from = limit.since_utc_ns.map_or(LEFT, |since| scale.x(since));
        let _ = writeln!(
            curve,
            "<line class=\"limit\" x1=\"{from:.1}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"><title>limit {}</title></line>",
            LEFT + PLOT_WIDTH,
            Text(&format::latency(limit.ns)),
        );
    }
    plot(&format!("CPU {}: maxima over time", cpu.cpu), of_cpu, &curve, scale)
}

/// Bounds of the error of a source of time; none where it had none, and gaps hatched with their reasons.
pub(super) fn bound_over_time(source: &SourceHistory, gaps: &[GapSpan], scale: Scale) -> String {
    let bound = |point: &store::SourcePoint| {
        let bound_ns = point.worst.bound_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
        (point.start_utc_ns, point.length_ns, bound_ns)
    };
    let curve = format!("<path class=\"curve\" d=\"{}\"/>\n", steps(source.points.iter().map(bound), scale));
    plot(&format!("{}: bound of its error over time", source.source), gaps.iter(), &curve, scale)
}

/// A plot with its grid, its times and its gaps, around what is drawn in it.
fn plot<'a>(label: &str, gaps: impl Iterator<Item = &'a GapSpan>, drawn: &str, scale: Scale) -> String {
    let (width, height) = (LEFT + PLOT_WIDTH + 10.0, TOP + PLOT_HEIGHT + BOTTOM);
    let mut picture =
        format!("<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n", Text(label));
    let (right, bottom) = (LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT);
    draw_gaps(&mut picture, gaps, scale);
    for ns in scale.lines_ns() {
        let y = scale.y(approx_f64(ns));
        let _ = writeln!(
            picture,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            Text(&round_latency(ns)),
        );
    }
    draw_times(&mut picture, scale);
    picture.push_str(drawn);
    let _ =
        writeln!(picture, "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/></svg>");
    picture
}

/// Whether a span follows on one that ended at a moment: two moments of a boot are placed in UTC each by itself, and may be apart by what
/// its clock was off by, a thousandth of the span's length at most.
pub(super) fn follows(end_utc_ns: i64, start_utc_ns: i64, length_ns: u64) -> bool {
    end_utc_ns.abs_diff(start_utc_ns) <= length_ns / 1_000
}

/// The path of values over time, each its span's: steps are joined where one span follows on the other.
fn steps(spans: impl Iterator<Item = (i64, u64, Option<i64>)>, scale: Scale) -> String {
    let mut path = String::new();
    let mut end: Option<i64> = None;
    for (start_utc_ns, length_ns, value_ns) in spans {
        let until = start_utc_ns.saturating_add_unsigned(length_ns);
        end = value_ns.map(|ns| {
            let (y, to) = (scale.y(approx_f64_i64(ns)), scale.x(until));
            let _ = if end.is_some_and(|end| follows(end, start_utc_ns, length_ns)) {
                write!(path, "V{y:.1}H{to:.1}")
            } else {
                write!(path, "M{:.1} {y:.1}H{to:.1}", scale.x(start_utc_ns))
            };
            until
        });
    }
    path
}

/// What hatches gaps; once on a page.
pub(super) const HATCH: &str = "<svg width=\"0\" height=\"0\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" \
    height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><line class=\"hatch\" x1=\"0\" y1=\"0\" \
    x2=\"0\" y2=\"6\"/></pattern></defs></svg>\n";

fn draw_gaps<'a>(picture: &mut String, gaps: impl Iterator<Item = &'a GapSpan>, scale: Scale) {
    for span in gaps {
        let (from, to) =
            (scale.x(span.start_utc_ns), scale.x(span.start_utc_ns.saturating_add_unsigned(span.length_ns)));
        let _ = writeln!(
            picture,
            "<rect class=\"gap\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{PLOT_HEIGHT}\"><title>{}, from {}</title></rect>",
            (to - from).max(1.0),
            Text(gap_why(&span.why)),
            Text(&local(span.start_utc_ns)),
        );
    }
}

fn draw_times(picture: &mut String, scale: Scale) {
    let y = TOP + PLOT_HEIGHT + 20.0;
    for (part, anchor) in [(0, "start"), (1, "middle"), (2, "end")] {
        let whole = scale.to_utc_ns.saturating_sub(scale.from_utc_ns);
        let utc_ns = scale.from_utc_ns.saturating_add(whole / 2 * part);
        let _ = writeln!(
            picture,
            "<text x=\"{:.0}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
            scale.x(utc_ns),
            Text(local(utc_ns).get(..16).unwrap_or_default()),
        );
    }
}

/// Marks nearer to each other than this (pixels of the picture) share a line and have their letters side by side.
const MARKS_APART: f64 = 10.0;

fn draw_marks(picture: &mut String, marks: &[Mark], scale: Scale) {
    let mut groups: Vec<(f64, String, String)> = Vec::new();
    for Mark { utc_ns, letter } in marks {
        let (x, said) = (scale.x(*utc_ns), format!("change {letter}, {}", local(*utc_ns)));
        match groups.last_mut().filter(|(at, ..)| (*at - x).abs() < MARKS_APART) {
            Some((_, letters, all)) => {
                letters.insert(0, *letter);
                *all = format!("{said}; {all}");
            }
            None => groups.push((x, letter.to_string(), said)),
        }
    }
    for (x, letters, said) in groups {
        let _ = writeln!(
            picture,
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{}\"><title>{}</title></line>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{letters}</text>",
            TOP + PLOT_HEIGHT,
            Text(&said),
            TOP - 3.0,
        );
    }
}

fn draw_points(picture: &mut String, cpu: &CpuHistory, scale: Scale) {
    let mut spoiled = String::new();
    for point in &cpu.points {
        let Some(ns) = point.spoiled_ns else { continue };
        let until = point.start_utc_ns.saturating_add_unsigned(point.length_ns);
        let (x, y) = (f64::midpoint(scale.x(point.start_utc_ns), scale.x(until)), scale.y(approx_f64_i64(ns)));
        let _ = write!(spoiled, "M{:.1} {:.1}l5 5m0 -5l-5 5", x - 2.5, y - 2.5);
    }
    let maxima = cpu.points.iter().map(|point| (point.start_utc_ns, point.length_ns, point.maximum_ns));
    let _ = writeln!(picture, "<path class=\"curve\" d=\"{}\"/>", steps(maxima, scale));
    if !spoiled.is_empty() {
        let _ =
            writeln!(picture, "<path class=\"spoiled\" d=\"{spoiled}\"><title>spoiled: does not count</title></path>");
    }
}

#[cfg(test)]
mod tests {
    use farm::monitor::GapReason;
    use farm::stream::ContentHash;
    use store::{GapWhy, Point};

    use super::*;

    fn point(start_utc_ns: i64, maximum_ns: Option<i64>, spoiled_ns: Option<i64>) -> Point {
        Point {
            start_utc_ns,
            length_ns: 100,
            placed_error_ns: 0,
            maximum_ns,
            maximum_utc_ns: maximum_ns.map(|_| start_utc_ns + 50),
            spoiled_ns,
            samples: 10,
            missed_periods: 0,
            beyond_limit: 0,
            not_monitored_ns: 0,
            condition: ContentHash::of("{}"),
            reasons: Vec::new(),
            cause: None,
        }
    }

    #[test]
    fn a_curve_is_joined_where_it_goes_on_and_broken_at_gaps_and_where_nothing_stands() {
        let points = vec![
            point(0, Some(10), None),
            point(100, Some(100), None),
            point(200, None, Some(80)),
            point(300, Some(20), None),
            point(600, Some(20), None),
        ];
        let gaps = [GapSpan {
            start_utc_ns: 400,
            length_ns: 200,
            why: GapWhy::Said(GapReason::Other("<b>asleep".to_owned())),
            cpus: vec![3],
        }];
        let latencies = points.iter().flat_map(|point| [point.maximum_ns, point.spoiled_ns]).flatten();
        let scale = Scale::of((0, 1_000), latencies, Some(50)).unwrap();
        let limit = |ns, since_utc_ns| Some(Limit { ns, since_utc_ns });
        let marks = [(505, 'a'), (500, 'b'), (100, 'c')].map(|(utc_ns, letter)| Mark { utc_ns, letter });
        let cpu = CpuHistory { cpu: 3, points: points.clone() };
        let picture = over_time(&cpu, &gaps, limit(50, None), &marks, scale);
        // A limit is drawn from when it holds on.
        assert!(picture.contains("class=\"limit\" x1=\"90.0\""), "{picture}");
        let later = over_time(&cpu, &gaps, limit(50, Some(500)), &[], scale);
        assert!(later.contains("class=\"limit\" x1=\"520.0\"") && !later.contains("class=\"mark\""), "{later}");
        assert!(picture.contains("class=\"mark\" x1=\"524.3\"") && picture.contains("change a, "), "{picture}");
        // Those at nearly the same time share a line, in the order of their times.
        assert!(picture.matches("class=\"mark\"").count() == 2 && picture.contains(">ba</text>"), "{picture}");
        let curve = picture.split("class=\"curve\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        // The largest is at the top; three pieces, the first of two spans.
        assert_eq!(curve, "M90.0 124.0H176.0V14.0H262.0M348.0 90.9H434.0M606.0 90.9H692.0");
        assert!(
            picture.contains("class=\"spoiled\"")
                && picture.contains("&lt;b&gt;asleep")
                && picture.contains("limit 50 ns")
        );
        let elsewhere = over_time(&CpuHistory { cpu: 4, points }, &gaps, limit(500, None), &[], scale);
        assert!(!elsewhere.contains("class=\"gap\"") && !elsewhere.contains("class=\"limit\""));
    }

    #[test]
    fn a_stall_leaves_what_is_usual_and_the_limit_apart() {
        let ms = 1_000_000;
        let scale = Scale::of((0, 1), [7_000, 9_000, 100 * ms].into_iter(), Some(100_000)).unwrap();
        assert_eq!((scale.least_ns, scale.most_ns), (5_000, 100_000_000));
        let (usual, limit, stall) = (scale.y(9e3), scale.y(1e5), scale.y(1e8));
        assert!(usual - limit > 20.0 && limit - stall > 60.0, "{usual} {limit} {stall}");
        assert_eq!(scale.lines_ns(), [10_000, 1_000_000, 100_000_000]);
        // A limit far above does not flatten the rest; one that is near is shown.
        let near = |limit_ns| Scale::of((0, 1), [7_000, 9_000].into_iter(), Some(limit_ns)).unwrap();
        assert_eq!((near(150_000).most_ns, near(1_000 * 1_000 * 1_000).most_ns), (200_000, 10_000));
        assert_eq!(near(1_000 * 1_000 * 1_000).lines_ns(), [5_000, 10_000]);
        assert_eq!(Scale::of((0, 1), [].into_iter(), Some(5)), None);
        for odd in [i64::MIN, -5, 0, 1, i64::MAX] {
            let scale = Scale::of((0, 1), [odd].into_iter(), None).unwrap();
            assert!(scale.least_ns < scale.most_ns && scale.lines_ns().len() <= MOST_LINES, "{scale:?}");
            assert!((TOP..=TOP + PLOT_HEIGHT).contains(&scale.y(approx_f64_i64(odd))), "{scale:?}");
        }
    }

    #[test]
    fn a_sparkline_has_a_gap_where_nothing_stands_and_is_none_without_maxima() {
        let line = sparkline(&[Some(5), Some(10), None, Some(10)], Some(8));
        assert_eq!(line.matches('M').count(), 2, "{line}");
        assert!(line.contains("class=\"limit\"") && line.contains("the largest 10 ns"));
        assert_eq!(
            [7, 20_000, 500_000, 1_000_000, 5_000_000_000].map(round_latency).join(", "),
            "7 ns, 20 us, 500 us, 1 ms, 5 s"
        );
        assert_eq!(sparkline(&[None, None], None) + &sparkline(&[], None), "");
    }
}
