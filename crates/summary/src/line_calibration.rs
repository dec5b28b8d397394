//! What the kernel's clock of edges is worth on some lines, as the document that `pulse watch --calibrate` keeps and later watches read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{DocumentError, parsed};

/// The schema of the document.
pub const LINE_CALIBRATION_SCHEMA: &str = "punctual/line-calibration";
/// Its version.
pub const LINE_CALIBRATION_VERSION: u32 = 1;

/// What one signal on all of some lines has shown of the kernel's stamps of their edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineCalibrationDocument {
    /// Name of the schema: `punctual/line-calibration`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The lines that had one signal, as `CHIP/LINE`; two or more, each once.
    #[schemars(length(min = 2))]
    pub lines: Vec<String>,
    /// Edges of each line.
    #[schemars(range(min = 1))]
    pub edges: u64,
    /// How far apart one edge was stamped on two of the lines at most (ns).
    pub resolution_ns: u64,
    /// The shortest time between two edges of a line that was seen whole (ns); longer than `resolution_ns`.
    #[schemars(range(min = 1))]
    pub shortest_ns: u64,
    /// Release of the kernel that stamped them, as `uname -r` prints it.
    #[schemars(length(min = 1))]
    pub kernel: String,
}

/// Why a calibration cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LineCalibrationError {
    /// It is another document, or lacks a field.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A field has a value that no calibration has.
    #[error("its field '{field}' cannot be: {what}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// What is wrong with its value, with the bound.
        what: String,
    },
}

impl LineCalibrationDocument {
    /// Reads a document.
    ///
    /// # Errors
    /// If it is no JSON, of another schema or version, or has a value that no calibration has.
    pub fn from_json(text: &str) -> Result<Self, LineCalibrationError> {
        let document: Self = parsed(text, LINE_CALIBRATION_SCHEMA, LINE_CALIBRATION_VERSION)?;
        match document.out_of_bounds() {
            Some((field, what)) => Err(LineCalibrationError::Field { field, what }),
            None => Ok(document),
        }
    }

    /// The field with a value that no calibration has, and what is wrong with it; `None` if there is none.
    fn out_of_bounds(&self) -> Option<(&'static str, String)> {
        let Self { lines, edges, resolution_ns, shortest_ns, kernel, .. } = self;
        let twice = lines.iter().enumerate().find(|(at, line)| lines.iter().take(*at).any(|other| other == *line));
        // Beyond this a time in ns is none in ps, in which captures have theirs.
        let most_ns = i64::MAX.unsigned_abs() / 1_000;
        if lines.len() < 2 {
            return Some(("lines", format!("it names {}, and one signal was on two lines or more", lines.len())));
        }
        if let Some((_, line)) = twice {
            return Some(("lines", format!("it names '{line}' twice")));
        }
        if *edges == 0 {
            return Some(("edges", "it is 0, and of no edge nothing is known".to_owned()));
        }
        if *shortest_ns > most_ns {
            return Some(("shortest_ns", format!("it is {shortest_ns}, and the largest time is {most_ns}")));
        }
        if resolution_ns >= shortest_ns {
            return Some((
                "resolution_ns",
                format!("it is {resolution_ns}, and not less than shortest_ns, {shortest_ns}"),
            ));
        }
        if kernel.is_empty() {
            return Some(("kernel", "it is empty, and a calibration holds for one kernel".to_owned()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::held::against;

    fn document() -> LineCalibrationDocument {
        LineCalibrationDocument {
            schema: LINE_CALIBRATION_SCHEMA.to_owned(),
            version: LINE_CALIBRATION_VERSION,
            lines: vec!["gpiochip0/1".to_owned(), "gpiochip0/3".to_owned()],
            edges: 2_000,
            resolution_ns: 2_401,
            shortest_ns: 40_000,
            kernel: "6.12.1-rt".to_owned(),
        }
    }

    #[test]
    fn what_is_written_is_read_and_fits_its_schema() {
        let text = serde_json::to_string_pretty(&document()).unwrap();
        assert_eq!(LineCalibrationDocument::from_json(&text).unwrap(), document());
        let schema = schemars::schema_for!(LineCalibrationDocument).to_value();
        assert_eq!(against(&schema, &serde_json::from_str(&text).unwrap()), [""; 0]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_field_and_bound() {
        type Change = fn(&mut serde_json::Value);
        let cases: [(Change, &str); 12] = [
            (|it| it["schema"] = "punctual/record".into(), "its schema is 'punctual/record', not"),
            (
                |it| it["version"] = 2.into(),
                "it is version 2 of 'punctual/line-calibration', and this program reads version 1",
            ),
            (|it| it["lines"] = serde_json::json!(["gpiochip0/1"]), "'lines' cannot be: it names 1"),
            (|it| it["lines"] = serde_json::json!(["a/1", "a/1"]), "'lines' cannot be: it names 'a/1' twice"),
            (|it| it["edges"] = 0.into(), "'edges' cannot be"),
            (|it| it["edges"] = (-1).into(), "invalid value: integer `-1`"),
            (|it| it["resolution_ns"] = (-5).into(), "invalid value: integer `-5`"),
            (|it| it["resolution_ns"] = 40_000.into(), "'resolution_ns' cannot be: it is 40000, and not less than"),
            (|it| it["shortest_ns"] = u64::MAX.into(), "'shortest_ns' cannot be"),
            (|it| it["shortest_ns"] = 1.5.into(), "invalid type: floating point `1.5`"),
            (|it| it["kernel"] = "".into(), "'kernel' cannot be"),
            (|it| it["kernel"] = serde_json::Value::Null, "invalid type: null"),
        ];
        for (change, says) in cases {
            let mut value = serde_json::to_value(document()).unwrap();
            change(&mut value);
            let error = LineCalibrationDocument::from_json(&value.to_string()).unwrap_err().to_string();
            assert!(error.contains(says), "{value}: {error}");
        }
        for field in ["lines", "edges", "resolution_ns", "shortest_ns", "kernel"] {
            let mut value = serde_json::to_value(document()).unwrap();
            value.as_object_mut().unwrap().remove(field);
            let error = LineCalibrationDocument::from_json(&value.to_string()).unwrap_err().to_string();
            assert!(error.contains(&format!("missing field `{field}`")), "{error}");
        }
    }
}
