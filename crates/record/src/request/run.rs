//! A measurement that is wanted with all that belongs to its run: what a campaign's file holds, and what an agent is sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::Request;
use crate::Kind;

/// A measurement that is wanted, with what else shall run meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunRequest {
    /// The measurement.
    pub request: Request,
    /// The load; nothing else runs where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRequest>,
}

/// What else shall run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LoadRequest {
    /// A load that is built in, or a load file, whose name has a dot or a slash; absent where a command is the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A command that is the load, run by the shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its CPUs: `all`, `others`, or a list; absent is `others` where the measured CPUs are isolated, else `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Parts of it that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Whether its parts take turns.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rotate: bool,
}

/// Why a run cannot be asked for like this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunRequestError {
    /// Another form, or a field that it does not have.
    #[error("{0}")]
    Form(String),
    /// A load by name and by command.
    #[error("the load has a name and a command: it is one of them")]
    TwoLoads,
    /// A load that is neither.
    #[error("the load has neither a name nor a command")]
    NoLoad,
    /// A kind that takes as many samples as are asked, however long that takes.
    #[error("'{0}' takes as many readings as are asked, and has no duration")]
    NoDuration(&'static str),
}

impl RunRequest {
    /// From JSON.
    ///
    /// # Errors
    /// With the line, where it is of another form; or what is contradictory in it.
    pub fn from_json(text: &str) -> Result<Self, RunRequestError> {
        let request: Self = serde_json::from_str(text).map_err(|error| RunRequestError::Form(error.to_string()))?;
        request.check()?;
        Ok(request)
    }

    /// What no machine could carry out; what this one cannot is found when it is planned there.
    ///
    /// # Errors
    /// Where parts of it contradict each other.
    pub const fn check(&self) -> Result<(), RunRequestError> {
        match &self.load {
            Some(LoadRequest { name: Some(_), command: Some(_), .. }) => Err(RunRequestError::TwoLoads),
            Some(LoadRequest { name: None, command: None, .. }) => Err(RunRequestError::NoLoad),
            _ => Ok(()),
        }
    }

    /// The same with fields that are written over it: a table like its own, of which only what differs is there.
    ///
    /// # Errors
    /// Where a field is not one of this kind's, or the result is contradictory.
    pub fn with(&self, over: &serde_json::Value) -> Result<Self, RunRequestError> {
        let form = |error: serde_json::Error| RunRequestError::Form(error.to_string());
        let mut whole = serde_json::to_value(self).map_err(form)?;
        write_over(&mut whole, over);
        let request: Self = serde_json::from_value(whole).map_err(form)?;
        request.check()?;
        Ok(request)
    }

    /// The same that lasts so long.
    ///
    /// # Errors
    /// Where its kind has no duration.
    pub fn lasting(mut self, duration: Ns) -> Result<Self, RunRequestError> {
        if !self.request.last_for(duration) {
            return Err(RunRequestError::NoDuration(self.kind().name));
        }
        Ok(self)
    }

    /// How long it takes by what it asks; `None` where it ends when it is told to.
    #[must_use]
    pub fn takes(&self) -> Option<Ns> {
        self.request.takes()
    }

    /// The published JSON Schema.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// Its kind of measurement.
    #[must_use]
    pub fn kind(&self) -> &'static Kind {
        self.request.measurement().kind()
    }
}

/// Writes the fields of the request and of the load over those that are there, each field as a whole.
fn write_over(whole: &mut serde_json::Value, over: &serde_json::Value) {
    for (part, fields) in over.as_object().into_iter().flatten() {
        match (whole.get_mut(part).and_then(serde_json::Value::as_object_mut), fields.as_object()) {
            (Some(known), Some(fields)) => known.extend(fields.clone()),
            _ => whole[part] = fields.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Placement, WakeupRequest};

    fn run() -> RunRequest {
        let text = r#"{"request": {"kind": "wakeup", "placement": {"pinned": "1-2"}, "interval": "1ms"}}"#;
        RunRequest::from_json(text).unwrap()
    }

    #[test]
    fn what_is_written_over_replaces_what_it_names_and_nothing_else() {
        let over = json!({"request": {"priority": 80, "placement": "unpinned"}, "load": {"name": "paper"}});
        let changed = run().with(&over).unwrap();
        let Request::Wakeup(request) = &changed.request else { panic!("{changed:?}") };
        assert_eq!((request.priority, request.interval), (80, Ns::from_ms(1)));
        assert_eq!(request.placement, Placement::Unpinned);
        assert_eq!(changed.load.as_ref().unwrap().name.as_deref(), Some("paper"));
        let turning = changed.with(&json!({"load": {"rotate": true}})).unwrap().load.unwrap();
        assert_eq!((turning.name.as_deref(), turning.rotate), (Some("paper"), true));
        let error = |over: serde_json::Value| run().with(&over).unwrap_err().to_string();
        assert!(error(json!({"request": {"threshold": "1us"}})).contains("unknown field `threshold`"));
        assert!(error(json!({"loads": {}})).contains("unknown field `loads`"));
        assert!(error(json!({"load": {}})).contains("neither a name nor a command"));
        assert!(error(json!({"load": {"name": "hard", "command": "true"}})).contains("one of them"));
    }

    #[test]
    fn how_long_it_takes_follows_from_what_it_asks() {
        assert_eq!(run().takes(), Some(Ns::from_s(60)));
        assert_eq!(run().lasting(Ns::from_s(5)).unwrap().takes(), Some(Ns::from_s(5)));
        let hundred = json!({"request": {"end": {"samples": 100}}});
        assert_eq!(run().with(&hundred).unwrap().takes(), Some(Ns::from_ms(100)));
        assert_eq!(run().with(&json!({"request": {"end": "when-told"}})).unwrap().takes(), None);
        let clock = RunRequest::from_json(r#"{"request": {"kind": "clock", "samples": 1000000}}"#).unwrap();
        assert_eq!(clock.takes(), Some(Ns::from_s(1)));
        assert!(clock.lasting(Ns::from_s(1)).unwrap_err().to_string().contains("has no duration"));
    }

    #[test]
    fn it_reads_back_the_same() {
        let load = LoadRequest { command: Some("stress".to_owned()), rotate: false, ..LoadRequest::default() };
        let whole = RunRequest { request: Request::Wakeup(WakeupRequest::default()), load: Some(load) };
        assert_eq!(RunRequest::from_json(&serde_json::to_string(&whole).unwrap()), Ok(whole));
    }
}
