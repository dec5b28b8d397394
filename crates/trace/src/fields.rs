//! Reads some fields of one kind of event, by name: for events of which a number or two is enough.

use crate::event::Name;
use crate::format::{Field, Format, FormatError};
use crate::page::{Endian, Record, array};

/// Reads fields of one kind of event out of its records.
#[derive(Clone, Debug)]
pub struct FieldReader {
    endian: Endian,
    id: u16,
    fields: Vec<Field>,
}

impl FieldReader {
    /// For the event of that form; fields are asked for by their place in `fields`.
    ///
    /// # Errors
    /// Where it lacks one of them.
    pub fn new(format: &Format, fields: &[&'static str], endian: Endian) -> Result<Self, FormatError> {
        let find = |&name: &&'static str| {
            format.field(name).cloned().ok_or_else(|| FormatError::Field { event: format.name.clone(), field: name })
        };
        Ok(Self { endian, id: format.id, fields: fields.iter().map(find).collect::<Result<_, _>>()? })
    }

    /// The number by which the ring buffer names the event.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.id
    }

    /// A whole number, in as many bits as it has there, its sign extended where it has one; `None` where the record is
    /// too short, or the field no number.
    #[must_use]
    pub fn number(&self, record: &Record<'_>, field: usize) -> Option<u64> {
        let Field { offset, size, signed, .. } = *self.fields.get(field)?;
        let signed = |value: u64, bits: u32| {
            if signed && value >> (bits - 1) == 1 { value | (u64::MAX << bits) } else { value }
        };
        Some(match size {
            8 => self.endian.u64(array(record.data, offset)?),
            4 => signed(u64::from(self.endian.u32(array(record.data, offset)?)), 32),
            2 => signed(u64::from(self.endian.u16(array(record.data, offset)?)), 16),
            1 => signed(u64::from(*record.data.get(offset)?), 8),
            _ => return None,
        })
    }

    /// A name of at most 16 bytes that stands in the event itself.
    #[must_use]
    pub fn name(&self, record: &Record<'_>, field: usize) -> Option<Name> {
        let Field { offset, size, .. } = *self.fields.get(field)?;
        Some(Name::from_bytes(record.data.get(offset..offset.checked_add(size)?)?))
    }
}

/// The number of a record's event; `None` where it is too short to have one.
#[must_use]
pub fn event_id(record: &Record<'_>, endian: Endian) -> Option<u16> {
    Some(endian.u16(array(record.data, 0)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMAT: &str = "name: irq_handler_entry\nID: 160\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:char comm[16];\toffset:12;\tsize:16;\tsigned:0;\n\
        \tfield:void * handler;\toffset:28;\tsize:8;\tsigned:0;\n";

    fn reader() -> FieldReader {
        FieldReader::new(&Format::parse(FORMAT).unwrap(), &["irq", "comm", "handler"], Endian::Little).unwrap()
    }

    #[test]
    fn numbers_have_their_sign_and_names_their_end() {
        let mut data = vec![160, 0, 0, 0, 0, 0, 0, 0];
        data.extend((-3_i32).to_le_bytes());
        data.extend(b"motor\0\0\0\0\0\0\0\0\0\0\0");
        data.extend(0xffff_ffff_8000_0000_u64.to_le_bytes());
        let record = Record { time_ns: 5, data: &data, window: None };
        assert_eq!(reader().number(&record, 0), Some(u64::MAX - 2));
        assert_eq!(reader().name(&record, 1), Some(Name::new("motor")));
        assert_eq!(reader().number(&record, 2), Some(0xffff_ffff_8000_0000));
        assert_eq!(reader().number(&record, 1), None, "a name is no number");
        assert_eq!((event_id(&record, Endian::Little), reader().id()), (Some(160), 160));
    }

    #[test]
    fn a_field_that_is_not_there_is_told_by_name() {
        let error = FieldReader::new(&Format::parse(FORMAT).unwrap(), &["vec"], Endian::Little).unwrap_err();
        assert_eq!(error, FormatError::Field { event: "irq_handler_entry".to_owned(), field: "vec" });
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(data in proptest::collection::vec(any::<u8>(), 0..48)) {
            let record = Record { time_ns: 0, data: &data, window: None };
            for field in 0..4 {
                let _ = (reader().number(&record, field), reader().name(&record, field));
            }
            let _ = event_id(&record, Endian::Big);
        }
    }
}
