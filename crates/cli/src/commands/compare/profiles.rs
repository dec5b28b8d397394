//! The profiles of both sides: named, or beside the records as `punctual assess` leaves them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use profile::Profile;
use record::Record;

use crate::records;
use terminal::output;

/// The profile of one side; `None` if there is none. A profile that is not of these runs is an error.
pub(super) fn find(named: Option<&Path>, paths: &[PathBuf], runs: &[Record]) -> Option<anyhow::Result<Profile>> {
    let beside = |path: &PathBuf| {
        let folder = if path.is_dir() { path.as_path() } else { path.parent()? };
        Some(folder.join("profile.json")).filter(|file| file.is_file())
    };
    let file = named.map(Path::to_owned).or_else(|| paths.iter().find_map(beside))?;
    let profile = read(&file);
    if let Ok(profile) = &profile {
        let hash = profile.hash();
        let other = |run: &&Record| run.manifest().profile_sha256.as_ref().is_some_and(|sha256| *sha256 != hash);
        if let Some(run) = runs.iter().find(other) {
            let (file, id) = (file.display(), &run.id);
            output::warning(&format!("{file} is not the configuration that the run {id} was taken with"));
        }
    }
    Some(profile)
}

fn read(file: &Path) -> anyhow::Result<Profile> {
    let text = records::read(file)?;
    let profile: Profile = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a profile: make one with 'punctual profile --json'", file.display()))?;
    if profile.schema != profile::SCHEMA || profile.schema_version > profile::SCHEMA_VERSION {
        bail!(
            "{} is {} version {}: this program reads {} up to version {}",
            file.display(),
            profile.schema,
            profile.schema_version,
            profile::SCHEMA,
            profile::SCHEMA_VERSION
        );
    }
    Ok(profile)
}
