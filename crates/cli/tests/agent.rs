//! `punctual agent` against a hub on this machine.
#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use farm::monitor::{
    ContentKind, Explaining, GapReason, Interval, MonitorEntry, NOT_SYNCHRONIZED, SYNCHRONIZED, SYSTEM_CLOCK, UNKNOWN,
};
use tempfile::TempDir;

use crate::support::agents_hub::AgentsHub;
use crate::support::{eventually, may_be_real_time, punctual, record, signal};

/// A node with an agent.
struct Node {
    folder: TempDir,
    child: Option<Child>,
    /// What a service manager would hear.
    manager: UnixDatagram,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Node {
    /// Enrolled at a hub, with intervals of a second.
    fn enrolled(hub: &AgentsHub, more_settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let manager = UnixDatagram::bind(folder.path().join("manager")).unwrap();
        manager.set_nonblocking(true).unwrap();
        let node = Self { folder, child: None, manager };
        let settings = format!("interval-maximum = \"1s\"\nlimit = \"10s\"\n{more_settings}\n");
        std::fs::write(node.path("agent.toml"), settings).unwrap();
        let mut enrol = punctual(&["agent", "enrol", &hub.address.to_string(), "--state"]);
        let mut child = enrol.arg(node.path("state")).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(hub.token.reveal().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&mut self) {
        let run = self.run();
        self.begin(run);
    }

    /// The line that starts its agent.
    fn run(&self) -> Command {
        let mut run = punctual(&["agent", "run", "--config"]);
        run.arg(self.path("agent.toml")).arg("--state").arg(self.path("state"));
        run.env("PUNCTUAL_AGENT_SOCKET", self.socket()).env("NOTIFY_SOCKET", self.path("manager"));
        run
    }

    fn begin(&mut self, mut run: Command) {
        let said = File::options().create(true).append(true).open(self.path("said")).unwrap();
        self.child = Some(run.stdout(Stdio::null()).stderr(said).spawn().unwrap());
    }

    /// A name of its own: other tests measure meanwhile.
    fn socket(&self) -> String {
        format!("punctual-agent-{}", self.folder.path().display())
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.path("said")).unwrap_or_default()
    }

    /// What a service manager has heard since the last call.
    fn heard(&self) -> Vec<String> {
        let mut word = [0; 64];
        let next =
            || self.manager.recv(&mut word).ok().map(|length| String::from_utf8(word[..length].to_vec()).unwrap());
        std::iter::from_fn(next).collect()
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Ends it in order.
    fn stop(&mut self) {
        let mut child = self.child.take().unwrap();
        signal(&child, "TERM");
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.said());
    }

    fn status(&self) -> serde_json::Value {
        let output = punctual(&["agent", "status", "--json", "--state"]).arg(self.path("state")).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Whether this machine can show it.
fn can_monitor() -> bool {
    let can = may_be_real_time();
    if !can {
        eprintln!("skipped: the kernel gives no real-time priority here");
    }
    can
}

/// Each interval of each boot is there once.
fn are_all_different(intervals: &[Interval]) {
    let starts: BTreeSet<i64> = intervals.iter().map(|interval| interval.times.start_ns).collect();
    assert_eq!(starts.len(), intervals.len(), "an interval was entered twice");
    let mut sorted: Vec<_> = intervals.iter().map(|one| (one.times.start_ns, one.times.end_ns())).collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "intervals overlap: {pair:?}");
    }
}

#[test]
fn a_node_is_enrolled_monitors_and_ends_in_order() {
    if !can_monitor() {
        return;
    }
    let hub = AgentsHub::start();
    let mut node = Node::enrolled(&hub, "");
    node.start();
    eventually("intervals arrive", || hub.remembered().intervals().len() >= 3);
    let status = node.status();
    assert_eq!(status["is_running"], true, "{status}");
    let heard = node.heard();
    assert_eq!(heard.first().map(String::as_str), Some("READY=1"), "{heard:?}");
    assert!(heard.iter().skip(1).all(|word| word == "WATCHDOG=1") && heard.len() > 3, "{heard:?}");
    // One that stands still is heard no more.
    signal(node.child.as_ref().unwrap(), "STOP");
    std::thread::sleep(Duration::from_millis(300));
    node.heard();
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(node.heard(), Vec::<String>::new());
    signal(node.child.as_ref().unwrap(), "CONT");
    eventually("it is heard again", || !node.heard().is_empty());
    node.stop();
    assert!(node.heard().contains(&"STOPPING=1".to_owned()));
    let remembered = hub.remembered();
    let entries = remembered.entries();
    assert!(matches!(&entries[0].2, MonitorEntry::Begin(begin) if !begin.boot.0.is_empty()), "{entries:?}");
    let is_end = |entry: &MonitorEntry| matches!(entry, MonitorEntry::End { why: GapReason::Stopped, .. });
    assert!(is_end(&entries.last().unwrap().2), "{:?}", entries.last());
    let contents = |wanted: ContentKind| {
        let is_it = |entry: &MonitorEntry| matches!(entry, MonitorEntry::Content(content) if content.kind == wanted);
        entries.iter().filter(|(_, _, entry)| is_it(entry)).count()
    };
    assert_eq!((contents(ContentKind::Condition), contents(ContentKind::Profile)), (1, 1));
    let histograms = entries.iter().find_map(|(_, _, entry)| match entry {
        MonitorEntry::Histograms(histograms) => Some(histograms.clone()),
        _ => None,
    });
    let intervals = remembered.intervals();
    are_all_different(&intervals);
    let samples: u64 =
        intervals.iter().flat_map(|one| one.figures().map(|of| of.figures.samples).collect::<Vec<_>>()).sum();
    let stands = intervals.iter().all(|one| one.cpus.iter().all(|cpu| cpu.spoiled.is_none()));
    let in_histograms: u64 = histograms.unwrap().cpus.iter().map(|cpu| cpu.histogram.count()).sum();
    assert!(!stands || in_histograms == samples, "{in_histograms} of {samples}");
    for interval in &intervals {
        assert!(interval.times.wall.is_some());
        for of in interval.figures() {
            assert!(of.figures.samples > 0 && of.figures.beyond_limit == 0, "{interval:?}");
            // It stood still for two seconds.
            assert!(of.figures.maximum_ns < 1_500_000_000 || !of.is_valid, "{interval:?}");
            // It was due within the interval, and woke up so much later.
            let most_ns = interval.times.length_ns + of.figures.maximum_ns.unsigned_abs() + 1_000_000;
            assert!(of.figures.maximum_at_ns <= most_ns, "{interval:?}");
        }
    }
    drop(remembered);
    assert_eq!(node.status()["last"]["waiting"], 0);
}

#[test]
fn an_agent_says_whether_it_looks_for_causes_and_gives_them_to_the_worst_alone() {
    if !can_monitor() {
        return;
    }
    let hub = AgentsHub::start();
    let mut node = Node::enrolled(&hub, "explain = \"on\"");
    node.start();
    eventually("intervals arrive", || hub.remembered().intervals().len() >= 5);
    let explaining = node.status()["last"]["explaining"].clone();
    node.stop();
    let remembered = hub.remembered();
    let told = remembered.entries().iter().find_map(|(_, _, entry)| match entry {
        MonitorEntry::Content(content) if content.kind == ContentKind::Explaining => Some(content.text.clone()),
        _ => None,
    });
    // The hub is told what the node says of itself.
    let told: serde_json::Value = serde_json::from_str(&told.unwrap()).unwrap();
    assert_eq!(told, explaining);
    let of: Explaining = serde_json::from_value(told).unwrap();
    assert_eq!((of.choice.as_str(), of.source.is_some()), ("on", of.why_not.is_empty()), "{of:?}");
    assert_eq!(of.source.is_some(), of.cost.is_some(), "what it costs is told with it: {of:?}");
    for interval in remembered.intervals() {
        let clock = interval.sources.iter().find(|source| source.source == SYSTEM_CLOCK).unwrap();
        assert!([SYNCHRONIZED, NOT_SYNCHRONIZED, UNKNOWN].contains(&clock.state.as_str()), "{clock:?}");
        for figures in interval.figures() {
            let Some(cause) = &figures.figures.cause else { continue };
            assert!(of.source.is_some() && figures.is_valid && !cause.class.is_empty(), "{interval:?}");
            assert!(cause.is_unknown() || cause.known_class().is_some(), "{cause:?}");
        }
    }
}

/// A file that takes what is left of a disk.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    while file.write(&[0; 512]).is_ok_and(|written| written > 0) {}
}

#[test]
fn a_full_disk_costs_nothing_and_is_said() {
    if !kernel::process::is_root() {
        eprintln!("skipped: only root can mount a small disk");
        return;
    }
    if !can_monitor() {
        return;
    }
    let hub = AgentsHub::start();
    let mut node = Node::enrolled(&hub, "explain = \"off\"");
    // The node's folder on a disk of its own, which is gone with the agent.
    let script = "set -e; cp -a \"$1\" \"$1.kept\"; mount -t tmpfs -o size=400k,mode=700 none \"$1\"; cp -a \"$1.kept/.\" \"$1\"; \
                  shift; exec \"$@\"";
    let run = node.run();
    let mut apart = Command::new("unshare");
    apart.args(["-m", "sh", "-c", script, "sh"]).arg(node.path("state")).arg(run.get_program()).args(run.get_args());
    apart.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    node.begin(apart);
    let disk = PathBuf::from(format!("/proc/{}/root", node.child.as_ref().unwrap().id()));
    let disk = disk.join(node.path("state").strip_prefix("/").unwrap()).join("fill");
    eventually("intervals arrive", || hub.remembered().intervals().len() >= 2);
    fill(&disk);
    eventually("it says that the disk is full", || {
        node.said().contains("No space left on device (os error 28); it stays in memory")
    });
    let held = hub.remembered().intervals().len();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(node.said().matches("No space left").count(), 1, "once: {}", node.said());
    std::fs::remove_file(&disk).unwrap();
    eventually("it says that it is not", || node.said().contains("what was measured is on the disk again"));
    eventually("all of it arrives", || hub.remembered().intervals().len() >= held + 4);
    node.stop();
    let mut times: Vec<_> =
        hub.remembered().intervals().iter().map(|one| (one.times.start_ns, one.times.end_ns())).collect();
    times.sort_unstable();
    let missing: Vec<_> = times.windows(2).filter(|pair| pair[1].0 - pair[0].1 > 10_000_000).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_killed_agent_loses_no_interval_and_enters_none_twice() {
    if !can_monitor() {
        return;
    }
    let hub = AgentsHub::start();
    let mut node = Node::enrolled(&hub, "");
    let mut moments = units::Random::new(39);
    let kills = 6;
    for _ in 0..kills {
        node.start();
        let before = hub.remembered().intervals().len();
        eventually("an interval arrives", || hub.remembered().intervals().len() > before + 1);
        std::thread::sleep(Duration::from_millis(moments.below(1_400) as u64));
        node.kill();
    }
    node.start();
    eventually("the last start's intervals arrive", || {
        let remembered = hub.remembered();
        let starts =
            remembered.entries().iter().filter(|(_, _, entry)| matches!(entry, MonitorEntry::Begin(_))).count();
        starts == kills + 1 && !remembered.intervals().is_empty()
    });
    node.stop();
    let intervals = hub.remembered().intervals();
    are_all_different(&intervals);
    let cut = intervals.iter().filter(|interval| interval.cut_short == Some(GapReason::Killed)).count();
    // A kill leaves what had reached the file of the open interval: on a busy machine nothing, and two where one had just begun.
    assert!((1..=2 * kills).contains(&cut), "{cut} intervals are cut short by {kills} kills");
    let entries = hub.remembered().entries();
    let gaps = entries.iter().filter(|(_, _, entry)| matches!(entry, MonitorEntry::Gap { why: GapReason::Killed, .. }));
    assert_eq!(gaps.count(), kills);
}

#[test]
fn a_measurement_has_the_cpus_for_itself_and_the_gap_says_why() {
    if !can_monitor() {
        return;
    }
    let hub = AgentsHub::start();
    let mut node = Node::enrolled(&hub, "");
    node.start();
    eventually("an interval arrives", || !hub.remembered().intervals().is_empty());
    // One measurement after the other; the agent comes back after the last.
    for _ in 0..2 {
        let mut measure =
            punctual(&["measure", "wakeup", "--policy", "other", "--interval", "1ms", "--duration", "2s"]);
        let record = record(&measure.arg("--json").env("PUNCTUAL_AGENT_SOCKET", node.socket()).output().unwrap());
        let began_ns = record.manifest().started.realtime.as_ns();
        let ended_ns = record.manifest().ended.realtime.as_ns();
        let monitored = hub.remembered().intervals();
        for interval in monitored {
            let start_ns = interval.times.wall.unwrap().ns;
            let end_ns = start_ns.saturating_add_unsigned(interval.times.length_ns);
            assert!(end_ns <= began_ns || start_ns >= ended_ns, "monitored beside a measurement: {interval:?}");
        }
    }
    let is_gap = |entry: &MonitorEntry| match entry {
        MonitorEntry::Gap { times, why: GapReason::Measuring, .. } => times.length_ns > 4_000_000_000,
        _ => false,
    };
    eventually("the gap is told", || hub.remembered().entries().iter().any(|(_, _, entry)| is_gap(entry)));
    let before = hub.remembered().intervals().len();
    eventually("it monitors again", || hub.remembered().intervals().len() > before);
    node.stop();
    are_all_different(&hub.remembered().intervals());
}

#[test]
fn a_hub_that_was_away_gets_everything_and_an_old_one_nothing() {
    if !can_monitor() {
        return;
    }
    let hub = AgentsHub::start();
    let mut node = Node::enrolled(&hub, "");
    node.start();
    eventually("an interval arrives", || !hub.remembered().intervals().is_empty());
    let backup = hub.remembered().clone();
    hub.remembered().is_away = true;
    eventually("the agent notices", || node.status()["last"]["sender"]["error"].is_string());
    eventually("entries wait", || node.status()["last"]["waiting"].as_u64() >= Some(3));
    hub.remembered().is_away = false;
    let stays = backup.intervals().len() + 4;
    eventually("what waited arrives", || hub.remembered().intervals().len() >= stays);
    // It was restored to the backup, in a new life: all is sent again from there.
    let truth = hub.remembered().intervals();
    *hub.remembered() = backup.clone();
    hub.remembered().epoch = 2;
    eventually("it is told again", || hub.remembered().intervals().len() > truth.len());
    let again = hub.remembered().intervals();
    assert!(truth.iter().all(|interval| again.contains(interval)), "what the hub had acknowledged is lost");
    // An old copy of it wakes up.
    let held = hub.remembered().clone();
    *hub.remembered() = backup;
    eventually("the old one is refused", || {
        node.status()["last"]["sender"]["error"].as_str().is_some_and(|error| error.contains("old life of the hub"))
    });
    *hub.remembered() = held;
    node.stop();
    are_all_different(&hub.remembered().intervals());
}
