//! What would make a run invalid and is known before it begins: said at once, in the place of a run that nobody can use.
//!
//! A priority that the kernel refuses and a load that ends by itself exit with 3, as the run would; a load that cannot be
//! started as it is written is an error of the command line or of what is installed, and exits with 2. `--anyway` measures all
//! the same, and the record says that the run is invalid, and why.

use std::fmt;

use kernel::sched::Policy;
use record::ReasonCode;

use terminal::output;

/// The option by which a run is made although it will be invalid.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct AnywayArgs {
    /// Measure even if it is known at the start that the run will be invalid: priority refused, or a load that ended at once
    #[arg(long, overrides_with = "anyway")]
    pub(crate) anyway: bool,
}

/// That nothing was measured, since the run would have been invalid.
#[derive(Debug)]
pub(crate) struct Refusal {
    why: String,
    remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, remedy } = self;
        write!(
            f,
            "nothing was measured, because the run would be invalid: {why}\n  remedy: {remedy}\n  or measure all the same \
             with --anyway; the result is then marked as invalid"
        )
    }
}

impl std::error::Error for Refusal {}

impl AnywayArgs {
    /// Refuses a run whose result would be invalid, or warns of it where it is wanted all the same.
    pub(crate) fn refuse(self, why: String, remedy: &str) -> anyhow::Result<()> {
        if self.anyway {
            output::warning(&format!("{why}; the run will be invalid"));
            return Ok(());
        }
        Err(Refusal { why, remedy: remedy.to_owned() }.into())
    }

    /// Refuses a run whose measuring threads will not get their policy.
    pub(crate) fn check_policy(self, policy: Policy) -> anyhow::Result<()> {
        // SCHED_DEADLINE is admitted for a given runtime and CPUs: arming the threads asks for that, and refuses by itself.
        if matches!(policy, Policy::Deadline { .. }) {
            return Ok(());
        }
        let Err(error) = try_policy(policy) else { return Ok(()) };
        let (name, priority) = (policy.name().to_uppercase(), policy.priority());
        let why = format!("the kernel refuses SCHED_{name} with priority {priority} ({error})");
        self.refuse(why, ReasonCode::SchedulingNotGranted.info().remedy)
    }
}

/// Whether the kernel gives this process's threads a policy, found out before anything is held, started or printed.
pub(crate) fn try_policy(policy: Policy) -> std::io::Result<()> {
    if policy == Policy::Other {
        return Ok(());
    }
    // A thread of its own takes the policy, and with its end the policy is gone.
    let tried = std::thread::spawn(move || kernel::sched::set_policy(policy)).join();
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_would_be_invalid_is_refused_with_reason_remedy_and_the_way_round() {
        let refuse = |anyway| AnywayArgs { anyway }.refuse("no right".to_owned(), "run as root");
        let error = refuse(false).unwrap_err();
        let text = error.downcast_ref::<Refusal>().unwrap().to_string();
        assert!(text.contains("no right") && text.contains("run as root") && text.contains("--anyway"), "{text}");
        assert!(refuse(true).is_ok());
    }

    #[test]
    fn an_ordinary_policy_is_never_refused() {
        assert!(AnywayArgs::default().check_policy(Policy::Other).is_ok());
    }
}
