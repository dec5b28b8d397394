//! What the JSON files of all rt-tests programs have in common (written by their `src/lib/rt-utils.c`).
//!
//! Quirks: the keys `cmdline:` and `rt_test_version:` end in a colon. The command line is not escaped, so that a quotation
//! mark in it breaks the JSON. The mean of no samples is `-nan`.

use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de};

use super::source::Imported;
use crate::error::ForeignError;

/// The entries of a JSON object in their order, including repeated keys.
#[derive(Clone, Debug)]
pub(super) struct Entries<K, V>(pub(super) Vec<(K, V)>);

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Entries<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<K, V>(std::marker::PhantomData<(K, V)>);
        impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Reader<K, V> {
            type Value = Entries<K, V>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object whose keys are whole numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Reader(std::marker::PhantomData))
    }
}

/// A file: facts about the run, and the threads, whose form `T` differs between programs.
#[derive(Debug, Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
pub(super) struct File<T> {
    #[serde(default, alias = "cmdline:")]
    cmdline: String,
    #[serde(default, alias = "rt_test_version:")]
    rt_test_version: String,
    #[serde(default)]
    start_time: Option<String>,
    #[serde(default)]
    end_time: Option<String>,
    #[serde(default)]
    return_code: i64,
    #[serde(default)]
    sysinfo: Option<SysInfo>,
    /// 1 if numbers are in nanoseconds, 0 if they are in microseconds.
    #[serde(default)]
    pub(super) resolution_in_ns: Option<u64>,
    #[serde(default)]
    pub(super) num_threads: Option<u64>,
    pub(super) thread: Entries<u32, T>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SysInfo {
    nodename: String,
    release: String,
    version: String,
    machine: String,
    /// Only in files of jitterdebugger.
    pub(super) resolution_in_ns: Option<u64>,
}

impl SysInfo {
    pub(super) fn fill(self, imported: &mut Imported) {
        let node = imported.node();
        node.hostname = self.nodename;
        node.kernel_release = self.release;
        node.kernel_version = self.version;
        node.machine = self.machine;
    }
}

/// Reads a mean; it is `null` if the repair replaced `nan`.
pub(super) fn finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let value: Option<f64> = Option::deserialize(deserializer)?;
    match value {
        Some(value) if !value.is_finite() || value < 0.0 => Err(de::Error::custom("a mean below zero")),
        value => Ok(value),
    }
}

/// Whether a text looks like the JSON of an rt-tests program.
pub(super) fn is_json(head: &str) -> bool {
    head.trim_start().starts_with('{') && head.contains("\"rt_test_version")
}

/// Reads a file, after repairing its JSON if necessary.
pub(super) fn read<T: DeserializeOwned>(text: &str, program: &str) -> Result<File<T>, ForeignError> {
    let not_json = |error: serde_json::Error| ForeignError::Text(format!("not {program}'s JSON: {error}"));
    serde_json::from_str(text).or_else(|error| match repaired(text) {
        Some(repaired) => serde_json::from_str(&repaired).map_err(not_json),
        None => Err(not_json(error)),
    })
}

/// Escapes the command line, and replaces `nan` by `null`.
fn repaired(text: &str) -> Option<String> {
    const KEY: &str = "\"cmdline";
    let key = text.find(KEY)?;
    let colon = key + text[key..].find("\": \"")?;
    let start = colon + 4;
    // The next key ends the command line; everything before it belongs to the command line.
    let next = start + text[start..].find("\"rt_test_version")?;
    let end = start + text[start..next].rfind('"')?;
    let inner = serde_json::to_string(&text[start..end]).ok()?;
    let rest = text[end + 1..].replace(": -nan,", ": null,").replace(": nan,", ": null,");
    Some(format!("{}{inner}{rest}", &text[..start - 1]))
}

impl<T> File<T> {
    /// Moves what all programs write into `imported`, except for the threads.
    pub(super) fn fill(&mut self, imported: &mut Imported) -> Result<(), ForeignError> {
        imported.tool_version(&self.rt_test_version);
        imported.command(&self.cmdline);
        if let Some(sysinfo) = self.sysinfo.take() {
            sysinfo.fill(imported);
        }
        let start = self.start_time.as_deref().map(|text| moment("start_time", text)).transpose()?;
        let end = self.end_time.as_deref().map(|text| moment("end_time", text)).transpose()?;
        if let Some(start) = start {
            imported.started(start);
            if let Some(end) = end {
                imported.lasted(end.saturating_sub(start));
                imported.lacks("its exact duration: start and end are in whole seconds");
            }
        }
        if self.return_code != 0 {
            imported.reason(
                record::ReasonCode::InterruptedEarly,
                format!("the program ended with exit code {}", self.return_code),
            );
        }
        if let Some(stated) = self.num_threads.filter(|stated| *stated != self.thread.0.len() as u64) {
            imported.reason(
                record::ReasonCode::SourceContradicts,
                format!("it states {stated} threads, but contains {}", self.thread.0.len()),
            );
        }
        Ok(())
    }
}

/// Parses a time as `strftime("%a, %d %b %Y %T %z")` writes it.
fn moment(key: &str, text: &str) -> Result<i64, ForeignError> {
    jiff::fmt::rfc2822::parse(text)
        .ok()
        .and_then(|zoned| i64::try_from(zoned.timestamp().as_nanosecond()).ok())
        .ok_or_else(|| {
            ForeignError::Text(format!(
                "{key} is '{}', not a time like 'Sun, 22 Nov 2026 06:20:09 +0000'",
                super::text::quoted(text)
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_with_quotation_marks_is_read() {
        let text = "{\n  \"file_version\": 1,\n  \"cmdline:\": \"cyclictest -c \"a \\b\",\n  \"rt_test_version:\": \"2.40\",\n  \"thread\": {\"0\": 5}\n}\n";
        let file: File<u32> = read(text, "cyclictest").unwrap();
        assert_eq!(file.cmdline, "cyclictest -c \"a \\b");
        assert_eq!((file.rt_test_version.as_str(), file.thread.0.as_slice()), ("2.40", [(0, 5)].as_slice()));
    }

    #[test]
    fn json_that_cannot_be_repaired_is_reported_with_its_line() {
        let error = read::<u32>("{\"cmdline\": \"x\", \"rt_test_version\": \"2\", \"thread\": {\"0\": }}", "oslat");
        assert!(error.unwrap_err().to_string().contains("line 1 column"));
        assert!(moment("end_time", "yesterday").unwrap_err().to_string().contains("end_time is 'yesterday'"));
    }
}
