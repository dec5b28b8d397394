//! What is known of a node's machine: what its latest profile finds, and what differs from one to the next.

use std::fmt::Write as _;

use profile::Profile;
use profile::check::Severity;
use profile::check::{check, summary};
use profile::differences::{SettingDifference, profile_differences};
use store::{ContentAt, Read, StoreError};

use super::changes::news;
use super::html::Text;
use super::words::Moment;

/// Pairs of profiles whose differences are shown, the latest.
const MOST_PAIRS: usize = 5;
/// Rows of one pair before the rest is only counted.
const MOST_ROWS: usize = 40;
/// Findings before the rest is only counted: notes stand last.
const MOST_FINDINGS: usize = 30;

/// The most bytes of a profile that is read for a page: one with its kernel's configuration has some 200,000.
const MOST_BYTES: usize = 1 << 20;

/// A profile of a node, as it was read at some time.
pub(crate) struct ProfileAt {
    /// Since when, and its name.
    pub(crate) at: ContentAt,
    /// It; absent where it has not come, or a newer agent wrote what this hub does not read.
    pub(crate) profile: Option<Profile>,
}

/// The latest profiles of a node, the oldest first.
///
/// # Errors
/// Where the store cannot be read.
pub(crate) fn latest(store: &dyn Read, contents: &[ContentAt]) -> Result<Vec<ProfileAt>, StoreError> {
    let all = news(contents, farm::monitor::ContentKind::Profile);
    let of_interest = all.iter().skip(all.len().saturating_sub(MOST_PAIRS + 1));
    let read = |at: &&ContentAt| {
        let content = store.content(at.hash)?.filter(|content| content.text.len() <= MOST_BYTES);
        let profile = content.and_then(|content| serde_json::from_str(&content.text).ok());
        Ok(ProfileAt { at: (*at).clone(), profile })
    };
    of_interest.map(read).collect()
}

/// What the latest profile finds, and what has changed since the ones before.
pub(super) fn write_profiles(main: &mut String, profiles: &[ProfileAt]) {
    write_findings(main, profiles);
    let pairs: Vec<_> = profiles.iter().zip(profiles.iter().skip(1)).collect();
    if pairs.is_empty() {
        return;
    }
    main.push_str("<h2>Changes of the profile</h2>\n");
    for (before, after) in pairs.iter().rev() {
        write_pair(main, before, after);
    }
}

fn write_findings(main: &mut String, profiles: &[ProfileAt]) {
    let Some(latest) = profiles.last() else { return };
    let Some(profile) = &latest.profile else {
        main.push_str(
            "<h2>Findings</h2>\n<p>The node's profile was written by another version, and cannot be read here.</p>\n",
        );
        return;
    };
    let findings = check(profile);
    let _ = write!(
        main,
        "<h2>Findings</h2>\n<p class=\"small\">What <code>punctual check</code> finds in the node's profile"
    );
    if let Some(since) = latest.at.since {
        let _ = write!(main, " of {}", Moment(since.utc_ns));
    }
    let _ = writeln!(main, ": {}.</p>", Text(&summary(&findings)));
    if findings.is_empty() {
        return;
    }
    main.push_str("<table><thead><tr><th>Severity</th><th>Finding</th></tr></thead><tbody>\n");
    for finding in findings.iter().take(MOST_FINDINGS) {
        let class = if finding.severity == Severity::Problem { " class=\"state bad\"" } else { "" };
        let _ = write!(
            main,
            "<tr><td><span{class}>{}</span></td><td><details><summary>{}</summary><p>{}</p>",
            finding.severity,
            Text(&finding.title),
            Text(&finding.why),
        );
        for evidence in &finding.evidence {
            let _ = write!(
                main,
                "<p class=\"small\"><code>{}</code> {}</p>",
                Text(&evidence.source),
                Text(&evidence.value)
            );
        }
        for remedy in &finding.remedy {
            let _ = write!(main, "<p>{}</p>", Text(remedy));
        }
        main.push_str("</details></td></tr>\n");
    }
    main.push_str("</tbody></table>\n");
    write_more(main, findings.len(), MOST_FINDINGS);
}

fn write_pair(main: &mut String, before: &ProfileAt, after: &ProfileAt) {
    main.push_str("<details><summary>");
    let _ = match after.at.since {
        Some(since) => write!(main, "{}", Moment(since.utc_ns)),
        None => write!(main, "at a time that is not known"),
    };
    let (Some(a), Some(b)) = (&before.profile, &after.profile) else {
        main.push_str(": one of the two was written by another version, and cannot be read here</summary></details>\n");
        return;
    };
    let found = profile_differences(a, b);
    let all: Vec<&SettingDifference> = found.settings.iter().chain(&found.kernel_config).collect();
    let _ = match all.len() {
        1 => writeln!(main, ": 1 setting</summary>"),
        count => writeln!(main, ": {count} settings</summary>"),
    };
    main.push_str("<table><thead><tr><th>Setting</th><th>Before</th><th>Since then</th></tr></thead><tbody>\n");
    for setting in all.iter().take(MOST_ROWS) {
        let value = |value: &Option<String>| value.as_deref().map_or("unknown, or not there".to_owned(), shortened);
        let _ = writeln!(
            main,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            Text(&setting.name),
            Text(&value(&setting.a)),
            Text(&value(&setting.b)),
        );
    }
    main.push_str("</tbody></table>\n");
    write_more(main, all.len(), MOST_ROWS);
    main.push_str("</details>\n");
}

fn write_more(main: &mut String, found: usize, most: usize) {
    if let Some(more) = found.checked_sub(most).filter(|more| *more > 0) {
        let _ = writeln!(
            main,
            "<p class=\"small\">and {more} more: in the node's own 'punctual profile' and 'punctual check'</p>"
        );
    }
}

/// A value that may be a long list, by its beginning.
fn shortened(value: &str) -> String {
    const MOST: usize = 200;
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    value.chars().take(MOST).chain("\u{2026}".chars()).collect()
}

#[cfg(test)]
mod tests {
    use farm::monitor::{BootId, ContentKind};
    use farm::stream::ContentHash;
    use store::{Placed, PlacedBy};

    use super::*;

    fn at(second: i64, profile: Option<Profile>) -> ProfileAt {
        let since = Some(Placed { utc_ns: second * 1_000_000_000, error_ns: 0, by: PlacedBy::OwnClock });
        let (kind, hash, boot) = (ContentKind::Profile, ContentHash::of(&second.to_string()), BootId(String::new()));
        ProfileAt { at: ContentAt { kind, hash, boot, since_ns: second, since }, profile }
    }

    #[test]
    fn what_differs_from_one_profile_to_the_next_is_told_the_latest_first() {
        let mut first = Profile::default();
        first.sched.rt_runtime_us = Some(950_000);
        let mut second = first.clone();
        second.sched.rt_runtime_us = Some(-1);
        let mut third = second.clone();
        third.kernel.version = Some("<script>7.1</script>".to_owned());
        let mut html = String::new();
        write_profiles(&mut html, &[at(1, Some(first)), at(2, Some(second)), at(3, Some(third)), at(4, None)]);
        let place = |words: &str| html.find(words).unwrap_or_else(|| panic!("{words}: {html}"));
        assert!(place("cannot be read here") < place("&lt;script&gt;7.1") && !html.contains("<script"));
        let row = "<code>sched.rt_runtime_us</code></td><td>950000</td><td>-1</td>";
        assert!(place("&lt;script&gt;7.1") < place(row) && html.matches("1 setting<").count() >= 1, "{html}");
    }

    #[test]
    fn findings_are_those_of_the_latest_profile_with_their_remedy() {
        let mut profile = Profile::default();
        profile.sched.autogroup = Some(true);
        let found = check(&profile);
        let mut html = String::new();
        write_profiles(&mut html, &[at(1, Some(Profile::default())), at(2, Some(profile))]);
        assert!(!found.is_empty(), "the case has something to find");
        for finding in &found {
            assert!(html.contains(&Text(&finding.title).to_string()), "{}: {html}", finding.title);
            assert!(finding.remedy.iter().all(|remedy| html.contains(&Text(remedy).to_string())));
        }
    }
}
