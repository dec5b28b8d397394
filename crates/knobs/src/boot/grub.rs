//! GRUB with Debian's `update-grub`, which reads `/etc/default/grub.d/*.cfg` after the user's own file.

use super::{
    BootFiles, BootPlan, Change, Evidence, KERNEL_KNOB, KNOB, Loader, Refusal, Standing, Wish, grub_cfg, shell, texts,
    words_of,
};
use crate::Place;
use crate::boot::efi;

pub(super) struct Grub;

const SETTINGS: &str = "/etc/default/grub";
const FOLDER: &str = "/etc/default/grub.d/";
/// Our file beside the user's own: read late, so that ours is added to whatever stands there.
const DROP_IN: &str = "/etc/default/grub.d/95-punctual.cfg";
const PROGRAM: &str = "/usr/sbin/update-grub";
const MADE: &str = "/boot/grub/grub.cfg";
const NAME: &str = "GRUB_CMDLINE_LINUX";
const DEFAULT: &str = "GRUB_DEFAULT";
const KERNEL_COMMENT: &str = "# The kernel: ";

/// The files of settings besides ours, in the order in which they are read.
fn settings(files: &BootFiles) -> impl Iterator<Item = (&str, &str)> {
    let others = files.matching(FOLDER, ".cfg").filter(|&path| path != DROP_IN);
    [SETTINGS].into_iter().chain(others).filter_map(|path| Some((path, files.text(path)?)))
}

/// The file that is read after ours and sets a name to something else; `folder` is where ours is.
pub(super) fn defeated_by<'a>(
    mut settings: impl Iterator<Item = (&'a str, &'a str)>,
    folder: &str,
    ours: &str,
    name: &str,
) -> Option<String> {
    let replaces = |text: &str| shell::assignments(text).iter().any(|one| one.name == name && !one.adds);
    let later = settings.find(|(path, text)| path.starts_with(folder) && *path > ours && replaces(text));
    later.map(|(path, _)| path.to_owned())
}

/// That file is in the way.
pub(super) fn later(path: &str, name: &str) -> Refusal {
    Refusal::new(
        format!("{path} is read after ours and sets {name} again, so ours would have no effect"),
        format!("let that line add to it ({name}=\"${name} …\"), or give the file a name that comes before 95"),
    )
}

fn ours(content: &str) -> Vec<String> {
    let line = content.lines().find_map(|line| line.strip_prefix("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX "));
    line.and_then(|line| line.strip_suffix('"')).map(words_of).unwrap_or_default()
}

impl Loader for Grub {
    fn name(&self) -> &'static str {
        "GRUB"
    }

    fn reads(&self) -> &'static [&'static str] {
        &[SETTINGS, "/etc/default/grub.d/*.cfg", MADE, efi::LOADER_INFO]
    }

    fn looks_for(&self) -> &'static [&'static str] {
        &[PROGRAM]
    }

    fn evidence(&self, files: &BootFiles) -> Evidence {
        if !files.has(SETTINGS) || !files.has(PROGRAM) {
            return Evidence::None;
        }
        // Its module bli reports it (GRUB's manual, since 2.12).
        match efi::text(files, efi::LOADER_INFO) {
            Some(info) if info.starts_with("GRUB") => Evidence::Certain(format!("it says so: {info}")),
            _ => Evidence::Possible(format!("{SETTINGS}, {PROGRAM}")),
        }
    }

    fn standing(&self, files: &BootFiles) -> Result<Standing, Refusal> {
        let names = [NAME, "GRUB_CMDLINE_LINUX_DEFAULT"];
        let assigned = settings(files).flat_map(|(_, text)| shell::assignments(text));
        let others = assigned.filter(|one| names.contains(&one.name.as_str())).flat_map(|one| texts(&one.value));
        Ok(Standing { ours: files.text(DROP_IN).map(ours).unwrap_or_default(), others: others.collect() })
    }

    fn plan(&self, files: &BootFiles, wish: &Wish<'_>) -> Result<BootPlan, Refusal> {
        let mut content = "# Written by 'punctual tune'; 'punctual tune revert' takes it back.\n".to_owned();
        let mut planned = BootPlan::default();
        let defeated = |name: &str| match defeated_by(settings(files), FOLDER, DROP_IN, name) {
            Some(path) => Err(later(&path, name)),
            None => Ok(()),
        };
        if !wish.parameters.is_empty() {
            defeated(NAME)?;
            content += &format!("{NAME}=\"${NAME} {}\"\n", wish.parameters.join(" "));
        }
        if let Some(release) = wish.kernel {
            defeated(DEFAULT)?;
            let entry = grub_cfg::entry_of(files.need(MADE)?, release).ok_or_else(|| {
                Refusal::new(format!("{MADE} has no entry for the kernel {release}"), "run update-grub, and plan again")
            })?;
            if entry.id.contains(['"', '$', '`', '\\']) {
                let why = format!(
                    "the entry for the kernel {release} has an identifier that cannot be written: {}",
                    entry.id
                );
                return Err(Refusal::new(why, "give it another one"));
            }
            content += &format!("{KERNEL_COMMENT}{release}\n{DEFAULT}=\"{}\"\n", entry.id);
            planned.notes.push(format!(
                "whatever {DEFAULT} says in files of yours, '{}' is started unless another entry is chosen in the menu",
                entry.title
            ));
        }
        let knob = if wish.parameters.is_empty() { KERNEL_KNOB } else { KNOB };
        planned.changes.push(Change::file(knob, DROP_IN, content));
        Ok(planned)
    }

    fn owns(&self, place: &Place) -> bool {
        matches!(place, Place::File { path } if path == DROP_IN)
    }

    fn follow_up(&self, _: &Place) -> Option<&'static [&'static str]> {
        Some(&["update-grub"])
    }

    fn words(&self, _: &Place, content: &str) -> Vec<String> {
        ours(content)
    }

    fn kernel(&self, _: &Place, content: &str) -> Option<String> {
        content.lines().find_map(|line| line.strip_prefix(KERNEL_COMMENT)).map(str::to_owned)
    }
}
