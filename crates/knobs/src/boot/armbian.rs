//! Armbian: its U-Boot script imports `/boot/armbianEnv.txt` and adds `extraargs` to the kernel's command line
//! (docs.armbian.com, "Boot configuration"). Of several lines for one name the last counts (`env import -t`).

use super::saved::{self, Point};
use super::{BootFiles, BootPlan, Change, Evidence, KNOB, Loader, Refusal, SAVED_KNOB, Standing, Wish, texts};
use crate::Place;

pub(super) struct Armbian;

const ENVIRONMENT: &str = "/boot/armbianEnv.txt";
const SAVED: &str = "/boot/armbianEnv.punctual-original.txt";
const SCRIPT: &str = "/boot/boot.scr";
const NAME: &str = "extraargs=";

/// The byte after `extraargs=` of the last such line.
fn value_start(text: &str) -> Option<usize> {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    starts.rfind(|&start| text[start..].starts_with(NAME)).map(|start| start + NAME.len())
}

fn value(text: &str) -> &str {
    value_start(text).map_or("", |start| &text[start..saved::line_end(text, start)])
}

fn point(text: &str) -> Point {
    match value_start(text) {
        Some(start) => {
            let at = saved::line_end(text, start);
            Point { at, lead: if at == start { String::new() } else { " ".to_owned() }, trail: "" }
        }
        None => {
            let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            Point { at: text.len(), lead: format!("{newline}{NAME}"), trail: "\n" }
        }
    }
}

impl Loader for Armbian {
    fn name(&self) -> &'static str {
        "Armbian's U-Boot script"
    }

    fn reads(&self) -> &'static [&'static str] {
        &[ENVIRONMENT, SAVED]
    }

    fn looks_for(&self) -> &'static [&'static str] {
        &[SCRIPT]
    }

    fn evidence(&self, files: &BootFiles) -> Evidence {
        if files.has(ENVIRONMENT) && files.has(SCRIPT) {
            Evidence::Possible(format!("{ENVIRONMENT}, {SCRIPT}"))
        } else {
            Evidence::None
        }
    }

    fn standing(&self, files: &BootFiles) -> Result<Standing, Refusal> {
        let base = saved::base(files, ENVIRONMENT, SAVED, &point)?;
        Ok(Standing { ours: base.ours, others: texts(value(base.text)) })
    }

    fn plan(&self, files: &BootFiles, wish: &Wish<'_>) -> Result<BootPlan, Refusal> {
        if wish.kernel.is_some() {
            return Err(Refusal::no_kernel_choice(self.name()));
        }
        let base = saved::base(files, ENVIRONMENT, SAVED, &point)?;
        Ok(BootPlan {
            changes: vec![
                Change::file(SAVED_KNOB, SAVED, base.text),
                Change::file(KNOB, ENVIRONMENT, point(base.text).put(base.text, wish.parameters)),
            ],
            notes: vec![format!(
                "where the machine no longer starts, put its card into another one and make {ENVIRONMENT} of {SAVED}; at \
                 U-Boot's prompt, 'load' and 'env import -t' take that copy, too"
            )],
        })
    }

    fn owns(&self, place: &Place) -> bool {
        matches!(place, Place::File { path } if path == ENVIRONMENT || path == SAVED)
    }

    fn words(&self, place: &Place, content: &str) -> Vec<String> {
        if place.path() == ENVIRONMENT { texts(value(content)) } else { Vec::new() }
    }
}
