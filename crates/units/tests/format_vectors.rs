//! The vectors that hold the viewer's formatter (`web/test/format.test.ts`) to this crate's.

use std::collections::BTreeMap;

use units::format;

#[test]
fn the_viewer_formats_the_same() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/test/format-vectors.json");
    let text = std::fs::read_to_string(path).unwrap();
    let vectors: BTreeMap<String, Vec<(String, String)>> = serde_json::from_str(&text).unwrap();
    assert_eq!(vectors.len(), 6);
    for (name, pairs) in vectors {
        for (value, expected) in pairs {
            let formatted = match name.as_str() {
                "count" => format::count(value.parse().unwrap()),
                "latency" => format::latency(value.parse::<i64>().unwrap()),
                "difference" => format::difference(value.parse::<i64>().unwrap()),
                "microseconds" => format::microseconds(value.parse().unwrap()),
                "span" => format::span(value.parse::<i64>().unwrap()),
                "bytes" => format::bytes(value.parse().unwrap()),
                other => panic!("no formatter is called {other}"),
            };
            assert_eq!(formatted, expected, "{name}({value})");
        }
    }
}
