//! What is read, and how it is shown.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use farm::monitor::{ContentKind, Explaining};
use farm::stream::NodeKey;
use jiff::Timestamp;
use serde::Deserialize;
use store::{ContentAt, FleetRow, HistoryAsked, Read};

use super::answer::{Failed, HTML, answer, document};
use super::documents::{Fleet, Node, NodeHistory, Status};
use super::parts::NodeHistograms;
use crate::clock::now_wall_ns;
use crate::fleet;
use crate::hub::Hub;
use crate::pages::{self, Asked, NodePage, Window};

/// Points of a CPU where nobody says how many.
pub(super) const USUAL_POINTS: usize = 1_000;
/// Points of a CPU at most: two for each pixel of a wide screen.
pub(super) const MOST_POINTS: usize = 10_000;
/// Lines of the log on a node's page.
const MOST_CHANGES: usize = 50;

type Parameters<T> = Result<Query<T>, QueryRejection>;

fn parameters<T>(asked: Parameters<T>) -> Result<T, Failed> {
    asked.map(|Query(asked)| asked).map_err(|error| Failed::Asked(error.to_string()))
}

fn rows(store: &dyn Read) -> Result<Vec<FleetRow>, Failed> {
    let mut rows = store.fleet(now_wall_ns())?;
    fleet::sort(&mut rows);
    Ok(rows)
}

fn key_of(text: &str) -> Result<NodeKey, Failed> {
    text.parse()
        .map_err(|_| Failed::NoSuch("There is no such node: one is called by its key of 64 hexadecimal digits."))
}

fn row_of(store: &dyn Read, key: NodeKey) -> Result<FleetRow, Failed> {
    let found = store.fleet_row(key, now_wall_ns())?;
    found.ok_or(Failed::NoSuch("There is no such node, or it was revoked."))
}

/// Whether a node looks for causes, as it last said.
fn explaining(store: &dyn Read, contents: &[ContentAt]) -> Result<Option<Explaining>, Failed> {
    let latest = contents.iter().rev().find(|content| content.kind == ContentKind::Explaining);
    let content = latest.map(|latest| store.content(latest.hash)).transpose()?.flatten();
    // What a newer agent says otherwise is not shown.
    Ok(content.and_then(|content| serde_json::from_str(&content.text).ok()))
}

/// A page, or the page of why there is none.
fn shown(page: Result<Response, Failed>) -> Response {
    page.unwrap_or_else(|failed| failed.page())
}

pub(super) async fn fleet_page(State(hub): State<Arc<Hub>>, headers: HeaderMap, asked: Parameters<Asked>) -> Response {
    let page = async {
        let asked = parameters(asked)?;
        let html = hub.for_people.read(move |store| Ok::<_, Failed>(pages::fleet(&rows(store)?, &asked))).await??;
        Ok(answer(&headers, HTML, html))
    };
    shown(page.await)
}

/// What stretch of time a page or document is asked for.
#[derive(Debug, Deserialize)]
pub(super) struct Stretch {
    last: Option<String>,
    from: Option<String>,
    to: Option<String>,
    points: Option<usize>,
}

/// A moment: RFC 3339, or ns since 1970. One that ns since 1970 do not reach (before 1677, after 2262) is the first or last that
/// they do.
fn moment(name: &str, text: &str) -> Result<i64, Failed> {
    let by_number = text.parse::<i64>().ok();
    let moment = || {
        let ns = text.parse::<Timestamp>().ok()?.as_nanosecond();
        Some(i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX }))
    };
    by_number.or_else(moment).ok_or_else(|| {
        let example = "2026-11-28T13:05:00Z, or ns since 1970";
        Failed::Asked(format!("{name}={} is no moment: give one as {example}", units::printable::line(text)))
    })
}

impl Stretch {
    fn window(&self) -> Result<Window, Failed> {
        let from_to = match (&self.from, &self.to) {
            (Some(from), Some(to)) => Some((moment("from", from)?, moment("to", to)?)),
            (Some(from), None) => Some((moment("from", from)?, now_wall_ns())),
            (None, Some(_)) => return Err(Failed::Asked("'to' without 'from': give both".to_owned())),
            (None, None) => None,
        };
        if from_to.is_some_and(|(from, to)| from >= to) {
            return Err(Failed::Asked("'from' is not before 'to'".to_owned()));
        }
        let is_known = |last: &str| pages::SPANS.iter().any(|(word, ..)| *word == last);
        if let Some(last) = self.last.as_deref().filter(|last| !is_known(last)) {
            let (last, known) = (units::printable::line(last), pages::SPANS.map(|(word, ..)| word).join(", "));
            return Err(Failed::Asked(format!(
                "last={last} is not understood: give one of {known}, or 'from' and 'to'"
            )));
        }
        Ok(Window::new(now_wall_ns(), self.last.as_deref(), from_to))
    }
}

pub(super) async fn node_page(
    State(hub): State<Arc<Hub>>,
    headers: HeaderMap,
    Path(key): Path<String>,
    asked: Parameters<Stretch>,
) -> Response {
    let page = async {
        let (key, window) = (key_of(&key)?, parameters(asked)?.window()?);
        let read = move |store: &dyn Read| {
            let row = row_of(store, key)?;
            let contents = store.contents(key)?;
            let condition = row.condition.map(|hash| store.content(hash)).transpose()?.flatten();
            Ok::<_, Failed>(pages::node(&NodePage {
                history: store.history(key, &window.asked())?,
                explaining: explaining(store, &contents)?,
                histograms: match window.is_short() {
                    true => Some(store.histograms(key, window.from_utc_ns, window.to_utc_ns)?),
                    false => None,
                },
                profiles: pages::profiles_of(store, &contents)?,
                contents,
                condition: condition.map(|content| content.text),
                audit: store.audit(Some(key), MOST_CHANGES)?,
                window,
                row,
            }))
        };
        let html = hub.for_people.read(read).await??;
        Ok(answer(&headers, HTML, html))
    };
    shown(page.await)
}

pub(super) async fn fleet_document(
    State(hub): State<Arc<Hub>>,
    headers: HeaderMap,
    asked: Parameters<Asked>,
) -> Result<Response, Failed> {
    let asked = parameters(asked)?;
    let rows = hub.for_people.read(rows).await??;
    let wanted = rows.into_iter().filter(|row| pages::is_wanted(row, &asked.q)).collect();
    document(&headers, &Fleet::new(hub.keys.hub().to_string(), wanted))
}

pub(super) async fn node_document(
    State(hub): State<Arc<Hub>>,
    headers: HeaderMap,
    Path(key): Path<String>,
) -> Result<Response, Failed> {
    let key = key_of(&key)?;
    let row = hub.for_people.read(move |store| row_of(store, key)).await??;
    document(&headers, &Node::new(row))
}

pub(super) async fn history_document(
    State(hub): State<Arc<Hub>>,
    headers: HeaderMap,
    Path(key): Path<String>,
    asked: Parameters<Stretch>,
) -> Result<Response, Failed> {
    let (key, asked) = (key_of(&key)?, parameters(asked)?);
    let most_points = asked.points.unwrap_or(USUAL_POINTS);
    if !(1..=MOST_POINTS).contains(&most_points) {
        return Err(Failed::Asked(format!("{most_points} points: 1 to {MOST_POINTS} can be asked for")));
    }
    let Window { from_utc_ns, to_utc_ns, .. } = asked.window()?;
    let read = move |store: &dyn Read| {
        row_of(store, key)?;
        let history = store.history(key, &HistoryAsked { from_utc_ns, to_utc_ns, most_points })?;
        Ok::<_, Failed>((history, explaining(store, &store.contents(key)?)?))
    };
    let (history, explaining) = hub.for_people.read(read).await??;
    document(&headers, &NodeHistory::new((from_utc_ns, to_utc_ns), history, explaining))
}

pub(super) async fn histograms_document(
    State(hub): State<Arc<Hub>>,
    headers: HeaderMap,
    Path(key): Path<String>,
    asked: Parameters<Stretch>,
) -> Result<Response, Failed> {
    let (key, asked) = (key_of(&key)?, parameters(asked)?);
    let Window { from_utc_ns, to_utc_ns, .. } = asked.window()?;
    let read = move |store: &dyn Read| {
        row_of(store, key)?;
        Ok::<_, Failed>(store.histograms(key, from_utc_ns, to_utc_ns)?)
    };
    let histograms = hub.for_people.read(read).await??;
    document(&headers, &NodeHistograms::new((from_utc_ns, to_utc_ns), histograms))
}

pub(super) async fn status_document(State(hub): State<Arc<Hub>>, headers: HeaderMap) -> Result<Response, Failed> {
    let read = |store: &dyn Read| Ok::<_, Failed>((rows(store)?, store.last_backup()?));
    let (rows, last_backup_utc_ns) = hub.for_people.read(read).await??;
    let of = (hub.keys.hub().to_string(), hub.epoch);
    document(&headers, &Status::new(of, &rows, last_backup_utc_ns, now_wall_ns()))
}

pub(super) async fn description(State(hub): State<Arc<Hub>>, headers: HeaderMap) -> Response {
    match document(&headers, &super::routes::open_api(hub.is_public)) {
        Ok(response) => response,
        Err(failed) => failed.into_response(),
    }
}
