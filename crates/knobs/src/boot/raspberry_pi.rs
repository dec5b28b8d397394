//! The firmware of the Raspberry Pi: one line in `cmdline.txt`
//! (raspberrypi.com/documentation, "config.txt": `cmdline`, `os_prefix`; "Fail-safe OS updates (TRYBOOT)").
//!
//! Ours are added to the end of that line. The line as it was stays in a file of its own, and the firmware takes that one
//! when it is asked to try: `tryboot.txt` is a copy of `config.txt` that names it.

use profile::cmdline::{Param, parse};

use super::saved::{self, Point};
use super::{BootFiles, BootPlan, Change, Evidence, KNOB, Loader, Refusal, SAVED_KNOB, Standing, Wish, texts};
use crate::Place;

pub(super) struct RaspberryPi;

/// Where the first partition is mounted.
const FOLDERS: [&str; 2] = ["/boot/firmware", "/boot"];
const MODEL: &str = "/proc/device-tree/model";
const RUNNING: &str = "/proc/cmdline";
const LINE: &str = "cmdline.txt";
const SAVED: &str = "cmdline.punctual-original.txt";
const TRY: &str = "tryboot.txt";
/// Debian's package raspi-firmware runs it when a kernel is installed.
const HOOK: &str = "/etc/kernel/postinst.d/z50-raspi-firmware";
const MARK: &str = "# Written by 'punctual tune': config.txt, but with the kernel's command line as it was before.";

/// The folder whose `cmdline.txt` the running kernel was started with.
fn folder(files: &BootFiles) -> Option<&'static str> {
    files.text(MODEL).filter(|model| model.starts_with("Raspberry Pi"))?;
    let running = parse(files.text(RUNNING)?);
    FOLDERS.into_iter().find(|folder| {
        let line = files.text(&format!("{folder}/{LINE}"));
        // Since /boot/firmware is there, the one in /boot only says where to look; it has no root.
        line.is_some_and(|line| {
            let root = parse(line).into_iter().find(|param| param.name == "root");
            root.is_some_and(|root: Param| running.contains(&root)) && files.has(&format!("{folder}/config.txt"))
        })
    })
}

/// At the end of the first line that has something in it.
fn point(text: &str) -> Point {
    let start = text.find(|c: char| !c.is_whitespace()).unwrap_or(0);
    let at = saved::line_end(text, start);
    Point { at, lead: if at == 0 { String::new() } else { " ".to_owned() }, trail: "" }
}

/// The settings of `config.txt`, whatever the section.
fn settings(config: &str) -> impl Iterator<Item = (&str, &str)> {
    config.lines().filter_map(|line| line.trim().split_once('='))
}

impl Loader for RaspberryPi {
    fn name(&self) -> &'static str {
        "the Raspberry Pi's firmware"
    }

    fn reads(&self) -> &'static [&'static str] {
        &[
            MODEL,
            RUNNING,
            HOOK,
            "/boot/firmware/cmdline*.txt",
            "/boot/firmware/config.txt",
            "/boot/firmware/tryboot.txt",
            "/boot/cmdline*.txt",
            "/boot/config.txt",
            "/boot/tryboot.txt",
        ]
    }

    fn evidence(&self, files: &BootFiles) -> Evidence {
        let Some(folder) = folder(files) else { return Evidence::None };
        let config = files.text(&format!("{folder}/config.txt")).unwrap_or_default();
        // It starts U-Boot, which has a configuration of its own.
        if settings(config).any(|(name, value)| name == "kernel" && value.to_ascii_lowercase().contains("u-boot")) {
            return Evidence::None;
        }
        Evidence::Possible(format!("{folder}/{LINE}"))
    }

    fn standing(&self, files: &BootFiles) -> Result<Standing, Refusal> {
        let folder = folder(files).unwrap_or(FOLDERS[0]);
        let base = saved::base(files, &format!("{folder}/{LINE}"), &format!("{folder}/{SAVED}"), &point)?;
        Ok(Standing { ours: base.ours, others: texts(base.text) })
    }

    fn plan(&self, files: &BootFiles, wish: &Wish<'_>) -> Result<BootPlan, Refusal> {
        if wish.kernel.is_some() {
            return Err(Refusal::no_kernel_choice(self.name()));
        }
        let folder = folder(files).unwrap_or(FOLDERS[0]);
        let at = |name: &str| format!("{folder}/{name}");
        let config = files.need(&at("config.txt"))?;
        for (name, value) in settings(config) {
            if (name == "cmdline" && value != LINE) || (name == "os_prefix" && !value.is_empty()) {
                return Err(Refusal::new(
                    format!("{} says {name}={value}, so {} may not be what is read", at("config.txt"), at(LINE)),
                    "set the parameters by hand, in the file that is read",
                ));
            }
        }
        let base = saved::base(files, &at(LINE), &at(SAVED), &point)?;
        let mut planned = BootPlan::default();
        planned.changes.push(Change::file(SAVED_KNOB, at(SAVED), base.text));
        let is_ours = files.text(&at(TRY)).is_some_and(|text| text.starts_with(MARK));
        if is_ours || !files.has(&at(TRY)) {
            let newline = if config.ends_with('\n') || config.is_empty() { "" } else { "\n" };
            let try_it = format!("{MARK}\n{config}{newline}[all]\ncmdline={SAVED}\n");
            planned.changes.push(Change::file(SAVED_KNOB, at(TRY), try_it));
            planned.notes.push(format!(
                "sudo reboot '0 tryboot' starts once with the command line as it was, by {}; \
                 where the machine no longer starts, put its card into another one and make {LINE} of {SAVED}",
                at(TRY)
            ));
        } else {
            planned.notes.push(format!(
                "{} is there already and stays; where the machine no longer starts, put its card into another one and \
                 make {LINE} of {SAVED}",
                at(TRY)
            ));
        }
        if files.text(HOOK).is_some_and(|hook| hook.contains(LINE)) {
            planned.notes.push(format!(
                "{HOOK} may rewrite {} when a kernel is installed; 'punctual tune verify' shows if these are gone",
                at(LINE)
            ));
        }
        planned.changes.push(Change::file(KNOB, at(LINE), point(base.text).put(base.text, wish.parameters)));
        Ok(planned)
    }

    fn owns(&self, place: &Place) -> bool {
        let Place::File { path } = place else { return false };
        let names = [LINE, SAVED, TRY];
        path.rsplit_once('/').is_some_and(|(folder, name)| FOLDERS.contains(&folder) && names.contains(&name))
    }

    fn words(&self, place: &Place, content: &str) -> Vec<String> {
        if place.path().ends_with("/cmdline.txt") { texts(content) } else { Vec::new() }
    }
}
