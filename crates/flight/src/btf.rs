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

/// Bytes of what each type begins with: its name, what it is, and its size or another type.
const HEAD_BYTES: usize = 12;

/// What a type is, by the second word of its head.
#[derive(Clone, Copy, Debug)]
struct Info(u32);

impl Info {
    const fn kind(self) -> u32 {
        (self.0 >> 24) & 0x1f
    }

    const fn members(self) -> u32 {
        self.0 & 0xffff
    }

    const fn has_bit_fields(self) -> bool {
        self.0 >> 31 == 1
    }
}

/// The types of a kernel.
#[derive(Debug)]
pub struct Btf<'a> {
    types_bytes: &'a [u8],
    strings: &'a [u8],
    /// By its number, where each type's head stands (bytes from the start of all types). A kernel has a hundred thousand: nothing
    /// is kept of them that can be read again.
    heads: Vec<u32>,
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
            Self { types_bytes, strings, heads: Vec::new(), typedefs: HashMap::new(), structs: HashMap::new() };
        btf.read_types()?;
        Ok(btf)
    }

    fn read_types(&mut self) -> Result<(), BtfError> {
        // Type 0 is `void` and not written: nothing stands where it does.
        self.heads.push(u32::MAX);
        let (mut at, mut id) = (0_usize, 1_u32);
        while at < self.types_bytes.len() {
            let word = |offset| u32_at(self.types_bytes, at + offset).ok_or(BtfError::Short(id));
            let (name, info) = (word(0)?, Info(word(4)?));
            // The third word is a size or another type: nothing here needs it, but it has to be there.
            word(8)?;
            let kind = info.kind();
            let count = usize::try_from(info.members()).unwrap_or(usize::MAX);
            let rest = match kind {
                KIND_INT | KIND_VAR | KIND_DECL_TAG => 4,
                KIND_ARRAY => 12,
                KIND_STRUCT | KIND_UNION | KIND_DATASEC | KIND_ENUM64 => 12 * count,
                KIND_ENUM | KIND_FUNC_PROTO => 8 * count,
                // Pointer, forward, typedef, volatile, const, restrict, function, float, type tag: nothing follows.
                2 | 7..=12 | 16 | 18 => 0,
                _ => return Err(BtfError::Kind { kind, id }),
            };
            self.heads.push(u32::try_from(at).map_err(|_| BtfError::Form("it is larger than its numbers reach"))?);
            at += HEAD_BYTES;
            if self.types_bytes.len() - at < rest {
                return Err(BtfError::Short(id));
            }
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
        let head = usize::try_from(*self.heads.get(usize::try_from(id).ok()?)?).ok()?;
        let of = Info(u32_at(self.types_bytes, head.checked_add(4)?)?);
        if depth == 0 || !matches!(of.kind(), KIND_STRUCT | KIND_UNION) {
            return None;
        }
        for n in 0..usize::try_from(of.members()).ok()? {
            let at = head + HEAD_BYTES + 12 * n;
            let word = |offset| u32_at(self.types_bytes, at + offset);
            let (name, kind, offset) = (word(0)?, word(4)?, word(8)?);
            // With bit fields the upper byte is a width.
            let offset = if of.has_bit_fields() { offset & 0x00ff_ffff } else { offset };
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A description of `int`, `struct inner { int a; int pid; }`, `struct task { int x; struct { … }; }` and a typedef.
    fn small() -> Vec<u8> {
        let strings = b"\0int\0task\0x\0pid\0a\0btf_trace_point\0";
        let at = |name: &str| {
            let text = format!("\0{name}\0");
            let found = strings.windows(text.len()).position(|window| window == text.as_bytes());
            u32::try_from(found.unwrap() + 1).unwrap()
        };
        let info = |kind: u32, members: u32| (kind << 24) | members;
        let words = [
            // 1: int, with its encoding.
            vec![at("int"), info(KIND_INT, 0), 4, 32],
            // 2: a structure without a name.
            vec![0, info(KIND_STRUCT, 2), 8, at("a"), 1, 0, at("pid"), 1, 32],
            // 3: one that holds it.
            vec![at("task"), info(KIND_STRUCT, 2), 12, at("x"), 1, 0, 0, 2, 32],
            // 4: what a trace point is known by.
            vec![at("btf_trace_point"), info(KIND_TYPEDEF, 0), 1],
        ]
        .concat();
        let types: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (types_length, strings_length) =
            (u32::try_from(types.len()).unwrap(), u32::try_from(strings.len()).unwrap());
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        for word in [24, 0, types_length, types_length, strings_length] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(types);
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn members_are_found_also_inside_what_has_no_name() {
        let bytes = small();
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(
            (btf.member("task", "x"), btf.member("task", "pid"), btf.member("task", "comm")),
            (Some(0), Some(8), None)
        );
        assert_eq!((btf.typedef("btf_trace_point"), btf.typedef("int"), btf.member("no", "x")), (Some(4), None, None));
    }

    #[test]
    fn what_ends_early_or_is_newer_is_refused_with_the_place() {
        let bytes = small();
        assert!(matches!(Btf::parse(&bytes[..20]), Err(BtfError::Form(_))));
        assert!(matches!(Btf::parse(&bytes[..60]), Err(BtfError::Form("its types lie outside of it"))));
        let mut newer = bytes.clone();
        newer[24 + 7] = 31;
        assert_eq!(Btf::parse(&newer).unwrap_err(), BtfError::Kind { kind: 31, id: 1 });
        let mut short = bytes;
        // The types' length is cut: the last one ends within its head.
        let length = u32::from_ne_bytes(short[12..16].try_into().unwrap()) - 4;
        short[12..16].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(Btf::parse(&short).unwrap_err(), BtfError::Short(4));
    }

    proptest! {
        #[test]
        fn damaged_descriptions_never_make_it_panic(at in 0..200_usize, byte in any::<u8>(), cut in 0..220_usize) {
            let mut bytes = small();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(cut.max(1));
            if let Ok(btf) = Btf::parse(&bytes) {
                let _ = (btf.member("task", "pid"), btf.typedef("btf_trace_point"));
            }
        }
    }
}
