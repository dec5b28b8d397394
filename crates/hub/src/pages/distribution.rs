//! The part of a node's page that says how the wake-ups of a span are spread: a histogram for each CPU and condition.

use std::fmt::Write as _;

use store::SpanHistogram;
use units::{approx_f64, format};

use super::html::{InUrl, Text};
use super::node::NodePage;
use super::words::Moment;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 110.0;
/// Room for a label, as in the plots over time.
const LEFT: f64 = 90.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;

/// Writes the histograms of the page's span.
pub(super) fn write_histograms(main: &mut String, page: &NodePage) {
    let key = page.row.node.key.to_string();
    let Some(histograms) = &page.histograms else {
        // Writing to a string cannot fail.
        let _ = writeln!(
            main,
            "<h2>Histograms</h2>\n<p class=\"small\">Of a span this long they are in the document \
             <a href=\"/api/v1/nodes/{0}/histograms?from={1}&amp;to={2}\">histograms</a>; choose 30 days or less to see them here.</p>",
            InUrl(&key),
            page.window.from_utc_ns,
            page.window.to_utc_ns,
        );
        return;
    };
    if histograms.is_empty() {
        return;
    }
    let conditions: std::collections::BTreeSet<_> = histograms.iter().map(|of| of.condition).collect();
    main.push_str("<h2>Histograms</h2>\n<p class=\"small\">Wake-ups by latency, both by their logarithm, of whole hours that begin in this time; hours of more than 112 days ago are kept together as days.</p>\n");
    for of in histograms {
        let condition = of.condition.to_string();
        let condition = match conditions.len() {
            1 => String::new(),
            _ => format!(", under condition <code>{}</code>", condition.get(..8).unwrap_or_default()),
        };
        let hours = if of.hours == 1 { "1 hour".to_owned() } else { format!("{} hours", format::count(of.hours)) };
        let _ = writeln!(
            main,
            "<h3>CPU {} <span class=\"muted\">{}, {} to {}, {} wake-ups{condition}</span></h3>",
            of.cpu,
            Text(&hours),
            Moment(of.start_utc_ns),
            Moment(of.end_utc_ns),
            Text(&format::count(of.histogram.count())),
        );
        main.push_str(&picture(of));
    }
}

/// Where a bin begins: the hub keeps bins of a thirty-second of an octave, each by its highest latency.
fn beginning_of_bin(from_ns: u64, to_ns: u64) -> u64 {
    let octave = (u64::BITS - to_ns.leading_zeros()).saturating_sub(6);
    from_ns.min(to_ns >> octave << octave)
}

/// A count for an axis: "84", "5.2 M".
fn short_count(count: u64) -> String {
    for (unit, name) in [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")] {
        if count >= unit * 10 {
            return format!("{} {name}", count / unit);
        }
        if count >= unit {
            return format!("{:.1} {name}", approx_f64(count) / approx_f64(unit));
        }
    }
    count.to_string()
}

/// A histogram as a picture: latencies to the right, counts upward.
fn picture(of: &SpanHistogram) -> String {
    let bins: Vec<(u64, u64, u64)> = of.histogram.bins().map(|bin| (bin.from_ns, bin.to_ns, bin.count)).collect();
    let (Some((least_ns, ..)), Some((_, most_ns, _))) = (bins.first(), bins.last()) else { return String::new() };
    let (least_ns, most_ns) = ((*least_ns).max(1), (*most_ns).max(2));
    let most_count = bins.iter().map(|(.., count)| *count).max().unwrap_or(1).max(1);
    let logarithm = |value: u64| approx_f64(value.max(1)).ln();
    let whole = (logarithm(most_ns.saturating_add(1)) - logarithm(least_ns)).max(f64::MIN_POSITIVE);
    let x = |ns: u64| LEFT + WIDTH * ((logarithm(ns) - logarithm(least_ns)) / whole).clamp(0.0, 1.0);
    // One wake-up is more than none.
    let high = logarithm(most_count) + 1.0;
    let y = |count: u64| TOP + HEIGHT * (1.0 - (logarithm(count) + 1.0) / high);
    let bottom = TOP + HEIGHT;
    let mut path = String::new();
    for (from_ns, to_ns, count) in &bins {
        let (from, to) = (x(beginning_of_bin(*from_ns, *to_ns)), x(to_ns.saturating_add(1)));
        // A bin of the rarest has to be seen, however narrow it is.
        let _ = write!(path, "M{from:.1} {bottom}V{:.1}h{:.1}V{bottom}z", y(*count), (to - from).max(1.0));
    }
    let (width, height) = (LEFT + WIDTH + 10.0, TOP + HEIGHT + BOTTOM);
    let quantile = |share: f64| of.histogram.quantile_ns(share).map_or_else(String::new, format::latency);
    let label = format!(
        "CPU {}: histogram of wake-ups, median {}, maximum {}",
        of.cpu,
        quantile(0.5),
        format::latency(most_ns),
    );
    let median = of.histogram.quantile_ns(0.5).map_or(LEFT, x);
    let texts = [
        (LEFT, "start", format::latency(least_ns)),
        // It stands at its tick, or as near as the others leave room.
        (median.clamp(LEFT + 170.0, LEFT + WIDTH - 190.0), "middle", format!("median {}", quantile(0.5))),
        (LEFT + WIDTH, "end", format::latency(most_ns)),
    ];
    let mut picture = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n<path class=\"bins\" d=\"{path}\"/>\n",
        Text(&label)
    );
    let _ = writeln!(
        picture,
        "<line class=\"axis\" x1=\"{median:.1}\" x2=\"{median:.1}\" y1=\"{bottom}\" y2=\"{}\"/>",
        bottom + 6.0
    );
    for (x, anchor, text) in texts {
        let _ = writeln!(
            picture,
            "<text x=\"{x:.0}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            bottom + 20.0,
            Text(&text)
        );
    }
    for count in [1, most_count] {
        let y = y(count);
        let _ = writeln!(
            picture,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT + WIDTH,
            LEFT - 6.0,
            y + 4.0,
            Text(&short_count(count)),
        );
    }
    let _ = writeln!(
        picture,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{bottom}\" y2=\"{bottom}\"/></svg>",
        LEFT + WIDTH
    );
    picture
}

#[cfg(test)]
mod tests {
    use farm::stream::ContentHash;
    use histogram::Histogram;

    use super::*;

    fn of(histogram: Histogram) -> SpanHistogram {
        SpanHistogram {
            cpu: 3,
            condition: ContentHash::of("{}"),
            histogram,
            hours: 1,
            start_utc_ns: 0,
            end_utc_ns: 3_600_000_000_000,
        }
    }

    #[test]
    fn each_bin_is_drawn_within_the_picture_and_the_rarest_is_seen() {
        let mut histogram = Histogram::new();
        histogram.record_n(7_000, 1_000_000);
        histogram.record_n(250_000, 1);
        let picture = picture(&of(histogram));
        let path = picture.split("class=\"bins\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        // The most are at the top, one is above none.
        assert!(path.contains("V14.0h") && path.contains("V116.6h"), "{path}");
        assert!(picture.contains("median 7") && picture.contains("250 us"), "{picture}");
        let counts = [1, 999, 1_000, 84_000, 5_184_000, 12_000_000_000].map(short_count);
        assert_eq!(counts.join(", "), "1, 999, 1.0 k, 84 k, 5.2 M, 12 G");
        for odd in [0, 1, u64::MAX] {
            let mut histogram = Histogram::new();
            histogram.record_n(odd, 1);
            let picture = super::picture(&of(histogram));
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        }
        assert_eq!(super::picture(&of(Histogram::new())), "");
    }
}
