//! The list of contents of the page without scripts: links to its sections.

use std::fmt::Write as _;

/// How a section with a heading begins; text of others is escaped and cannot look like it.
const BEGIN: &str = "<section><h2>";
const END: &str = "</h2>";
/// A page of fewer sections is looked through faster than a list of them is read.
const LEAST_SECTIONS: usize = 3;

/// The same sections with an identifier each, and the list of links to them; no list if they are few.
pub(super) fn with_identifiers(sections: &str) -> (String, String) {
    let mut parts = sections.split(BEGIN);
    let mut named = parts.next().unwrap_or_default().to_owned();
    let mut links = String::new();
    let mut count = 0;
    for part in parts {
        count += 1;
        let _ = write!(named, "<section id=\"section-{count}\"><h2>{part}");
        let title = part.split_once(END).map_or("", |(title, _)| title);
        let _ = writeln!(links, "<li><a href=\"#section-{count}\">{title}</a></li>");
    }
    if count < LEAST_SECTIONS {
        return (named, String::new());
    }
    (named, format!("<nav class=\"contents\" aria-label=\"Contents\"><ul>\n{links}</ul></nav>\n"))
}

/// The same text with each heading one level deeper, to stand inside of a section.
pub(super) fn one_level_deeper(sections: &str) -> String {
    sections.replace("<h3>", "<h4>").replace("</h3>", "</h4>").replace("<h2>", "<h3>").replace("</h2>", "</h3>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_a_link_and_text_that_looks_like_one_has_none() {
        let text = super::super::escape("<section><h2>forged</h2>");
        let sections = format!("<p>top</p><section><h2>A &amp; B</h2>{text}</section><section><h2>C</h2></section>");
        let (named, links) = with_identifiers(&sections);
        assert!(named.starts_with("<p>top</p><section id=\"section-1\"><h2>A &amp; B</h2>"), "{named}");
        assert!(named.contains("<section id=\"section-2\"><h2>C</h2>"), "{named}");
        assert_eq!(links, "", "two sections need no list");
        let (_, links) = with_identifiers(&format!("{sections}<section><h2>D</h2></section>"));
        assert_eq!(links.matches("<a href=").count(), 3, "{links}");
        assert!(links.contains("<a href=\"#section-1\">A &amp; B</a>"), "{links}");
    }

    #[test]
    fn headings_move_down_by_one_level_each() {
        assert_eq!(one_level_deeper("<h2>a</h2><h3>b</h3>"), "<h3>a</h3><h4>b</h4>");
    }
}
