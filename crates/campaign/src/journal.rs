//! What a campaign remembers, one JSON object a line, so that it can go on after a kill or a restart of the machine.
//!
//! What is to happen next follows from these lines and the campaign's file alone ([`State::of`]).

use std::collections::BTreeMap;

use record::ValidityState;
use serde::{Deserialize, Serialize};

/// The version of this form.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Event {
    /// The campaign begins, or goes on in another process.
    Begin {
        /// Of this form.
        version: u32,
        /// When (ns since 1970-01-01 UTC).
        realtime_ns: i64,
        /// Which start of the machine.
        boot_id: String,
        /// The program's version.
        program: String,
    },
    /// Settings are about to be changed.
    Applying {
        /// For which visit.
        visit: usize,
        /// The transaction in the journal of settings.
        transaction: String,
        /// Whether it is what the boot loader is told, which stays over a restart.
        #[serde(default)]
        is_boot: bool,
    },
    /// A transaction is taken back, or never was.
    TakenBack {
        /// Which.
        transaction: String,
    },
    /// The machine has to start again before it is as its boot loader says.
    BootChanged {
        /// The start in which that was done.
        boot_id: String,
    },
    /// The machine is told to start again.
    Restarting {
        /// For which visit; absent where it is to be as before the campaign.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        visit: Option<usize>,
        /// The start that ends.
        boot_id: String,
    },
    /// A visit's settings are in force.
    Ready {
        /// Which visit.
        visit: usize,
        /// In which start of the machine.
        boot_id: String,
        /// What was changed for it: knob, of what, from what, to what.
        changed: Vec<String>,
        /// What could not be, and why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refused: Vec<String>,
    },
    /// A run is over and its record is on the disk.
    Ran {
        /// Of which visit.
        visit: usize,
        /// Of which measurement, by its place in the file.
        measurement: usize,
        /// The record, in the campaign's folder.
        file: String,
        /// How far it can be trusted.
        validity: ValidityState,
        /// How long it took, with all that it needs before and after (ns).
        lasted_ns: u64,
        /// Why it is not to be used although it is what was measured: settings that changed meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unusable: Option<String>,
    },
    /// Which conditions are to be confirmed together.
    Winners {
        /// Their places.
        conditions: Vec<usize>,
    },
    /// No further visit of this part begins.
    Enough {
        /// Why.
        why: String,
    },
    /// All that was to be measured is, and the machine is as it was.
    End,
}

/// One run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The record.
    pub file: String,
    /// How far it can be trusted.
    pub validity: ValidityState,
    /// How long it took (ns).
    pub lasted_ns: u64,
    /// Why it is not to be used.
    pub unusable: Option<String>,
}

impl Ran {
    /// Whether a comparison may use it.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.validity != ValidityState::Invalid && self.unusable.is_none()
    }
}

/// What the lines amount to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// When it began first (ns since 1970-01-01 UTC).
    pub began_ns: Option<i64>,
    /// The attempts of each run, by visit and measurement, in the order in which they were made.
    pub ran: BTreeMap<(usize, usize), Vec<Ran>>,
    /// The visits whose settings came into force, with what was changed and what was refused.
    pub ready: BTreeMap<usize, (Vec<String>, Vec<String>)>,
    /// The visit that is set up now, and in which start of the machine.
    pub set_up: Option<(usize, String)>,
    /// Transactions that may stand in the journal of settings, oldest first, and whether the boot loader was told.
    pub transactions: Vec<(String, bool)>,
    /// The start of the machine in which what its boot loader says was changed last.
    pub boot_changed: Option<String>,
    /// The winners, once they are known.
    pub winners: Option<Vec<usize>>,
    /// Why no further visit begins.
    pub enough: Option<String>,
    /// Whether all is done.
    pub is_ended: bool,
    /// Restarts of the machine for this campaign.
    pub restarts: u32,
    /// For which visit the machine was told to start again last, and the start that ended so.
    pub restarted_for: Option<(Option<usize>, String)>,
    /// How often a process began or went on since the last run was over.
    pub begun_without_run: u32,
}

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A line in the midst of it.
    #[error("line {line}: {error}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is odd.
        error: serde_json::Error,
    },
    /// Of a later version.
    #[error("it is of version {0}, this program reads {VERSION}: take a newer punctual")]
    Version(u32),
    /// Empty.
    #[error("it tells of nothing")]
    Empty,
}

impl State {
    /// What a journal amounts to; half a line at its end is what a kill or a power cut leaves, and counts as not written.
    ///
    /// # Errors
    /// Where a whole line is none of ours.
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

    /// What is so after one more event.
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
                    // What the machine was started for is no longer what its boot loader says.
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
                // That there was enough of the first part says nothing of the second.
                self.enough = None;
            }
            Event::Enough { why } => self.enough = Some(why),
            Event::End => self.is_ended = true,
        }
    }

    /// Whether what the boot loader says differs from what runs.
    #[must_use]
    pub fn needs_restart(&self, boot_id: &str) -> bool {
        self.boot_changed.as_deref() == Some(boot_id)
    }

    /// Whether the machine was started anew for a visit, and this is that start.
    #[must_use]
    pub fn is_started_for(&self, visit: usize, boot_id: &str) -> bool {
        self.restarted_for.as_ref().is_some_and(|(of, ended)| *of == Some(visit) && ended != boot_id)
    }

    /// Whether a run needs no further attempt: a usable one is there, or as many were made as are allowed.
    #[must_use]
    pub fn is_done(&self, visit: usize, measurement: usize, most_attempts: usize) -> bool {
        let attempts = self.ran.get(&(visit, measurement)).map_or(&[][..], Vec::as_slice);
        attempts.iter().any(Ran::is_usable) || attempts.len() >= most_attempts
    }

    /// Runs in a row, up to the last, that nobody can use.
    #[must_use]
    pub fn unusable_in_a_row(&self) -> usize {
        self.ran.values().flatten().rev().take_while(|ran| !ran.is_usable()).count()
    }

    /// The attempt of a run that counts: the last.
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
    fn half_a_line_at_the_end_was_never_written_and_one_in_the_midst_is_told() {
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
    fn settings_are_known_until_they_are_taken_back() {
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
    fn a_start_is_for_its_visit_until_what_the_boot_loader_was_told_is_taken_back() {
        let mut state = State::default();
        state.take(Event::Applying { visit: 3, transaction: "x".into(), is_boot: true });
        state.take(Event::Restarting { visit: Some(3), boot_id: "a".into() });
        assert!(!state.is_started_for(3, "a") && state.is_started_for(3, "b") && !state.is_started_for(4, "b"));
        state.take(Event::TakenBack { transaction: "x".into() });
        assert!(!state.is_started_for(3, "b"));
    }

    #[test]
    fn a_visit_that_kills_the_machine_again_and_again_is_seen() {
        let mut state = State::default();
        (0..3).for_each(|_| state.take(begin("a")));
        assert_eq!(state.begun_without_run, 3);
        state.take(ran(0, ValidityState::Invalid));
        assert_eq!(state.begun_without_run, 0);
    }
}
