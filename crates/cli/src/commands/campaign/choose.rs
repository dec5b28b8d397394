//! Which campaign is run, with which values.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use campaign::{Campaign, FitError, Overrides, Planned, shipped};
use conduct::Setting;

use crate::names;

#[derive(clap::Args)]
pub(super) struct CampaignChoice {
    /// A campaign that comes with the program ('punctual campaign list'), or a TOML file
    #[arg(value_name = "CAMPAIGN", value_parser = names::campaign())]
    campaign: String,
    /// Its short form: a demonstration, too short for conclusions
    #[arg(long)]
    short: bool,
    /// Override a value of the file; 'punctual campaign show' prints them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    values: Vec<(String, String)>,
    /// Vary only this factor, for example power; repeatable
    #[arg(long, value_name = "FACTOR", value_delimiter = ',')]
    factor: Vec<String>,
    /// Only these levels of a factor, for example isolation=RT,CPUSET
    #[arg(long, value_name = "FACTOR=LEVEL,…", value_parser = assignment)]
    only: Vec<(String, String)>,
    /// How often each condition is measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,
    /// Decides every order that is drawn
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// The campaign's text where it was made and is in no file.
    #[arg(skip)]
    made: Option<String>,
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

impl CampaignChoice {
    /// A campaign that was made for the occasion.
    pub(super) fn made(name: &str, text: String, seed: Option<u32>) -> Self {
        Self {
            campaign: name.to_owned(),
            short: false,
            values: Vec::new(),
            factor: Vec::new(),
            only: Vec::new(),
            repetitions: None,
            seed,
            made: Some(text),
        }
    }

    /// Whether it is the short form that is run, which is there to be seen running.
    pub(super) const fn is_short(&self) -> bool {
        self.short
    }

    /// The campaign with all its values, as far as it can be run on this machine, and what each condition would change.
    pub(super) fn resolve(&self, setting: &mut Setting) -> anyhow::Result<(Campaign, Vec<Planned>)> {
        let text = self.made.clone().map_or_else(|| text(&self.campaign), Ok)?;
        let site = setting.site();
        let wanted = Overrides {
            is_short: self.short,
            values: self.values.clone(),
            only: self.only.clone(),
            factors: self.factor.clone(),
            repetitions: self.repetitions,
            seed: self.seed,
        };
        let fitted =
            Campaign::fitted(&text, &wanted, &site, &mut |intent, measured| setting.plan(intent, measured, &site));
        match fitted {
            // Of the file: so it is named.
            Err(error @ FitError::Campaign(_)) => Err(error).with_context(|| self.campaign.clone()),
            other => Ok(other?),
        }
    }
}
