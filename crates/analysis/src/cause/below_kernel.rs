//! The counters of the time around a late sample, and which of them are a cause.

use record::{CauseClass, Certainty};
use units::format;

use super::coincidence::Around;
use super::conclusion::Conclusion;

/// The counters of the time around a sample, if they can be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct BelowKernel {
    /// Whether this is a virtual machine.
    pub is_virtual: bool,
    /// Whether the processor has system management interrupts: x86.
    pub has_smis: bool,
    /// Time that the hypervisor says it took from this CPU (ns).
    pub steal_ns: Option<Around>,
    /// System management interrupts.
    pub smi: Option<Around>,
    /// How often the CPU was slowed down because it was hot.
    pub heat: Option<Around>,
}

impl BelowKernel {
    /// What the hypervisor says that it took (ns), where there is one and it took something.
    pub(super) fn stolen(&self) -> Option<Around> {
        self.steal_ns.filter(|steal| self.is_virtual && steal.count > 0)
    }

    /// System management interrupts, where any were counted.
    pub(super) fn smis(&self) -> Option<Around> {
        self.smi.filter(|smi| smi.count > 0)
    }

    /// What lengthens whatever runs, is on no trace, and is not counted here; `None` where its count can be read, and on
    /// processors whose firmware has no interrupt of its own.
    pub(super) const fn uncounted(&self) -> Option<&'static str> {
        match (self.is_virtual, self.steal_ns, self.smi) {
            (true, None, _) => Some(self.not_excluded()),
            (false, _, None) if self.has_smis => Some(self.not_excluded()),
            _ => None,
        }
    }

    /// What stops a CPU below the kernel, where no counter excludes it.
    pub(super) const fn not_excluded(&self) -> &'static str {
        match (self.is_virtual, self.has_smis) {
            (true, _) => "; that the hypervisor stopped the CPU meanwhile cannot be excluded",
            (false, true) => "; firmware (an SMI) cannot be excluded, since its count cannot be read",
            (false, false) => "; firmware cannot be excluded, since nothing counts what it takes",
        }
    }

    /// What was counted around a sample and may stand there by accident, so that it explains nothing; empty where nothing was.
    pub(super) fn by_accident(&self) -> String {
        let words = |what: String, around: Around| {
            format!(
                "; {what} in the {} around it, as by accident in {:.0} of 100 such times",
                format::span(around.window_ns),
                (around.chance * 100.0).ceil()
            )
        };
        let unsaid = |around: &Around| !around.is_telling();
        let smi = self.smis().filter(unsaid).map(|smi| words(smis_counted(smi.count), smi));
        let steal = self
            .stolen()
            .filter(unsaid)
            .map(|steal| words(format!("the hypervisor says that it took {}", format::latency(steal.count)), steal));
        format!("{}{}", smi.unwrap_or_default(), steal.unwrap_or_default())
    }
}

/// "3 SMIs were counted".
pub(super) fn smis_counted(count: u64) -> String {
    if count == 1 { "1 SMI was counted".to_owned() } else { format!("{} SMIs were counted", format::count(count)) }
}

/// What a recording says of a gap.
pub(super) const NOTHING_RAN: &str = "nothing ran";

/// What lies below the kernel, where its counters moved around the sample and hardly do by accident: for `gap_ns` something
/// was as `what` says.
pub(super) fn below(gap_ns: i64, place: BelowKernel, what: &str) -> Option<Conclusion> {
    let words = format::latency(gap_ns);
    let of = |class, evidence| Some(Conclusion { class, name: String::new(), certainty: Certainty::Likely, evidence });
    if let Some(smi) = place.smis().filter(Around::is_telling) {
        let (smis, window) = (smis_counted(smi.count), format::span(smi.window_ns));
        return of(CauseClass::Smi, format!("{smis} in the {window} around it, and for {words} {what}"));
    }
    if let Some(steal) = place.stolen().filter(Around::is_telling) {
        let (stolen, window) = (format::latency(steal.count), format::span(steal.window_ns));
        return of(
            CauseClass::Steal,
            format!("the hypervisor says that it took {stolen} of the {window} around it, and for {words} {what}"),
        );
    }
    place.heat.filter(Around::is_telling).and_then(|_| {
        of(
            CauseClass::Frequency,
            format!("the CPU was slowed down around it because it was hot, and for {words} {what}"),
        )
    })
}
