//! A campaign fitted to one machine: values that depend on the machine are filled in, and levels that it does not
//! support are left out.

use std::collections::BTreeMap;

use knobs::{Intent, Plan, Site, Step, propose};
use units::CpuSet;

use crate::{Campaign, CampaignError, Choice, Confirm, cannot_matter, declared};

/// What the user chose differently from the campaign's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Whether the short form is run, which demonstrates the campaign and concludes nothing.
    pub is_short: bool,
    /// (name, value) pairs that override values of the file.
    pub values: Vec<(String, String)>,
    /// (factor, levels) pairs: the levels to keep, separated by commas, such as `RT,CPUSET`.
    pub only: Vec<(String, String)>,
    /// The factors to vary; default: all of the file. The others stay at their first level.
    pub factors: Vec<String>,
    /// How often each condition is measured; default: as in the file.
    pub repetitions: Option<u32>,
    /// Seed of every random order; default: as in the file.
    pub seed: Option<u32>,
}

/// What one condition would change on this machine.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The condition's name.
    pub name: String,
    /// The changes that it takes, and the conflicts.
    pub plan: Plan,
}

/// Why a campaign cannot be run on this machine as it was chosen.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The campaign's file or one of its values is not valid.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// An unknown `auto:` value.
    #[error("'{0}' is unknown: use auto:all, auto:last, auto:isolate, auto:rest or auto:rest-mask")]
    Automatic(String),
    /// An `auto:` value is needed, and the online CPUs are unknown.
    #[error("an 'auto:' value needs the list of online CPUs, which could not be read")]
    Online,
    /// The CPUs to isolate are not a CPU list.
    #[error("'{text}' is not a CPU list such as 2-3,6")]
    Cpus {
        /// The text that was given.
        text: String,
        /// The parser's reason.
        #[source]
        error: units::CpuSetError,
    },
    /// `--factor` or `--only` names a factor that is not in the file.
    #[error("'{factor}': there is no such factor; the factors are {known}")]
    Factor {
        /// The factor that was given.
        factor: String,
        /// The factors of the file.
        known: String,
    },
    /// `--only` names a level that the factor does not have.
    #[error("--only {factor}: there is no level '{level}'; the levels are {known}")]
    Level {
        /// Name of the factor.
        factor: String,
        /// The level that was given.
        level: String,
        /// The levels of the factor.
        known: String,
    },
}

impl Campaign {
    /// Reads a campaign, fills in all its values for the machine of `site` and leaves out levels that cannot be run
    /// there. Also returns what each condition would change. `plan` computes what an intent would change now, where these
    /// CPUs are measured.
    ///
    /// # Errors
    /// If the text, a value or a choice cannot be used, or nothing is left to vary.
    pub fn fitted(
        text: &str,
        wanted: &Overrides,
        site: &Site,
        plan: &mut dyn FnMut(Option<&Intent>, &CpuSet) -> Plan,
    ) -> Result<(Self, Vec<Planned>), FitError> {
        let mut campaign = Self::from_toml(text, &choice(text, wanted, site)?)?;
        if let Some(repetitions) = wanted.repetitions {
            campaign.repetitions = repetitions;
            campaign.confirm = campaign.confirm.map(|_| Confirm { repetitions });
        }
        campaign.seed = wanted.seed.unwrap_or(campaign.seed);
        let campaign = only_levels(only_factors(campaign, &wanted.factors)?, &wanted.only)?;
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

/// All values: those of the machine, overridden by those that the user gave.
fn choice(text: &str, wanted: &Overrides, site: &Site) -> Result<Choice, FitError> {
    let mut choice = Choice { is_short: wanted.is_short, values: BTreeMap::new() };
    for (name, stands) in declared(text) {
        if let Some(value) = automatic(&stands, site, None)? {
            choice.values.insert(name, value);
        }
    }
    // The remaining CPUs ("rest") depend on which CPUs were chosen, so the values are resolved a second time.
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

fn no_such_factor(campaign: &Campaign, factor: &str) -> FitError {
    let known: Vec<&str> = campaign.factor.iter().map(|factor| factor.name.as_str()).collect();
    FitError::Factor { factor: factor.to_owned(), known: known.join(", ") }
}

fn only_factors(mut campaign: Campaign, factors: &[String]) -> Result<Campaign, FitError> {
    if let Some(odd) = factors.iter().find(|name| campaign.factor.iter().all(|factor| factor.name != **name)) {
        return Err(no_such_factor(&campaign, odd));
    }
    campaign.factor.retain(|factor| factors.is_empty() || factors.contains(&factor.name));
    Ok(campaign)
}

fn only_levels(campaign: Campaign, only: &[(String, String)]) -> Result<Campaign, FitError> {
    let mut left_out = Vec::new();
    for (name, levels) in only {
        let Some(factor) = campaign.factor.iter().find(|factor| factor.name == *name) else {
            return Err(no_such_factor(&campaign, name));
        };
        let wanted: Vec<&str> = levels.split(',').collect();
        let known: Vec<&str> = factor.level.iter().map(|level| level.name.as_str()).collect();
        if let Some(odd) = wanted.iter().find(|level| !known.contains(level)) {
            return Err(FitError::Level { factor: name.clone(), level: (*odd).to_owned(), known: known.join(", ") });
        }
        let others = known.into_iter().filter(|level| !wanted.contains(level));
        left_out
            .extend(others.map(|level| (name.clone(), level.to_owned(), "it was not selected with --only".to_owned())));
    }
    if left_out.is_empty() { Ok(campaign) } else { Ok(campaign.without(&left_out)?) }
}

fn plans(campaign: &Campaign, plan: &mut dyn FnMut(Option<&Intent>, &CpuSet) -> Plan) -> Vec<Planned> {
    let mut planned = Vec::new();
    for condition in campaign.conditions() {
        // Contradictions were found when the file was read.
        let intent = campaign.intent_of(&condition).ok().flatten();
        planned.push(Planned {
            name: campaign.name_of(&condition),
            plan: plan(intent.as_ref(), &campaign.measured_at(&condition)),
        });
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
            None if level.asked.is_empty() && planned.plan.steps == first.plan.steps => {
                match planned.plan.withheld.first() {
                    Some(withheld) => withheld.why.clone(),
                    None => "this machine is already set so, or does not have the setting".to_owned(),
                }
            }
            None => match cannot_matter(campaign, level, &site.profile) {
                Some(why) => format!("it cannot change what is measured: {why}"),
                // A bundle of settings of which this machine has only one equals the level of that setting.
                None => match kept.iter().find(|(other, _)| level.asked.is_empty() && is_same(other, planned)) {
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

/// Whether two conditions make the same changes, in any order and for any reason.
fn is_same(one: &Planned, other: &Planned) -> bool {
    let set = |planned: &Planned| {
        let mut set: Vec<String> = planned.plan.steps.iter().map(Step::in_words).collect();
        set.sort();
        set
    };
    set(one) == set(other)
}

/// Resolves an `auto:` value from the machine; `None` for any other value. `isolated` are the CPUs to isolate, if
/// known.
fn automatic(stands: &str, site: &Site, isolated: Option<&str>) -> Result<Option<String>, FitError> {
    let Some(what) = stands.strip_prefix("auto:") else { return Ok(None) };
    let online = site.profile.cpus.online.clone().ok_or(FitError::Online)?;
    let last = online.iter().last().map(|cpu| cpu.to_string()).unwrap_or_default();
    let isolate = propose(site).isolate.map(|cpus| cpus.to_string());
    let rest = || -> Result<CpuSet, FitError> {
        let text = isolated.or(isolate.as_deref()).unwrap_or_default();
        let isolated = text.parse().map_err(|error| FitError::Cpus { text: text.to_owned(), error })?;
        let rest = online.difference(&isolated);
        // With no CPU left, nothing can be moved elsewhere, and the level is left out.
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
