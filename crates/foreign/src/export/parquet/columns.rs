//! Writes the columns, and the description of the runs in the file's metadata.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use record::{Origin, Record, Series};
use serde_json::{Value, json};

use crate::error::ExportError;
use crate::export::columns::{COLUMNS, Of, OfRow, OfSeries};
use crate::export::rows::{Row, rows, series_of};

/// Rows per row group, which are in memory at the same time. Readers process row groups in parallel; this is a usual size.
const GROUP_ROWS: usize = 1 << 20;

pub(super) fn write(records: &[Record]) -> Result<Vec<u8>, ExportError> {
    // Writing to memory fails only at a limit of the format, such as its 32767 row groups.
    file(records, GROUP_ROWS)
        .map_err(|error| ExportError::CannotHold { format: "parquet", what: format!("{error}; export fewer records") })
}

fn file(records: &[Record], group_rows: usize) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder().set_key_value_metadata(Some(metadata(records))).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema()?, Arc::new(properties))?;
    let mut group = Group::default();
    for (record, series) in series_of(records) {
        for row in rows(series) {
            group.push(record, series, row);
            if group.rows.len() >= group_rows {
                std::mem::take(&mut group).write(&mut file)?;
            }
        }
    }
    if !group.rows.is_empty() {
        group.write(&mut file)?;
    }
    file.into_inner()
}

/// The schema: the columns of the CSV, with all numbers unsigned. What can be absent is optional.
fn schema() -> Result<TypePtr, ParquetError> {
    let fields: Result<Vec<TypePtr>, ParquetError> = COLUMNS
        .iter()
        .map(|column| match column.of {
            Of::Series(OfSeries::Text(_)) | Of::Row(OfRow::Text(_)) => text(column.name, Repetition::REQUIRED),
            Of::Series(OfSeries::OptionalText(_)) => text(column.name, Repetition::OPTIONAL),
            Of::Series(OfSeries::Small(_)) => number(column.name, 32, Repetition::OPTIONAL),
            Of::Series(OfSeries::Number(_)) => number(column.name, 64, Repetition::OPTIONAL),
            Of::Row(OfRow::Number(_)) => number(column.name, 64, Repetition::REQUIRED),
        })
        .collect();
    Ok(Arc::new(Type::group_type_builder("punctual").with_fields(fields?).build()?))
}

fn text(name: &str, repetition: Repetition) -> Result<TypePtr, ParquetError> {
    let text = Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
        .with_repetition(repetition)
        .with_logical_type(Some(LogicalType::String))
        .build()?;
    Ok(Arc::new(text))
}

fn number(name: &str, bits: i8, repetition: Repetition) -> Result<TypePtr, ParquetError> {
    let physical = if bits == 64 { PhysicalType::INT64 } else { PhysicalType::INT32 };
    let number = Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(Some(LogicalType::integer(bits, false)))
        .build()?;
    Ok(Arc::new(number))
}

/// The rows of a row group. Its columns are made one after the other, each from all rows.
#[derive(Default)]
struct Group<'a> {
    rows: Vec<Row>,
    /// The series of the rows in their order, each with the number of its rows.
    series: Vec<(&'a Record, &'a Series, usize)>,
}

impl<'a> Group<'a> {
    fn push(&mut self, record: &'a Record, series: &'a Series, row: Row) {
        match self.series.last_mut() {
            Some((_, last, rows)) if std::ptr::eq(*last, series) => *rows += 1,
            _ => self.series.push((record, series, 1)),
        }
        self.rows.push(row);
    }

    /// A value for each row, of what is equal in all rows of a series.
    fn of_series<T: Clone>(&self, of: impl Fn(&'a Record, &'a Series) -> T) -> impl Iterator<Item = T> {
        self.series.iter().flat_map(move |(record, series, rows)| std::iter::repeat_n(of(record, series), *rows))
    }

    fn write(self, file: &mut SerializedFileWriter<Vec<u8>>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for column in &COLUMNS {
            match column.of {
                Of::Series(OfSeries::Text(of)) => {
                    let texts: Vec<ByteArray> = self.of_series(|record, series| of(record, series).into()).collect();
                    required::<ByteArrayType>(&mut group, &texts)?;
                }
                Of::Series(OfSeries::OptionalText(of)) => {
                    let texts = self.of_series(|record, series| of(record, series).map(ByteArray::from));
                    optional::<ByteArrayType>(&mut group, texts)?;
                }
                Of::Series(OfSeries::Small(of)) => {
                    let numbers = self.of_series(|record, series| of(record, series).map(reinterpret_u32));
                    optional::<Int32Type>(&mut group, numbers)?;
                }
                Of::Series(OfSeries::Number(of)) => {
                    let numbers = self.of_series(|record, series| of(record, series).map(reinterpret_u64));
                    optional::<Int64Type>(&mut group, numbers)?;
                }
                Of::Row(OfRow::Text(of)) => {
                    let texts: Vec<ByteArray> = self.rows.iter().map(|row| of(row).into()).collect();
                    required::<ByteArrayType>(&mut group, &texts)?;
                }
                Of::Row(OfRow::Number(of)) => {
                    let numbers: Vec<i64> = self.rows.iter().map(|row| reinterpret_u64(of(row))).collect();
                    required::<Int64Type>(&mut group, &numbers)?;
                }
            }
        }
        group.close()?;
        Ok(())
    }
}

/// Parquet stores an unsigned number as the signed one with the same bits.
const fn reinterpret_u32(number: u32) -> i32 {
    i32::from_ne_bytes(number.to_ne_bytes())
}

const fn reinterpret_u64(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

/// Writes the next column in the order of the schema, with a value in each row.
fn required<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    column::<T>(group, values, None)
}

/// The same where some rows have no value: which have one, and their values, come from the same list.
fn optional<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    column::<T>(group, &present, Some(&levels))
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// The metadata that describes the runs: one JSON array, because a file can hold several runs.
fn metadata(records: &[Record]) -> Vec<KeyValue> {
    let runs = Value::Array(records.iter().map(run).collect());
    vec![KeyValue::new("punctual.runs".to_owned(), runs.to_string())]
}

fn run(record: &Record) -> Value {
    let manifest = &record.manifest();
    let origin = match &manifest.origin {
        Origin::Punctual => "punctual",
        Origin::Imported { format, .. } => format.as_str(),
    };
    json!({
        "schema": record::SCHEMA,
        "version": record::VERSION,
        "id": record.id,
        "label": record.label,
        "measurement": record.measurement.name(),
        "origin": origin,
        "validity": record.validity.state().word(),
        "reasons": record.validity.reasons(),
        "node": manifest.node.hostname,
        "kernel_release": manifest.node.kernel_release,
        "kernel_version": manifest.node.kernel_version,
        "machine": manifest.node.machine,
        "command": manifest.command,
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::metadata::RowGroupMetaData;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use record::{Histogram, Place};

    use super::*;

    #[test]
    fn rows_continue_in_the_next_group() {
        let text = "T: 0 (12) P:80 I:1000 C:      1 Min:      5 Act:    5 Avg:    5 Max:       5\n";
        let mut record = crate::import(
            text.as_bytes(),
            None,
            crate::Options { unit: Some(crate::Unit::Us), ..crate::Options::default() },
        )
        .unwrap()
        .into_record("long");
        let mut histogram = Histogram::new();
        (1..=7).for_each(|value| histogram.record_n(value, value));
        // The CPU is absent in the first rows and present in the last ones.
        record.series = [None, Some(3)]
            .map(|cpu| Series { place: Place::thread(0, cpu), histogram: histogram.clone(), ..Series::default() })
            .to_vec();
        let file = SerializedFileReader::new(Bytes::from(file(&[record], 4).unwrap())).unwrap();
        let sizes: Vec<i64> = file.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
        assert_eq!(sizes, [4, 4, 4, 2]);
        let counts: Vec<String> = file
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_column_iter().map(|(_, field)| field.to_string()).collect::<Vec<_>>())
            .map(|cells| format!("{} {}", cells[7], cells[12]))
            .collect();
        let expected: Vec<String> =
            ["null", "3"].iter().flat_map(|cpu| (1..=7).map(move |count| format!("{cpu} {count}"))).collect();
        assert_eq!(counts, expected);
    }
}
