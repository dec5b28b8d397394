//! Debian's `u-boot-menu`: `u-boot-update` makes `/boot/extlinux/extlinux.conf` of `/etc/default/u-boot` and of the files in
//! `/etc/u-boot-menu/conf.d`, which it reads after it (u-boot-update(8), since 4.2).

use super::shell;
use super::{
    BootFiles, BootPlan, Change, Evidence, KNOB, Loader, Refusal, SAVED_KNOB, Standing, Wish, texts, words_of,
};
use crate::Place;

pub(super) struct UBootMenu;

const PROGRAM: &str = "/usr/sbin/u-boot-update";
const FOLDER: &str = "/etc/u-boot-menu/conf.d/";
const DROP_IN: &str = "/etc/u-boot-menu/conf.d/95-punctual.conf";
const SETTINGS: &str = "/etc/default/u-boot";
const MADE: &str = "/boot/extlinux/extlinux.conf";
const SAVED: &str = "/boot/extlinux/extlinux.punctual-original.conf";
const KERNEL_CMDLINE: &str = "/etc/kernel/cmdline";
const NAME: &str = "U_BOOT_PARAMETERS";

/// Whether the menu is made by a version that reads a folder of settings.
pub(super) fn makes_the_menu(files: &BootFiles) -> bool {
    files.has(MADE) && files.text(PROGRAM).is_some_and(|program| program.contains(FOLDER))
}

/// The files of settings besides ours, in the order in which they are read.
fn settings(files: &BootFiles) -> impl Iterator<Item = (&str, &str)> {
    let first = files.text(SETTINGS).map(|text| (SETTINGS, text));
    let folders = ["/usr/share/u-boot-menu/conf.d/", FOLDER];
    let others = folders.into_iter().flat_map(|folder| files.matching(folder, ".conf"));
    let others = others.filter(|&path| path != DROP_IN).filter_map(|path| Some((path, files.text(path)?)));
    first.into_iter().chain(others)
}

/// The last value of a name.
fn value(files: &BootFiles, name: &str) -> Option<String> {
    settings(files).filter_map(|(_, text)| shell::value(text, name)).last()
}

fn ours(content: &str) -> Vec<String> {
    let line = content.lines().find_map(|line| line.strip_prefix(NAME)?.strip_prefix("=\"${")?.split_once("} "));
    line.and_then(|(_, ours)| ours.strip_suffix('"')).map(words_of).unwrap_or_default()
}

impl Loader for UBootMenu {
    fn name(&self) -> &'static str {
        "U-Boot with u-boot-menu"
    }

    fn reads(&self) -> &'static [&'static str] {
        &[PROGRAM, SETTINGS, "/usr/share/u-boot-menu/conf.d/*.conf", "/etc/u-boot-menu/conf.d/*.conf", MADE, SAVED]
    }

    fn looks_for(&self) -> &'static [&'static str] {
        &[KERNEL_CMDLINE]
    }

    fn evidence(&self, files: &BootFiles) -> Evidence {
        if makes_the_menu(files) { Evidence::Possible(format!("{PROGRAM}, {MADE}")) } else { Evidence::None }
    }

    fn standing(&self, files: &BootFiles) -> Result<Standing, Refusal> {
        let ours = files.text(DROP_IN).map(ours).unwrap_or_default();
        Ok(Standing { ours, others: value(files, NAME).map(|line| texts(&line)).unwrap_or_default() })
    }

    fn plan(&self, files: &BootFiles, wish: &Wish<'_>) -> Result<BootPlan, Refusal> {
        if wish.kernel.is_some() {
            return Err(Refusal::no_kernel_choice(self.name()));
        }
        if value(files, "U_BOOT_UPDATE").is_some_and(|value| value != "true") {
            return Err(Refusal::new(
                format!("u-boot-update is switched off in {SETTINGS}, so nothing regenerates {MADE}"),
                "remove the line U_BOOT_UPDATE there",
            ));
        }
        // What the program takes where nothing is set, which it would no longer see.
        let program = files.need(PROGRAM)?;
        let default = program.split_once("U_BOOT_PARAMETERS:-").and_then(|(_, rest)| rest.split_once('}'));
        let default = default.map(|(default, _)| default).filter(|default| !default.contains(['$', '"', '\\', '`']));
        let is_set = value(files, NAME).is_some_and(|value| !value.is_empty());
        let remedy = format!("set {NAME} in {SETTINGS} to what stands after 'append' in {MADE}, without root=");
        let default = match default {
            _ if is_set => "",
            Some(_) if files.has(KERNEL_CMDLINE) && program.contains(KERNEL_CMDLINE) => {
                let why = format!("{NAME} is not set, and {KERNEL_CMDLINE}, which is read then, would be no more");
                return Err(Refusal::new(why, remedy));
            }
            Some(default) => default,
            None => {
                return Err(Refusal::new(format!("what {PROGRAM} takes where {NAME} is not set is not known"), remedy));
            }
        };
        if let Some(path) = super::grub::defeated_by(settings(files), FOLDER, DROP_IN, NAME) {
            return Err(super::grub::later(&path, NAME));
        }
        let made = if files.has(DROP_IN) && files.has(SAVED) { files.need(SAVED)? } else { files.need(MADE)? };
        let content = format!(
            "# Written by 'punctual tune'; 'punctual tune revert' takes it back.\n\
             {NAME}=\"${{{NAME}:-{default}}} {}\"\n",
            wish.parameters.join(" ")
        );
        Ok(BootPlan {
            changes: vec![Change::file(SAVED_KNOB, SAVED, made), Change::file(KNOB, DROP_IN, content)],
            notes: vec![format!(
                "all entries of the menu get them; where the machine no longer starts, 'sysboot' at U-Boot's prompt takes \
                 the menu as it was: {SAVED}"
            )],
        })
    }

    fn owns(&self, place: &Place) -> bool {
        matches!(place, Place::File { path } if path == DROP_IN || path == SAVED)
    }

    fn follow_up(&self, place: &Place) -> Option<&'static [&'static str]> {
        (place.path() == DROP_IN).then_some(&["u-boot-update"])
    }

    fn words(&self, place: &Place, content: &str) -> Vec<String> {
        if place.path() == DROP_IN { ours(content) } else { Vec::new() }
    }
}
