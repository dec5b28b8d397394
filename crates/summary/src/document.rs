//! Documents of this crate, read back.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Why a document cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is no JSON, or lacks what the schema asks for.
    #[error("it is no document of '{schema}': {error}")]
    Json {
        /// The schema that was asked for.
        schema: &'static str,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// It is of another schema.
    #[error("its schema is '{found}', not '{schema}'")]
    Schema {
        /// The schema that it names.
        found: String,
        /// The schema that was asked for.
        schema: &'static str,
    },
    /// It is of a version that this program does not know.
    #[error("it is version {found} of '{schema}', and this program reads version {version}")]
    Version {
        /// The version that it names.
        found: u32,
        /// The schema that was asked for.
        schema: &'static str,
        /// The version that is read.
        version: u32,
    },
}

#[derive(Deserialize)]
struct Head {
    schema: String,
    version: u32,
}

/// Reads a document of a schema and version.
pub(crate) fn parsed<T: DeserializeOwned>(text: &str, schema: &'static str, version: u32) -> Result<T, DocumentError> {
    let json = |error| DocumentError::Json { schema, error };
    let head: Head = serde_json::from_str(text).map_err(json)?;
    if head.schema != schema {
        return Err(DocumentError::Schema { found: head.schema, schema });
    }
    if head.version != version {
        return Err(DocumentError::Version { found: head.version, schema, version });
    }
    serde_json::from_str(text).map_err(json)
}

#[cfg(test)]
pub(crate) mod held;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_another_schema_or_version_is_named_and_not_read() {
        let of = |text: &str| parsed::<serde_json::Value>(text, "punctual/sweep", 1).map_err(|error| error.to_string());
        assert!(of(r#"{"schema": "punctual/sweep", "version": 1}"#).is_ok());
        let other = of(r#"{"schema": "punctual/shift", "version": 1}"#).unwrap_err();
        assert_eq!(other, "its schema is 'punctual/shift', not 'punctual/sweep'");
        let newer = of(r#"{"schema": "punctual/sweep", "version": 2}"#).unwrap_err();
        assert_eq!(newer, "it is version 2 of 'punctual/sweep', and this program reads version 1");
        assert!(of("{}").unwrap_err().starts_with("it is no document of 'punctual/sweep'"));
    }
}
