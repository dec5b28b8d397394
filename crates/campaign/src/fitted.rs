//! A campaign as it is run on one machine: with the values that only this machine can give, and without the levels that it
//! cannot have.

use std::collections::BTreeMap;

use knobs::{Intent, Plan, Site, Step, propose};
use units::CpuSet;

use crate::{Campaign, CampaignError, Choice, Confirm, cannot_matter, declared};

/// What whoever runs a campaign chose otherwise than its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Whether its short form is run: to see it running, not to learn from it.
    pub is_short: bool,
    /// Values of the file's, by their names; they outrank what stands there.
    pub values: Vec<(String, String)>,
    /// The levels that are left of a factor, by its name: `RT,CPUSET`.
    pub only: Vec<(String, String)>,
    /// How often each condition is measured; as the file says where absent.
    pub repetitions: Option<u32>,
    /// Decides every order that is drawn; as the file says where absent.
    pub seed: Option<u32>,
}

/// What one condition would change.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The condition's name.
    pub name: String,
    /// What would be changed for it, and what stands in the way.
    pub plan: Plan,
}

/// Why a campaign cannot be run here as it was chosen.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Its text, or a value.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A value is a word that stands for something else on each machine, and is none that is known.
    #[error("'{0}': auto:all, auto:last, auto:isolate, auto:rest and auto:rest-mask are known")]
    Automatic(String),
    /// Such a value is asked for where nothing tells it.
    #[error("which CPUs this machine has could not be read")]
    Online,
    /// The CPUs to set apart are no set.
    #[error("'{text}' is no set of CPUs")]
    Cpus {
        /// What stands there.
        text: String,
        /// What is odd.
        #[source]
        error: units::CpuSetError,
    },
    /// A factor that is not in the file.
    #[error("--only {factor}=…: there is no such factor; there are {known}")]
    Factor {
        /// What was given.
        factor: String,
        /// What there is.
        known: String,
    },
    /// A level that the factor does not have.
    #[error("--only {factor}: there is no level '{level}'; there are {known}")]
    Level {
        /// Of which factor.
        factor: String,
        /// What was given.
        level: String,
        /// What there is.
        known: String,
    },
}

impl Campaign {
    /// The campaign of a text with all its values, as far as it can be run on the machine of `site`, and what each of its
    /// conditions would change there. `plan` tells what an intent would change now.
    ///
    /// # Errors
    /// Where the text, a value or a choice cannot be used, or nothing is left to vary.
    pub fn fitted(
        text: &str,
        wanted: &Wanted,
        site: &Site,
        plan: &mut dyn FnMut(Option<&Intent>) -> Plan,
    ) -> Result<(Self, Vec<Planned>), FitError> {
        let mut campaign = Self::from_toml(text, &choice(text, wanted, site)?)?;
        if let Some(repetitions) = wanted.repetitions {
            campaign.repetitions = repetitions;
            campaign.confirm = campaign.confirm.map(|_| Confirm { repetitions });
        }
        campaign.seed = wanted.seed.unwrap_or(campaign.seed);
        let campaign = only_levels(campaign, &wanted.only)?;
        let planned = plans(&campaign, plan);
        if !campaign.fit_to_machine {
            return Ok((campaign, planned));
        }
        let left_out = not_for_this_machine(&campaign, &planned, site);
        if left_out.is_empty() {
            return Ok((campaign, planned));
        }
        let campaign = campaign.without(&left_out)?;
        let planned = plans(&campaign, plan);
        Ok((campaign, planned))
    }
}

/// All values: of the machine, and over them those that were given.
fn choice(text: &str, wanted: &Wanted, site: &Site) -> Result<Choice, FitError> {
    let mut choice = Choice { is_short: wanted.is_short, values: BTreeMap::new() };
    for (name, stands) in declared(text) {
        if let Some(value) = automatic(&stands, site, None)? {
            choice.values.insert(name, value);
        }
    }
    // What is left over depends on which CPUs were chosen.
    let isolated = wanted.values.iter().find(|(name, _)| name == "cpus").map(|(_, cpus)| cpus.clone());
    let isolated = isolated.or_else(|| choice.values.get("cpus").cloned());
    for (name, stands) in declared(text) {
        if let Some(value) = automatic(&stands, site, isolated.as_deref())? {
            choice.values.insert(name, value);
        }
    }
    choice.values.extend(wanted.values.iter().cloned());
    Ok(choice)
}

fn only_levels(campaign: Campaign, only: &[(String, String)]) -> Result<Campaign, FitError> {
    let mut left_out = Vec::new();
    for (name, levels) in only {
        let Some(factor) = campaign.factor.iter().find(|factor| factor.name == *name) else {
            let known: Vec<&str> = campaign.factor.iter().map(|factor| factor.name.as_str()).collect();
            return Err(FitError::Factor { factor: name.clone(), known: known.join(", ") });
        };
        let wanted: Vec<&str> = levels.split(',').collect();
        let known: Vec<&str> = factor.level.iter().map(|level| level.name.as_str()).collect();
        if let Some(odd) = wanted.iter().find(|level| !known.contains(level)) {
            return Err(FitError::Level { factor: name.clone(), level: (*odd).to_owned(), known: known.join(", ") });
        }
        let others = known.into_iter().filter(|level| !wanted.contains(level));
        left_out.extend(others.map(|level| (name.clone(), level.to_owned(), "it was not asked for".to_owned())));
    }
    if left_out.is_empty() { Ok(campaign) } else { Ok(campaign.without(&left_out)?) }
}

fn plans(campaign: &Campaign, plan: &mut dyn FnMut(Option<&Intent>) -> Plan) -> Vec<Planned> {
    let mut planned = Vec::new();
    for condition in campaign.conditions() {
        // Contradictions were found when the file was read.
        let intent = campaign.intent_of(&condition).ok().flatten();
        planned.push(Planned { name: campaign.name_of(&condition), plan: plan(intent.as_ref()) });
    }
    planned
}

/// Levels of single factors that this machine cannot have, or whose settings it has already.
fn not_for_this_machine(campaign: &Campaign, planned: &[Planned], site: &Site) -> Vec<(String, String, String)> {
    let mut left_out = Vec::new();
    let mut kept: Vec<(&Planned, String)> = Vec::new();
    let Some(first) = planned.first() else { return left_out };
    for (condition, planned) in campaign.conditions().iter().zip(planned).skip(1) {
        let mut set = campaign.factor.iter().zip(&condition.levels).filter(|(_, level)| **level != 0);
        let Some((factor, level)) = set.next().filter(|_| set.next().is_none()) else { continue };
        let Some(level) = factor.level.get(*level) else { continue };
        let why = match planned.plan.conflicts.first() {
            Some(conflict) => conflict.why.clone(),
            None if level.asks_the_same() && planned.plan.steps == first.plan.steps => {
                "this machine is so already, or has none of it".to_owned()
            }
            None => match cannot_matter(campaign, level, &site.profile) {
                Some(why) => format!("it cannot change what is measured: {why}"),
                // A bundle of which this machine has one part alone is that part.
                None => match kept.iter().find(|(other, _)| level.asks_the_same() && is_same(other, planned)) {
                    Some((_, other)) => format!("on this machine it sets the same as {other}"),
                    None => {
                        kept.push((planned, planned.name.clone()));
                        continue;
                    }
                },
            },
        };
        left_out.push((factor.name.clone(), level.name.clone(), why));
    }
    left_out
}

/// Whether two conditions set the same, in whatever order and for whatever reason.
fn is_same(one: &Planned, other: &Planned) -> bool {
    let set = |planned: &Planned| {
        let mut set: Vec<String> = planned.plan.steps.iter().map(Step::in_words).collect();
        set.sort();
        set
    };
    set(one) == set(other)
}

/// What stands for a value that the machine itself knows; nothing where it is plain. `isolated` are the CPUs to set apart
/// where they are known.
fn automatic(stands: &str, site: &Site, isolated: Option<&str>) -> Result<Option<String>, FitError> {
    let Some(what) = stands.strip_prefix("auto:") else { return Ok(None) };
    let online = site.profile.cpus.online.clone().ok_or(FitError::Online)?;
    let last = online.iter().last().map(|cpu| cpu.to_string()).unwrap_or_default();
    let isolate = propose(site).isolate.map(|cpus| cpus.to_string());
    let rest = || -> Result<CpuSet, FitError> {
        let text = isolated.or(isolate.as_deref()).unwrap_or_default();
        let isolated = text.parse().map_err(|error| FitError::Cpus { text: text.to_owned(), error })?;
        let rest = online.difference(&isolated);
        // With nothing left over, nothing can be moved there, and the level is left out.
        Ok(if rest.is_empty() { online.clone() } else { rest })
    };
    Ok(Some(match what {
        "all" => online.to_string(),
        "last" => last,
        "isolate" => isolate.unwrap_or(last),
        "rest" => rest()?.to_string(),
        "rest-mask" => rest()?.to_mask(),
        _ => return Err(FitError::Automatic(stands.to_owned())),
    }))
}
