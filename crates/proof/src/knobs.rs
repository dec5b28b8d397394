//! `punctual-proof knobs`: tries the catalogue of knobs on a machine of the lab.

use anyhow::Context as _;
use host::Root;
use knobs::Owner;
use terminal::output;
use tune::{FileStore, LiveMachine, Outcome, Store as _, try_all};

/// Try every value of every knob on this machine, and take each back; for machines of the lab
///
/// Prints a line for each value, and ends with 1 where what stood there before is not there again.
#[derive(clap::Args)]
pub(crate) struct KnobsArgs {}

impl KnobsArgs {
    /// Prints what came of each value; whether all was taken back.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        let root = Root::live();
        let mut machine = LiveMachine::below(root.prefix()).context("this machine cannot be read")?;
        let mut store = FileStore::open(&tune::journal_folder(&root, Owner::Tune))?;
        if let Some(unfinished) = store.transactions()?.iter().find(|one| !one.is_whole()) {
            anyhow::bail!(
                "the transaction {} was neither finished nor reverted: 'punctual tune revert' first",
                unfinished.id
            );
        }
        let site = tune::read_site(&root);
        let (mut tried, mut refused, mut wrong) = (0_u32, 0_u32, 0_u32);
        let absent = try_all(&site, &|_| true, usize::MAX, &mut machine, &mut store, &mut |trial| {
            let (word, why) = match &trial.outcome {
                Outcome::TakenBack => ("taken back", ""),
                Outcome::Refused(why) => ("refused", why.as_str()),
                Outcome::Wrong(why) => ("WRONG", why.as_str()),
            };
            tried += 1;
            refused += u32::from(word == "refused");
            wrong += u32::from(word == "WRONG");
            let line = format!("{word}  {} = {}  {}  {why}", trial.knob, trial.wanted, trial.place);
            output::data(&format!("{}\n", line.trim_end()));
        });
        output::data(&format!("not here: {}\n", absent.join(", ")));
        output::data(&format!("{tried} values tried, {refused} refused, {wrong} wrong\n"));
        Ok(wrong == 0)
    }
}
