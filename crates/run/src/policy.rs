//! What would make a run invalid and is known before it begins: said at once, in the place of a run that nobody can use.

use kernel::sched::Policy;
use record::ReasonCode;

use crate::error::{Refusal, RunError};

/// Whether a run is made that is known to be invalid before it begins, and who hears of it.
#[derive(Clone, Copy)]
pub struct Anyway<'a> {
    /// Whether it is made.
    pub is_wanted: bool,
    /// Who hears what is worth knowing before a run begins.
    pub warn: &'a dyn Fn(&str),
}

impl std::fmt::Debug for Anyway<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Anyway").field("is_wanted", &self.is_wanted).finish_non_exhaustive()
    }
}

impl Anyway<'_> {
    /// Refuses a run whose result would be invalid, or warns of it where it is wanted all the same.
    ///
    /// # Errors
    /// Where it is not wanted.
    pub fn refuse(self, why: String, remedy: &str) -> Result<(), RunError> {
        if self.is_wanted {
            (self.warn)(&format!("{why}; the run will be invalid"));
            return Ok(());
        }
        Err(RunError::Refused(Refusal { why, remedy: remedy.to_owned() }))
    }

    /// Refuses a run whose measuring threads will not get their policy.
    ///
    /// # Errors
    /// Where the kernel refuses it, and the run is not wanted all the same.
    pub fn check_policy(self, policy: Policy) -> Result<(), RunError> {
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
///
/// # Errors
/// The kernel's reason.
pub fn try_policy(policy: Policy) -> std::io::Result<()> {
    if policy == Policy::Other {
        return Ok(());
    }
    // A thread of its own takes the policy, and with its end the policy is gone.
    let tried = std::thread::spawn(move || kernel::sched::set_policy(policy)).join();
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::Class;

    #[test]
    fn a_run_that_would_be_invalid_is_refused_or_warned_of() {
        let said = RefCell::new(Vec::new());
        let warn = |text: &str| said.borrow_mut().push(text.to_owned());
        let refuse = |is_wanted| Anyway { is_wanted, warn: &warn }.refuse("no right".to_owned(), "run as root");
        assert_eq!(refuse(false).unwrap_err().class(), Class::Refused);
        assert!(said.borrow().is_empty());
        refuse(true).unwrap();
        assert_eq!(*said.borrow(), ["no right; the run will be invalid"]);
    }

    #[test]
    fn an_ordinary_policy_is_never_refused() {
        assert!(Anyway { is_wanted: false, warn: &|_| () }.check_policy(Policy::Other).is_ok());
    }
}
