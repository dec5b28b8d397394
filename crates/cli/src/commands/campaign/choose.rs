//! Which campaign is run, with which values.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use campaign::{Campaign, Choice, declared, shipped};
use knobs::{Plan, Site, propose};

use super::setting::Setting;

#[derive(clap::Args)]
pub(super) struct CampaignChoice {
    /// A campaign that comes with the program ('punctual campaign list'), or a TOML file
    #[arg(value_name = "CAMPAIGN")]
    campaign: String,
    /// Its short form: to see it run, not to learn from it
    #[arg(long)]
    short: bool,
    /// Another value than the file's; 'punctual campaign show' tells them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    values: Vec<(String, String)>,
    /// Only these levels of a factor, for example isolation=RT,CPUSET
    #[arg(long, value_name = "FACTOR=LEVEL,…", value_parser = assignment)]
    only: Vec<(String, String)>,
    /// How often each condition is measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,
    /// Decides every order that is drawn
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not NAME=VALUE"))?;
    if name.is_empty() { Err(format!("'{text}' names nothing")) } else { Ok((name.to_owned(), value.to_owned())) }
}

/// The text of a shipped campaign or of a file, and what to call it.
pub(super) fn text(name: &str) -> anyhow::Result<String> {
    if let Some(text) = shipped::find(name) {
        return Ok(text.to_owned());
    }
    if !Path::new(name).exists() && !name.contains(['.', '/']) {
        let names: Vec<&str> = shipped::SHIPPED.iter().map(|(name, _)| *name).collect();
        bail!(
            "there is no campaign '{name}': {} come with the program; a file's name has a dot or a slash",
            names.join(", ")
        );
    }
    fs::read_to_string(name).with_context(|| format!("cannot read {name}"))
}

/// What one condition would change.
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) plan: Plan,
}

impl CampaignChoice {
    /// Whether it is the short form that is run, which is there to be seen running.
    pub(super) const fn is_short(&self) -> bool {
        self.short
    }

    /// The campaign with all its values, as far as it can be run on this machine, and what each condition would change.
    pub(super) fn resolve(&self, setting: &mut Setting) -> anyhow::Result<(Campaign, Vec<Planned>)> {
        let text = text(&self.campaign)?;
        let site = setting.site();
        let mut choice = Choice { is_short: self.short, values: BTreeMap::new() };
        for (name, stands) in declared(&text) {
            if let Some(value) = automatic(&stands, &site, None)? {
                choice.values.insert(name, value);
            }
        }
        // What is left over depends on which CPUs were chosen.
        let isolated = self.values.iter().find(|(name, _)| name == "cpus").map(|(_, cpus)| cpus.clone());
        let isolated = isolated.or_else(|| choice.values.get("cpus").cloned());
        for (name, stands) in declared(&text) {
            if let Some(value) = automatic(&stands, &site, isolated.as_deref())? {
                choice.values.insert(name, value);
            }
        }
        choice.values.extend(self.values.iter().cloned());
        let mut campaign = Campaign::from_toml(&text, &choice).with_context(|| self.campaign.clone())?;
        if let Some(repetitions) = self.repetitions {
            campaign.repetitions = repetitions;
            campaign.confirm = campaign.confirm.map(|_| campaign::Confirm { repetitions });
        }
        campaign.seed = self.seed.unwrap_or(campaign.seed);
        let campaign = self.only_levels(campaign)?;
        let planned = plans(&campaign, setting, &site);
        if !campaign.fit_to_machine {
            return Ok((campaign, planned));
        }
        let left_out = not_for_this_machine(&campaign, &planned, &site);
        if left_out.is_empty() {
            return Ok((campaign, planned));
        }
        let campaign = campaign.without(&left_out)?;
        let planned = plans(&campaign, setting, &site);
        Ok((campaign, planned))
    }

    fn only_levels(&self, campaign: Campaign) -> anyhow::Result<Campaign> {
        let mut left_out = Vec::new();
        for (name, levels) in &self.only {
            let Some(factor) = campaign.factor.iter().find(|factor| factor.name == *name) else {
                let known: Vec<&str> = campaign.factor.iter().map(|factor| factor.name.as_str()).collect();
                bail!("--only {name}=…: there is no such factor; there are {}", known.join(", "));
            };
            let wanted: Vec<&str> = levels.split(',').collect();
            let known: Vec<&str> = factor.level.iter().map(|level| level.name.as_str()).collect();
            if let Some(odd) = wanted.iter().find(|level| !known.contains(level)) {
                bail!("--only {name}: there is no level '{odd}'; there are {}", known.join(", "));
            }
            let others = known.into_iter().filter(|level| !wanted.contains(level));
            left_out.extend(others.map(|level| (name.clone(), level.to_owned(), "it was not asked for".to_owned())));
        }
        if left_out.is_empty() { Ok(campaign) } else { Ok(campaign.without(&left_out)?) }
    }
}

fn plans(campaign: &Campaign, setting: &mut Setting, site: &Site) -> Vec<Planned> {
    let mut planned = Vec::new();
    for condition in campaign.conditions() {
        // Contradictions were found when the file was read.
        let intent = campaign.intent_of(&condition).ok().flatten();
        planned.push(Planned { name: campaign.name_of(&condition), plan: setting.plan(intent.as_ref(), site) });
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
            None => match campaign::cannot_matter(campaign, level, &site.profile) {
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
        let mut set: Vec<String> = planned.plan.steps.iter().map(super::setting::in_words).collect();
        set.sort();
        set
    };
    set(one) == set(other)
}

/// What stands for a value that the machine itself knows; nothing where it is plain. `isolated` are the CPUs to set apart
/// where they are known.
fn automatic(stands: &str, site: &Site, isolated: Option<&str>) -> anyhow::Result<Option<String>> {
    let Some(what) = stands.strip_prefix("auto:") else { return Ok(None) };
    let online = site.profile.cpus.online.clone().context("which CPUs this machine has could not be read")?;
    let last = online.iter().last().map(|cpu| cpu.to_string()).unwrap_or_default();
    let isolate = propose(site).isolate.map(|cpus| cpus.to_string());
    let rest = || -> anyhow::Result<units::CpuSet> {
        let isolated = isolated.or(isolate.as_deref()).unwrap_or_default();
        let isolated: units::CpuSet = isolated.parse().with_context(|| format!("'{isolated}' is no set of CPUs"))?;
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
        _ => bail!("'{stands}': auto:all, auto:last, auto:isolate, auto:rest and auto:rest-mask are known"),
    }))
}
