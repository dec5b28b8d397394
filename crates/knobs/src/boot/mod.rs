//! The kernel's command line at the next boot, and how it is set through boot loaders.
//!
//! A boot loader is one file of this folder with its [`Loader`], one line in [`LOADERS`] and one machine in
//! `fixtures/boot`. The rules for each: nothing of the user's is rewritten where the loader reads a file of ours beside it,
//! or knows a second entry; where it has one file alone, a copy of the original stays, from which the machine can be
//! started; and a place that is changed is restored byte for byte.

mod armbian;
pub mod efi;
mod extlinux;
mod files;
mod grub;
mod grub_cfg;
mod parameters;
mod raspberry_pi;
mod saved;
pub mod shell;
mod systemd_boot;
#[cfg(test)]
mod tests;
mod u_boot_menu;

use profile::cmdline;

use crate::{Place, Value};

pub use files::BootFiles;
pub use parameters::{PARAMETERS, Parameter};
pub(crate) use parameters::{given_elsewhere, isolating};

/// All boot loaders that are known.
pub static LOADERS: &[&dyn Loader] = &[
    &grub::Grub,
    &systemd_boot::SystemdBoot,
    &u_boot_menu::UBootMenu,
    &extlinux::Extlinux,
    &raspberry_pi::RaspberryPi,
    &armbian::Armbian,
];

/// A boot loader whose configuration is known.
pub trait Loader: Sync {
    /// As its makers call it.
    fn name(&self) -> &'static str;

    /// The files whose content is needed; `*` stands for any text within a name.
    fn reads(&self) -> &'static [&'static str];

    /// The files of which it matters whether they are there; `*` as above.
    fn looks_for(&self) -> &'static [&'static str] {
        &[]
    }

    /// What says that it starts this machine.
    fn evidence(&self, files: &BootFiles) -> Evidence;

    /// The settings of the next boot as they are now.
    ///
    /// # Errors
    /// Where it cannot be found out.
    fn standing(&self, files: &BootFiles) -> Result<Standing, Refusal>;

    /// What has to stand where for a wish.
    ///
    /// # Errors
    /// Where it cannot be had.
    fn plan(&self, files: &BootFiles, wish: &Wish<'_>) -> Result<BootPlan, Refusal>;

    /// Whether its plans name a place.
    fn owns(&self, place: &Place) -> bool;

    /// What has to run for it to take notice of a change there.
    fn follow_up(&self, _: &Place) -> Option<&'static [&'static str]> {
        None
    }

    /// The parameters that a content of one of its places gives to the kernel.
    fn words(&self, place: &Place, content: &str) -> Vec<String>;

    /// The kernel that a content of one of its places chooses.
    fn kernel(&self, _: &Place, _: &str) -> Option<String> {
        None
    }
}

/// Whether a boot loader starts a machine, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// No file and no variable of the firmware speaks of this loader.
    None,
    /// Its files are there.
    Possible(String),
    /// It reported itself at this boot.
    Certain(String),
}

/// The settings of the next boot as they are now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The parameters that we gave.
    pub ours: Vec<String>,
    /// Those of the user's that are known beside the running kernel's.
    pub others: Vec<String>,
}

/// The settings that are wanted for the next boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish<'a> {
    /// More parameters, without blanks and quotes in them.
    pub parameters: &'a [String],
    /// The release of the kernel; `None` where it stays to the loader.
    pub kernel: Option<&'a str>,
}

/// What has to stand where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootPlan {
    /// In the order in which it is to be written.
    pub changes: Vec<Change>,
    /// What a person should know, above all how the machine is started without it.
    pub notes: Vec<String>,
}

/// What has to stand at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name that a plan shows for it, such as `boot.parameters`.
    pub knob: &'static str,
    /// The file, or the variable of the loader, that is written.
    pub place: Place,
    /// The whole text that stands there afterwards.
    pub content: String,
}

impl Change {
    fn file(knob: &'static str, path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { knob, place: Place::File { path: path.into() }, content: content.into() }
    }
}

/// Why something cannot be had, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What stands in the way, as a part of a sentence.
    pub why: String,
    /// What a person can do about it, as a part of a sentence.
    pub remedy: String,
}

impl Refusal {
    fn new(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into() }
    }

    /// Of a file of which we wrote a part, where the rest has become another since.
    fn changed_since(path: &str) -> Self {
        Self::new(
            format!("{path} was changed by someone else since 'punctual tune' wrote to it"),
            "'punctual tune revert --force' restores what stood there before; then make that change again",
        )
    }

    fn no_kernel_choice(loader: &str) -> Self {
        Self::new(
            format!("choosing a kernel is not supported for {loader}"),
            "leave 'kernel' out of [boot], and choose it by the boot loader's own means",
        )
    }
}

/// The knob of the parameters.
const KNOB: &str = "boot.parameters";
/// The knob of the kernel.
const KERNEL_KNOB: &str = "boot.kernel";
/// The knob of the entry that is started unless another is chosen.
const DEFAULT_KNOB: &str = "boot.default-entry";
/// The knob of the copy of what was there before.
const SAVED_KNOB: &str = "boot.saved-original";

/// What has to be read to find out which boot loader there is and how it is configured: files with their content, and files
/// of which it matters whether they are there.
#[must_use]
pub fn needs() -> (Vec<&'static str>, Vec<&'static str>) {
    let mut reads: Vec<_> = LOADERS.iter().flat_map(|loader| loader.reads()).copied().collect();
    let mut looks: Vec<_> =
        LOADERS.iter().flat_map(|loader| loader.looks_for()).chain(files::KERNELS).copied().collect();
    for paths in [&mut reads, &mut looks] {
        paths.sort_unstable();
        paths.dedup();
    }
    (reads, looks)
}

/// The boot loader that starts a machine.
///
/// # Errors
/// Where none is found, or more than one, and which these are.
pub fn find(files: &BootFiles) -> Result<&'static dyn Loader, Refusal> {
    let (mut certain, mut possible) = (Vec::new(), Vec::new());
    for loader in LOADERS.iter().copied() {
        match loader.evidence(files) {
            Evidence::None => {}
            Evidence::Possible(what) => possible.push((loader, what)),
            Evidence::Certain(what) => certain.push((loader, what)),
        }
    }
    let found = if certain.is_empty() { possible } else { certain };
    match found[..] {
        [(loader, _)] => Ok(loader),
        [] => Err(Refusal::new(
            "no boot loader was found whose configuration is known",
            "take mechanism = \"cpuset\", or set the parameters by hand: 'punctual explain no-cpu-set-apart'",
        )),
        _ => {
            let named: Vec<String> = found.iter().map(|(loader, what)| format!("{} ({what})", loader.name())).collect();
            Err(Refusal::new(
                format!("more than one boot loader may start this machine: {}", named.join(", ")),
                "take those away that do not, or set the parameters by hand",
            ))
        }
    }
}

/// Whether a place belongs to a boot loader.
pub(crate) fn owner(place: &Place) -> Option<&'static dyn Loader> {
    LOADERS.iter().copied().find(|loader| loader.owns(place))
}

/// A kernel that is installed whole.
///
/// # Errors
/// Where it is not, and which ones are.
pub(crate) fn installed<'a>(release: &'a str, files: &BootFiles) -> Result<&'a str, Refusal> {
    let missing = match files::kernel_parts(files, release) {
        (true, true) => return Ok(release),
        (false, true) => format!("/boot/vmlinuz-{release} is not there"),
        (true, false) => format!("/lib/modules/{release} is not there"),
        (false, false) => format!("neither /boot/vmlinuz-{release} nor /lib/modules/{release} is there"),
    };
    let kernels = files.kernels();
    let remedy = if kernels.is_empty() {
        "no kernel was found as /boot/vmlinuz-RELEASE with /lib/modules/RELEASE".to_owned()
    } else {
        format!("there are {}", kernels.join(", "))
    };
    Err(Refusal::new(missing, remedy))
}

/// How a machine was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Started {
    /// The running kernel's command line.
    pub cmdline: String,
    /// The running kernel's release.
    pub release: String,
    /// The entry that the boot loader says it has started, where it says so.
    pub entry: Option<String>,
}

/// Whether a change for the next start is in force in the running kernel.
#[must_use]
pub fn is_in_force(place: &Place, before: &Value, wanted: &Value, started: &Started) -> bool {
    let Some(loader) = owner(place) else { return true };
    let Value::Text(content) = wanted else { return true };
    if matches!(place, Place::EfiString { .. }) {
        return started.entry.as_ref().is_some_and(|entry| entry.eq_ignore_ascii_case(content));
    }
    let running = texts(&started.cmdline);
    let words = |value: &Value| match value {
        Value::Text(content) => loader.words(place, content),
        Value::Absent => Vec::new(),
    };
    let (before, wanted) = (words(before), words(wanted));
    wanted.iter().filter(|word| !before.contains(word)).all(|word| running.contains(word))
        && !before.iter().filter(|word| !wanted.contains(word)).any(|word| running.contains(word))
        && loader.kernel(place, content).is_none_or(|kernel| kernel == started.release)
}

/// The parameters of a command line, as they would be written.
fn texts(line: &str) -> Vec<String> {
    cmdline::parse(line).iter().map(cmdline::Param::text).collect()
}

/// The same, from a text of one line.
fn words_of(line: &str) -> Vec<String> {
    line.split_ascii_whitespace().map(str::to_owned).collect()
}
