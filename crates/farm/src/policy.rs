//! What a node may be asked by others: its local policy file, and the decision about a job.
//!
//! ```toml
//! # Measurements alone, unless this says otherwise.
//! allow = ["measurement", "load"]
//! # Interfaces that jobs may send and receive on; all if absent.
//! interfaces = ["eth1"]
//! # The longest job.
//! longest = "2h"
//! # What may be switched, by this name and no other way.
//! [[output]]
//! name = "valve"
//! line = "gpiochip0/17"
//! # or a data pin of a parallel port: port = "parport0/D3"
//! longest-pulse = "10ms"
//! highest-rate = 1000
//! ```

use record::{NO_OUTPUT, PulseRequest, PulseShape};
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
    /// The outputs that jobs may switch, by their names; without any there is only `none`, which switches nothing.
    #[serde(rename = "output", skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputPolicy>,
}

/// An output that jobs may switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutputPolicy {
    /// The name by which a job asks for it: 1 to 64 letters, digits, hyphens and underscores, other than `none`.
    pub name: String,
    /// The GPIO line, `CHIP/LINE`: the chip by its name, the line by its number or by the name that the board gives it. An output
    /// has a line or a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The data pin of a parallel port, `PORT/PIN`: the port by its name, the pin from D0 to D7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Whether its low level is the active one (default: no). The other level is the safe one.
    #[serde(default)]
    pub active_low: bool,
    /// How long it may be active at once (1 us to 1 h; default: 1 s).
    #[serde(default = "longest_pulse", with = "units::duration_text")]
    pub longest_pulse: Ns,
    /// How often it may become active in a second (1 to 100000; default: 10000).
    #[serde(default = "highest_rate")]
    pub highest_rate: u32,
}

const fn longest_pulse() -> Ns {
    Ns::from_s(1)
}

const fn highest_rate() -> u32 {
    10_000
}

impl OutputPolicy {
    /// From one act to the next, at least.
    #[must_use]
    pub fn least_apart(&self) -> Ns {
        Ns(1_000_000_000 / i64::from(self.highest_rate.max(1)))
    }

    fn check(&self) -> Result<(), PolicyError> {
        let wrong =
            |what: &'static str, bound: &'static str| Err(PolicyError::Output { name: self.name.clone(), what, bound });
        let is_name = (1..=64).contains(&self.name.len())
            && self.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
            && self.name != NO_OUTPUT;
        let is_line =
            |named: &str| named.rsplit_once('/').is_some_and(|(chip, line)| !chip.is_empty() && !line.is_empty());
        let is_pin = |named: &str| {
            named
                .rsplit_once("/D")
                .is_some_and(|(port, pin)| !port.is_empty() && matches!(pin.as_bytes(), [b'0'..=b'7']))
        };
        if !is_name {
            wrong("name", "1 to 64 letters, digits, hyphens and underscores, and not 'none', which switches nothing")
        } else if self.line.is_some() == self.port.is_some() {
            Err(PolicyError::NoPlace(self.name.clone()))
        } else if self.line.as_ref().is_some_and(|named| !is_line(named)) {
            wrong("line", "CHIP/LINE, for example \"gpiochip0/17\"")
        } else if self.port.as_ref().is_some_and(|named| !is_pin(named)) {
            wrong("port", "PORT/PIN with a pin from D0 to D7, for example \"parport0/D3\"")
        } else if !(Ns::from_us(1)..=Ns::from_s(3_600)).contains(&self.longest_pulse) {
            wrong("longest-pulse", "1us to 1h")
        } else if !(1..=100_000).contains(&self.highest_rate) {
            wrong("highest-rate", "1 to 100000 in a second")
        } else {
            Ok(())
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self { allow: vec![JobClass::Measurement], interfaces: None, longest: None, outputs: Vec::new() }
    }
}

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not TOML, or a field is unknown or has the wrong type.
    #[error("{message}\nfields are 'allow' (of {}), 'interfaces', 'longest' and tables [[output]]", class_names(&JobClass::ALL))]
    Form {
        /// Line, field and reason.
        message: String,
    },
    /// The longest duration is 0 or negative.
    #[error("'longest' is {0}, which no job can keep: state a duration above 0, or leave the field out to allow any")]
    NoTime(Ns),
    /// A field of an output is out of its bounds.
    #[error("'{what}' of the output '{name}' has to be {bound}")]
    Output {
        /// The name of the output whose entry is wrong.
        name: String,
        /// The field of its entry, as it is written in the file.
        what: &'static str,
        /// What it can be.
        bound: &'static str,
    },
    /// An output that is nowhere, or in two places.
    #[error(
        "the output '{0}' has to have either 'line', a GPIO line as \"gpiochip0/17\", or 'port', a data pin of a parallel port as \"parport0/D3\""
    )]
    NoPlace(String),
    /// Two outputs of one name.
    #[error("there are two outputs '{0}': a job could mean either")]
    TwoOutputs(String),
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
    /// The job names an output that there is not.
    #[error(
        "its policy has no output '{name}' (it has {}): ask for one of these, or add an [[output]] to the policy file of that node",
        list_text(there)
    )]
    NoOutput {
        /// The output of the job.
        name: String,
        /// The outputs that there are.
        there: Vec<String>,
    },
    /// The output may not be active for so long.
    #[error(
        "{} {takes}, and its policy allows '{name}' {longest}: ask for a {}, or raise 'longest-pulse' there",
        pulse_text(*shape, *is_marked).0, pulse_text(*shape, *is_marked).1
    )]
    Pulse {
        /// The name of the output that the job asks for.
        name: String,
        /// What the output is to do.
        #[serde(default)]
        shape: PulseShape,
        /// Whether some pulses mark orders: those are twice as long.
        #[serde(default)]
        is_marked: bool,
        /// How long it would be active.
        #[serde(with = "units::duration_text")]
        takes: Ns,
        /// How long it may be.
        #[serde(with = "units::duration_text")]
        longest: Ns,
    },
    /// The output may not be switched so often.
    #[error(
        "an order each {interval} is more often than its policy allows '{name}' ({highest} in a second): ask for a longer interval, or \
         raise 'highest-rate' there"
    )]
    Rate {
        /// The name of the output that the job asks for.
        name: String,
        /// The interval of the job.
        #[serde(with = "units::duration_text")]
        interval: Ns,
        /// How often it may become active in a second.
        highest: u32,
    },
    /// The job states no duration where one is limited.
    #[error("the job states no duration, and its policy allows at most {longest}: state one")]
    Unlimited {
        /// The longest that is allowed.
        #[serde(with = "units::duration_text")]
        longest: Ns,
    },
}

/// How a pulse that is too long is called, and what is to be asked for in its place.
const fn pulse_text(shape: PulseShape, is_marked: bool) -> (&'static str, &'static str) {
    match (shape, is_marked) {
        (PulseShape::Square, _) => ("half of an interval is", "shorter interval"),
        (PulseShape::Pulse, true) => ("a pulse with a mark is twice as wide, which takes", "smaller width"),
        (PulseShape::Pulse, false) => ("a pulse takes", "smaller width"),
    }
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
        policy.outputs.iter().try_for_each(OutputPolicy::check)?;
        let mut names: Vec<&String> = policy.outputs.iter().map(|output| &output.name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PolicyError::TwoOutputs(pair[0].clone()));
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

    /// The output that a job asks for; `None` is one that switches nothing.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn output(&self, name: &str) -> Result<Option<&OutputPolicy>, Denied> {
        if name == NO_OUTPUT {
            return Ok(None);
        }
        let there = || self.outputs.iter().map(|output| output.name.clone()).chain([NO_OUTPUT.to_owned()]).collect();
        let found = self.outputs.iter().find(|output| output.name == name);
        found.map(Some).ok_or_else(|| Denied::NoOutput { name: name.to_owned(), there: there() })
    }

    fn judge_output(&self, request: &PulseRequest) -> Result<(), Denied> {
        let Some(output) = self.output(&request.output)? else { return Ok(()) };
        let name = output.name.clone();
        // A marked pulse is twice as long.
        let takes = Ns(request.active().0.saturating_mul(if request.mark.is_some() { 2 } else { 1 }));
        if takes > output.longest_pulse {
            let (shape, is_marked) = (request.shape, request.mark.is_some());
            return Err(Denied::Pulse { name, shape, is_marked, takes, longest: output.longest_pulse });
        }
        if request.interval < output.least_apart() {
            return Err(Denied::Rate { name, interval: request.interval, highest: output.highest_rate });
        }
        Ok(())
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
        if let Some(job) = job.pulses() {
            self.judge_output(&job.request)?;
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
        let all = policy(
            "allow = [\"measurement\", \"load\", \"explain\", \"output\"]\ninterfaces = [\"eth0\"]\nlongest = \"1m\"",
        );
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
        let output = |rest: &str| format!("[[output]]\nname = \"valve\"\nline = \"gpiochip0/1\"\n{rest}");
        check(&output("longest-pulse = \"0s\""), &["'longest-pulse' of the output 'valve'", "1us to 1h"]);
        check(&output("highest-rate = 0"), &["'highest-rate'", "1 to 100000"]);
        check(&output("pin = 3"), &["line 4", "unknown field `pin`"]);
        check(&output(&output("")), &["two outputs 'valve'"]);
        check(&output("").replace("valve", "none"), &["'name' of the output 'none'"]);
        check(&output("").replace("gpiochip0/1", "17"), &["'line' of the output 'valve'", "CHIP/LINE"]);
        check(&output("port = \"parport0/D1\""), &["the output 'valve'", "either 'line'", "or 'port'"]);
        check("[[output]]\nname = \"valve\"", &["the output 'valve'", "either 'line'", "or 'port'"]);
        for pin in ["parport0", "parport0/1", "parport0/D8", "parport0/D11", "/D1"] {
            let text = format!("[[output]]\nname = \"valve\"\nport = \"{pin}\"");
            check(&text, &["'port' of the output 'valve'", "from D0 to D7"]);
        }
        for pin in ["parport0/D0", "/dev/parport1/D7"] {
            let outputs = policy(&format!("[[output]]\nname = \"valve\"\nport = \"{pin}\"")).outputs;
            assert_eq!((outputs[0].line.as_deref(), outputs[0].port.as_deref()), (None, Some(pin)));
        }
    }

    #[test]
    fn an_output_is_switched_by_its_name_alone_and_as_its_policy_allows() {
        let pulses = |fields: &str| {
            let text = format!(
                r#"{{"job": "pulse", "flow": 0, "request": {{{fields}}}, "server": {{"node": "a", "clock-port": 9}}}}"#
            );
            serde_json::from_str::<Job>(&text).unwrap()
        };
        let allowed = policy(
            "allow = [\"measurement\", \"output\"]\n[[output]]\nname = \"valve\"\nline = \"gpiochip0/17\"\nlongest-pulse = \"300us\"\nhighest-rate = 1000",
        );
        let denied = |policy: &Policy, fields: &str| policy.judge(&pulses(fields)).unwrap_err().to_string();
        assert_eq!(Policy::default().judge(&pulses("")), Ok(()), "nothing is switched");
        assert_eq!(allowed.judge(&pulses(r#""output": "valve""#)), Ok(()));
        assert!(denied(&Policy::default(), r#""output": "valve""#).contains("does not allow 'output' jobs"));
        assert!(
            denied(&allowed, r#""output": "gpiochip0/3""#).contains("no output 'gpiochip0/3' (it has valve, none)")
        );
        assert!(denied(&allowed, r#""output": "valve", "width": "301us""#).contains("'longest-pulse'"));
        // Each with what there is to be done about it.
        let marked = denied(&allowed, r#""output": "valve", "width": "151us", "mark": 1000"#);
        assert!(marked.contains("a pulse with a mark is twice as wide, which takes 302us"), "{marked}");
        let square = denied(&allowed, r#""output": "valve", "shape": "square""#);
        assert!(
            square.contains("half of an interval is 500us") && square.contains("ask for a shorter interval"),
            "{square}"
        );
        let often = denied(&allowed, r#""output": "valve", "interval": "999us""#);
        assert!(often.contains("1000 in a second") && often.contains("'highest-rate'"), "{often}");
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
            Denied::NoOutput { name: "valve".to_owned(), there: vec!["none".to_owned()] },
            Denied::Pulse {
                name: "valve".to_owned(),
                shape: PulseShape::Square,
                is_marked: true,
                takes: Ns::from_ms(2),
                longest: Ns::from_ms(1),
            },
            Denied::Rate { name: "valve".to_owned(), interval: Ns::from_us(10), highest: 1_000 },
        ] {
            let text = serde_json::to_string(&denied).unwrap();
            assert_eq!(serde_json::from_str::<Denied>(&text).unwrap(), denied, "{text}");
        }
    }
}
