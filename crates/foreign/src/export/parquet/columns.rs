//! Writes the columns, and the description of the runs in the file's metadata.

use std::rc::Rc;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use record::Record;
use serde_json::Value;
use summary::columns::{COLUMNS, ColumnRow, ColumnRun, ColumnSeries, Columns, Of, OfRow, OfSeries};

use crate::error::ExportError;

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
    for mut series in records.iter().flat_map(|record| Columns::of_record(record).series) {
        let rows = std::mem::take(&mut series.rows);
        let series = Rc::new(series);
        for row in rows {
            group.push(&series, row);
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
struct Group {
    rows: Vec<ColumnRow>,
    /// The series of the rows in their order, each with the number of its rows.
    series: Vec<(Rc<ColumnSeries>, usize)>,
}

impl Group {
    fn push(&mut self, series: &Rc<ColumnSeries>, row: ColumnRow) {
        match self.series.last_mut() {
            Some((last, rows)) if Rc::ptr_eq(last, series) => *rows += 1,
            _ => self.series.push((Rc::clone(series), 1)),
        }
        self.rows.push(row);
    }

    /// A value for each row, of what is equal in all rows of a series.
    fn of_series<'a, T: Clone>(&'a self, of: impl Fn(&'a ColumnSeries) -> T) -> impl Iterator<Item = T> {
        self.series.iter().flat_map(move |(series, rows)| std::iter::repeat_n(of(series), *rows))
    }

    fn write(self, file: &mut SerializedFileWriter<Vec<u8>>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for column in &COLUMNS {
            match column.of {
                Of::Series(OfSeries::Text(of)) => {
                    let texts: Vec<ByteArray> = self.of_series(|series| of(series).into()).collect();
                    required::<ByteArrayType>(&mut group, &texts)?;
                }
                Of::Series(OfSeries::OptionalText(of)) => {
                    let texts = self.of_series(|series| of(series).map(ByteArray::from));
                    optional::<ByteArrayType>(&mut group, texts)?;
                }
                Of::Series(OfSeries::Small(of)) => {
                    let numbers = self.of_series(|series| of(series).map(reinterpret_u32));
                    optional::<Int32Type>(&mut group, numbers)?;
                }
                Of::Series(OfSeries::Number(of)) => {
                    let numbers = self.of_series(|series| of(series).map(reinterpret_u64));
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
    // A description has a JSON form. If it failed nevertheless, the rows would still be written.
    let run = |record: &Record| serde_json::to_value(ColumnRun::of(record)).unwrap_or(Value::Null);
    let runs = Value::Array(records.iter().map(run).collect());
    vec![KeyValue::new("punctual.runs".to_owned(), runs.to_string())]
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::metadata::RowGroupMetaData;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;
    use record::{Histogram, Place, Series};
    use summary::Summary;
    use summary::columns::RowKind;

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

    /// The columns of a file, as who has only the file reads them.
    fn read(bytes: Vec<u8>) -> Vec<Columns> {
        let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let metadata = file.metadata().file_metadata().key_value_metadata().unwrap();
        let runs = metadata.iter().find(|one| one.key == "punctual.runs").and_then(|one| one.value.clone()).unwrap();
        let runs: Vec<ColumnRun> = serde_json::from_str(&runs).unwrap();
        let mut all: Vec<Columns> = runs.into_iter().map(|run| Columns { run, series: Vec::new() }).collect();
        for row in file.get_row_iter(None).unwrap() {
            let fields: Vec<(String, Field)> =
                row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect();
            let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, field)| field).unwrap();
            let text = |name| if let Field::Str(text) = field(name) { Some(text.clone()) } else { None };
            let small = |name| if let Field::UInt(number) = field(name) { Some(*number) } else { None };
            let number = |name| if let Field::ULong(number) = field(name) { Some(*number) } else { None };
            let series = ColumnSeries {
                run: text("run").unwrap(),
                label: text("label").unwrap(),
                node: text("node").unwrap(),
                measurement: text("measurement").unwrap(),
                validity: text("validity").unwrap(),
                series: text("series").unwrap(),
                variant: text("variant").unwrap(),
                cpu: small("cpu"),
                thread: small("thread"),
                waker_cpu: small("waker_cpu"),
                flow: small("flow"),
                direction: text("direction"),
                queue: small("queue"),
                from_node: text("from_node"),
                to_node: text("to_node"),
                port: text("port"),
                domain: small("domain"),
                error_below_ns: number("error_below_ns"),
                error_above_ns: number("error_above_ns"),
                error_spread_ns: number("error_spread_ns"),
                lost: number("lost"),
                rows: Vec::new(),
            };
            let row = ColumnRow {
                kind: RowKind::by_word(&text("kind").unwrap()).unwrap(),
                from_ns: number("from_ns").unwrap(),
                to_ns: number("to_ns").unwrap(),
                count: number("count").unwrap(),
            };
            let run = all.iter_mut().find(|columns| columns.run.id == series.run).unwrap();
            let is_it = |known: &&mut ColumnSeries| ColumnSeries { rows: Vec::new(), ..(*known).clone() } == series;
            match run.series.iter_mut().find(is_it) {
                Some(known) => known.rows.push(row),
                None => run.series.push(ColumnSeries { rows: vec![row], ..series }),
            }
        }
        all
    }

    #[test]
    fn a_summary_of_the_file_is_that_of_the_columns() {
        let named = |id: &str, record: Record| Record { id: id.to_owned(), ..record };
        let records = [
            named("wakeup", samples::run_of("1", &[5_000, 90_000], record::Validity::default())),
            named("sync", samples::offsets(&[-11_753, -81, 105, 887], Some((-9, 9)), record::Validity::default())),
            named("packet", samples::packets(&[-2_000, 4_000, 9_000], 3_000, 1, record::Validity::default())),
        ];
        let read = read(write(&records).unwrap());
        assert_eq!(read, records.iter().map(Columns::of_record).collect::<Vec<_>>());
        for (columns, record) in read.iter().zip(&records) {
            let summary = Summary::of_columns(columns).unwrap();
            let of_record = Summary::of_record(record);
            assert_eq!(summary.series[0].figures.highest_ns, of_record.series[0].figures.highest_ns);
            assert_eq!((summary.label, summary.samples_are), (of_record.label, of_record.samples_are));
        }
    }
}
