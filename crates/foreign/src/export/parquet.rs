//! The rows of the CSV as typed columns, for pandas, DuckDB, Spark: Apache Parquet.
//!
//! A build without the feature `parquet` knows the name, and says so.

use super::ExportFormat;

#[cfg(feature = "parquet")]
mod columns;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "parquet",
    what: "Apache Parquet: one row a bin, typed columns, the runs in the file's metadata",
    binary: true,
    #[cfg(feature = "parquet")]
    write: columns::write,
    #[cfg(not(feature = "parquet"))]
    write: |_| Err(crate::error::ExportError::NotBuilt { format: "parquet", instead: "csv, which has the same rows" }),
};
