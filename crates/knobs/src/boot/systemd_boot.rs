//! systemd-boot with entries of type #1 (uapi-group.org/specifications, "Boot Loader Specification"): a file each in
//! `loader/entries` of the partition that holds the kernels.
//!
//! Ours is an entry of its own, a copy of the one that the running kernel was started by. It becomes the default through
//! the variable `LoaderEntryDefault` and not through `loader.conf`: that file is the user's, the variable comes before it
//! (systemd-boot(7)), holds nothing else, and an identifier in it that no entry has is passed over, so that the default is
//! the user's again. All other entries stay in the menu.

use super::{
    BootFiles, BootPlan, Change, DEFAULT_KNOB, Evidence, KNOB, Loader, Refusal, Standing, Wish, efi, texts, words_of,
};
use crate::Place;

pub(super) struct SystemdBoot;

/// Where the partition with the kernels is mounted.
const BOOTS: [&str; 3] = ["/boot", "/boot/efi", "/efi"];
const OWN_ID: &str = "punctual.conf";
const OWN: [&str; 3] = [
    "/boot/loader/entries/punctual.conf",
    "/boot/efi/loader/entries/punctual.conf",
    "/efi/loader/entries/punctual.conf",
];
/// What precedes the name of the entry that ours is a copy of.
const COPY_OF: &str = "# Written by 'punctual tune'; 'punctual tune revert' takes it back. More options for a copy of ";
/// What precedes our options.
const OURS: &str = "# What 'punctual tune' adds:";

fn entries(files: &BootFiles) -> impl Iterator<Item = &str> {
    BOOTS.iter().flat_map(|boot| {
        let start = match *boot {
            "/boot" => "/boot/loader/entries/",
            "/boot/efi" => "/boot/efi/loader/entries/",
            _ => "/efi/loader/entries/",
        };
        files.matching(start, ".conf")
    })
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// How the boot loader calls the entry in a file: without the tries that are left (systemd.io/AUTOMATIC_BOOT_ASSESSMENT).
fn id(path: &str) -> String {
    let stem = name(path);
    let stem = stem.strip_suffix(".conf").unwrap_or(stem);
    let counted = stem.rsplit_once('+').filter(|(_, tries)| {
        !tries.is_empty()
            && tries.split('-').all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    });
    format!("{}.conf", counted.map_or(stem, |(stem, _)| stem))
}

/// The key and the value of a line.
fn field(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (key, value) = line.split_once(|c: char| c.is_whitespace())?;
    (!key.starts_with('#')).then(|| (key, value.trim()))
}

fn fields<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(field).filter(move |(found, _)| *found == key).map(|(_, value)| value)
}

/// Our own entry, where it is there.
fn own(files: &BootFiles) -> Option<&str> {
    OWN.iter().find_map(|path| files.text(path).filter(|text| text.starts_with(COPY_OF)))
}

fn ours(content: &str) -> Vec<String> {
    let after = content.rsplit_once(OURS).map_or("", |(_, after)| after);
    fields(after, "options").next().map(words_of).unwrap_or_default()
}

/// Whether an entry's identifier is the one that is meant; before version 250 the boot loader reports it without its suffix.
fn same(id: &str, meant: &str) -> bool {
    id.eq_ignore_ascii_case(meant) || id.strip_suffix(".conf").is_some_and(|id| id.eq_ignore_ascii_case(meant))
}

/// The entry that ours is a copy of.
fn copied(files: &BootFiles) -> Option<&str> {
    own(files)?.lines().next()?.strip_prefix(COPY_OF)
}

/// The file of the entry that ours is, or is to be, a copy of: once there is a copy it stays one of that entry, as long as
/// this is there, also where the machine was started by another one for once. Else the one that the running kernel was
/// started by.
fn copied_or_in_use(files: &BootFiles) -> Result<&str, Refusal> {
    let first = copied(files).and_then(|copied| entries(files).find(|path| same(&id(path), copied)));
    first.map_or_else(|| in_use(files), Ok)
}

/// The file of the entry that the running kernel was started by.
fn in_use(files: &BootFiles) -> Result<&str, Refusal> {
    let remedy = "start the machine by the entry that is meant, then plan again";
    let Some(selected) = efi::text(files, efi::ENTRY_SELECTED) else {
        let why = "which entry this machine was started by is not known: there is no variable LoaderEntrySelected";
        return Err(Refusal::new(why, "see whether efivarfs is mounted, and whether systemd-boot starts this machine"));
    };
    if same(OWN_ID, &selected) {
        let why = format!("this machine was started by {OWN_ID}, and the entry that it is a copy of is gone");
        return Err(Refusal::new(why, remedy));
    }
    let mut found = entries(files).filter(|path| same(&id(path), &selected));
    match (found.next(), found.next()) {
        (Some(path), None) => Ok(path),
        (Some(path), Some(other)) => Err(Refusal::new(
            format!("both {path} and {other} may be the entry {selected}"),
            "remove the one that is not used",
        )),
        (None, _) if selected.to_ascii_lowercase().ends_with(".efi") => Err(Refusal::new(
            format!(
                "this machine was started by {selected}, a file that holds its own command line, of which no copy can be \
                 made"
            ),
            "have the parameters built into it, or take an entry of type #1 (kernel-install with layout=bls)",
        )),
        (None, _) => Err(Refusal::new(
            format!(
                "the entry {selected}, by which this machine was started, is no file in loader/entries that can be read"
            ),
            format!("plan as root, with that partition mounted; or {remedy}"),
        )),
    }
}

/// The file of the entry that starts a kernel.
fn entry_of_kernel<'a>(files: &'a BootFiles, release: &str) -> Result<&'a str, Refusal> {
    let starts = |path: &&str| {
        let text = files.text(path).unwrap_or_default();
        let in_path = |linux: &str| {
            linux.split('/').any(|part| part == release || part.strip_prefix("vmlinuz-") == Some(release))
        };
        let is_recovery =
            fields(text, "options").any(|options| options.split_ascii_whitespace().any(|word| word == "single"));
        !is_recovery
            && (fields(text, "version").any(|version| version == release) || fields(text, "linux").any(in_path))
    };
    let mut found = entries(files).filter(|path| !OWN.contains(path)).filter(starts);
    match (found.next(), found.next()) {
        (Some(path), None) => Ok(path),
        (Some(path), Some(other)) => Err(Refusal::new(
            format!("both {path} and {other} start the kernel {release}"),
            "start the machine by the entry that is meant, and leave 'kernel' out of [boot]",
        )),
        (None, _) => Err(Refusal::new(
            format!("no entry starts the kernel {release}"),
            format!("'kernel-install add {release} /boot/vmlinuz-{release}' makes one"),
        )),
    }
}

/// A copy of an entry with more options.
fn copy(base: &str, text: &str, parameters: &[String]) -> String {
    let mut copy = format!("{COPY_OF}{base}\n");
    let mut has_title = false;
    for line in text.lines() {
        match field(line) {
            Some(("title", title)) => {
                has_title = true;
                copy += &format!("title {title} (punctual)\n");
            }
            // Without it, an entry comes after those that have it: ours is started because it is the default, and not
            // because of its name.
            Some(("sort-key", _)) => {}
            _ => copy += &format!("{line}\n"),
        }
    }
    if !has_title {
        copy += "title punctual\n";
    }
    copy + &format!("{OURS}\noptions {}\n", parameters.join(" "))
}

impl Loader for SystemdBoot {
    fn name(&self) -> &'static str {
        "systemd-boot"
    }

    fn reads(&self) -> &'static [&'static str] {
        &[
            efi::LOADER_INFO,
            efi::ENTRY_SELECTED,
            efi::ENTRY_DEFAULT,
            efi::ENTRY_PREFERRED,
            "/boot/loader/entries/*.conf",
            "/boot/efi/loader/entries/*.conf",
            "/efi/loader/entries/*.conf",
        ]
    }

    fn looks_for(&self) -> &'static [&'static str] {
        &["/boot/EFI/systemd/*.efi", "/boot/efi/EFI/systemd/*.efi", "/efi/EFI/systemd/*.efi"]
    }

    fn evidence(&self, files: &BootFiles) -> Evidence {
        if let Some(info) = efi::text(files, efi::LOADER_INFO) {
            if info.starts_with("systemd-boot") {
                return Evidence::Certain(format!("it says so: {info}"));
            }
        }
        let mut programs = BOOTS.iter().filter_map(|boot| {
            let start = format!("{boot}/EFI/systemd/systemd-boot");
            files.matching(&start, ".efi").next().map(str::to_owned)
        });
        programs.next().filter(|_| entries(files).next().is_some()).map_or(Evidence::None, Evidence::Possible)
    }

    fn standing(&self, files: &BootFiles) -> Result<Standing, Refusal> {
        let others = match copied_or_in_use(files) {
            Ok(path) => fields(files.need(path)?, "options").flat_map(texts).collect(),
            // The plan reports it if it needs to be known.
            Err(_) => Vec::new(),
        };
        Ok(Standing { ours: own(files).map(ours).unwrap_or_default(), others })
    }

    fn plan(&self, files: &BootFiles, wish: &Wish<'_>) -> Result<BootPlan, Refusal> {
        if files.has(efi::ENTRY_PREFERRED) {
            return Err(Refusal::new(
                "the variable LoaderEntryPreferred is set, which comes before the default that would be set",
                "'bootctl set-preferred \"\"' takes it away",
            ));
        }
        let path = match wish.kernel {
            Some(release) => entry_of_kernel(files, release)?,
            None => copied_or_in_use(files)?,
        };
        let base = files.need(path)?;
        let with_end = efi::text(files, efi::ENTRY_SELECTED).is_none_or(|id| id.ends_with(".conf"));
        let default = |id: &str| Change {
            knob: DEFAULT_KNOB,
            place: Place::EfiString { path: efi::ENTRY_DEFAULT.to_owned() },
            // Before version 250 an identifier has no end.
            content: if with_end { id.to_owned() } else { id.strip_suffix(".conf").unwrap_or(id).to_owned() },
        };
        let mut planned = BootPlan::default();
        if wish.parameters.is_empty() {
            planned.changes.push(default(&id(path)));
        } else {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let at = format!("{folder}/{OWN_ID}");
            if files.has(&at) && !files.text(&at).is_some_and(|text| text.starts_with(COPY_OF)) {
                return Err(Refusal::new(
                    format!("{at} is there already, and not ours"),
                    "give that entry another name",
                ));
            }
            planned.changes.push(Change::file(KNOB, at, copy(&id(path), base, wish.parameters)));
            planned.changes.push(default(OWN_ID));
            let selected = efi::text(files, efi::ENTRY_SELECTED).unwrap_or_default();
            if wish.kernel.is_none() && !same(&id(path), &selected) && !same(OWN_ID, &selected) {
                planned.notes.push(format!(
                    "this machine was started by {selected}; to have a copy of that entry instead, take back what was \
                     applied first"
                ));
            }
            planned.notes.push(format!(
                "the new entry starts the kernel of {}; entries of later kernels do not have these parameters",
                id(path)
            ));
        }
        planned.notes.push(
            "the entries that were there stay in systemd-boot's menu (hold the space bar while the machine starts)"
                .to_owned(),
        );
        Ok(planned)
    }

    fn owns(&self, place: &Place) -> bool {
        match place {
            Place::File { path } => OWN.contains(&path.as_str()),
            Place::EfiString { path } => path == efi::ENTRY_DEFAULT,
            _ => false,
        }
    }

    fn words(&self, _: &Place, content: &str) -> Vec<String> {
        ours(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_called_without_its_tries() {
        assert_eq!(id("/efi/loader/entries/a-6.1+3-1.conf"), "a-6.1+3-1.conf".replace("+3-1", ""));
        assert_eq!(id("/x/6.1.0+3.conf"), "6.1.0.conf");
        assert_eq!(id("/x/6.1.0+deb13.conf"), "6.1.0+deb13.conf", "a version, and no count");
    }
}
