//! The request for a whole run: a measurement with its load. Campaign files hold these, and agents receive them.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use units::Ns;

use super::{LocalAddress, LocalCommand, LocalPath, Request};
use crate::Kind;

/// A request for a measurement together with the load that runs during it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunRequest {
    /// What is measured, and how.
    pub request: Request,
    /// The load; if absent, nothing else is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRequest>,
    /// The other nodes, where a run needs some: one, or a list of them.
    #[serde(default, with = "partners", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<OneOrMore>")]
    pub partner: Vec<PartnerRequest>,
}

/// The node that takes part in a run beside the one that carries it out: there `punctual listen` runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PartnerRequest {
    /// Its address or name, and the port where it is not the usual one: `192.168.1.7`, `[fd00::7]:7810`.
    pub to: LocalAddress,
    /// The file with its token, as `punctual listen --token-file` wrote it. The token itself never stands in a request.
    pub token_file: LocalPath,
}

/// Partners as a request has them: one is written without a list.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMore {
    /// The only one.
    One(PartnerRequest),
    /// Several, in the order in which they are served.
    More(Vec<PartnerRequest>),
}

impl<'de> Deserialize<'de> for OneOrMore {
    /// Chooses by the form, since trying both would leave no word of what is wrong with either.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        let read = if value.is_array() {
            serde_json::from_value(value).map(Self::More)
        } else {
            serde_json::from_value(value).map(Self::One)
        };
        read.map_err(D::Error::custom)
    }
}

/// Partners in the form of a request: one without a list, several as a list.
pub mod partners {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{OneOrMore, PartnerRequest};

    /// Writes one without a list.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(partners: &[PartnerRequest], to: S) -> Result<S::Ok, S::Error> {
        match partners {
            [one] => one.serialize(to),
            more => more.serialize(to),
        }
    }

    /// Reads one, a list, or `null` for none.
    ///
    /// # Errors
    /// Where it is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PartnerRequest>, D::Error> {
        Ok(match Option::deserialize(from)? {
            None => Vec::new(),
            Some(OneOrMore::One(one)) => vec![one],
            Some(OneOrMore::More(more)) => more,
        })
    }
}

/// The load that runs during a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LoadRequest {
    /// A built-in load, or the path of a load file, which has a dot or a slash. Absent if a command is the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<LocalPath>,
    /// A shell command that is the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<LocalCommand>,
    /// CPUs for the load: `all`, `others`, or a list. Default: `others` if the measured CPUs are isolated, else `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Names of the load's parts to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Whether the parts run in turns instead of all at the same time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rotate: bool,
}

/// Why a request for a run is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunRequestError {
    /// Not valid JSON, or a field is unknown or has the wrong type.
    #[error("{0}")]
    Form(String),
    /// The load has both a name and a command.
    #[error("the load has a name and a command: give only one of them")]
    TwoLoads,
    /// The load has neither a name nor a command.
    #[error("the load has neither a name nor a command: give one of them")]
    NoLoad,
    /// The kind needs a partner.
    #[error(
        "'{0}' needs a second node: start 'punctual listen --token-file FILE' there, and name it here as \
         partner = {{ to = \"HOST\", token-file = \"FILE\" }}"
    )]
    NoPartner(&'static str),
    /// The kind is carried out by one node.
    #[error("'{0}' is carried out by one node: leave the partner out")]
    Partner(&'static str),
    /// The kind takes fewer partners.
    #[error("'{kind}' takes {most} partner{} and has {given}: leave some out", if *.most == 1 { "" } else { "s" })]
    Partners {
        /// The kind, as users type it.
        kind: &'static str,
        /// How many there are.
        given: usize,
        /// How many there can be.
        most: usize,
    },
    /// A load with a kind that runs on several nodes.
    #[error("'{0}' runs on several nodes, and none of its loads would be known to the others: start loads beside it")]
    LoadOfTwo(&'static str),
    /// A duration was set for a kind that takes a number of samples, however long that takes.
    #[error("'{0}' takes a number of readings and has no duration: set the number of readings instead")]
    NoDuration(&'static str),
}

impl RunRequest {
    /// Parses a request from JSON.
    ///
    /// # Errors
    /// If the text is not a valid request (the message has the line), or if [`check`](Self::check) fails.
    pub fn from_json(text: &str) -> Result<Self, RunRequestError> {
        let request: Self = serde_json::from_str(text).map_err(|error| RunRequestError::Form(error.to_string()))?;
        request.check()?;
        Ok(request)
    }

    /// Finds contradictions that no machine could run. What a particular machine cannot do is found when the run is
    /// planned there.
    ///
    /// # Errors
    /// If parts of the request contradict each other.
    pub fn check(&self) -> Result<(), RunRequestError> {
        let name = self.kind().name;
        match (self.kind().most_partners, self.partner.len()) {
            (0, 0) => {}
            (0, _) => return Err(RunRequestError::Partner(name)),
            (_, 0) => return Err(RunRequestError::NoPartner(name)),
            (most, given) if given > most => return Err(RunRequestError::Partners { kind: name, given, most }),
            _ if self.load.is_some() => return Err(RunRequestError::LoadOfTwo(name)),
            _ => {}
        }
        match &self.load {
            Some(LoadRequest { name: Some(_), command: Some(_), .. }) => Err(RunRequestError::TwoLoads),
            Some(LoadRequest { name: None, command: None, .. }) => Err(RunRequestError::NoLoad),
            _ => Ok(()),
        }
    }

    /// A copy with some fields overridden. `over` has the form of a request and holds only the fields that differ.
    ///
    /// # Errors
    /// If a field is unknown for this kind, or if [`check`](Self::check) fails for the result.
    pub fn with(&self, over: &serde_json::Value) -> Result<Self, RunRequestError> {
        let form = |error: serde_json::Error| RunRequestError::Form(error.to_string());
        let mut whole = serde_json::to_value(self).map_err(form)?;
        write_over(&mut whole, over);
        let request: Self = serde_json::from_value(whole).map_err(form)?;
        request.check()?;
        Ok(request)
    }

    /// The same request with another duration.
    ///
    /// # Errors
    /// If its kind has no duration.
    pub fn lasting(mut self, duration: Ns) -> Result<Self, RunRequestError> {
        if !self.request.last_for(duration) {
            return Err(RunRequestError::NoDuration(self.kind().name));
        }
        Ok(self)
    }

    /// How long the run takes according to its parameters; `None` if it runs until it is stopped.
    #[must_use]
    pub fn takes(&self) -> Option<Ns> {
        self.request.takes()
    }

    /// The requested kind of measurement, with its properties.
    #[must_use]
    pub fn kind(&self) -> &'static Kind {
        self.request.measurement().kind()
    }
}

/// Overrides fields of the request and of the load. A field is replaced as a whole, without merging its members.
fn write_over(whole: &mut serde_json::Value, over: &serde_json::Value) {
    for (part, fields) in over.as_object().into_iter().flatten() {
        match (whole.get_mut(part).and_then(serde_json::Value::as_object_mut), fields.as_object()) {
            (Some(known), Some(fields)) => known.extend(fields.clone()),
            _ => whole[part] = fields.clone(),
        }
    }
}

schemars::only_where_made! {
    impl RunRequest {
        /// The published JSON Schema.
        #[must_use]
        pub fn json_schema() -> serde_json::Value {
            schemars::schema_for!(Self).to_value()
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
    fn overriding_replaces_the_named_fields_only() {
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
        assert!(error(json!({"load": {"name": "hard", "command": "true"}})).contains("only one of them"));
    }

    #[test]
    fn a_partner_goes_with_the_kinds_that_two_nodes_carry_out() {
        let parse = |text: &str| RunRequest::from_json(text).map_err(|error| error.to_string());
        let partner = r#""partner": {"to": "10.0.0.2", "token-file": "/run/token"}"#;
        let packets = parse(&format!(r#"{{"request": {{"kind": "packet", "path": "xdp"}}, {partner}}}"#)).unwrap();
        assert_eq!(&*packets.partner[0].to, "10.0.0.2");
        let over = json!({"partner": {"to": "10.0.0.3"}});
        assert_eq!(packets.with(&over).unwrap().partner[0].token_file, "/run/token".into());
        assert!(parse(r#"{"request": {"kind": "packet"}}"#).unwrap_err().contains("punctual listen"));
        assert!(
            parse(&format!(r#"{{"request": {{"kind": "wakeup"}}, {partner}}}"#))
                .unwrap_err()
                .contains("leave the partner out")
        );
        let loaded = format!(r#"{{"request": {{"kind": "packet"}}, "load": {{"name": "hard"}}, {partner}}}"#);
        assert!(parse(&loaded).unwrap_err().contains("beside it"));
    }

    #[test]
    fn what_is_wrong_with_a_partner_is_said_and_null_is_none() {
        let error = |partner: &str| {
            let text = format!(r#"{{"request": {{"kind": "packet"}}, "partner": {partner}}}"#);
            RunRequest::from_json(&text).unwrap_err().to_string()
        };
        let typo = error(r#"{"to": "lime2", "token_file": "t"}"#);
        assert!(typo.contains("unknown field `token_file`, expected `to` or `token-file`"), "{typo}");
        assert!(typo.contains("line 1"), "{typo}");
        let missing = error(r#"[{"to": "lime2", "token-file": "t"}, {"to": "lime3"}]"#);
        assert!(missing.contains("missing field `token-file`"), "{missing}");
        assert!(error("7").contains("invalid type: integer `7`"), "{}", error("7"));
        assert!(error("null").contains("needs a second node"), "{}", error("null"));
        let alone = RunRequest::from_json(r#"{"request": {"kind": "wakeup"}, "partner": null}"#).unwrap();
        assert!(alone.partner.is_empty());
    }

    #[test]
    fn the_duration_follows_from_the_request() {
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
    fn a_request_survives_a_round_trip_through_json() {
        let load = LoadRequest { command: Some("stress".into()), rotate: false, ..LoadRequest::default() };
        let whole =
            RunRequest { request: Request::Wakeup(WakeupRequest::default()), load: Some(load), partner: Vec::new() };
        assert_eq!(RunRequest::from_json(&serde_json::to_string(&whole).unwrap()), Ok(whole));
    }
}
