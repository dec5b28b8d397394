//! The entries of a `grub.cfg` that `grub-mkconfig` has made: which kernel each starts, and how `GRUB_DEFAULT` names it
//! (GRUB's manual, "Simple configuration handling": the identifiers of the menus around it and its own, joined by `>`).

/// One entry of the menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// What `GRUB_DEFAULT` names it by.
    pub(super) id: String,
    /// Title of the entry.
    pub(super) title: String,
    /// The file that it starts, as it stands there.
    pub(super) linux: String,
    /// The kernel's command line.
    pub(super) arguments: String,
}

/// The words of a line, without quotes; `None` for a line that ends within them.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The identifier of a line that opens an entry or a menu.
fn id(words: &[String]) -> Option<String> {
    let at = words.iter().position(|word| word == "$menuentry_id_option" || word == "--id");
    at.map_or_else(|| words.get(1), |at| words.get(at + 1)).cloned()
}

/// All entries, in their order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    /// What an open brace belongs to.
    enum Open {
        Menu(String),
        Entry,
        Other,
    }
    let mut open: Vec<Open> = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        let Some(words) = words(line.trim()) else { continue };
        let opens = words.last().is_some_and(|word| word == "{");
        match words.first().map(String::as_str) {
            Some("submenu") if opens => open.push(id(&words).map_or(Open::Other, Open::Menu)),
            Some("menuentry") if opens => match id(&words) {
                Some(own) => {
                    let menus = open.iter().filter_map(|open| match open {
                        Open::Menu(id) => Some(id.as_str()),
                        _ => None,
                    });
                    let id = menus.chain([own.as_str()]).collect::<Vec<_>>().join(">");
                    let title = words.get(1).cloned().unwrap_or_default();
                    entries.push(Entry { id, title, linux: String::new(), arguments: String::new() });
                    open.push(Open::Entry);
                }
                None => open.push(Open::Other),
            },
            Some("linux" | "linuxefi" | "linux16") if open.iter().any(|open| matches!(open, Open::Entry)) => {
                if let Some(entry) = entries.last_mut().filter(|entry| entry.linux.is_empty()) {
                    entry.linux = words.get(1).cloned().unwrap_or_default();
                    entry.arguments = words.get(2..).unwrap_or_default().join(" ");
                }
            }
            Some("}") => {
                open.pop();
            }
            _ if opens => open.push(Open::Other),
            _ => {}
        }
    }
    entries
}

/// The entry that starts a kernel as it is meant to be used, that is neither for recovery nor a shortcut whose kernel is
/// the newest one.
pub(super) fn entry_of(text: &str, release: &str) -> Option<Entry> {
    let starts = |entry: &Entry| entry.linux.rsplit('/').next() == Some(&format!("vmlinuz-{release}"));
    let is_recovery = |entry: &Entry| entry.id.contains("-recovery-") || words_have_single(&entry.arguments);
    let mut found: Vec<Entry> =
        entries(text).into_iter().filter(|entry| starts(entry) && !is_recovery(entry)).collect();
    // The one whose own identifier names the kernel keeps its meaning when another kernel comes.
    let named = found.iter().position(|entry| entry.id.rsplit('>').next().is_some_and(|id| id.contains(release)));
    named.map(|at| found.swap_remove(at))
}

fn words_have_single(arguments: &str) -> bool {
    arguments.split_ascii_whitespace().any(|word| matches!(word, "single" | "recovery"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CFG: &str = "if [ x = y ]; then\n  set default=\"0\"\nfi\nfunction savedefault {\n  x\n}\n\
        menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-u' {\n\
        \tif [ a ]; then\n\t  set root='hd0,gpt2'\n\tfi\n\tlinux\t/boot/vmlinuz-6.1.0-30-amd64 root=UUID=u ro  quiet\n}\n\
        submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-u' {\n\
        \tmenuentry 'Debian, with Linux 6.1.0-30-amd64' --class x $menuentry_id_option 'gnulinux-6.1.0-30-amd64-advanced-u' {\n\
        \t\tlinux\t/boot/vmlinuz-6.1.0-30-amd64 root=UUID=u ro quiet\n\t}\n\
        \tmenuentry 'Debian, 6.1.0-28-rt-amd64 (recovery mode)' $menuentry_id_option 'gnulinux-6.1.0-28-rt-amd64-recovery-u' {\n\
        \t\tlinux\t/boot/vmlinuz-6.1.0-28-rt-amd64 root=UUID=u ro single \n\t}\n\
        \tmenuentry 'Debian''s, 6.1.0-28-rt-amd64' $menuentry_id_option 'gnulinux-6.1.0-28-rt-amd64-advanced-u' {\n\
        \t\tlinux\t/vmlinuz-6.1.0-28-rt-amd64 root=UUID=u ro quiet\n\t}\n}\n\
        menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {\n\tfwsetup\n}\n";

    #[test]
    fn an_entry_is_named_through_its_menus() {
        let id = |release: &str| entry_of(CFG, release).map(|entry| entry.id);
        assert_eq!(id("6.1.0-28-rt-amd64").unwrap(), "gnulinux-advanced-u>gnulinux-6.1.0-28-rt-amd64-advanced-u");
        assert_eq!(
            id("6.1.0-30-amd64").unwrap(),
            "gnulinux-advanced-u>gnulinux-6.1.0-30-amd64-advanced-u",
            "not the shortcut, which starts another kernel once there is a newer one"
        );
        assert_eq!(id("6.1.0-30"), None);
        assert_eq!(entries(CFG).len(), 5);
        assert_eq!(entries(CFG)[0].arguments, "root=UUID=u ro quiet");
        assert_eq!(entries("menuentry 'x {\n}\nlinux a\n"), []);
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_answer(text in "([{}'\" \n]|menuentry|submenu|linux|--id|a|\\\\){0,60}") {
            let _ = entries(&text);
        }
    }
}
