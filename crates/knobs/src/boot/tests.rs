//! What is written for a boot loader is applied and reverted exactly, whatever a user has written before: each loader on texts that no
//! machine would have.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Files that change as plans say.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tree(BTreeMap<String, Vec<u8>>);

impl Tree {
    fn from_files(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect())
    }

    fn files(&self) -> BootFiles {
        let mut files = BootFiles::default();
        self.0.iter().for_each(|(path, bytes)| files.add_read(path.clone(), Ok(bytes.clone())));
        files
    }

    /// What stood there before the changes.
    fn carry_out(&mut self, planned: &BootPlan) -> Vec<(String, Option<Vec<u8>>)> {
        let mut before = Vec::new();
        for change in &planned.changes {
            let bytes = match &change.place {
                Place::EfiString { .. } => efi::encode(&change.content),
                _ => change.content.clone().into_bytes(),
            };
            assert!(change.place.is_known() && change.place.outlives_boot());
            let path = change.place.path().to_owned();
            before.push((path.clone(), self.0.insert(path, bytes)));
        }
        before
    }

    fn take_back(&mut self, before: Vec<(String, Option<Vec<u8>>)>) {
        for (path, bytes) in before.into_iter().rev() {
            match bytes {
                Some(bytes) => self.0.insert(path, bytes),
                None => self.0.remove(&path),
            };
        }
    }
}

/// What holds of any loader and any text that it takes.
fn holds(loader: &dyn Loader, tree: &Tree, first: &[String], second: &[String]) {
    let wish = |parameters| Wish { parameters, kernel: None };
    let Ok(planned) = loader.plan(&tree.files(), &wish(first)) else { return };
    // A machine that dies between two of the changes starts: what is needed then comes first.
    let place_of = |knob: &str| planned.changes.iter().map(|change| change.knob).rposition(|found| found == knob);
    assert!(place_of(SAVED_KNOB) < place_of(KNOB));
    assert!(place_of(DEFAULT_KNOB).is_none_or(|default| Some(default) > place_of(KNOB)));
    let mut now = tree.clone();
    let before = now.carry_out(&planned);
    let standing = loader.standing(&now.files()).expect("what was written is read");
    assert_eq!(standing.ours, first, "{now:?}");
    assert_eq!(standing.others, loader.standing(&tree.files()).expect("it was planned").others);
    assert_eq!(loader.plan(&now.files(), &wish(first)), Ok(planned), "the same wish is the same plan");
    // Another wish in its place is as if the first had never been.
    let again = loader.plan(&now.files(), &wish(second)).expect("it could be had before");
    assert_eq!(Ok(&again), loader.plan(&tree.files(), &wish(second)).as_ref());
    let more = now.carry_out(&again);
    assert_eq!(loader.standing(&now.files()).expect("it is read").ours, second);
    now.take_back(more);
    now.take_back(before);
    assert_eq!(&now, tree, "reverted, all is as it was");
}

fn parameters() -> impl Strategy<Value = Vec<String>> {
    let one = prop_oneof![
        Just("isolcpus=managed_irq,domain,2-3".to_owned()),
        Just("nohz_full=2-3".to_owned()),
        Just("threadirqs".to_owned()),
        Just("idle=poll".to_owned()),
        Just("skew_tick=1".to_owned()),
    ];
    proptest::collection::vec(one, 1..4)
}

/// Lines in any order, with any of the ends that people leave.
fn text(line: &'static str) -> impl Strategy<Value = String> {
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just(" \n"), Just("\n\n"), Just("")];
    proptest::collection::vec((line, end), 0..8)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

const EXTLINUX: &str = "/boot/extlinux/extlinux.conf";
const ENTRY: &str = "/boot/loader/entries/a.conf";

proptest! {
    #[test]
    fn a_menu_is_restored(
        menu in text("(#.{0,9}|( |\t)?(LABEL|label|default|DEFAULT|ONTIMEOUT|append|APPEND|linux|menu label|MENU DEFAULT|timeout|include)( |\t){1,2}(a|b|default|punctual|root=/dev/x ro|quiet \"x y\")?|label|default)"),
        first in parameters(), second in parameters(),
    ) {
        let tree = Tree::from_files(&[(EXTLINUX, &menu)]);
        holds(&extlinux::Extlinux, &tree, &first, &second);
        if let Ok(planned) = extlinux::Extlinux.plan(&tree.files(), &Wish { parameters: &first, kernel: None }) {
            // As U-Boot reads it: the last of these names what is started.
            let words = planned.changes[1].content.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
            let named: Vec<_> = words.filter(|words| {
                words.first().is_some_and(|word| ["default", "ontimeout"].contains(&word.to_ascii_lowercase().as_str()))
            }).collect();
            prop_assert_eq!(named.last().map(|words| &words[1..]), Some(&["punctual"][..]), "{:?}", named);
        }
    }

    #[test]
    fn a_line_is_restored(
        line in text("(quiet|root=PARTUUID=4c4e-02|isolcpus=1|\"a b\"|é| |\t){0,4}root=x"), config in text("[a-z]{1,4}=[a-z]{0,3}|\\[all\\]|#.{0,5}"),
        first in parameters(), second in parameters(),
    ) {
        let tree = Tree::from_files(&[
            ("/proc/device-tree/model", "Raspberry Pi 5\0"), ("/proc/cmdline", "root=x"),
            ("/boot/firmware/cmdline.txt", &line), ("/boot/firmware/config.txt", &config),
        ]);
        holds(&raspberry_pi::RaspberryPi, &tree, &first, &second);
    }

    #[test]
    fn an_environment_is_restored(
        environment in text("#?(extraargs=(cma=1 |quiet|é|isolcpus=1| ){0,3}|verbosity=1|extraargs|.{0,6})"), first in parameters(), second in parameters(),
    ) {
        let tree = Tree::from_files(&[("/boot/armbianEnv.txt", &environment), ("/boot/boot.scr", "")]);
        holds(&armbian::Armbian, &tree, &first, &second);
    }

    #[test]
    fn entries_are_restored(
        entry in text("(title|options|version|linux|#|punctual|options x)( |\t)(a b|root=x|isolcpus=1|é)?"), default in "[a-z]{0,3}", first in parameters(), second in parameters(),
    ) {
        let mut tree = Tree::from_files(&[(ENTRY, &entry)]);
        let variable = |text: &str| efi::encode(text);
        tree.0.insert(efi::LOADER_INFO.to_owned(), variable("systemd-boot 257"));
        tree.0.insert(efi::ENTRY_SELECTED.to_owned(), variable("A.conf"));
        if !default.is_empty() {
            tree.0.insert(efi::ENTRY_DEFAULT.to_owned(), variable(&default));
        }
        holds(&systemd_boot::SystemdBoot, &tree, &first, &second);
        // The machine was started by our entry.
        let planned = systemd_boot::SystemdBoot.plan(&tree.files(), &Wish { parameters: &first, kernel: None }).unwrap();
        tree.carry_out(&planned);
        tree.0.insert(efi::ENTRY_SELECTED.to_owned(), variable("punctual.conf"));
        holds(&systemd_boot::SystemdBoot, &tree, &first, &second);
        let again = systemd_boot::SystemdBoot.plan(&tree.files(), &Wish { parameters: &first, kernel: None });
        prop_assert_eq!(again, Ok(planned), "a copy is made of the user's entry, and not of ours");
    }

    #[test]
    fn settings_are_restored(
        settings in text("(#|export )?(GRUB_CMDLINE_LINUX|U_BOOT_PARAMETERS|GRUB_DEFAULT)\\+?=('[^']{0,9}'|\"[a-z $]{0,9}\"|[a-z]{0,5})( \\\\)?"),
        first in parameters(), second in parameters(),
    ) {
        let tree = Tree::from_files(&[
            ("/etc/default/grub", &settings), ("/usr/sbin/update-grub", ""), ("/etc/default/u-boot", &settings), (EXTLINUX, "label a\n"),
            ("/usr/sbin/u-boot-update", "/etc/u-boot-menu/conf.d/*.conf ${U_BOOT_PARAMETERS:-ro quiet}"),
        ]);
        holds(&grub::Grub, &tree, &first, &second);
        holds(&u_boot_menu::UBootMenu, &tree, &first, &second);
    }
}

#[test]
fn the_generated_texts_are_mostly_taken() {
    // Were they all refused, the properties above would say nothing.
    let first = ["threadirqs".to_owned()];
    let wish = Wish { parameters: &first, kernel: None };
    let menu = Tree::from_files(&[(EXTLINUX, "label a\r\n  append x\r\ntimeout 3\r\nDEFAULT a")]);
    let planned = extlinux::Extlinux.plan(&menu.files(), &wish).unwrap();
    let expected = "label a\r\n  append x\r\ntimeout 3\r\nDEFAULT punctual\r\n";
    assert!(planned.changes[1].content.starts_with(expected), "{}", planned.changes[1].content);
    assert!(planned.changes[1].content.ends_with("\tappend x threadirqs\r\n"), "{}", planned.changes[1].content);
    let line = |before: &str| {
        let tree = Tree::from_files(&[("/boot/armbianEnv.txt", before), ("/boot/boot.scr", "")]);
        armbian::Armbian.plan(&tree.files(), &wish).unwrap().changes[1].content.clone()
    };
    assert_eq!(line("a=1"), "a=1\nextraargs=threadirqs\n");
    assert_eq!(line("extraargs=\r\nb=2"), "extraargs=threadirqs\r\nb=2");
    assert_eq!(line("extraargs=x\nextraargs=y \nb=2\n"), "extraargs=x\nextraargs=y threadirqs \nb=2\n");
}

#[test]
fn a_copy_stays_one_of_the_entry_that_it_was_made_of() {
    let parameters = ["threadirqs".to_owned()];
    let wish = Wish { parameters: &parameters, kernel: None };
    let mut tree =
        Tree::from_files(&[(ENTRY, "title A\nlinux /a\n"), ("/boot/loader/entries/b.conf", "title B\nlinux /b\n")]);
    tree.0.insert(efi::ENTRY_SELECTED.to_owned(), efi::encode("a.conf"));
    let plan = |tree: &Tree| systemd_boot::SystemdBoot.plan(&tree.files(), &wish);
    let first = plan(&tree).unwrap();
    assert!(first.changes[0].content.contains("title A (punctual)"));
    tree.carry_out(&first);
    // Someone chose another entry for once: what was applied is still all that is wanted.
    tree.0.insert(efi::ENTRY_SELECTED.to_owned(), efi::encode("b.conf"));
    let again = plan(&tree).unwrap();
    assert_eq!(again.changes, first.changes);
    assert!(again.notes[0].contains("started by b.conf"), "{:?}", again.notes);
    // The kernel that it starts is gone, and its entry with it.
    tree.0.remove(ENTRY);
    assert!(plan(&tree).unwrap().changes[0].content.contains("title B (punctual)"));
    tree.0.insert(efi::ENTRY_SELECTED.to_owned(), efi::encode("punctual"));
    assert!(plan(&tree).unwrap_err().why.contains("is gone"));
}

#[test]
fn a_loader_that_says_so_outranks_files_that_are_left() {
    let mut tree =
        Tree::from_files(&[("/etc/default/grub", ""), ("/usr/sbin/update-grub", ""), (EXTLINUX, "label a\n")]);
    let name = |tree: &Tree| find(&tree.files()).map(Loader::name);
    assert!(name(&tree).unwrap_err().why.contains("GRUB (/etc/default/grub, /usr/sbin/update-grub), U-Boot"));
    tree.0.insert(efi::LOADER_INFO.to_owned(), efi::encode("systemd-boot 252.39-1"));
    assert_eq!(name(&tree), Ok("systemd-boot"));
    tree.0.insert(efi::LOADER_INFO.to_owned(), efi::encode("GRUB 2.12-9"));
    assert_eq!(name(&tree), Ok("GRUB"));
}

#[test]
fn every_place_has_one_owner() {
    for (number, loader) in LOADERS.iter().enumerate() {
        assert!(LOADERS[..number].iter().all(|other| other.name() != loader.name()));
    }
    let places = [
        "/etc/default/grub.d/95-punctual.cfg",
        "/boot/efi/loader/entries/punctual.conf",
        "/etc/u-boot-menu/conf.d/95-punctual.conf",
        "/boot/armbianEnv.txt",
        "/boot/firmware/tryboot.txt",
    ];
    for path in places {
        let place = Place::File { path: path.to_owned() };
        assert_eq!(LOADERS.iter().filter(|loader| loader.owns(&place)).count(), 1, "{path}");
    }
}
