//! `/boot/extlinux/extlinux.conf`, which U-Boot reads itself (U-Boot's doc/README.pxe and doc/usage/cmd/sysboot.rst).
//!
//! The file is the user's, and there is no other: a label is added, a copy of the default one with more parameters, and
//! `default` names it. The label that was the default stays, and so does a copy of the whole file.

use super::{
    BootFiles, BootPlan, Change, Evidence, KNOB, Loader, Refusal, SAVED_KNOB, Standing, Wish, texts, u_boot_menu,
    words_of,
};
use crate::Place;

pub(super) struct Extlinux;

const MENU: &str = "/boot/extlinux/extlinux.conf";
const SAVED: &str = "/boot/extlinux/extlinux.punctual-original.conf";
const LABEL: &str = "punctual";
/// What precedes the name of the label that ours is a copy of.
const COPY_OF: &str =
    "# Written by 'punctual tune'; 'punctual tune revert' takes it back. More parameters for a copy of ";
/// What precedes our parameters.
const OURS: &str = "# What 'punctual tune' adds: ";

/// The keyword of a line, in small letters, and what follows it.
fn keyword(line: &str) -> (String, &str) {
    let line = line.trim();
    let (word, rest) = line.split_once(|c: char| c.is_whitespace()).unwrap_or((line, ""));
    (word.to_ascii_lowercase(), rest.trim())
}

/// A label and the lines that belong to it.
struct Label<'a> {
    name: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> Label<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        self.lines.iter().map(|line| keyword(line)).find(|(word, _)| word == name).map(|(_, value)| value)
    }

    fn starts(&self, release: &str) -> bool {
        let linux = self.value("linux").or_else(|| self.value("kernel"));
        let is_rescue = self.value("append").is_some_and(|line| line.split_whitespace().any(|word| word == "single"));
        !is_rescue && linux.and_then(|linux| linux.rsplit('/').next()) == Some(&format!("vmlinuz-{release}"))
    }
}

/// Keywords that end a label, since they are the menu's.
const OF_THE_MENU: &[&str] = &["default", "ontimeout", "timeout", "prompt", "include", "ui", "say", "display"];

struct Menu<'a> {
    labels: Vec<Label<'a>>,
    default: Option<&'a str>,
}

fn menu(text: &str) -> Menu<'_> {
    let mut menu = Menu { labels: Vec::new(), default: None };
    let mut in_label = false;
    for line in text.lines() {
        match keyword(line) {
            (word, name) if word == "label" => {
                menu.labels.push(Label { name, lines: Vec::new() });
                in_label = true;
            }
            (word, value) if OF_THE_MENU.contains(&word.as_str()) => {
                in_label = false;
                if word == "default" || word == "ontimeout" {
                    // The last one counts (U-Boot's boot/pxe_utils.c, `parse_pxefile_top`).
                    menu.default = Some(value);
                }
            }
            (word, _) if in_label && !word.is_empty() && !word.starts_with('#') => {
                if let Some(label) = menu.labels.last_mut() {
                    label.lines.push(line);
                }
            }
            _ => {}
        }
    }
    menu
}

/// The label that a wish is about.
fn wanted_label<'a, 'b>(menu: &'b Menu<'a>, kernel: Option<&str>) -> Result<&'b Label<'a>, Refusal> {
    if let Some(release) = kernel {
        return menu.labels.iter().find(|label| label.starts(release)).ok_or_else(|| {
            Refusal::new(format!("no label in {MENU} starts the kernel {release}"), "add one, and plan again")
        });
    }
    let label = match menu.default {
        Some(default) => menu.labels.iter().find(|label| label.name == default),
        None => menu.labels.first(),
    };
    label.ok_or_else(|| {
        let why = match menu.default {
            Some(default) => format!("{MENU} starts the label {default}, which it does not hold"),
            None => format!("{MENU} holds no label"),
        };
        Refusal::new(why, "let 'default' name a label of that file")
    })
}

/// The file with a label of ours as the default.
fn render(text: &str, label: &Label<'_>, parameters: &[String]) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut made = String::with_capacity(text.len() * 2);
    let mut is_named = false;
    for line in text.split_inclusive('\n') {
        let (word, value) = keyword(line);
        if word == "default" || word == "ontimeout" {
            // In the place of the name that stands there; behind the keyword, which may be the same word.
            let value_at = if value.is_empty() { line.trim_end().len() } else { line.trim_end().len() - value.len() };
            let gap = if value.is_empty() { " " } else { "" };
            made += &[&line[..value_at], gap, LABEL, &line[line.trim_end().len()..]].concat();
            is_named = true;
        } else {
            made += line;
        }
    }
    if !is_named {
        made = format!("default {LABEL}{newline}{made}");
    }
    if !made.is_empty() && !made.ends_with('\n') {
        made += newline;
    }
    let mut lines =
        vec![format!("{COPY_OF}{}", label.name), format!("{OURS}{}", parameters.join(" ")), format!("label {LABEL}")];
    let title = label.lines.iter().map(|line| keyword(line)).filter(|(word, _)| word == "menu");
    let title =
        title.map(|(_, rest)| keyword(rest)).find(|(word, _)| word == "label").map_or(label.name, |(_, title)| title);
    lines.push(format!("\tmenu label {title} (punctual)"));
    let mut has_append = false;
    for line in &label.lines {
        match keyword(line) {
            (word, _) if word == "menu" => {}
            (word, arguments) if word == "append" => {
                has_append = true;
                lines.push(["\tappend", arguments, &parameters.join(" ")].join(" ").trim_end().to_owned());
            }
            _ => lines.push(line.trim_end().to_owned()),
        }
    }
    if !has_append && !parameters.is_empty() {
        lines.push(format!("\tappend {}", parameters.join(" ")));
    }
    for line in lines {
        made += &line;
        made += newline;
    }
    made
}

/// Our parameters in a menu, and the label that ours is a copy of.
fn ours(content: &str) -> Option<(&str, Vec<String>)> {
    let copied = content.lines().rfind(|line| line.starts_with(COPY_OF))?.strip_prefix(COPY_OF)?;
    let ours = content.lines().rfind(|line| line.starts_with(OURS))?.strip_prefix(OURS)?;
    Some((copied, words_of(ours)))
}

/// The menu without what is ours in it, and what that is.
fn base(files: &BootFiles) -> Result<(&str, Vec<String>), Refusal> {
    let now = files.need(MENU)?;
    let Some((copied, parameters)) = ours(now) else { return Ok((now, Vec::new())) };
    let text = files.need(SAVED)?;
    let menu = menu(text);
    let label = menu.labels.iter().find(|label| label.name == copied);
    let is_ours = label.is_some_and(|label| render(text, label, &parameters) == now);
    if is_ours { Ok((text, parameters)) } else { Err(Refusal::changed_since(MENU)) }
}

impl Loader for Extlinux {
    fn name(&self) -> &'static str {
        "U-Boot with extlinux.conf"
    }

    fn reads(&self) -> &'static [&'static str] {
        &[MENU, SAVED]
    }

    fn evidence(&self, files: &BootFiles) -> Evidence {
        // If a program generates that file from settings, these are its input.
        if files.has(MENU) && !u_boot_menu::makes_the_menu(files) {
            Evidence::Possible(MENU.to_owned())
        } else {
            Evidence::None
        }
    }

    fn standing(&self, files: &BootFiles) -> Result<Standing, Refusal> {
        let (text, ours) = base(files)?;
        let menu = menu(text);
        let others = wanted_label(&menu, None).ok().and_then(|label| label.value("append")).map(texts);
        Ok(Standing { ours, others: others.unwrap_or_default() })
    }

    fn plan(&self, files: &BootFiles, wish: &Wish<'_>) -> Result<BootPlan, Refusal> {
        let (text, _) = base(files)?;
        let menu = menu(text);
        if menu.labels.iter().any(|label| label.name == LABEL) {
            return Err(Refusal::new(format!("{MENU} has a label {LABEL} that is not ours"), "give it another name"));
        }
        let label = wanted_label(&menu, wish.kernel)?;
        Ok(BootPlan {
            changes: vec![
                Change::file(SAVED_KNOB, SAVED, text),
                Change::file(KNOB, MENU, render(text, label, wish.parameters)),
            ],
            notes: vec![format!(
                "the label {} stays in U-Boot's menu as it was; 'sysboot' at U-Boot's prompt takes the whole menu as it was: \
                 {SAVED}",
                label.name
            )],
        })
    }

    fn owns(&self, place: &Place) -> bool {
        matches!(place, Place::File { path } if path == MENU || path == SAVED)
    }

    fn kernel(&self, place: &Place, content: &str) -> Option<String> {
        let menu = menu(content);
        let ours = menu.labels.iter().find(|label| place.path() == MENU && label.name == LABEL)?;
        let linux = ours.value("linux").or_else(|| ours.value("kernel"))?;
        linux.rsplit('/').next()?.strip_prefix("vmlinuz-").map(str::to_owned)
    }

    fn words(&self, place: &Place, content: &str) -> Vec<String> {
        if place.path() == MENU { ours(content).map(|(_, ours)| ours).unwrap_or_default() } else { Vec::new() }
    }
}
