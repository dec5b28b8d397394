//! Why a run was not made.

use std::error::Error;
use std::fmt;

/// That nothing was measured, since the run would have been invalid; it can be made all the same where that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What would make it invalid.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, remedy } = self;
        write!(
            f,
            "nothing was measured, because the run would be invalid: {why}\n  remedy: {remedy}\n  or measure all the same \
             with --anyway; the result is then marked as invalid"
        )
    }
}

impl Error for Refusal {}

/// What a caller does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The request has to be changed: this machine, or any, cannot carry it out as it is written.
    Usage,
    /// The run would have been invalid.
    Refused,
    /// Something of this machine failed.
    Failed,
}

/// Why a run was not made. Its sources tell more.
#[derive(Debug)]
pub enum RunError {
    /// The request cannot be carried out as it is written.
    Usage {
        /// What was done, where the source alone does not say it.
        what: Option<String>,
        /// Why it cannot be.
        why: Box<dyn Error + Send + Sync>,
    },
    /// The run would have been invalid.
    Refused(Refusal),
    /// Something of this machine failed.
    Failed {
        /// What was done, where the source alone does not say it.
        what: Option<String>,
        /// What went wrong.
        why: Box<dyn Error + Send + Sync>,
    },
}

impl RunError {
    /// What the request asks for cannot be.
    pub(crate) fn usage(why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Usage { what: None, why: why.into() }
    }

    /// Something of this machine failed.
    pub(crate) fn failed(why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { what: None, why: why.into() }
    }

    /// The same, with what was done.
    pub(crate) fn while_doing(self, doing: &str) -> Self {
        match self {
            Self::Usage { why, .. } => Self::Usage { what: Some(doing.to_owned()), why },
            Self::Failed { why, .. } => Self::Failed { what: Some(doing.to_owned()), why },
            refused @ Self::Refused(_) => refused,
        }
    }

    /// What a caller does about it.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::Usage { .. } => Class::Usage,
            Self::Refused(_) => Class::Refused,
            Self::Failed { .. } => Class::Failed,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage { what: Some(what), .. } | Self::Failed { what: Some(what), .. } => f.write_str(what),
            Self::Usage { why, .. } | Self::Failed { why, .. } => why.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Usage { what: Some(_), why } | Self::Failed { what: Some(_), why } => Some(why.as_ref()),
            // Said by this error itself.
            Self::Usage { why, .. } | Self::Failed { why, .. } => why.source(),
            Self::Refused(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_its_cause_once() {
        let whole = |error: &RunError| {
            let mut said = vec![error.to_string()];
            let mut source = error.source();
            while let Some(next) = source {
                said.push(next.to_string());
                source = next.source();
            }
            said
        };
        assert_eq!(whole(&RunError::usage("no such CPU")), ["no such CPU"]);
        let failed = RunError::failed("no thread").while_doing("cannot start measuring");
        assert_eq!(whole(&failed), ["cannot start measuring", "no thread"]);
        assert_eq!(failed.class(), Class::Failed);
        let refused = RunError::Refused(Refusal { why: "no right".to_owned(), remedy: "run as root".to_owned() });
        let text = refused.to_string();
        assert!(text.contains("no right") && text.contains("run as root") && text.contains("--anyway"), "{text}");
        assert_eq!(refused.class(), Class::Refused);
    }
}
