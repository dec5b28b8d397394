//! `punctual app`: the user's own program, measured and audited.

use anyhow::Context as _;
use measure::app;
use measure::{Machine, Stop};
use record::{AppRequest, AppTarget};
use units::Ns;

use crate::exit::Exit;
use crate::loads::{LoadArgs, PreparedLoad};
use crate::session::{self, LabelArgs, OutputArgs};
use crate::view::{self, live::LiveTerminal};

/// What the period of a program is taken for before it is known: an interval of the record has to hold several.
const USUAL_PERIOD: Ns = Ns::from_ms(1);

/// Follow your own program: how late its threads run, and how it is written
///
/// Latencies, period, missed periods and preemptions of its real-time threads, from the kernel's scheduling events in a
/// private trace; and an audit of what it does inside its periodic loop.
/// The program is not changed. Needs the right to use tracefs (root).
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("program").required(true).args(["cmd", "pid"])))]
pub(crate) struct AppArgs {
    /// Start this command by the shell and follow it; what it prints goes to stderr
    #[arg(long, value_name = "COMMAND")]
    cmd: Option<String>,
    /// Follow a process that runs
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
    /// Follow the threads of this name or number; can be given again
    /// [default: those with a real-time policy, all where there is none]
    #[arg(long = "thread", value_name = "NAME")]
    threads: Vec<String>,
    /// How long to follow [default: 60s, or until it ends]; 0s follows until it ends or Ctrl-C
    #[arg(long, value_name = "D")]
    duration: Option<Ns>,
    /// The limit that no latency of it may exceed; exit 1 where one does
    #[arg(long, value_name = "D")]
    deadline: Option<Ns>,
    /// Length of an interval of the record, each with a maximum and a histogram of its own
    /// [default: the shorter of 5m and a 60th of the duration]
    #[arg(long, value_name = "D")]
    interval_maximum: Option<Ns>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

impl AppArgs {
    /// The length of an interval of the record, where one was asked for or the turns of a load's parts want one.
    fn interval_maximum(&self, duration: Option<Ns>) -> Option<Ns> {
        self.interval_maximum.or_else(|| self.load.interval_maximum(duration?, USUAL_PERIOD))
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let (duration, is_asked) = match self.duration {
            Some(Ns::ZERO) => (None, true),
            Some(duration) => (Some(duration), true),
            None => (Some(Ns::from_s(60)), false),
        };
        let interval_maximum = self.interval_maximum(duration);
        let target = match (self.cmd, self.pid) {
            (Some(command), _) => AppTarget::Command { command },
            (None, pid) => AppTarget::Process { pid: pid.unwrap_or_default() },
        };
        let config = AppRequest {
            target,
            threads: self.threads,
            duration,
            may_end: !is_asked,
            deadline: self.deadline,
            interval_maximum,
        };
        carry_out(&config, &self.load, self.output, &self.label.label)
    }
}

/// Carries a request out, under a load.
pub(crate) fn carry_out(
    request: &AppRequest,
    load: &LoadArgs,
    output: OutputArgs,
    label: &str,
) -> anyhow::Result<Exit> {
    let machine = Machine::read();
    let own = std::env::current_exe().context("cannot find this program's own file, which guards the program")?;
    let name = match &request.target {
        AppTarget::Command { command } => command.clone(),
        AppTarget::Process { pid } => format!("process {pid}"),
    };
    let duration_ns = request.duration.map(Ns::unsigned);
    let load = load.prepare(&units::CpuSet::new(), &machine)?;
    let rotate_over = load.as_ref().map(|load| load.rotate_over(duration_ns)).transpose()?.flatten();
    let destination = output.prepare()?;
    let stop = Stop::on_signals().context("cannot handle signals")?;
    let mut load = load.map(PreparedLoad::start).transpose()?;
    if let Some(load) = &mut load {
        load.begin_window(rotate_over);
    }
    let mut live = LiveTerminal::with_head(&format!("app  {name}"), duration_ns);
    let mut record = app::measure(request, &own, &machine, &session::context(label), &stop, &mut live)?;
    live.finish();
    if let Some(load) = load {
        load.finish_into(&mut record);
    }
    destination.deliver(&record, |colour| view::app::app(&record, colour))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        app: AppArgs,
    }

    #[test]
    fn intervals_are_short_enough_for_the_turns_of_a_loads_parts() {
        let interval = |words: &[&str]| {
            let line = ["app", "--cmd", "true", "--load", "hard"].iter().chain(words);
            Line::try_parse_from(line).unwrap().app.interval_maximum(Some(Ns::from_s(70)))
        };
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&["--rotate"]), Some(Ns::from_ms(500)), "six parts and all together, each for 10 s");
        assert_eq!(interval(&["--rotate", "--interval-maximum", "2s"]), Some(Ns::from_s(2)));
    }
}
