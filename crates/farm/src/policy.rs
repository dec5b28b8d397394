//! What a node may be asked by others: its local policy file, and the decision about a job.
//!
//! ```toml
//! # Measurements alone, unless this says otherwise.
//! allow = ["measurement", "tune"]
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
    /// The job would start a command of the asking node's choice.
    #[error(
        "the job contains a command line, and no node runs one for another: start the program on that node, and ask by its process ID"
    )]
    Command,
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

    /// Whether another node may ask for this job.
    ///
    /// # Errors
    /// With the first reason why not.
    pub fn judge(&self, job: &Job) -> Result<(), Denied> {
        let class = job.class();
        if !self.allow.contains(&class) {
            return Err(Denied::Class { class, allowed: self.allow.clone() });
        }
        if job.command().is_some() {
            return Err(Denied::Command);
        }
        if let Some(allowed) = &self.interfaces {
            if let Some(interface) = job.interfaces().iter().find(|name| !allowed.contains(name)) {
                return Err(Denied::Interface { interface: interface.clone(), allowed: allowed.clone() });
            }
        }
        match (self.longest, job.takes()) {
            (Some(longest), None) => Err(Denied::Unlimited { longest }),
            (Some(longest), Some(takes)) if takes > longest => Err(Denied::TooLong { takes, longest }),
            _ => Ok(()),
        }
    }
}
