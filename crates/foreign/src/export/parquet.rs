//! Apache Parquet: the rows of the CSV as typed columns, for pandas, DuckDB and Spark.
//!
//! A build without the feature `parquet` lists the format, and reports an error when it is used.

use super::ExportFormat;

#[cfg(feature = "parquet")]
mod columns;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "parquet",
    what: "Apache Parquet: one row per bin, typed columns, the runs in the file's metadata",
    endings: &["parquet", "pq"],
    binary: true,
    #[cfg(feature = "parquet")]
    write: columns::write,
    #[cfg(not(feature = "parquet"))]
    write: |_| Err(crate::error::ExportError::NotBuilt { format: "parquet", instead: "csv, which has the same rows" }),
};
