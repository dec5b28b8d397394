//! What would be changed, in order, with what stands there now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boot::Refusal;
use crate::demand::{Demand, Group, RequiredSetting};
use crate::place::{Look, Reader};
use crate::{Conflict, Form, Place, Reading, Value, time};

/// The name of a plan's form.
pub(crate) const SCHEMA: &str = "punctual/plan";
/// The version of that form.
pub(crate) const VERSION: u32 = 1;

/// One change of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// The knob's name.
    pub knob: String,
    /// Of which CPU, interrupt or interface; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// The place that is changed.
    pub place: Place,
    /// How its texts are written.
    pub form: Form,
    /// What stood there before the change.
    pub before: Value,
    /// What is to stand there.
    pub wanted: Value,
    /// Steps with the same number are brought to the journal together.
    pub group: u32,
    /// The reason for the change.
    pub why: String,
    /// What it costs; empty where nothing is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cost: String,
    /// Whether the kernel may refuse it without harm.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_refuse: bool,
    /// Whether it stands in a folder that an earlier step makes, and goes with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_new_folder: bool,
}

impl Step {
    /// The knob and of what it is, as a person would say it.
    #[must_use]
    pub fn label(&self) -> String {
        if self.of.is_empty() { self.knob.clone() } else { format!("{} of {}", self.knob, self.of) }
    }

    /// Whether it sets a time service up: the part `[time]` of an intent.
    #[must_use]
    pub fn is_of_time_service(&self) -> bool {
        self.knob.starts_with("time.")
    }

    /// The change in a line; of a file that has several, what is new in it.
    #[must_use]
    pub fn in_words(&self) -> String {
        let lines = |value: &Value| match value {
            Value::Text(text) => text.lines().map(str::to_owned).collect(),
            Value::Absent => Vec::new(),
        };
        let (before, wanted): (Vec<String>, Vec<String>) = (lines(&self.before), lines(&self.wanted));
        if before.len().max(wanted.len()) < 2 {
            let [before, wanted] = [&self.before, &self.wanted].map(|value| self.form.shown(value));
            return format!("{}: {before} -> {wanted}", self.label());
        }
        let is_new = |line: &&String| !before.contains(line) && !line.starts_with('#') && !line.trim().is_empty();
        let new: Vec<&str> = wanted.iter().filter(is_new).map(|line| line.trim()).collect();
        format!("{}: {}: + {}", self.label(), self.place, new.join("; "))
    }

    /// Whether it takes effect, in whole or in part, only when the machine starts again: a TuneD profile is also written for the
    /// boot loader, too.
    #[must_use]
    pub fn needs_reboot(&self) -> bool {
        self.place.outlives_boot()
    }
}

/// What has to run for others to take notice of these changes, each once.
#[must_use]
pub fn follow_ups<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<&'static [&'static str]> {
    let mut commands: Vec<_> = steps.filter_map(|step| step.place.follow_up()).collect();
    commands.sort_unstable();
    commands.dedup();
    commands
}

/// What this kernel or machine does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Absent {
    /// Name of the knob.
    pub knob: String,
    /// Where it would be.
    pub place: Place,
}

/// What this process is not let at, and was not asked for by name: it is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// Name of the knob.
    pub knob: String,
    /// Of which CPU, interrupt or interface; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// Where it is.
    pub place: Place,
    /// Who or what refuses it.
    pub why: String,
    /// What the user can do so that this place can be changed.
    pub remedy: String,
}

/// What would be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// Name of the schema: always `punctual/plan`.
    pub schema: String,
    /// The version of this form.
    pub schema_version: u32,
    /// The changes, in their order.
    pub steps: Vec<Step>,
    /// How many places have what is wanted already.
    pub already: u32,
    /// What is not here, and was not asked for by name.
    pub absent: Vec<Absent>,
    /// What this process is not let at, and was not asked for by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// Why nothing is done.
    pub conflicts: Vec<Conflict>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Why a text is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Not JSON, or not of the form.
    #[error("not a plan: {0}; 'punctual tune plan --json' writes one")]
    Form(#[from] serde_json::Error),
    /// Of another form.
    #[error("not a plan that this program reads: it is {found}, wanted is {SCHEMA} {VERSION}")]
    Schema {
        /// What it says.
        found: String,
    },
}

impl Plan {
    /// Reads what `punctual tune plan --json` has written.
    ///
    /// # Errors
    /// Where it is not of the form.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text)?;
        if plan.schema != SCHEMA || plan.schema_version != VERSION {
            return Err(PlanError::Schema { found: format!("{} {}", plan.schema, plan.schema_version) });
        }
        Ok(plan)
    }

    /// Adds a conflict for each place that no longer has what the plan found there, and for each that no plan of ours names.
    pub fn look_again(&mut self, read: &mut dyn FnMut(&Place) -> Reading) {
        for step in &self.steps {
            if !step.place.is_known() {
                self.conflicts.push(Conflict {
                    about: step.label(),
                    why: format!("{} is no setting of the kernel's, and no file of this program's", step.place),
                    remedy: "make the plan again".to_owned(),
                });
                continue;
            }
            if step.in_new_folder {
                continue;
            }
            let now = match read(&step.place) {
                Reading::Is(now) if step.form.same(&now, &step.before) => continue,
                Reading::Is(now) => step.form.shown(&now),
                Reading::Missing => "missing".to_owned(),
                Reading::Failed(why) => why,
                Reading::Refused(refusal) => refusal.why,
            };
            self.conflicts.push(Conflict {
                about: step.label(),
                why: format!(
                    "{} was {} when the plan was made, now it is {now}",
                    step.place,
                    step.form.shown(&step.before)
                ),
                remedy: "make the plan again".to_owned(),
            });
        }
    }

    /// Of what is wanted on a machine; `read` looks at a place.
    #[must_use]
    pub fn from_demand(demand: Demand, read: &mut dyn FnMut(&Place) -> Reading) -> Self {
        Self::seen(demand, &mut Reader(read))
    }

    /// The same on a machine where `look` also says what this process may not change: such a thing is left out with the
    /// reason, or, where it was asked for by name, is a conflict.
    #[must_use]
    pub fn seen(demand: Demand, look: &mut dyn Look) -> Self {
        let Demand { wanted, conflicts, notes } = demand;
        let mut plan = Self {
            schema: SCHEMA.to_owned(),
            schema_version: VERSION,
            steps: Vec::new(),
            already: 0,
            absent: Vec::new(),
            withheld: Vec::new(),
            conflicts,
            notes,
        };
        for one in wanted {
            plan.add(one, look);
        }
        if plan.steps.iter().any(Step::needs_reboot) {
            plan.notes.push("what is written for the boot loader takes effect at the next boot".to_owned());
        }
        plan
    }

    fn add(&mut self, wanted: RequiredSetting, look: &mut dyn Look) {
        let read = &mut |place: &Place| look.look(place);
        if wanted.place.better().is_some_and(|better| read(&better) != Reading::Missing) {
            if !wanted.is_named {
                return;
            }
            self.notes.push(format!(
                "{} needs a process that holds it; this kernel has cpu.resume-latency-us, which bounds each CPU by itself \
                 and needs none",
                wanted.knob
            ));
        }
        let mut in_new_folder = false;
        let before = match read(&wanted.place) {
            Reading::Is(value) => value,
            Reading::Missing if wanted.in_new_folder => {
                in_new_folder = true;
                Value::Absent
            }
            Reading::Missing if wanted.is_named => {
                self.conflicts.push(Conflict {
                    about: wanted.knob,
                    why: wanted.place.absence().0,
                    remedy: wanted.place.absence().1.to_owned(),
                });
                return;
            }
            // An interrupt or a thread that has gone since the profile was read.
            Reading::Missing if wanted.may_refuse => return,
            Reading::Missing => {
                self.absent.push(Absent { knob: wanted.knob, place: wanted.place });
                return;
            }
            Reading::Failed(why) => {
                self.conflicts.push(Conflict {
                    about: wanted.knob,
                    why: format!("{} cannot be read: {why}", wanted.place),
                    remedy: "see what that error means there, or leave out what asks for it".to_owned(),
                });
                return;
            }
            Reading::Refused(refusal) => return self.withhold(wanted, refusal),
        };
        if wanted.form.same(&before, &wanted.value) {
            self.already += 1;
            return;
        }
        if time::is_place(&wanted.place) && before != Value::Absent {
            // The service would go on as it was begun, and only claim to be as the new file says.
            self.conflicts.push(Conflict {
                about: format!("[time] {}", wanted.of),
                why: format!(
                    "{} is there already, with another content: that service runs by an earlier intent",
                    wanted.place
                ),
                remedy: "take the earlier one back first, by the 'revert' of the command that applied it".to_owned(),
            });
            return;
        }
        if let Some(most) = beyond_most(&wanted, read) {
            self.conflicts.push(Conflict {
                about: format!("{} {}", wanted.knob, wanted.of).trim().to_owned(),
                why: format!("{} is wanted, the most that is possible here is {most}", wanted.value),
                remedy: format!("take a number up to {most}"),
            });
            return;
        }
        if let Some(refusal) = look.refuses(&wanted.place) {
            return self.withhold(wanted, refusal);
        }
        let RequiredSetting { knob, of, place, form, value, group, why, cost, may_refuse, .. } = wanted;
        let group = group_number(group);
        self.steps.push(Step {
            knob,
            of,
            place,
            form,
            before,
            wanted: value,
            group,
            why,
            cost,
            may_refuse,
            in_new_folder,
        });
    }
}

impl Plan {
    /// Leaves out what this process is not let at, unless it was asked for by name.
    fn withhold(&mut self, wanted: RequiredSetting, refusal: Refusal) {
        let RequiredSetting { knob, of, place, is_named, .. } = wanted;
        let Refusal { why, remedy } = refusal;
        if is_named {
            let about = format!("{knob} {of}").trim().to_owned();
            self.conflicts.push(Conflict { about, why: format!("{place}: {why}"), remedy });
        } else {
            self.withheld.push(Withheld { knob, of, place, why, remedy });
        }
    }
}

/// The most that may stand at a place, where more is wanted.
fn beyond_most(wanted: &RequiredSetting, read: &mut dyn FnMut(&Place) -> Reading) -> Option<i128> {
    let Value::Text(value) = &wanted.value else { return None };
    let Reading::Is(Value::Text(most)) = read(&wanted.place.most()?) else { return None };
    let most = most.trim().parse().ok()?;
    (value.trim().parse::<i128>().ok()? > most).then_some(most)
}

const fn group_number(group: Group) -> u32 {
    group as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demand::RequiredSetting;

    /// A machine where one place cannot be read and one cannot be written.
    struct Closed;

    impl Look for Closed {
        fn look(&mut self, place: &Place) -> Reading {
            if place.path().contains("debug") { Reading::Refused(refusal()) } else { Reading::Is(Value::text("1")) }
        }

        fn refuses(&mut self, place: &Place) -> Option<Refusal> {
            place.path().contains("read-only").then(refusal)
        }
    }

    fn refusal() -> Refusal {
        Refusal { why: "the kernel is locked down".to_owned(), remedy: "start it without".to_owned() }
    }

    fn wanted(path: &str, is_named: bool) -> RequiredSetting {
        RequiredSetting {
            knob: "k".to_owned(),
            of: String::new(),
            place: Place::attribute(path),
            form: Form::Integer,
            value: Value::text("0"),
            group: Group::Throttle,
            why: "w".to_owned(),
            cost: String::new(),
            may_refuse: false,
            is_named,
            in_new_folder: false,
        }
    }

    #[test]
    fn what_is_refused_is_left_out_unless_it_was_named() {
        let places = ["/sys/kernel/debug/x", "/sys/read-only", "/sys/y"];
        let plan = |is_named: bool| {
            let wanted = places.iter().map(|path| wanted(path, is_named)).collect();
            Plan::seen(Demand { wanted, ..Demand::default() }, &mut Closed)
        };
        let proposed = plan(false);
        assert_eq!((proposed.steps.len(), proposed.withheld.len(), proposed.conflicts.len()), (1, 2, 0));
        assert!(proposed.withheld.iter().all(|one| one.why == refusal().why && one.remedy == refusal().remedy));
        let named = plan(true);
        assert_eq!((named.steps.len(), named.withheld.len(), named.conflicts.len()), (1, 0, 2));
        assert_eq!(Plan::from_json(&serde_json::to_string(&proposed).unwrap()).unwrap(), proposed);
        // What stands there already needs no right.
        let mut already = wanted("/sys/read-only", true);
        already.value = Value::text("1");
        let plan = Plan::seen(Demand { wanted: vec![already], ..Demand::default() }, &mut Closed);
        assert_eq!((plan.already, plan.conflicts.len()), (1, 0));
    }
}
