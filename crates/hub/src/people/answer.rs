//! Answers of the people's port: with a tag, by which a browser learns cheaply that nothing has changed.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::keys::{hexadecimal, sha256};
use crate::pages;
use crate::readers::NotRead;

/// Digits of a tag: of two contents that one browser sees one after the other they differ.
const TAG_DIGITS: usize = 32;

/// A page.
pub(super) const HTML: &str = "text/html; charset=utf-8";
/// A document.
pub(super) const JSON: &str = "application/json";

/// An answer, or nothing where who asks has it already.
pub(super) fn answer(headers: &HeaderMap, content_type: &'static str, body: String) -> Response {
    let digits = hexadecimal(sha256(body.as_bytes()));
    let tag = format!("\"{}\"", digits.get(..TAG_DIGITS).unwrap_or_default());
    let has_it = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        // What a proxy compressed comes back as a weak tag.
        value.split(',').any(|one| one.trim().trim_start_matches("W/") == tag || one.trim() == "*")
    });
    let mut response = if has_it { StatusCode::NOT_MODIFIED.into_response() } else { body.into_response() };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// A document as JSON.
pub(super) fn document(headers: &HeaderMap, document: &impl Serialize) -> Result<Response, Failed> {
    let mut text = serde_json::to_string(document).map_err(|error| Failed::Hub(error.to_string()))?;
    text.push('\n');
    Ok(answer(headers, JSON, text))
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// There is no such thing.
    NoSuch(&'static str),
    /// What was asked is not understood.
    Asked(String),
    /// The hub's own fault.
    Hub(String),
}

impl From<NotRead> for Failed {
    fn from(error: NotRead) -> Self {
        Self::Hub(error.to_string())
    }
}

impl From<store::StoreError> for Failed {
    fn from(error: store::StoreError) -> Self {
        // What it says names files of the hub's machine: it is for the hub's user.
        terminal::output::warning(&error.to_string());
        Self::Hub("the hub cannot read its store: its log says why".to_owned())
    }
}

impl Failed {
    fn parts(&self) -> (StatusCode, &str) {
        match self {
            Self::NoSuch(what) => (StatusCode::NOT_FOUND, what),
            Self::Asked(why) => (StatusCode::BAD_REQUEST, why),
            Self::Hub(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
        }
    }

    /// As a page.
    pub(super) fn page(&self) -> Response {
        let (status, why) = self.parts();
        (status, [(CONTENT_TYPE, HTML)], pages::notice("Not shown", why, None)).into_response()
    }
}

/// What a document's asker is told.
#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
}

/// As JSON.
impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let (status, error) = self.parts();
        (status, axum::Json(ErrorBody { error })).into_response()
    }
}
