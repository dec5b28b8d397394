//! `--claim` and `--until-sure`: a claim about the time to come, answered by a run, or measured for until it is decided.

use std::str::FromStr;

use analysis::tail::{self, Claim, ClaimError, TailOptions};
use anyhow::bail;
use record::Record;

use crate::commands::tail::{answer, exit_of_claim};
use crate::exit::Exit;
use terminal::output;
use terminal::wrap;

/// A claim as it was typed: a request has it in these words, and no rounded ones.
#[derive(Clone)]
struct Typed {
    text: String,
    claim: Claim,
}

impl FromStr for Typed {
    type Err = ClaimError;

    fn from_str(text: &str) -> Result<Self, ClaimError> {
        Ok(Self { text: text.to_owned(), claim: text.parse()? })
    }
}

#[derive(Default, clap::Args)]
pub(crate) struct ClaimArgs {
    /// Answer this claim from the run: "100us for 1 day at 99%"; exit 1 if its limit is exceeded too
    /// often, 3 if that cannot be distinguished from chance
    #[arg(long, value_name = "TEXT")]
    claim: Option<Typed>,
    /// Stop as soon as the claim is decided; --duration is then the longest time
    #[arg(long, requires = "claim")]
    until_sure: bool,
}

impl ClaimArgs {
    /// The claim that ends the run once it is decided, as a request has it.
    pub(super) fn until_sure(&self) -> Option<String> {
        self.claim.as_ref().filter(|_| self.until_sure).map(|claim| claim.text.clone())
    }

    /// Says whether the claim is shown, and why the run ended; the exit code is the graver one.
    pub(crate) fn conclude(&self, record: &Record, exit: Exit) -> anyhow::Result<Exit> {
        let Some(Typed { claim, .. }) = self.claim else { return Ok(exit) };
        let options = TailOptions { claim: Some(claim), horizons_ns: vec![claim.horizon_ns], ..TailOptions::default() };
        let Some(answered) = tail::tail(&[record], &options)?.claim else { bail!("the claim was not answered") };
        let mut text = String::from("\n");
        if self.until_sure {
            let why = match &record.manifest().ended_because {
                Some(why) => format!("Stopped: {why}."),
                None => "Ended by its duration: the claim was not decided meanwhile.".to_owned(),
            };
            text.push_str(&wrap::paragraph(&why, "", wrap::width()));
        }
        text.push_str(&answer(&answered, wrap::width(), false));
        // The table or the record is the data; this stands beside it.
        output::note(text.trim_end());
        Ok(exit.graver(exit_of_claim(answered.state)))
    }
}
