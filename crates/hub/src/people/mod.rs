//! The people's port: pages and documents. Nobody changes anything here; that is done by commands on the hub's machine.

mod answer;
mod documents;
mod handlers;
mod parts;
mod routes;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

pub(crate) use documents::Status;

use crate::hub::Hub;
use crate::pages;
use crate::sessions::cookie;
use answer::{Failed, HTML};

/// A page may load the hub's own style and script, and ask the hub; nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The routes of the people's port.
pub fn routes(hub: Arc<Hub>) -> Router {
    routes::readable()
        .layer(from_fn_with_state(Arc::clone(&hub), only_sessions))
        // What says nothing of any node is for everybody.
        .route("/link/{secret}", get(redeem))
        .route("/style.css", get(style))
        .route("/fresh.js", get(script))
        .fallback(no_page)
        .layer(from_fn(hardened))
        .with_state(hub)
}

async fn style(headers: HeaderMap) -> Response {
    answer::answer(&headers, "text/css; charset=utf-8", pages::STYLE.to_owned())
}

async fn script(headers: HeaderMap) -> Response {
    answer::answer(&headers, "text/javascript; charset=utf-8", pages::SCRIPT.to_owned())
}

async fn no_page() -> Response {
    Failed::NoSuch("There is nothing here.").page()
}

/// Lets those read who have a session, or everybody where the hub's user said so.
async fn only_sessions(State(hub): State<Arc<Hub>>, request: Request, next: Next) -> Response {
    if hub.is_public || hub.sessions.is_in(request.headers()) {
        return next.run(request).await;
    }
    let sentence = "This browser has no session here. On the hub's machine, this prints a link that makes one:";
    let page = pages::notice("No session", sentence, Some("punctual-hub link"));
    (StatusCode::UNAUTHORIZED, [(CONTENT_TYPE, HTML)], page).into_response()
}

async fn redeem(State(hub): State<Arc<Hub>>, Path(secret): Path<String>) -> Response {
    match hub.sessions.redeem(&secret) {
        Ok(Some(session)) => {
            let headers = [
                (SET_COOKIE, cookie(&session, hub.is_over_tls)),
                (CONTENT_TYPE, HTML.to_owned()),
                (CACHE_CONTROL, "no-store".to_owned()),
            ];
            (headers, pages::welcome()).into_response()
        }
        Ok(None) => {
            let sentence = "This link was used already, or is none. On the hub's machine, this prints another:";
            let page = pages::notice("No link", sentence, Some("punctual-hub link"));
            (StatusCode::FORBIDDEN, [(CONTENT_TYPE, HTML)], page).into_response()
        }
        Err(error) => {
            terminal::output::warning(&error.to_string());
            Failed::Hub("the hub cannot write to its folder: its log says why".to_owned()).page()
        }
    }
}

/// What all answers say to browsers.
async fn hardened(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // A link's secret stands in its address.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
