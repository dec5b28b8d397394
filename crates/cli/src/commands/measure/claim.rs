//! `--claim` and `--until-sure`: a claim about the time to come, answered by a run, or measured for until it is decided.

use std::sync::{Mutex, PoisonError};

use analysis::tail::{self, Claim, ClaimAnswer, ClaimState, TailOptions, Watch};
use anyhow::bail;
use record::{Interval, Record};
use run::Decider;
use units::Ns;

use crate::commands::tail::{answer, exit_of_claim};
use crate::exit::Exit;
use terminal::output;
use terminal::wrap;

/// With --until-sure a run of the longest duration is cut into this many intervals, each within the bounds below: the first
/// look comes after forty.
const INTERVALS: i64 = 600;
const SHORTEST: Ns = Ns::from_s(1);
const LONGEST: Ns = Ns::from_s(60);
/// Schedules that an interval has at the least.
const SCHEDULES: i64 = 100;

#[derive(Default, clap::Args)]
pub(crate) struct ClaimArgs {
    /// Answer this claim from the run: "100us for 1 day at 99%"; exit 1 if its limit is exceeded too
    /// often, 3 if that cannot be distinguished from chance
    #[arg(long, value_name = "TEXT")]
    claim: Option<Claim>,
    /// Stop as soon as the claim is decided; --duration is then the longest time
    #[arg(long, requires = "claim")]
    until_sure: bool,
}

impl ClaimArgs {
    /// The length of an interval where none was asked for, with --until-sure alone.
    pub(super) fn interval_maximum(&self, duration: Option<Ns>, interval: Ns) -> Option<Ns> {
        if !self.until_sure {
            return None;
        }
        let longest =
            duration.filter(|duration| *duration > Ns::ZERO).map_or(LONGEST, |duration| Ns(duration.0 / INTERVALS));
        Some(longest.clamp(SHORTEST, LONGEST).max(Ns(interval.0.saturating_mul(SCHEDULES))))
    }

    pub(crate) fn sure(&self) -> Option<Sure> {
        self.claim.filter(|_| self.until_sure).map(Sure::new)
    }

    /// Says whether the claim is shown, and why the run ended; the exit code is the graver one.
    pub(crate) fn conclude(&self, record: &Record, sure: Option<&Sure>, exit: Exit) -> anyhow::Result<Exit> {
        let Some(claim) = self.claim else { return Ok(exit) };
        let options = TailOptions { claim: Some(claim), horizons_ns: vec![claim.horizon_ns], ..TailOptions::default() };
        let Some(answered) = tail::tail(&[record], &options)?.claim else { bail!("the claim was not answered") };
        let mut text = String::from("\n");
        if let Some(sure) = sure {
            text.push_str(&wrap::paragraph(&sure.why(), "", wrap::width()));
        }
        text.push_str(&answer(&answered, wrap::width(), false));
        // The table or the record is the data; this stands beside it.
        output::note(text.trim_end());
        Ok(exit.graver(exit_of_claim(answered.state)))
    }
}

/// Looks at the run until its claim is decided.
pub(crate) struct Sure(Mutex<Watch>, Claim);

impl Sure {
    fn new(claim: Claim) -> Self {
        Self(Mutex::new(Watch::new(claim)), claim)
    }

    /// What ended the run; `None` where the claim was not decided.
    pub(crate) fn decided(&self) -> Option<String> {
        let watch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = watch.decided().map(|decided: &ClaimAnswer| decided.state)?;
        let claim = self.1;
        Some(match state {
            ClaimState::Shown => format!(
                "the claim '{claim}' is shown; however often the run is looked at, at most 1 of 100 false claims is"
            ),
            _ => format!(
                "the claim '{claim}' is broken; however often the run is looked at, at most 1 of 100 true claims is"
            ),
        })
    }

    fn why(&self) -> String {
        self.decided().map_or_else(
            || "Ended by its duration: the claim was not decided meanwhile.".to_owned(),
            |why| format!("Stopped: {why}."),
        )
    }
}

impl Decider for Sure {
    fn look(&self, threads: &[&[Interval]], worst_ns: u64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).look(threads, worst_ns)
    }
}
