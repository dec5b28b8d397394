//! Pictures: maxima over time as SVG, drawn of at most two points a pixel, each its span's maximum.

use std::fmt::Write as _;

use store::{CpuHistory, GapSpan};
use units::{approx_f64, approx_f64_i64, format};

use super::html::Text;
use super::words::{gap, local};

/// Width of the plot of a CPU (pixels of the picture).
pub(super) const PLOT_WIDTH: f64 = 860.0;
/// Points of a CPU that its plot shows at most: two a pixel.
pub(super) const MOST_POINTS: usize = 1_720;
const PLOT_HEIGHT: f64 = 110.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 22.0;
const SPARK_WIDTH: f64 = 120.0;
const SPARK_HEIGHT: f64 = 24.0;

/// The maxima of the last intervals, the latest on the right; a gap where nothing stands.
pub(super) fn sparkline(maxima_ns: &[Option<i64>], limit_ns: Option<u64>) -> String {
    let most = maxima_ns.iter().flatten().copied().max();
    let Some(most) = most.filter(|most| *most > 0) else { return String::new() };
    let (wide, high) = (SPARK_WIDTH - 4.0, SPARK_HEIGHT - 4.0);
    let steps = approx_f64(u64::try_from(maxima_ns.len().saturating_sub(1).max(1)).unwrap_or(1));
    let mut path = String::new();
    let mut is_drawn = false;
    for (at, maximum) in (0_u64..).zip(maxima_ns) {
        let Some(maximum) = maximum else {
            is_drawn = false;
            continue;
        };
        let x = 2.0 + wide * approx_f64(at) / steps;
        let y = 2.0 + high * (1.0 - approx_f64_i64((*maximum).max(0)) / approx_f64_i64(most));
        // One that stands alone is a dot.
        let _ = if is_drawn { write!(path, "L{x:.1} {y:.1}") } else { write!(path, "M{x:.1} {y:.1}h0.8") };
        is_drawn = true;
    }
    let mut limit = String::new();
    if let Some(ns) = limit_ns.map(approx_f64).filter(|ns| *ns <= approx_f64_i64(most)) {
        let y = 2.0 + high * (1.0 - ns / approx_f64_i64(most));
        let _ = write!(limit, "<line class=\"limit\" x1=\"0\" x2=\"{SPARK_WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
    format!(
        "<svg viewBox=\"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}\" width=\"{SPARK_WIDTH}\" height=\"{SPARK_HEIGHT}\" role=\"img\" \
         aria-label=\"maxima of the last {} intervals, the largest {}\">{limit}<path class=\"spark\" d=\"{path}\"/></svg>",
        maxima_ns.len(),
        Text(&format::latency(most)),
    )
}

/// The stretch of time and the latencies of a plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Its left end (ns since 1970).
    pub(super) from_utc_ns: i64,
    /// Its right end (ns since 1970).
    pub(super) to_utc_ns: i64,
    /// Its upper end (ns), more than zero.
    pub(super) most_ns: i64,
}

impl Scale {
    fn x(&self, utc_ns: i64) -> f64 {
        let whole = approx_f64_i64(self.to_utc_ns.saturating_sub(self.from_utc_ns).max(1));
        let part = approx_f64_i64(utc_ns.saturating_sub(self.from_utc_ns));
        LEFT + PLOT_WIDTH * (part / whole).clamp(0.0, 1.0)
    }

    fn y(&self, ns: f64) -> f64 {
        TOP + PLOT_HEIGHT * (1.0 - (ns / approx_f64_i64(self.most_ns.max(1))).clamp(0.0, 1.0))
    }
}

/// Maxima of a CPU over time, what was spoiled apart from them, gaps hatched with their reasons, and the limit.
pub(super) fn over_time(cpu: &CpuHistory, gaps: &[GapSpan], limit_ns: Option<u64>, scale: Scale) -> String {
    let (width, height) = (LEFT + PLOT_WIDTH + 10.0, TOP + PLOT_HEIGHT + BOTTOM);
    let mut picture = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"CPU {}: maxima over time\">\n",
        cpu.cpu
    );
    let (right, bottom) = (LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT);
    draw_gaps(&mut picture, cpu.cpu, gaps, scale);
    for part in 0..=2_u32 {
        let ns = approx_f64_i64(scale.most_ns) * f64::from(part) / 2.0;
        let y = scale.y(ns);
        let _ = writeln!(
            picture,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            Text(&if part == 0 { "0".to_owned() } else { format::latency(units::round_i64(ns)) }),
        );
    }
    draw_times(&mut picture, scale);
    draw_points(&mut picture, cpu, scale);
    if let Some(limit) = limit_ns.filter(|limit| i64::try_from(*limit).is_ok_and(|limit| limit <= scale.most_ns)) {
        let y = scale.y(approx_f64(limit));
        let _ = writeln!(
            picture,
            "<line class=\"limit\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"><title>limit {}</title></line>",
            Text(&format::latency(limit)),
        );
    }
    let _ =
        writeln!(picture, "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/></svg>");
    picture
}

/// What hatches gaps; once on a page.
pub(super) const HATCH: &str = "<svg width=\"0\" height=\"0\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" \
    height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><line class=\"hatch\" x1=\"0\" y1=\"0\" \
    x2=\"0\" y2=\"6\"/></pattern></defs></svg>\n";

fn draw_gaps(picture: &mut String, cpu: u32, gaps: &[GapSpan], scale: Scale) {
    for span in gaps.iter().filter(|span| span.cpus.is_empty() || span.cpus.contains(&cpu)) {
        let (from, to) =
            (scale.x(span.start_utc_ns), scale.x(span.start_utc_ns.saturating_add_unsigned(span.length_ns)));
        let why = span.why.as_ref().map_or("nothing is known of this time", gap);
        let _ = writeln!(
            picture,
            "<rect class=\"gap\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{PLOT_HEIGHT}\"><title>{}, from {}</title></rect>",
            (to - from).max(1.0),
            Text(why),
            Text(&local(span.start_utc_ns)),
        );
    }
}

fn draw_times(picture: &mut String, scale: Scale) {
    let y = TOP + PLOT_HEIGHT + 15.0;
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

fn draw_points(picture: &mut String, cpu: &CpuHistory, scale: Scale) {
    let (mut curve, mut spoiled) = (String::new(), String::new());
    // Where the last span ended, and how high it was: steps are joined where one span follows on the other.
    let mut end: Option<i64> = None;
    for point in &cpu.points {
        let until = point.start_utc_ns.saturating_add_unsigned(point.length_ns);
        let (from, to) = (scale.x(point.start_utc_ns), scale.x(until));
        if let Some(ns) = point.spoiled_ns {
            let (x, y) = (f64::midpoint(from, to), scale.y(approx_f64_i64(ns)));
            let _ = write!(spoiled, "M{:.1} {:.1}l5 5m0 -5l-5 5", x - 2.5, y - 2.5);
        }
        end = point.maximum_ns.map(|ns| {
            let y = scale.y(approx_f64_i64(ns));
            let _ = if end == Some(point.start_utc_ns) {
                write!(curve, "V{y:.1}H{to:.1}")
            } else {
                write!(curve, "M{from:.1} {y:.1}H{to:.1}")
            };
            until
        });
    }
    let _ = writeln!(picture, "<path class=\"curve\" d=\"{curve}\"/>");
    if !spoiled.is_empty() {
        let _ =
            writeln!(picture, "<path class=\"spoiled\" d=\"{spoiled}\"><title>spoiled: does not count</title></path>");
    }
}

#[cfg(test)]
mod tests {
    use farm::monitor::GapReason;
    use farm::stream::ContentHash;
    use store::Point;

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
            why: Some(GapReason::Other("<b>asleep".to_owned())),
            cpus: vec![3],
        }];
        let scale = Scale { from_utc_ns: 0, to_utc_ns: 1_000, most_ns: 100 };
        let picture = over_time(&CpuHistory { cpu: 3, points: points.clone() }, &gaps, Some(50), scale);
        let curve = picture.split("class=\"curve\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        // The largest is at the top; three pieces, the first of two spans.
        assert_eq!(curve, "M70.0 113.0H156.0V14.0H242.0M328.0 102.0H414.0M586.0 102.0H672.0");
        assert!(
            picture.contains("class=\"spoiled\"")
                && picture.contains("&lt;b&gt;asleep")
                && picture.contains("limit 50 ns")
        );
        let elsewhere = over_time(&CpuHistory { cpu: 4, points }, &gaps, Some(500), scale);
        assert!(!elsewhere.contains("class=\"gap\"") && !elsewhere.contains("class=\"limit\""));
    }

    #[test]
    fn a_sparkline_has_a_gap_where_nothing_stands_and_is_none_without_maxima() {
        let line = sparkline(&[Some(5), Some(10), None, Some(10)], Some(8));
        assert_eq!(line.matches('M').count(), 2, "{line}");
        assert!(line.contains("class=\"limit\"") && line.contains("the largest 10 ns"));
        assert_eq!(sparkline(&[None, None], None) + &sparkline(&[], None), "");
    }
}
