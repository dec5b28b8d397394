//! `punctual app`: the user's own program, measured and audited.

use record::{AppRequest, AppTarget, Request, RunRequest};
use units::Ns;

use crate::begin::AnywayArgs;
use crate::commands::measure::claim::ClaimArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::loads::LoadArgs;
use crate::session::{Asked, LabelArgs, carry_out};
use record::RunLength;

/// Follow your own program: how late its threads run, and how it is written
///
/// Latencies, period, missed periods and preemptions of its real-time threads, from the kernel's scheduling events in a
/// private trace; and an audit of what it does inside its periodic loop.
/// The program is not changed. Needs the right to use tracefs (root).
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("target").required(true).args(["program", "cmd", "pid"])))]
pub(crate) struct AppArgs {
    /// Start this program with these arguments and follow it; what it prints goes to stderr
    #[arg(value_name = "PROGRAM", trailing_var_arg = true)]
    program: Vec<String>,
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
    /// How long to follow [default: 60s, or until it ends]; `unlimited` follows until it ends or Ctrl-C
    #[arg(long, visible_alias = "time", value_name = "D")]
    duration: Option<RunLength>,
    /// The limit that no latency of it may exceed; exit 1 where one does
    #[arg(long, value_name = "D")]
    deadline: Option<Ns>,
    /// Let the deadline count from the wake-up where no timer ended a wait (a packet, another thread): how late that itself came
    /// is not measured
    #[arg(long, requires = "deadline")]
    from_wake_up: bool,
    /// Length of an interval of the record, each with a maximum and a histogram of its own
    /// [default: the shorter of 5m and a 60th of the duration]
    #[arg(long, value_name = "D")]
    interval_maximum: Option<Ns>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

impl AppArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let (duration, is_asked) = match self.duration {
            Some(length) => (length.limit(), true),
            None => (Some(Ns::from_s(60)), false),
        };
        let target = match (self.cmd, self.pid) {
            (Some(command), _) => AppTarget::Command { command: command.into() },
            (None, Some(pid)) => AppTarget::Process { pid },
            (None, None) => AppTarget::Command { command: shell_words(&self.program).into() },
        };
        let config = AppRequest {
            target,
            threads: self.threads,
            duration,
            may_end: !is_asked,
            deadline: self.deadline,
            from_wake_up: self.from_wake_up,
            interval_maximum: self.interval_maximum,
        };
        let request = RunRequest { request: Request::App(config), load: self.load.request()?, partner: Vec::new() };
        let (anyway, output, claim) = (self.anyway, self.output, ClaimArgs::default());
        carry_out(request, Asked { anyway, output, label: &self.label.label, claim: &claim })
    }
}

/// A program and its arguments as a line that the shell reads as the same words.
fn shell_words(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    let quoted = |word: &String| {
        let is_plain = !word.is_empty() && word.chars().all(plain);
        if is_plain { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
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
    fn a_program_stands_after_two_dashes_or_alone_and_keeps_its_own_options() {
        let program = |line: &[&str]| {
            let app = Line::try_parse_from(line).map(|line| line.app).map_err(|error| error.to_string())?;
            Ok::<_, String>((shell_words(&app.program), app.duration))
        };
        let bare = "./control --rate 1000".to_owned();
        assert_eq!(program(&["app", "--", "./control", "--rate", "1000"]), Ok((bare.clone(), None)));
        assert_eq!(program(&["app", "./control", "--rate", "1000"]), Ok((bare.clone(), None)));
        let five = Some(RunLength::For(Ns::from_s(5)));
        assert_eq!(program(&["app", "--time", "5s", "./control", "--rate", "1000"]), Ok((bare, five)));
        assert_eq!(program(&["app", "--", "sh", "-c", "echo 'a b'; "]).unwrap().0, "sh -c 'echo '\\''a b'\\''; '");
        assert!(program(&["app", "--rate", "1000"]).is_err(), "an option that nobody has is no program");
        assert!(program(&["app", "--cmd", "true", "./control"]).is_err(), "one program");
    }
}
