//! What a node may be asked by others: its local policy file, and the decision about a job.
//!
//! ```toml
//! # Measurements alone, unless this says otherwise.
//! allow = ["measurement", "load"]
//! # Interfaces that jobs may send and receive on; all if absent.
//! interfaces = ["eth1"]
//! # The longest job.
//! longest = "2h"
//! ```

use serde::{Deserialize, Serialize};
use units::Ns;

use crate::{Job, JobClass};

/// What a node may be asked by others. Without a file: measurements, on every interface, of any duration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// Classes of jobs that are allowed (default: `["measurement"]`). An empty list allows none.
    pub allow: Vec<JobClass>,
    /// Names of the network interfaces that jobs may use; if absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<Vec<String>>,
    /// The longest duration of a job (with a unit, above 0; default: unlimited). With it a job that states no duration is
    /// denied.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    pub longest: Option<Ns>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { allow: vec![JobClass::Measurement], interfaces: None, longest: None }
    }
}

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not TOML, or a field is unknown or has the wrong type.
    #[error("{message}\nfields are 'allow' (of {}), 'interfaces' and 'longest'", class_names(&JobClass::ALL))]
    Form {
        /// Line, field and reason.
        message: String,
    },
    /// The longest duration is 0 or negative.
    #[error("'longest' is {0}, which no job can keep: state a duration above 0, or leave the field out to allow any")]
    NoTime(Ns),
    /// An interface whose name no interface can have.
    #[error(
        "'{0}' in 'interfaces' is no name of an interface: it has 1 to 15 bytes, no space and no '/' ('ip link' lists them)"
    )]
    NoInterface(String),
}

/// Why a policy denies a job. It is sent to the node that asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "denied", rename_all = "kebab-case")]
pub enum Denied {
    /// The class is not allowed.
    #[error(
        "its policy does not allow '{class}' jobs ({}): add \"{class}\" to 'allow' in the policy file of that node",
        allowed_text(allowed)
    )]
    Class {
        /// The class of the job.
        class: JobClass,
        /// Classes that are allowed.
        allowed: Vec<JobClass>,
    },
    /// An interface is not allowed.
    #[error(
        "its policy does not allow jobs on '{interface}', only on {}: add it to 'interfaces' in the policy file of that node",
        list_text(allowed)
    )]
    Interface {
        /// The interface of the job.
        interface: String,
        /// Interfaces that are allowed.
        allowed: Vec<String>,
    },
    /// The job uses an interface, and which one is not known.
    #[error(
        "its policy allows jobs only on {}, and which interface the connection uses is not known: connect by an address of one of these",
        list_text(allowed)
    )]
    UnknownInterface {
        /// Interfaces that are allowed.
        allowed: Vec<String>,
    },
    /// The job takes too long.
    #[error(
        "the job takes {takes}, and its policy allows {longest}: ask for less, or raise 'longest' in the policy file of that node"
    )]
    TooLong {
        /// Duration of the job.
        #[serde(with = "units::duration_text")]
        takes: Ns,
        /// The longest that is allowed.
        #[serde(with = "units::duration_text")]
        longest: Ns,
    },
    /// The job states no duration where one is limited.
    #[error("the job states no duration, and its policy allows at most {longest}: state one")]
    Unlimited {
        /// The longest that is allowed.
        #[serde(with = "units::duration_text")]
        longest: Ns,
    },
}

fn class_names(classes: &[JobClass]) -> String {
    classes.iter().map(|class| format!("\"{class}\"")).collect::<Vec<_>>().join(", ")
}

fn allowed_text(classes: &[JobClass]) -> String {
    if classes.is_empty() { "it allows none".to_owned() } else { format!("it allows {}", class_names(classes)) }
}

fn list_text(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl Policy {
    /// Reads a TOML text; an empty one is the default.
    ///
    /// # Errors
    /// With line, field and remedy, where something is unknown or out of bounds.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let policy: Self =
            toml::from_str(text).map_err(|error| PolicyError::Form { message: error.to_string().trim().to_owned() })?;
        if let Some(longest) = policy.longest.filter(|longest| *longest <= Ns::ZERO) {
            return Err(PolicyError::NoTime(longest));
        }
        // The bound is the kernel's IFNAMSIZ with its final zero, the characters are those of dev_valid_name().
        let is_name = |name: &String| (1..=15).contains(&name.len()) && !name.contains(['/', ':', ' ', '\t', '\n']);
        match policy.interfaces.iter().flatten().find(|name| !is_name(name)) {
            Some(name) => Err(PolicyError::NoInterface(name.clone())),
            None => Ok(policy),
        }
    }

    /// Whether another node may ask for this job, where it is not known over which interface that node is connected: with a
    /// list of interfaces, a job that uses the connection's is denied.
    ///
    /// # Errors
    /// As [`Self::judge_on`].
    pub fn judge(&self, job: &Job) -> Result<(), Denied> {
        self.judge_on(job, None)
    }

    /// Whether another node may ask for this job that is connected over this interface; `None` where that is not known.
    ///
    /// # Errors
    /// With the first reason why not.
    pub fn judge_on(&self, job: &Job, connection: Option<&str>) -> Result<(), Denied> {
        if let Some(class) = job.classes().into_iter().find(|class| !self.allow.contains(class)) {
            return Err(Denied::Class { class, allowed: self.allow.clone() });
        }
        if let Some(allowed) = &self.interfaces {
            let connection = connection.filter(|_| job.uses_connection());
            if job.uses_connection() && connection.is_none() {
                return Err(Denied::UnknownInterface { allowed: allowed.clone() });
            }
            let mut used = job.interfaces().iter().map(String::as_str).chain(connection);
            if let Some(interface) = used.find(|name| !allowed.iter().any(|allowed| allowed == name)) {
                return Err(Denied::Interface { interface: interface.to_owned(), allowed: allowed.clone() });
            }
        }
        match (self.longest, job.takes()) {
            (Some(longest), None) => Err(Denied::Unlimited { longest }),
            (Some(longest), Some(takes)) if takes > longest => Err(Denied::TooLong { takes, longest }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use record::RunEnd;

    use super::*;
    use crate::{AskedRequest, AskedRun, AskedWakeup};

    fn wakeup(end: RunEnd) -> Job {
        let request = AskedRequest::Wakeup(AskedWakeup { end, ..AskedWakeup::default() });
        Job::Run(AskedRun { request, load: None })
    }

    fn policy(text: &str) -> Policy {
        Policy::from_toml(text).unwrap()
    }

    #[test]
    fn without_a_file_measurements_are_allowed_and_nothing_else() {
        assert_eq!(policy(""), Policy::default());
        assert_eq!(Policy::default().allow, [JobClass::Measurement]);
        assert_eq!(Policy::default().judge(&wakeup(RunEnd::After(Ns::from_s(60)))), Ok(()));
    }

    #[test]
    fn what_the_policy_does_not_name_is_denied() {
        let job = wakeup(RunEnd::After(Ns::from_s(60)));
        let all = policy("allow = [\"measurement\", \"load\", \"explain\"]\ninterfaces = [\"eth0\"]\nlongest = \"1m\"");
        assert_eq!(all.allow, JobClass::ALL);
        assert_eq!(all.judge(&job), Ok(()));
        let denied = policy("allow = [\"load\"]").judge(&job).unwrap_err();
        assert_eq!(
            denied.to_string(),
            "its policy does not allow 'measurement' jobs (it allows \"load\"): add \"measurement\" to 'allow' in the \
             policy file of that node"
        );
        assert!(policy("allow = []").judge(&job).unwrap_err().to_string().contains("(it allows none)"));
    }

    #[test]
    fn a_job_is_no_longer_than_allowed() {
        let policy = policy("longest = \"1m\"");
        assert_eq!(policy.judge(&wakeup(RunEnd::After(Ns::from_s(60)))), Ok(()));
        let (takes, longest) = (Ns::from_s(61), Ns::from_s(60));
        assert_eq!(policy.judge(&wakeup(RunEnd::After(takes))), Err(Denied::TooLong { takes, longest }));
        assert_eq!(policy.judge(&wakeup(RunEnd::WhenTold)), Err(Denied::Unlimited { longest }));
        assert_eq!(Policy::default().judge(&wakeup(RunEnd::WhenTold)), Ok(()));
    }

    #[test]
    fn a_job_stays_on_the_interfaces_that_are_allowed() {
        let text =
            r#"{"job": "packet", "request": {}, "initiator": {"node": "a", "address": "10.0.0.1", "clock-port": 9}}"#;
        let packets: Job = serde_json::from_str(text).unwrap();
        let policy = policy("interfaces = [\"eth1\", \"eth2\"]");
        let allowed = vec!["eth1".to_owned(), "eth2".to_owned()];
        assert_eq!(policy.judge_on(&packets, Some("eth2")), Ok(()));
        let denied = policy.judge_on(&packets, Some("eth0")).unwrap_err();
        assert!(
            denied.to_string().starts_with("its policy does not allow jobs on 'eth0', only on eth1, eth2:"),
            "{denied}"
        );
        assert_eq!(denied, Denied::Interface { interface: "eth0".to_owned(), allowed: allowed.clone() });
        assert_eq!(policy.judge(&packets), Err(Denied::UnknownInterface { allowed }));
        // What uses no network may be asked over any.
        assert_eq!(policy.judge_on(&wakeup(RunEnd::After(Ns::from_s(60))), Some("eth0")), Ok(()));
        assert_eq!(Policy::default().judge(&packets), Ok(()));
    }

    #[test]
    fn a_load_and_explaining_are_allowed_apart() {
        let of = |text: &str| serde_json::from_str::<Job>(text).unwrap();
        let load = of(r#"{"job": "run", "request": {"kind": "noise"}, "load": {"name": "hard"}}"#);
        let explained = of(r#"{"job": "run", "request": {"kind": "wakeup", "explain": {}}}"#);
        for (job, class) in [(load, JobClass::Load), (explained, JobClass::Explain)] {
            let allowed = vec![JobClass::Measurement];
            assert_eq!(Policy::default().judge(&job), Err(Denied::Class { class, allowed }));
            let both = Policy { allow: vec![JobClass::Measurement, class], ..Policy::default() };
            assert_eq!(both.judge(&job), Ok(()));
            let alone = Policy { allow: vec![class], ..Policy::default() };
            assert!(alone.judge(&job).is_err(), "what is beside a measurement needs that too");
        }
    }

    #[test]
    fn a_bad_file_is_refused_with_line_field_and_remedy() {
        let check = |text: &str, parts: &[&str]| {
            let error = Policy::from_toml(text).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        };
        check("\nalow = []", &["line 2", "unknown field `alow`", "fields are 'allow'"]);
        check("allow = [\"loads\"]", &["line 1", "unknown variant `loads`", "\"load\""]);
        check("allow = \"load\"", &["line 1", "allow = \"load\"", "expected a sequence"]);
        check("longest = \"7\"", &["line 1", "has no unit"]);
        check("longest = \"0s\"", &["'longest' is 0", "above 0"]);
        check("interfaces = [\"eth0\", \"a-name-of-16-byte\"]", &["a-name-of-16-byte", "1 to 15 bytes"]);
        check("interfaces = [\"\"]", &["''"]);
    }

    #[test]
    fn a_denial_reads_back() {
        let allowed = vec!["eth1".to_owned()];
        for denied in [
            Denied::Class { class: JobClass::Load, allowed: vec![JobClass::Measurement] },
            Denied::Interface { interface: "eth0".to_owned(), allowed },
            Denied::TooLong { takes: Ns::from_s(61), longest: Ns::from_s(60) },
            Denied::UnknownInterface { allowed: vec!["eth1".to_owned()] },
            Denied::Unlimited { longest: Ns::from_s(60) },
        ] {
            let text = serde_json::to_string(&denied).unwrap();
            assert_eq!(serde_json::from_str::<Denied>(&text).unwrap(), denied, "{text}");
        }
    }
}
