//! What people ask for: every route of the description with parameters that are drawn, and every answer held against its stated form.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, ensure};
use farm::stream::NodeKey;
use serde_json::Value;
use units::Random;

use super::{Seen, form, person};

/// Values that parameters have; what is no unreserved character stands as it has to in an address.
const VALUES: [&str; 26] = [
    "",
    "0",
    "1",
    "-1",
    "200",
    "10000",
    "10001",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "1790000000000000000",
    "1970-01-01T00%3A00%3A00Z",
    "2026-11-28T13%3A05%3A00Z",
    "-009999-01-01T00%3A00%3A00Z",
    "9999-12-31T23%3A59%3A59Z",
    "1d",
    "112d",
    "1y",
    "7x",
    "node",
    "%00",
    "%ff%fe",
    "%3Cscript%3E",
    "a%20b%20c%20d",
    "%E2%80%AE",
];

fn drawn(random: &mut Random) -> String {
    let value = VALUES.get(random.below(VALUES.len())).copied().unwrap_or_default();
    if random.below(20) == 0 { value.repeat(1 + random.below(300)) } else { value.to_owned() }
}

/// Asks until it is over.
pub(super) fn read(people: SocketAddr, nodes: [NodeKey; 2], mut random: Random, seen: &Seen) -> anyhow::Result<()> {
    let mut client = person(people)?;
    let description = client.get("/api/v1/openapi.json")?;
    ensure!(description.status == 200, "no description: {}", description.status);
    let description: Value = serde_json::from_slice(&description.body)?;
    let routes = description.get("paths").and_then(Value::as_object).context("a description without routes")?;
    ensure!(routes.len() >= 6, "a description of {} routes", routes.len());
    while !seen.is_over() {
        for (route, operation) in routes {
            let get = operation.get("get").context("a route that cannot be read")?;
            let path = path(route, get, nodes, &mut random);
            let Ok(answer) = client.get(&path) else {
                client = person(people)?;
                continue;
            };
            seen.asked.fetch_add(1, Ordering::Relaxed);
            seen.look(&answer, || path.clone());
            let stated = get.get("responses").and_then(|all| all.get(answer.status.to_string()));
            // Too long an address is refused before it is any route's.
            if stated.is_none() && ![414, 431].contains(&answer.status) {
                seen.wrong(format!("{path} is answered {}, which its description does not have", answer.status));
            }
            let form = stated.and_then(|stated| stated.pointer("/content/application~1json/schema"));
            let Some(form) = form.filter(|_| answer.status == 200) else { continue };
            let document: Value = match serde_json::from_slice(&answer.body) {
                Ok(document) => document,
                Err(error) => {
                    seen.wrong(format!("{path} is no JSON: {error}"));
                    continue;
                }
            };
            if let Err(why) = form::check(&document, form, &description) {
                seen.wrong(format!("{path} has not the form that is stated: {why}"));
            }
        }
    }
    Ok(())
}

/// A route with drawn parameters.
fn path(route: &str, get: &Value, nodes: [NodeKey; 2], random: &mut Random) -> String {
    let known = nodes.get(random.below(2)).map(ToString::to_string).unwrap_or_default();
    let key = match random.below(8) {
        0 => drawn(random),
        1 => "0".repeat(64),
        2 => known.to_uppercase(),
        _ => known,
    };
    // An empty one would make another route of it.
    let mut path = route.replace("{key}", if key.is_empty() { "x" } else { &key });
    let parameters = get.get("parameters").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let queries = parameters.iter().filter(|of| of.get("in").and_then(Value::as_str) == Some("query"));
    let mut sign = '?';
    for name in queries.filter_map(|of| of.get("name").and_then(Value::as_str)).chain(["unknown"]) {
        if random.below(3) == 0 {
            path.push(sign);
            path.push_str(&format!("{name}={}", drawn(random)));
            sign = '&';
        }
    }
    path
}
