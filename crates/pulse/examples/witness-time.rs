//! How long it takes from the edges of two lines to their shift: `cargo run --release -p punctual-pulse --example witness-time`.
//!
//! Five million orders on each line, one each millisecond, marked; two in a hundred are lost on either line, and clocks and pulses are
//! off as those of real nodes.

use std::time::Instant;

use codecs::logic::{LogicChannel, LogicSpan};
use pulse::edges::{ActiveLevel, LinePulses, PulseForm};
use pulse::marks::is_long;
use pulse::numbering::{OrderedPulses, number};
use pulse::shift::{CaptureError, Shift};
use units::Random;

const ORDERS: u64 = 5_000_000;
const INTERVAL_PS: i64 = 1_000_000_000;
const WIDTH_PS: i64 = 200_000_000;
const EVERY: u64 = 1_000;

fn line(seed: u64, shift_ps: i64) -> LogicChannel {
    let mut random = Random::new(seed);
    let mut below = |bound: usize| i64::try_from(random.below(bound)).unwrap_or(0);
    let mut edges_ps = Vec::new();
    let mut now_ps = INTERVAL_PS + shift_ps;
    for number in 0..ORDERS {
        now_ps += INTERVAL_PS + 77_000;
        if below(100) < 2 {
            continue;
        }
        let start_ps = now_ps + below(20_000_000);
        let width_ps = if is_long(number, EVERY) { 2 * WIDTH_PS } else { WIDTH_PS };
        edges_ps.extend([start_ps, start_ps + width_ps + below(5_000_000)]);
    }
    let span = LogicSpan { from_ps: 0, until_ps: now_ps + INTERVAL_PS, begins_high: false, edges_ps };
    LogicChannel { name: String::new(), spans: vec![span] }
}

fn main() {
    let channels = [line(1, 0), line(2, 3_000_000)];
    let form = PulseForm::new(ActiveLevel::High, WIDTH_PS);
    let ordered = OrderedPulses { form, interval_ps: INTERVAL_PS, every: EVERY, orders: Some(ORDERS) };
    let capture = CaptureError { resolution_ps: Some(10_000), rate_ppb: Some(0) };
    for _ in 0..3 {
        let begin = Instant::now();
        let pulses = channels.each_ref().map(|channel| LinePulses::of_channel(channel, &form));
        let found = begin.elapsed();
        let numbered = pulses.each_ref().map(|line| number(line, &ordered));
        let done = begin.elapsed();
        let [Ok(first), Ok(second)] = &numbered else {
            println!("not numbered: {numbered:?}");
            return;
        };
        let shift = Shift::between(&first.pulses, &second.pulses, capture);
        let whole = begin.elapsed();
        let edges: usize = channels.iter().flat_map(|channel| &channel.spans).map(|span| span.edges_ps.len()).sum();
        println!(
            "{edges} edges: pulses after {} ms, numbers after {} ms, shift after {} ms; {} orders of both, mean {:.0} ps",
            found.as_millis(),
            done.as_millis(),
            whole.as_millis(),
            shift.as_ref().map_or(0, |shift| shift.count),
            shift.as_ref().map_or(0.0, |shift| shift.mean_ps),
        );
    }
}
