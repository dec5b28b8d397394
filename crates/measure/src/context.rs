//! What a run is given about its surroundings, for the manifest.

use record::{LoadManifest, Manifest, Moment, NodeIdentity, Record, Request, Requested, ToolVersion};

/// Surroundings of a run.
#[derive(Clone, Debug, Default)]
pub struct RunContext {
    /// The command line.
    pub command: Vec<String>,
    /// A word that distinguishes runs of one session.
    pub label: String,
    /// SHA-256 of the node's profile.
    pub profile_sha256: Option<String>,
    /// The node's time zone, an IANA name.
    pub time_zone: Option<String>,
}

impl RunContext {
    /// A record with what every measurement fills in alike, and no samples yet.
    #[must_use]
    pub(crate) fn record(&self, request: Request, requested: Requested, started: Moment, ended: Moment) -> Record {
        let measurement = request.measurement();
        let manifest = Manifest {
            tool: ToolVersion { name: "punctual".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
            command: self.command.clone(),
            node: node(),
            started,
            ended,
            time_zone: self.time_zone.clone(),
            request: Some(request),
            requested,
            load: LoadManifest { name: "none".to_owned(), ..LoadManifest::default() },
            profile_sha256: self.profile_sha256.clone(),
            ..Manifest::default()
        };
        let mut record = Record::empty(run_id(measurement.name(), started), measurement, manifest);
        record.label.clone_from(&self.label);
        record.nodes.first_mut().clocks.tai_less_utc_s = crate::clock_watch::tai_less_utc_s();
        record
    }
}

fn read(path: &str) -> Option<String> {
    crate::kernel_text::read(path).ok().map(|text| text.trim().to_owned())
}

/// Which machine this is, and which boot of it.
fn node() -> NodeIdentity {
    let (release, version, machine, hostname) = kernel::process::system_names();
    NodeIdentity {
        hostname,
        kernel_release: release,
        kernel_version: version,
        machine,
        boot_id: read("/proc/sys/kernel/random/boot_id"),
        online_cpus: read("/sys/devices/system/cpu/online").and_then(|t| t.parse().ok()).unwrap_or_default(),
    }
}

/// A unique name that sorts by its start: nanoseconds since 1970 in hexadecimal, then the kind.
#[must_use]
fn run_id(kind: &str, started: Moment) -> String {
    format!("{:016x}-{kind}-{:x}", started.realtime.as_ns(), std::process::id())
}

/// Resident memory of this process (bytes).
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = read("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}
