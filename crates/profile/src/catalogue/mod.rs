//! Catalogues of findings: what every one of them is made of, whatever its rules look at.
//!
//! [`crate::check`] looks at a profile; the audit of programs, in the crate `punctual-analysis`, at what was seen of a
//! program. Both are a [`Catalogue`] of [`Rule`]s, which lie beside their texts, and both get their list of findings,
//! their document and their explanations from here.

mod checked;
mod document;
mod found;
mod resembling;

use std::fmt;

use record::{Finding, Severity};
use serde::Serialize;

pub use checked::{Checked, LINUX};
pub use found::Found;
pub use resembling::resembling;

/// How a rule looks at something: it says what it found, and is silent on what is unknown or was not seen.
pub type Look<S> = fn(&S) -> Option<Found>;

/// A rule with its long explanation; `L` is how it looks at what it judges, a [`Look`].
#[derive(Clone, Copy, Serialize)]
pub struct Rule<L> {
    /// Kebab-case, never reused for something else.
    pub id: &'static str,
    /// What is found, in one line, for any machine or program.
    pub title: &'static str,
    /// The severities that the finding can have, most severe first.
    pub severities: &'static [Severity],
    /// What the setting, condition or habit is.
    pub what: &'static str,
    /// Why it costs latency.
    pub why: &'static str,
    /// How to see it by hand.
    pub see: &'static str,
    /// How to change it.
    pub change: &'static str,
    /// What the change costs.
    pub price: &'static str,
    /// Against what its facts were checked.
    pub checked: Checked,
    /// Kernel documents, source files, standards and papers behind it.
    pub sources: &'static [&'static str],
    /// How it looks.
    #[serde(skip)]
    pub find: L,
}

/// The long explanation of a rule, whatever it looks at.
pub type Explanation = Rule<()>;

impl<L> fmt::Debug for Rule<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<L> Rule<L> {
    /// The rule without its look.
    #[must_use]
    pub const fn explanation(&self) -> Explanation {
        let &Self { id, title, severities, what, why, see, change, price, checked, sources, .. } = self;
        Rule { id, title, severities, what, why, see, change, price, checked, sources, find: () }
    }

    /// The parts of the long explanation with their headings.
    #[must_use]
    pub const fn parts(&self) -> [(&'static str, &'static str); 5] {
        [
            ("What it is", self.what),
            ("Why it matters", self.why),
            ("How to see it", self.see),
            ("How to change it", self.change),
            ("Price", self.price),
        ]
    }

    /// The severities that the finding can have, in words.
    #[must_use]
    pub fn severity_words(&self) -> String {
        self.severities.iter().map(|severity| severity.as_str()).collect::<Vec<_>>().join(" or ")
    }
}

impl<S> Rule<Look<S>> {
    /// What it finds; where it names no remedy for just this case, its general advice stands there.
    fn apply(&self, seen: &S) -> Option<Finding> {
        let found = (self.find)(seen)?;
        let remedy = if found.remedy.is_empty() { vec![self.change.to_owned()] } else { found.remedy };
        Some(Finding {
            id: self.id.to_owned(),
            severity: found.severity,
            title: found.title,
            evidence: found.evidence,
            why: self.why.to_owned(),
            remedy,
        })
    }
}

/// Rules about one kind of thing; `S` is what they look at.
#[derive(Debug)]
pub struct Catalogue<S: 'static> {
    /// What stands at the top of the catalogue's document, in Markdown.
    pub head: &'static str,
    /// Every rule; among findings of equal severity the earlier one is the more pressing.
    pub rules: &'static [&'static Rule<Look<S>>],
}

impl<S> Catalogue<S> {
    /// Audits: most severe first, and the same thing always gives the same list.
    #[must_use]
    pub fn audit(&self, seen: &S) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.rules.iter().filter_map(|rule| rule.apply(seen)).collect();
        // The sort is stable, so the catalogue's order ranks within a severity.
        findings.sort_by_key(|finding| finding.severity);
        findings
    }

    /// The rule behind a finding.
    #[must_use]
    pub fn rule(&self, id: &str) -> Option<&'static Rule<Look<S>>> {
        self.rules.iter().copied().find(|rule| rule.id == id)
    }

    /// The long explanation of every rule, in the catalogue's order.
    pub fn explanations(&self) -> impl Iterator<Item = Explanation> + '_ {
        self.rules.iter().map(|rule| rule.explanation())
    }

    /// The whole catalogue in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        document::markdown(self.head, &self.explanations().collect::<Vec<_>>())
    }
}
