//! The kernel's description of its own types, as far as the programs need it.
//!
//! Source: the kernel's Documentation/bpf/btf.rst. The bytes are the kernel's own, but they are read like any foreign
//! bytes: nothing in them can make this panic, read beyond them or go round for ever.

use std::collections::HashMap;

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
/// Structures within structures that are followed when a member without a name is looked into.
const MAX_DEPTH: u32 = 8;

const KIND_INT: u32 = 1;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_TYPEDEF: u32 = 8;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;
const KIND_DECL_TAG: u32 = 17;
const KIND_ENUM64: u32 = 19;

/// Why bytes are no description of types.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// Not of the format.
    #[error("not the kernel's description of its types: {0}")]
    Form(&'static str),
    /// Shorter than it says.
    #[error("the description of the kernel's types ends within type {0}")]
    Short(u32),
    /// A kind that this program does not know, so that nothing after it can be found.
    #[error("the description of the kernel's types has kind {kind} at type {id}, which is newer than this program")]
    Kind {
        /// The kind's number.
        kind: u32,
        /// The type's number.
        id: u32,
    },
}

/// A type: its kind, and where what follows its head stands.
#[derive(Clone, Copy, Debug)]
struct Type {
    name: u32,
    kind: u32,
    has_bit_fields: bool,
    members: u32,
    size_or_type: u32,
    /// Where its members stand (bytes from the start of all types).
    at: usize,
}

/// The types of a kernel.
#[derive(Debug)]
pub struct Btf<'a> {
    types_bytes: &'a [u8],
    strings: &'a [u8],
    types: Vec<Type>,
    typedefs: HashMap<&'a [u8], u32>,
    structs: HashMap<&'a [u8], u32>,
}

impl<'a> Btf<'a> {
    /// Reads `/sys/kernel/btf/vmlinux`, written in this machine's byte order.
    ///
    /// # Errors
    /// Where the bytes are not of the format, end early, or hold a kind that came after Linux 6.12.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BtfError> {
        if bytes.len() < HEADER_BYTES || u16_at(bytes, 0) != Some(MAGIC) {
            return Err(BtfError::Form("its first bytes are not BTF's of this machine"));
        }
        let word = |at| u32_at(bytes, at).and_then(|word| usize::try_from(word).ok()).unwrap_or(usize::MAX);
        let header = word(4);
        let section = |offset: usize, length: usize| {
            let start = header.checked_add(offset)?;
            bytes.get(start..start.checked_add(length)?)
        };
        let types_bytes = section(word(8), word(12)).ok_or(BtfError::Form("its types lie outside of it"))?;
        let strings = section(word(16), word(20)).ok_or(BtfError::Form("its names lie outside of it"))?;
        let mut btf =
            Self { types_bytes, strings, types: Vec::new(), typedefs: HashMap::new(), structs: HashMap::new() };
        btf.read_types()?;
        Ok(btf)
    }

    fn read_types(&mut self) -> Result<(), BtfError> {
        // Type 0 is `void` and not written.
        self.types.push(Type { name: 0, kind: 0, has_bit_fields: false, members: 0, size_or_type: 0, at: 0 });
        let (mut at, mut id) = (0_usize, 1_u32);
        while at < self.types_bytes.len() {
            let word = |offset| u32_at(self.types_bytes, at + offset).ok_or(BtfError::Short(id));
            let (name, info, size_or_type) = (word(0)?, word(4)?, word(8)?);
            let kind = (info >> 24) & 0x1f;
            let members = info & 0xffff;
            let count = usize::try_from(members).unwrap_or(usize::MAX);
            let rest = match kind {
                KIND_INT | KIND_VAR | KIND_DECL_TAG => 4,
                KIND_ARRAY => 12,
                KIND_STRUCT | KIND_UNION | KIND_DATASEC | KIND_ENUM64 => 12 * count,
                KIND_ENUM | KIND_FUNC_PROTO => 8 * count,
                // Pointer, forward, typedef, volatile, const, restrict, function, float, type tag: nothing follows.
                2 | 7..=12 | 16 | 18 => 0,
                _ => return Err(BtfError::Kind { kind, id }),
            };
            at += 12;
            if self.types_bytes.len() - at < rest {
                return Err(BtfError::Short(id));
            }
            self.types.push(Type { name, kind, has_bit_fields: info >> 31 == 1, members, size_or_type, at });
            let name = string_at(self.strings, name);
            match (kind, name) {
                (KIND_TYPEDEF, Some(name)) => drop(self.typedefs.entry(name).or_insert(id)),
                (KIND_STRUCT, Some(name)) if !name.is_empty() => drop(self.structs.entry(name).or_insert(id)),
                _ => {}
            }
            at += rest;
            id += 1;
        }
        Ok(())
    }

    /// The number of a `typedef`; trace points are known as `btf_trace_NAME`.
    #[must_use]
    pub fn typedef(&self, name: &str) -> Option<u32> {
        self.typedefs.get(name.as_bytes()).copied()
    }

    /// Where a member of a `struct` stands (bytes), also one inside a member without a name.
    #[must_use]
    pub fn member(&self, of: &str, member: &str) -> Option<u32> {
        let id = *self.structs.get(of.as_bytes())?;
        self.find(id, member.as_bytes(), MAX_DEPTH).filter(|bits| bits % 8 == 0).map(|bits| bits / 8)
    }

    fn find(&self, id: u32, wanted: &[u8], depth: u32) -> Option<u32> {
        let of = self.types.get(usize::try_from(id).ok()?)?;
        if depth == 0 || !matches!(of.kind, KIND_STRUCT | KIND_UNION) {
            return None;
        }
        for n in 0..usize::try_from(of.members).ok()? {
            let at = of.at + 12 * n;
            let word = |offset| u32_at(self.types_bytes, at + offset);
            let (name, kind, offset) = (word(0)?, word(4)?, word(8)?);
            // With bit fields the upper byte is a width.
            let offset = if of.has_bit_fields { offset & 0x00ff_ffff } else { offset };
            let name = string_at(self.strings, name)?;
            if name == wanted {
                return Some(offset);
            }
            if name.is_empty() {
                let inside = self.find(kind, wanted, depth - 1);
                if let Some(inside) = inside {
                    return offset.checked_add(inside);
                }
            }
        }
        None
    }

    /// How many types are described.
    #[must_use]
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether nothing is described.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.types.len() <= 1
    }

    /// The name of a type, for tests and messages.
    #[must_use]
    pub fn name(&self, id: u32) -> Option<&'a str> {
        let of = self.types.get(usize::try_from(id).ok()?)?;
        std::str::from_utf8(string_at(self.strings, of.name)?).ok()
    }

    /// The type that a `typedef`, pointer or function stands for.
    #[must_use]
    pub fn refers_to(&self, id: u32) -> Option<u32> {
        let of = self.types.get(usize::try_from(id).ok()?)?;
        matches!(of.kind, 2 | 8..=13).then_some(of.size_or_type)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The name that starts there, without its end.
fn string_at(strings: &[u8], at: u32) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(at).ok()?..)?;
    Some(&rest[..rest.iter().position(|&byte| byte == 0)?])
}
