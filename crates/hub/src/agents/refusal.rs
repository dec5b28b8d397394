//! What an agent is answered where nothing was taken.

use std::fmt::Display;

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use farm::monitor::{Refused, RefusedBody};
use store::{BatchError, EnrolError, StoreError};

use crate::readers::NotRead;
use crate::spent::SpentAll;
use crate::writer::Busy;

/// How long a node waits before it asks a busy hub again (s).
const BUSY_WAIT_S: &str = "10";
/// How long a node waits that has sent too much (s): quotas are for a day.
const QUOTA_WAIT_S: &str = "3600";
/// The most bytes of a reason: it may quote what was sent.
const MOST_WHY: usize = 400;

/// A refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    body: RefusedBody,
}

impl Refusal {
    /// A refusal with its reason in words.
    pub(super) fn new(status: StatusCode, refused: Refused, why: &str) -> Self {
        let mut why = units::printable::line(why).into_owned();
        let end = (0..=why.len().min(MOST_WHY)).rev().find(|at| why.is_char_boundary(*at)).unwrap_or(0);
        why.truncate(end);
        Self { status, body: RefusedBody { refused, why } }
    }

    /// The message is none.
    pub(super) fn malformed(error: &impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Refused::Malformed, &error.to_string())
    }

    /// It is not the message's fault.
    pub(super) fn busy(why: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Refused::Busy, &format!("{why}: try again in {BUSY_WAIT_S} s"))
    }

    /// The store cannot do it. What it says names files of the hub's machine: it is for the hub's user.
    pub(super) fn of_store(error: &StoreError) -> Self {
        terminal::output::warning(&error.to_string());
        Self::busy("the hub cannot use its store")
    }

    /// Whether the same message may be taken in a while.
    pub(super) fn is_busy(&self) -> bool {
        self.body.refused == Refused::Busy
    }

    /// Its status.
    #[cfg(test)]
    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let wait = match self.body.refused {
            Refused::Busy => Some(BUSY_WAIT_S),
            Refused::Quota => Some(QUOTA_WAIT_S),
            _ => None,
        };
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(wait) = wait {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(wait));
        }
        response
    }
}

impl From<Busy> for Refusal {
    fn from(_: Busy) -> Self {
        Self::busy("more waits to be written than the hub can write")
    }
}

impl From<NotRead> for Refusal {
    fn from(_: NotRead) -> Self {
        Self::busy("the hub could not look at the message")
    }
}

impl From<SpentAll> for Refusal {
    fn from(error: SpentAll) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, Refused::Quota, &error.to_string())
    }
}

impl From<BatchError> for Refusal {
    fn from(error: BatchError) -> Self {
        let why = error.to_string();
        match error {
            BatchError::NotEnrolled => Self::new(StatusCode::FORBIDDEN, Refused::NotEnrolled, &why),
            BatchError::Revoked => Self::new(StatusCode::FORBIDDEN, Refused::Revoked, &why),
            BatchError::Quota { .. } => Self::new(StatusCode::TOO_MANY_REQUESTS, Refused::Quota, &why),
            BatchError::NotAllowed(_) | BatchError::Sequence { .. } | BatchError::Base => Self::malformed(&why),
            BatchError::Store(error) => Self::of_store(&error),
        }
    }
}

impl From<EnrolError> for Refusal {
    fn from(error: EnrolError) -> Self {
        let why = error.to_string();
        match error {
            EnrolError::NoSuchToken | EnrolError::TokenUsed | EnrolError::TokenEnded => {
                Self::new(StatusCode::FORBIDDEN, Refused::Token, &why)
            }
            EnrolError::AlreadyEnrolled { .. } => Self::new(StatusCode::CONFLICT, Refused::AlreadyEnrolled, &why),
            EnrolError::Revoked => Self::new(StatusCode::FORBIDDEN, Refused::Revoked, &why),
            EnrolError::Name(_) => Self::malformed(&why),
            EnrolError::Store(error) => Self::of_store(&error),
        }
    }
}
