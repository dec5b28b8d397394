//! What one node asks of another, and what that does to the node that is asked.

use std::fmt;

use packet::dialog::PacketJob;
use pulse::job::PulseJob;
use record::{NO_OUTPUT, Request, RunRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use crate::asked::{AskedRequest, AskedRun};

/// What one node asks of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum Job {
    /// A run that the asked node carries out by itself, and of which it tells every event.
    Run(AskedRun),
    /// Its half of a measurement of packets between both nodes.
    Packet(PacketJob),
    /// To act when this one orders it.
    Pulse(PulseJob),
}

/// What the node that asked for a run says while it goes on. What it hears are the run's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum ToRun {
    /// It is to end before its time.
    Stop,
}

/// What a job does to the node that is asked, which is what its policy allows or denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobClass {
    /// Measures, and leaves every setting as it was.
    Measurement,
    /// Starts a load that is built in, beside the measurement.
    Load,
    /// Looks for the causes of late samples by programs in the kernel, or by its trace.
    Explain,
    /// Switches an output that its policy names.
    Output,
}

impl JobClass {
    /// Every class.
    pub const ALL: [Self; 4] = [Self::Measurement, Self::Load, Self::Explain, Self::Output];

    /// The name in a policy file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measurement => "measurement",
            Self::Load => "load",
            Self::Explain => "explain",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for JobClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Job {
    /// What the job does to the node that is asked: all of it has to be allowed.
    #[must_use]
    pub fn classes(&self) -> Vec<JobClass> {
        let mut classes = vec![JobClass::Measurement];
        if let Self::Run(AskedRun { request, load }) = self {
            if load.is_some() {
                classes.push(JobClass::Load);
            }
            if matches!(request, AskedRequest::Wakeup(wakeup) if wakeup.explain.is_some()) {
                classes.push(JobClass::Explain);
            }
        }
        if self.pulses().is_some_and(|job| job.request.output != NO_OUTPUT) {
            classes.push(JobClass::Output);
        }
        classes
    }

    /// What is asked of a node that is to act; `None` of other jobs.
    #[must_use]
    pub const fn pulses(&self) -> Option<&PulseJob> {
        match self {
            Self::Pulse(job) => Some(job),
            Self::Run(_) | Self::Packet(_) => None,
        }
    }

    /// How long the job takes according to its parameters; `None` if it runs until it is stopped.
    #[must_use]
    pub fn takes(&self) -> Option<Ns> {
        match self {
            Self::Run(run) => RunRequest::from(run.clone()).request.takes(),
            Self::Packet(job) => Request::Packet(job.request.clone().into()).takes(),
            Self::Pulse(job) => Request::Pulse(job.request.clone()).takes(),
        }
    }

    /// The network interfaces that the job itself names, by their names on the node that is asked.
    #[must_use]
    pub const fn interfaces(&self) -> &[String] {
        match self {
            Self::Run(_) | Self::Packet(_) | Self::Pulse(_) => &[],
        }
    }

    /// Whether the job sends and receives on the interface over which the asking node is connected.
    #[must_use]
    pub const fn uses_connection(&self) -> bool {
        match self {
            Self::Run(_) => false,
            Self::Packet(_) | Self::Pulse(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use record::{
        AppRequest, AppTarget, EventMeans, EventRequest, LoadRequest, NoiseRequest, Placement, SyncRequest,
        WakeupRequest,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::NotAsked;

    fn asked(request: Request, load: Option<LoadRequest>) -> Result<AskedRun, NotAsked> {
        AskedRun::try_from(&RunRequest { request, load, partner: Vec::new() })
    }

    #[test]
    fn what_can_be_asked_comes_back_as_it_was() {
        let wakeup = WakeupRequest {
            placement: Placement::Pinned("1-3".parse().unwrap()),
            deadline: Some(Ns::from_us(200)),
            explain: Some(record::ExplainRequest::default()),
            ..WakeupRequest::default()
        };
        let load = LoadRequest {
            name: Some("hard".into()),
            cpus: Some("0,2".to_owned()),
            without: vec!["disk".to_owned()],
            rotate: true,
            ..LoadRequest::default()
        };
        let whole = RunRequest { request: Request::Wakeup(wakeup), load: Some(load), partner: Vec::new() };
        let job = Job::Run(AskedRun::try_from(&whole).unwrap());
        let text = serde_json::to_string(&job).unwrap();
        assert!(text.starts_with(r#"{"job":"run","request":{"kind":"wakeup","#), "{text}");
        let Job::Run(back) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        assert_eq!(RunRequest::from(back), whole);
        assert_eq!(job.classes(), [JobClass::Measurement, JobClass::Load, JobClass::Explain]);
        let gaps = Request::Noise(NoiseRequest::default());
        assert_eq!(Job::Run(asked(gaps, None).unwrap()).classes(), [JobClass::Measurement]);
        let pairs =
            EventRequest { means: EventMeans::Mqueue, deadline: Some(Ns::from_us(90)), ..EventRequest::default() };
        let events = asked(Request::Event(pairs.clone()), None).unwrap();
        assert_eq!(RunRequest::from(events.clone()).request, Request::Event(pairs));
        assert_eq!(Job::Run(events).classes(), [JobClass::Measurement]);
    }

    #[test]
    fn what_only_the_user_of_the_node_may_say_is_named_and_not_left_out() {
        let load = |load: LoadRequest| asked(Request::Noise(NoiseRequest::default()), Some(load));
        let named = |name: &str| LoadRequest { name: Some(name.into()), ..LoadRequest::default() };
        assert!(load(named("paper")).is_ok());
        let listed = |cpus: &str| load(LoadRequest { cpus: Some(cpus.to_owned()), ..named("paper") });
        assert_eq!(listed("0,1").map(|run| run.load), listed("0-1").map(|run| run.load), "one set, two texts");
        assert!(listed("0,1").is_ok() && listed("others").is_ok() && listed("a").is_err());
        for one in [named("./mine.toml"), named("../x"), named(""), named("a b")] {
            assert_eq!(load(one), Err(NotAsked::Load));
        }
        assert_eq!(load(LoadRequest { command: Some("reboot".into()), ..LoadRequest::default() }), Err(NotAsked::Load));
        let wakeup = WakeupRequest { breaktrace: Some(Ns::from_us(50)), ..WakeupRequest::default() };
        let refused = asked(Request::Wakeup(wakeup), None).unwrap_err();
        assert_eq!(refused, NotAsked::Field("breaktrace".to_owned()));
        let wakeup = WakeupRequest { hold_dma_latency_us: Some(0), ..WakeupRequest::default() };
        assert_eq!(asked(Request::Wakeup(wakeup), None), Err(NotAsked::Field("hold-dma-latency-us".to_owned())));
        let sync = SyncRequest { ptp_socket: Some("/run/x".into()), ..SyncRequest::default() };
        assert_eq!(asked(Request::Sync(sync), None), Err(NotAsked::Field("ptp-socket".to_owned())));
        let app = Request::App(AppRequest::new(AppTarget::Process { pid: 7 }));
        assert_eq!(asked(app, None), Err(NotAsked::Kind("app")));
    }

    #[test]
    fn nothing_else_is_read_as_a_job() {
        for text in [
            r#"{"job": "run", "command": "reboot"}"#,
            r#"{"job": "run"}"#,
            r#"{"job": "run", "request": {"kind": "wakeup", "intervall": "1ms"}}"#,
            r#"{"job": "run", "request": {"kind": "wakeup", "breaktrace": "1ms"}}"#,
            r#"{"job": "run", "request": {"kind": "app", "target": {"process": {"pid": 1}}}}"#,
            r#"{"job": "run", "request": {"kind": "sync", "ptp-socket": "/etc/shadow"}}"#,
            r#"{"job": "run", "request": {"kind": "noise"}, "load": {"name": "/tmp/load.toml"}}"#,
            r#"{"job": "run", "request": {"kind": "noise"}, "load": {"command": "reboot"}}"#,
            r#"{"job": "run", "request": {"kind": "noise"}, "partner": {"to": "a", "token-file": "b"}}"#,
            r#"{"job": "measure", "kind": "wakeup"}"#,
            r#"{"kind": "wakeup"}"#,
        ] {
            assert!(serde_json::from_str::<Job>(text).is_err(), "{text}");
        }
    }

    /// Every place of a schema that takes text as it comes, as `type.property`; what is a reference is walked under its own name.
    fn free_text(schema: &Value, of: &str, found: &mut BTreeSet<String>) {
        match schema {
            Value::Object(fields) => {
                if fields.get("type") == Some(&json!("string"))
                    && !fields.contains_key("const")
                    && !fields.contains_key("enum")
                    || fields.get("type") == Some(&json!(["string", "null"]))
                {
                    found.insert(of.to_owned());
                }
                for (name, inner) in fields {
                    match (name.as_str(), inner) {
                        ("$defs", Value::Object(defs)) => {
                            defs.iter().for_each(|(name, inner)| free_text(inner, name, found));
                        }
                        ("properties", Value::Object(properties)) => {
                            properties
                                .iter()
                                .for_each(|(name, inner)| free_text(inner, &format!("{of}.{name}"), found));
                        }
                        _ => free_text(inner, of, found),
                    }
                }
            }
            Value::Array(all) => all.iter().for_each(|inner| free_text(inner, of, found)),
            _ => {}
        }
    }

    #[test]
    fn no_path_command_or_address_can_be_asked_for() {
        let schema = schemars::schema_for!(Job).to_value();
        let text = schema.to_string();
        for name in ["LocalPath", "LocalCommand", "LocalAddress"] {
            assert!(!text.contains(name), "a job can hold a {name}");
            // They are where this test would find them.
            assert!(schemars::schema_for!(RunRequest).to_value().to_string().contains(name), "{name}");
        }
        let mut found = BTreeSet::new();
        free_text(&schema, "Job", &mut found);
        let known: BTreeSet<String> = KNOWN_TEXT.iter().map(|place| (*place).to_owned()).collect();
        assert_eq!(found, known, "each place that takes text is looked at: what could a node do with it?");
    }

    /// Durations, sets of CPUs, names of loads and a claim, each read by its own parser; the name of a node, which is shown; and the name
    /// of an output, which the asked node's policy has or has not.
    const KNOWN_TEXT: &[&str] = &[
        "AskedPackets.interval",
        "AskedPackets.launch-time",
        "AskedPackets.limit",
        "PulseRequest.interval",
        "PulseRequest.lead",
        "PulseRequest.output",
        "PulseRequest.spin",
        "PulseRequest.tolerance",
        "PulseRequest.width",
        "AskedRequest.align-to",
        "AskedRequest.deadline",
        "AskedRequest.interval",
        "AskedRequest.interval-maximum",
        "AskedRequest.limit",
        "AskedRequest.recovered-within",
        "AskedRequest.threshold",
        "AskedRequest.until-sure",
        "CpuSet",
        "RunEnd.after",
        "Endpoints.node",
        "ExplainRequest.above",
        "PolicyChoice.deadline.runtime",
        "ShippedLoad",
        "RunLength",
    ];
}
