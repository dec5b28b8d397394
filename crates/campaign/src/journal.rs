//! The journal of a campaign: one JSON object per line, so that the campaign can resume after a kill or a reboot.
//!
//! The next step follows from these lines and the campaign's file alone ([`State::read`]).

use std::collections::BTreeMap;

use record::ValidityState;
use serde::{Deserialize, Serialize};

/// Version of the journal format that this program reads and writes.
pub const VERSION: u32 = 1;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Event {
    /// The campaign begins, or resumes in another process.
    Begin {
        /// Version of the journal format ([`VERSION`]).
        version: u32,
        /// Wall-clock time of the start (ns since 1970-01-01 UTC).
        realtime_ns: i64,
        /// The kernel's boot ID (`/proc/sys/kernel/random/boot_id`).
        boot_id: String,
        /// Version of the program that wrote this line.
        program: String,
    },
    /// Settings are about to be changed.
    Applying {
        /// Index of the visit that they are for.
        visit: usize,
        /// Identifier of the transaction in the settings journal.
        transaction: String,
        /// Whether it changes the boot configuration, which persists across a reboot.
        #[serde(default)]
        is_boot: bool,
    },
    /// A transaction was reverted, or had never been applied.
    TakenBack {
        /// Identifier of the transaction.
        transaction: String,
    },
    /// The boot configuration changed: the machine runs it only after a reboot.
    BootChanged {
        /// The boot ID during which it changed.
        boot_id: String,
    },
    /// A reboot is requested.
    Restarting {
        /// Index of the visit that needs it; absent if it restores the state before the campaign.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        visit: Option<usize>,
        /// The boot ID that ends with it.
        boot_id: String,
    },
    /// A visit's settings are in force.
    Ready {
        /// Index of the visit.
        visit: usize,
        /// The boot ID in which they took effect.
        boot_id: String,
        /// What was changed for it: the setting, its old value and its new one.
        changed: Vec<String>,
        /// What could not be changed, and why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refused: Vec<String>,
    },
    /// A run ended and its record is on disk.
    Ran {
        /// Index of the visit.
        visit: usize,
        /// Index of the measurement in the campaign's file.
        measurement: usize,
        /// Path of the record, relative to the campaign's folder.
        file: String,
        /// Validity of the run.
        validity: ValidityState,
        /// How long it took, with set-up and evaluation (ns).
        lasted_ns: u64,
        /// Why the run is not used although its record may be valid: settings changed while it was measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unusable: Option<String>,
    },
    /// The conditions that are confirmed together.
    Winners {
        /// Indices of the conditions.
        conditions: Vec<usize>,
    },
    /// No further visit of this part of the campaign begins.
    Enough {
        /// The reason, for users.
        why: String,
    },
    /// Everything is measured and the machine is restored.
    End,
}

/// One finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Path of the record, relative to the campaign's folder.
    pub file: String,
    /// Validity of the run.
    pub validity: ValidityState,
    /// How long it took, with set-up and evaluation (ns).
    pub lasted_ns: u64,
    /// Why the run is not used, if it is not.
    pub unusable: Option<String>,
}

impl Ran {
    /// Whether a comparison may use this run.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.validity != ValidityState::Invalid && self.unusable.is_none()
    }
}

/// The state of a campaign after the lines of its journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Wall-clock time of the first start (ns since 1970-01-01 UTC).
    pub began_ns: Option<i64>,
    /// The attempts of each run by (visit, measurement), in the order in which they were made.
    pub ran: BTreeMap<(usize, usize), Vec<Ran>>,
    /// The visits whose settings took effect, each with what was changed and what was refused.
    pub ready: BTreeMap<usize, (Vec<String>, Vec<String>)>,
    /// The visit that is set up now, and the boot ID in which it was set up.
    pub set_up: Option<(usize, String)>,
    /// Transactions that may be open in the settings journal, oldest first, each with whether it changes the boot
    /// configuration.
    pub transactions: Vec<(String, bool)>,
    /// The boot ID during which the boot configuration was changed last.
    pub boot_changed: Option<String>,
    /// Indices of the winning conditions, once they are known.
    pub winners: Option<Vec<usize>>,
    /// Why no further visit begins, if the campaign was ended early.
    pub enough: Option<String>,
    /// Whether the campaign is finished.
    pub is_ended: bool,
    /// Number of reboots for this campaign.
    pub restarts: u32,
    /// The visit for which the machine was last rebooted, and the boot ID that ended with it.
    pub restarted_for: Option<(Option<usize>, String)>,
    /// How often the campaign was started or resumed since the last run ended.
    pub begun_without_run: u32,
}

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A whole line is not an event.
    #[error("line {line}: {error}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// The parser's reason.
        error: serde_json::Error,
    },
    /// A newer program wrote it.
    #[error("the journal has version {0}, this program reads up to {VERSION}: use a newer punctual")]
    Version(u32),
    /// The journal has no line that begins the campaign.
    #[error("the journal is empty: the campaign never began")]
    Empty,
}

impl State {
    /// Reads a journal. An incomplete line at the end, as a kill or a power cut leaves it, counts as not written.
    ///
    /// # Errors
    /// If a complete line is not an event, the version is too new, or the journal is empty.
    pub fn read(text: &[u8]) -> Result<Self, JournalError> {
        let mut state = Self::default();
        for (number, line) in units::whole_lines(text).0 {
            let event: Event =
                serde_json::from_slice(line).map_err(|error| JournalError::Line { line: number, error })?;
            if let Event::Begin { version, .. } = event {
                if version > VERSION {
                    return Err(JournalError::Version(version));
                }
            }
            state.take(event);
        }
        if state.began_ns.is_none() { Err(JournalError::Empty) } else { Ok(state) }
    }

    /// Updates the state with one more event.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Begin { realtime_ns, .. } => {
                self.began_ns.get_or_insert(realtime_ns);
                self.is_ended = false;
                self.begun_without_run += 1;
            }
            Event::Applying { transaction, is_boot, .. } => {
                self.set_up = None;
                self.transactions.push((transaction, is_boot));
            }
            Event::TakenBack { transaction } => {
                self.set_up = None;
                if self.transactions.iter().any(|(known, is_boot)| *known == transaction && *is_boot) {
                    // The boot configuration is no longer the one that the machine was rebooted for.
                    self.restarted_for = None;
                }
                self.transactions.retain(|(known, _)| *known != transaction);
            }
            Event::BootChanged { boot_id } => self.boot_changed = Some(boot_id),
            Event::Restarting { visit, boot_id } => {
                self.restarts += 1;
                self.restarted_for = Some((visit, boot_id));
            }
            Event::Ready { visit, boot_id, changed, refused } => {
                self.ready.insert(visit, (changed, refused));
                self.set_up = Some((visit, boot_id));
            }
            Event::Ran { visit, measurement, file, validity, lasted_ns, unusable } => {
                self.begun_without_run = 0;
                self.ran.entry((visit, measurement)).or_default().push(Ran { file, validity, lasted_ns, unusable });
            }
            Event::Winners { conditions } => {
                self.winners = Some(conditions);
                // An early end of the main part does not end the confirmation.
                self.enough = None;
            }
            Event::Enough { why } => self.enough = Some(why),
            Event::End => self.is_ended = true,
        }
    }

    /// Whether the boot configuration changed during this boot, so that it takes a reboot.
    #[must_use]
    pub fn needs_restart(&self, boot_id: &str) -> bool {
        self.boot_changed.as_deref() == Some(boot_id)
    }

    /// Whether the machine was rebooted for this visit, and this is the boot that followed.
    #[must_use]
    pub fn is_started_for(&self, visit: usize, boot_id: &str) -> bool {
        self.restarted_for.as_ref().is_some_and(|(known, ended)| *known == Some(visit) && ended != boot_id)
    }

    /// Whether a run needs no further attempt: one is usable, or `most_attempts` were made.
    #[must_use]
    pub fn is_done(&self, visit: usize, measurement: usize, most_attempts: usize) -> bool {
        let attempts = self.ran.get(&(visit, measurement)).map_or(&[][..], Vec::as_slice);
        attempts.iter().any(Ran::is_usable) || attempts.len() >= most_attempts
    }

    /// Number of unusable runs in a row, counted back from the last one.
    #[must_use]
    pub fn unusable_in_a_row(&self) -> usize {
        self.ran.values().flatten().rev().take_while(|ran| !ran.is_usable()).count()
    }

    /// The attempt that counts: the last.
    #[must_use]
    pub fn counted(&self, visit: usize, measurement: usize) -> Option<&Ran> {
        self.ran.get(&(visit, measurement))?.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(boot_id: &str) -> Event {
        Event::Begin { version: 1, realtime_ns: 5, boot_id: boot_id.to_owned(), program: "1".to_owned() }
    }

    fn ran(visit: usize, validity: ValidityState) -> Event {
        let file = format!("runs/{visit}.json");
        Event::Ran { visit, measurement: 0, file, validity, lasted_ns: 7, unusable: None }
    }

    fn text(events: &[Event]) -> Vec<u8> {
        events.iter().flat_map(|event| serde_json::to_vec(event).unwrap().into_iter().chain([b'\n'])).collect()
    }

    #[test]
    fn an_incomplete_last_line_is_ignored_and_an_odd_line_is_an_error() {
        let whole = text(&[begin("a"), ran(0, ValidityState::Valid), ran(1, ValidityState::Valid)]);
        assert_eq!(State::read(&whole[..whole.len() - 4]).unwrap().ran.len(), 1);
        assert_eq!(State::read(&whole).unwrap().ran.len(), 2);
        let mut odd = whole;
        odd[10] = b'#';
        assert!(State::read(&odd).unwrap_err().to_string().starts_with("line 1: "));
        assert!(matches!(State::read(b""), Err(JournalError::Empty)));
    }

    #[test]
    fn an_invalid_run_is_repeated_and_the_last_attempt_counts() {
        let mut state = State::default();
        state.take(ran(0, ValidityState::Invalid));
        assert!(!state.is_done(0, 0, 2) && state.is_done(0, 0, 1) && state.unusable_in_a_row() == 1);
        state.take(ran(0, ValidityState::Degraded));
        assert!(state.is_done(0, 0, 5) && state.counted(0, 0).unwrap().is_usable() && state.unusable_in_a_row() == 0);
    }

    #[test]
    fn transactions_are_known_until_they_are_reverted() {
        let applying = |id: &str| Event::Applying { visit: 0, transaction: id.to_owned(), is_boot: false };
        let mut state = State::default();
        state.take(applying("x"));
        state.take(Event::Ready { visit: 0, boot_id: "a".into(), changed: vec![], refused: vec![] });
        assert_eq!(state.set_up, Some((0, "a".to_owned())));
        state.take(applying("y"));
        assert_eq!((&state.set_up, state.transactions.len()), (&None, 2));
        state.take(Event::TakenBack { transaction: "x".into() });
        assert_eq!(state.transactions, [("y".to_owned(), false)]);
        state.take(Event::BootChanged { boot_id: "a".into() });
        assert!(state.needs_restart("a") && !state.needs_restart("b"));
    }

    #[test]
    fn a_reboot_counts_for_its_visit_until_the_boot_configuration_is_reverted() {
        let mut state = State::default();
        state.take(Event::Applying { visit: 3, transaction: "x".into(), is_boot: true });
        state.take(Event::Restarting { visit: Some(3), boot_id: "a".into() });
        assert!(!state.is_started_for(3, "a") && state.is_started_for(3, "b") && !state.is_started_for(4, "b"));
        state.take(Event::TakenBack { transaction: "x".into() });
        assert!(!state.is_started_for(3, "b"));
    }

    #[test]
    fn starts_without_a_finished_run_are_counted() {
        let mut state = State::default();
        (0..3).for_each(|_| state.take(begin("a")));
        assert_eq!(state.begun_without_run, 3);
        state.take(ran(0, ValidityState::Invalid));
        assert_eq!(state.begun_without_run, 0);
    }
}
