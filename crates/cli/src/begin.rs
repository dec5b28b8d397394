//! What would make a run invalid and is known before it begins.
//!
//! A priority that the kernel refuses and a load that ends by itself exit with 3, as the run would; a load that cannot be
//! started as it is written is an error of the command line or of what is installed, and exits with 2. `--anyway` measures all
//! the same, and the record says that the run is invalid, and why.

use kernel::sched::Policy;
use run::Anyway;
use terminal::output;

/// The option by which a run is made although it will be invalid.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct AnywayArgs {
    /// Measure even if it is known at the start that the run will be invalid: priority refused, or a load that ended at once
    #[arg(long, overrides_with = "anyway")]
    pub(crate) anyway: bool,
}

impl AnywayArgs {
    /// The same, with warnings on stderr.
    pub(crate) fn choice(self) -> Anyway<'static> {
        Anyway { is_wanted: self.anyway, warn: &output::warning }
    }

    /// Refuses a run whose measuring threads will not get their policy.
    pub(crate) fn check_policy(self, policy: Policy) -> anyhow::Result<()> {
        Ok(self.choice().check_policy(policy)?)
    }
}
