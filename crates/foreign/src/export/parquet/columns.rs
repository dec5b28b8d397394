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
use crate::export::rows::{Row, rows, series_of};

/// Rows per row group, which are in memory at the same time. Readers process row groups in parallel; this is a usual size.
const GROUP_ROWS: usize = 1 << 20;

/// Text columns about the run and the series; they are equal in all rows of a series.
const TEXTS: [&str; 7] = ["run", "label", "node", "measurement", "validity", "series", "variant"];

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
        let texts = texts(record, series);
        for row in rows(series) {
            group.push(&texts, series, &row);
            if group.len() >= group_rows {
                std::mem::take(&mut group).write(&mut file)?;
            }
        }
    }
    if group.len() > 0 {
        group.write(&mut file)?;
    }
    file.into_inner()
}

/// The schema: the columns of the CSV, with all numbers unsigned.
fn schema() -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::new();
    for name in TEXTS {
        fields.push(text(name)?);
    }
    fields.push(number("cpu", 32, Repetition::OPTIONAL)?);
    fields.push(number("thread", 32, Repetition::REQUIRED)?);
    fields.push(text("kind")?);
    for name in ["from_ns", "to_ns", "count"] {
        fields.push(number(name, 64, Repetition::REQUIRED)?);
    }
    Ok(Arc::new(Type::group_type_builder("punctual").with_fields(fields).build()?))
}

fn text(name: &str) -> Result<TypePtr, ParquetError> {
    let text = Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
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

fn texts(record: &Record, series: &Series) -> [ByteArray; TEXTS.len()] {
    let texts = [
        record.id.as_str(),
        &record.label,
        &record.manifest().node.hostname,
        record.measurement.name(),
        record.validity.state().word(),
        &series.name,
        &series.variant,
    ];
    texts.map(ByteArray::from)
}

/// The rows of a row group, stored by column.
#[derive(Default)]
struct Group {
    texts: [Vec<ByteArray>; TEXTS.len()],
    /// The CPUs of the rows that have one.
    cpu: Vec<i32>,
    /// Definition levels: 1 for a row with a CPU, 0 for a row without.
    cpu_levels: Vec<i16>,
    /// The threads of the rows that have one.
    thread: Vec<i32>,
    /// Definition levels: 1 for a row with a thread, 0 for a row without.
    thread_levels: Vec<i16>,
    kind: Vec<ByteArray>,
    from_ns: Vec<i64>,
    to_ns: Vec<i64>,
    count: Vec<i64>,
}

impl Group {
    fn len(&self) -> usize {
        self.count.len()
    }

    fn push(&mut self, texts: &[ByteArray; TEXTS.len()], series: &Series, row: &Row) {
        for (column, text) in self.texts.iter_mut().zip(texts) {
            // The bytes are shared, not copied.
            column.push(text.clone());
        }
        self.cpu.extend(series.place.cpu().map(reinterpret_u32));
        self.cpu_levels.push(i16::from(series.place.cpu().is_some()));
        self.thread.extend(series.place.thread_number().map(reinterpret_u32));
        self.thread_levels.push(i16::from(series.place.thread_number().is_some()));
        self.kind.push(ByteArray::from(row.kind));
        self.from_ns.push(reinterpret_u64(row.from_ns));
        self.to_ns.push(reinterpret_u64(row.to_ns));
        self.count.push(reinterpret_u64(row.count));
    }

    fn write(self, file: &mut SerializedFileWriter<Vec<u8>>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for texts in &self.texts {
            column::<ByteArrayType>(&mut group, texts, None)?;
        }
        column::<Int32Type>(&mut group, &self.cpu, Some(&self.cpu_levels))?;
        column::<Int32Type>(&mut group, &self.thread, Some(&self.thread_levels))?;
        column::<ByteArrayType>(&mut group, &self.kind, None)?;
        for numbers in [&self.from_ns, &self.to_ns, &self.count] {
            column::<Int64Type>(&mut group, numbers, None)?;
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

/// Writes the next column in the order of the schema.
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
