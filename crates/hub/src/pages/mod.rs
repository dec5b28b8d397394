//! The pages: HTML that is readable without scripts, drawn by the hub.

mod causes;
mod changes;
mod chart;
mod clocks;
mod distribution;
mod fleet;
mod html;
mod node;
mod profiles;
mod window;
mod words;

use std::fmt::Write as _;

pub(crate) use fleet::{Asked, fleet, is_wanted};
pub(crate) use node::{NodePage, node};
pub(crate) use profiles::latest as profiles_of;
pub(crate) use window::{SPANS, USUAL_SPAN, Window};
pub(crate) use words::{detail, gap_why, look, zoned};

use html::Text;

/// The style sheet of all pages.
pub(crate) const STYLE: &str = include_str!("style.css");
/// What keeps a page that is looked at up to date. Without it a page is as it was fetched.
pub(crate) const SCRIPT: &str = include_str!("fresh.js");

/// A page with its title; what stands in `main` is HTML.
pub(crate) fn page(title: &str, main: &str) -> String {
    let mut page = String::with_capacity(main.len() + 1_024);
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n<script src=\"/fresh.js\" defer></script>\n\
         <title>{}</title>\n</head>\n<body>\n<main id=\"page\">\n{main}</main>\n</body>\n</html>\n",
        Text(title),
    );
    page
}

/// A page that says one thing, and what to do.
pub(crate) fn notice(title: &str, sentence: &str, command: Option<&str>) -> String {
    let mut main = format!("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", Text(title), Text(sentence));
    if let Some(command) = command {
        let _ = writeln!(main, "<pre>{}</pre>", Text(command));
    }
    page(title, &main)
}

/// What a browser is told that came by a link. It goes on from a page of this hub, since a browser that came from elsewhere would not
/// show its new cookie on the way.
pub(crate) fn welcome() -> String {
    page(
        "Punctual",
        "<meta http-equiv=\"refresh\" content=\"0; url=/\">\n<p class=\"lead\"><a href=\"/\">To the fleet</a></p>\n",
    )
}
