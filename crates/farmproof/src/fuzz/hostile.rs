//! What hostile nodes send: messages that are nearly right.

use std::sync::atomic::Ordering;

use farm::monitor::{HubKey, Purpose, RawEntry};
use farm::stream::Item;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use units::Random;

use super::Seen;
use crate::client::{self, NodeClient};
use crate::nodes::{MadeNode, deflated};
use crate::processes::HubProcess;

/// Numbers at which arithmetic breaks.
const EDGES: [i128; 14] = [
    0,
    1,
    2,
    -1,
    300_000_000_000,
    1 << 32,
    1 << 53,
    (1 << 62) + 1,
    i64::MAX as i128 - 1,
    i64::MAX as i128,
    i64::MIN as i128,
    i64::MAX as i128 + 1,
    u64::MAX as i128,
    1 << 100,
];
/// Texts that mean something to somebody.
const TEXTS: [&str; 10] =
    ["", "</script><script>", "../../etc/passwd", "\u{1b}[2J", "\u{202e}", "0", "killed", "interval", "\u{0}", "'; --"];

fn one_of<'a, T>(random: &mut Random, all: &'a [T]) -> Option<&'a T> {
    all.get(random.below(all.len()))
}

/// A value that stands in the place of another one.
fn strange(random: &mut Random) -> Value {
    match random.below(9) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!([]),
        3 => json!({}),
        4 => json!("x".repeat(random.below(3_000))),
        5 => one_of(random, &TEXTS).map_or(Value::Null, |text| json!(text)),
        6 => json!((0..random.below(200)).collect::<Vec<_>>()),
        _ => {
            let number = one_of(random, &EDGES).copied().unwrap_or(0);
            // Beyond 64 bits it is text that only looks like a number.
            i64::try_from(number)
                .map(Value::from)
                .or_else(|_| u64::try_from(number).map(Value::from))
                .unwrap_or(json!(1e300))
        }
    }
}

/// Changes one place of a document.
fn change(random: &mut Random, at: &mut Value, depth: usize) {
    let goes_deeper = depth < 12 && random.below(5) > 0;
    match at {
        Value::Object(fields) if goes_deeper && !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let Some(name) = one_of(random, &names) else { return };
            match random.below(12) {
                0 => drop(fields.remove(name)),
                1 => {
                    let value = strange(random);
                    fields.insert(format!("{name}-"), value);
                }
                2 => {
                    if let (Some(other), Some(value)) = (one_of(random, &names), fields.get(name).cloned()) {
                        fields.insert(other.clone(), value);
                    }
                }
                _ => {
                    if let Some(value) = fields.get_mut(name) {
                        change(random, value, depth + 1);
                    }
                }
            }
        }
        Value::Array(items) if goes_deeper && !items.is_empty() => {
            let place = random.below(items.len());
            match random.below(10) {
                0 => drop(items.remove(place)),
                1 => {
                    let other = random.below(items.len());
                    items.swap(place, other);
                }
                2 => {
                    let copy = items.get(place).cloned().unwrap_or(Value::Null);
                    items.insert(place, copy);
                }
                3 => items.truncate(place),
                _ => {
                    if let Some(value) = items.get_mut(place) {
                        change(random, value, depth + 1);
                    }
                }
            }
        }
        _ => *at = strange(random),
    }
}

/// A batch of the node: as an agent writes it, with entries that are changed and stand in the chain as they are, or changed as a whole.
fn batch(node: &mut MadeNode, random: &mut Random) -> anyhow::Result<Vec<u8>> {
    let end = node.end;
    let mut batch = node.batch(u64::try_from(1 + random.below(4))?)?;
    if random.below(2) == 0 {
        node.end = end;
        let items = std::mem::take(&mut batch.items);
        for item in &items {
            let Some(raw) = item.body.full() else { continue };
            let mut entry: Value = serde_json::from_str(raw.0.get())?;
            (0..random.below(3)).for_each(|_| change(random, &mut entry, 0));
            batch.items.push(node.item_of(RawEntry(RawValue::from_string(entry.to_string())?)));
        }
    }
    if random.below(4) == 0 {
        merge_neighbors(&mut batch.items);
    }
    let mut text = serde_json::to_vec(&batch)?;
    if random.below(4) == 0 {
        let mut value: Value = serde_json::from_slice(&text)?;
        (0..1 + random.below(3)).for_each(|_| change(random, &mut value, 0));
        text = serde_json::to_vec(&value)?;
    }
    if random.below(20) == 0 {
        spoil(random, &mut text);
    }
    if random.below(4) > 0 {
        return Ok(text);
    }
    let mut compressed = deflated(&text)?;
    if random.below(4) == 0 {
        spoil(random, &mut compressed);
    }
    Ok(compressed)
}

/// Makes one of each two that the tree of sequences allows it for, with what the first says: nobody can tell from the batch.
fn merge_neighbors(items: &mut Vec<Item<RawEntry>>) {
    let mut merged: Vec<Item<RawEntry>> = Vec::new();
    for item in std::mem::take(items) {
        match merged.last_mut() {
            Some(last) if last.span.parent().is_some_and(|parent| Some(parent) == item.span.parent()) => {
                last.within.push(last.after);
                last.after = item.after;
                last.span = last.span.parent().unwrap_or(last.span);
            }
            _ => merged.push(item),
        }
    }
    *items = merged;
}

/// A question for places, changed or not.
fn places(node: &MadeNode, random: &mut Random) -> anyhow::Result<Vec<u8>> {
    let place = "00".repeat(16);
    let mut value = json!({
        "stream": node.stream,
        "places": (0..random.below(50)).map(|at| json!([at, place])).collect::<Vec<_>>(),
    });
    (0..random.below(3)).for_each(|_| change(random, &mut value, 0));
    Ok(serde_json::to_vec(&value)?)
}

/// Changes, leaves out or adds some bytes.
fn spoil(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, u8::try_from(random.below(256)).unwrap_or(0)),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
}

/// A request with its body.
fn request(node: &mut MadeNode, hub: HubKey, random: &mut Random) -> anyhow::Result<Vec<u8>> {
    let (purpose, path, message) = match random.below(8) {
        0 => (Purpose::Places, "/v1/places", places(node, random)?),
        1 => {
            let mut asked = json!({ "secret": "0".repeat(64), "name": "x", "version": "1" });
            change(random, &mut asked, 0);
            (Purpose::Enrolment, "/v1/enrol", serde_json::to_vec(&asked)?)
        }
        _ => (Purpose::Batch, "/v1/batch", batch(node, random)?),
    };
    let mut body = node.signed(purpose, hub, message);
    if random.below(8) == 0 {
        spoil(random, &mut body);
    }
    let path = if random.below(30) == 0 { "/v1/../hub" } else { path };
    let method = if random.below(40) == 0 { "PUT" } else { "POST" };
    let more = match random.below(60) {
        0 => "Content-Encoding: gzip\r\n",
        1 => "X-\u{e4}: \u{e4}\r\n",
        2 => "Accept: */*\r\nAccept: text/html\r\n",
        _ => "",
    };
    let head = format!("{method} {path} HTTP/1.1\r\nHost: hub\r\n{more}Content-Length: {}\r\n\r\n", body.len());
    Ok([head.as_bytes(), &body].concat())
}

/// Sends until it is over.
pub(super) fn send(
    mut node: MadeNode,
    hub: &HubProcess,
    key: HubKey,
    mut random: Random,
    seen: &Seen,
) -> anyhow::Result<()> {
    let config = client::tls(hub.fingerprint)?;
    let mut client = NodeClient::connect(hub.agents, &config)?;
    let mut refused = 0_u32;
    while !seen.is_over() {
        let (end, slot) = (node.end, node.next_slot);
        let request = request(&mut node, key, &mut random)?;
        // A hub may end a connection whose head it does not understand.
        let Ok(answer) = client.ask(&request) else {
            client = NodeClient::connect(hub.agents, &config)?;
            continue;
        };
        if answer.status != 200 && random.below(10) > 0 {
            // It goes on from what was taken, so that what comes next may be.
            (node.end, node.next_slot) = (end, slot);
        }
        seen.sent.fetch_add(1, Ordering::Relaxed);
        seen.taken.fetch_add(u64::from(answer.status == 200), Ordering::Relaxed);
        seen.look(&answer, || String::from_utf8_lossy(&request).into_owned());
        // With as much refused as is borne with in a day, little of what it sends is looked at: that is tried, and is not all.
        refused += u32::from(answer.status == 429);
        if refused > 100 {
            return Ok(());
        }
    }
    Ok(())
}
