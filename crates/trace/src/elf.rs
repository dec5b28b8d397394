//! Where functions stand in an ELF file (elf(5)): the offset in the file at which a probe can be placed.
//!
//! Only names that the file keeps are found: a stripped static program has none, a shared library those that it exports.

use crate::syscall::Abi;

/// A function that a file defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, without a version.
    pub name: String,
    /// Offset of its first instruction in the file (bytes).
    pub offset: u64,
}

/// Sections and program headers that are looked at.
const MOST_HEADERS: u16 = 4_096;
/// The largest table that is read (bytes): the symbols of the largest programs with debug symbols.
const MOST_BYTES: u64 = 256 << 20;
/// `SHT_SYMTAB` and `SHT_DYNSYM`, `PT_LOAD`, `STT_FUNC` (elf(5)).
const SYMBOLS: [u64; 2] = [2, 11];
const LOADED: u64 = 1;
const FUNCTION: u8 = 2;
/// The longest name that can be wanted (bytes).
const LONGEST_NAME: usize = 256;

/// Where the fields of this file's class stand.
struct Layout {
    is_64: bool,
    is_big: bool,
}

impl Layout {
    fn number(&self, bytes: &[u8], at: usize, length: usize) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(length)?)?;
        let append = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.is_big { field.iter().fold(0, append) } else { field.iter().rev().fold(0, append) })
    }

    /// A field at its place in files of 64 and of 32 bits, as long as an address.
    fn address(&self, bytes: &[u8], at: [usize; 2]) -> Option<u64> {
        if self.is_64 { self.number(bytes, at[0], 8) } else { self.number(bytes, at[1], 4) }
    }

    /// A field of a fixed length at its place in files of 64 and of 32 bits.
    fn field(&self, bytes: &[u8], at: [usize; 2], length: usize) -> Option<u64> {
        self.number(bytes, at[usize::from(!self.is_64)], length)
    }
}

/// The wanted functions that a file defines, each place once. `read` gives so many bytes from an offset on, or `None` where
/// the file ends before. `None` for what is no ELF file of a known interface, or contradicts itself.
#[must_use]
pub fn functions(
    read: &mut dyn FnMut(u64, usize) -> Option<Vec<u8>>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Option<Vec<Function>> {
    let head = read(0, 52)?;
    let abi = Abi::from_elf(&head)?;
    let layout = Layout { is_64: head[4] == 2, is_big: head[5] == 2 };
    let head = if layout.is_64 { read(0, 64)? } else { head };
    let segments = headers(&layout, &head, read, ([32, 28], [54, 42], [56, 44]))?;
    let sections = headers(&layout, &head, read, ([40, 32], [58, 46], [60, 48]))?;
    let mut found: Vec<Function> = Vec::new();
    for section in
        sections.iter().filter(|section| layout.field(section, [4, 4], 4).is_some_and(|kind| SYMBOLS.contains(&kind)))
    {
        let names = sections.get(usize::try_from(layout.field(section, [40, 24], 4)?).ok()?)?;
        let symbols = content(&layout, section, read)?;
        let names = content(&layout, names, read)?;
        for symbol in symbols.chunks_exact(if layout.is_64 { 24 } else { 16 }) {
            let kind = layout.field(symbol, [4, 12], 1)? & 0xf;
            let is_defined = layout.field(symbol, [6, 14], 2)? != 0;
            if kind != u64::from(FUNCTION) || !is_defined {
                continue;
            }
            let Some(name) = name_at(&names, layout.number(symbol, 0, 4)?).filter(|name| is_wanted(name)) else {
                continue;
            };
            let address = layout.address(symbol, [8, 4])?;
            // A function in Thumb instructions, where the kernel places no probe.
            if abi == Abi::Arm && address & 1 == 1 {
                continue;
            }
            let Some(offset) = offset_of(&layout, &segments, address) else { continue };
            if !found.iter().any(|function| function.offset == offset) {
                found.push(Function { name: name.to_owned(), offset });
            }
        }
    }
    Some(found)
}

/// Places of an offset, of a size and of a count, each in files of 64 and of 32 bits.
type Table = ([usize; 2], [usize; 2], [usize; 2]);

/// The headers of one table, each with its own bytes.
fn headers(
    layout: &Layout,
    head: &[u8],
    read: &mut dyn FnMut(u64, usize) -> Option<Vec<u8>>,
    (offset, size, count): Table,
) -> Option<Vec<Vec<u8>>> {
    let offset = layout.address(head, offset)?;
    let size = usize::try_from(layout.field(head, size, 2)?).ok()?;
    let count = usize::try_from(layout.field(head, count, 2)?.min(u64::from(MOST_HEADERS))).ok()?;
    if count == 0 {
        return Some(Vec::new());
    }
    if size == 0 {
        return None;
    }
    let bytes = read(offset, size.checked_mul(count)?)?;
    Some(bytes.chunks_exact(size).map(<[u8]>::to_vec).collect())
}

/// What a section holds.
fn content(layout: &Layout, section: &[u8], read: &mut dyn FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let (offset, size) = (layout.address(section, [24, 16])?, layout.address(section, [32, 20])?);
    read(offset, usize::try_from(size).ok().filter(|_| size <= MOST_BYTES)?)
}

fn name_at(names: &[u8], at: u64) -> Option<&str> {
    let rest = names.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().take(LONGEST_NAME).position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

/// Where the instruction of an address stands in the file.
fn offset_of(layout: &Layout, segments: &[Vec<u8>], address: u64) -> Option<u64> {
    segments.iter().find_map(|segment| {
        let is_loaded = layout.number(segment, 0, 4)? == LOADED;
        let from = layout.address(segment, [16, 8])?;
        let inside = address.checked_sub(from).filter(|_| is_loaded)?;
        let length = layout.address(segment, [32, 16])?;
        (inside < length).then_some(layout.address(segment, [8, 4])?.checked_add(inside)?)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
        file.resize(file.len().max(at + bytes.len()), 0);
        file[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A file of 64 bits for x86-64: one segment at 0x1000 in the file and 0x401000 in memory; symbols at 0x200, names at
    /// 0x300.
    fn file(symbols: &[(&str, u8, u16, u64)]) -> Vec<u8> {
        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1];
        put(&mut file, 18, &62_u16.to_le_bytes());
        put(&mut file, 32, &64_u64.to_le_bytes());
        put(&mut file, 40, &0x400_u64.to_le_bytes());
        for (at, number) in [(54, 56_u16), (56, 1), (58, 64), (60, 2)] {
            put(&mut file, at, &number.to_le_bytes());
        }
        put(&mut file, 64, &1_u32.to_le_bytes());
        for (at, number) in [(8, 0x1000_u64), (16, 0x40_1000), (32, 0x100)] {
            put(&mut file, 64 + at, &number.to_le_bytes());
        }
        let mut names = vec![0];
        for (place, (name, kind, section, address)) in symbols.iter().enumerate() {
            let at = 0x200 + 24 * place;
            put(&mut file, at, &u32::try_from(names.len()).unwrap().to_le_bytes());
            put(&mut file, at + 4, &[*kind]);
            put(&mut file, at + 6, &section.to_le_bytes());
            put(&mut file, at + 8, &address.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        put(&mut file, 0x300, &names);
        let section = |file: &mut Vec<u8>, number: usize, kind: u32, (from, length): (u64, usize), link: u32| {
            let at = 0x400 + 64 * number;
            put(file, at + 4, &kind.to_le_bytes());
            put(file, at + 24, &from.to_le_bytes());
            put(file, at + 32, &u64::try_from(length).unwrap().to_le_bytes());
            put(file, at + 40, &link.to_le_bytes());
            put(file, at + 63, &[0]);
        };
        section(&mut file, 0, 11, (0x200, 24 * symbols.len()), 1);
        section(&mut file, 1, 3, (0x300, names.len()), 0);
        file
    }

    fn found(file: &[u8]) -> Option<Vec<Function>> {
        let mut read = |offset: u64, length: usize| {
            let from = usize::try_from(offset).ok()?;
            Some(file.get(from..from.checked_add(length)?)?.to_vec())
        };
        functions(&mut read, &|name| name.contains("alloc"))
    }

    #[test]
    fn defined_functions_are_found_by_their_names_each_place_once() {
        let file = file(&[
            ("malloc", 0x12, 1, 0x40_1010),
            ("__libc_malloc", 0x12, 1, 0x40_1010),
            ("free", 0x12, 1, 0x40_1020),
            ("calloc", 0x12, 0, 0x40_1030),
            ("malloc_options", 0x11, 1, 0x40_1040),
            ("realloc", 0x12, 1, 0x40_2000),
        ]);
        // Not: one that is not wanted, one that another file defines, a variable, one outside of the segment.
        assert_eq!(found(&file), Some(vec![Function { name: "malloc".to_owned(), offset: 0x1010 }]));
    }

    #[test]
    fn what_is_no_program_has_none() {
        assert_eq!(found(b"#!/bin/sh and then some more text, longer than the head of an ELF file"), None);
        assert_eq!(found(&file(&[])[..0x410]), None, "cut short");
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(changes in prop::collection::vec((0_usize..0x480, any::<u8>()), 0..24)) {
            let mut file = file(&[("malloc", 0x12, 1, 0x40_1010)]);
            for (at, byte) in changes {
                put(&mut file, at, &[byte]);
            }
            let _ = found(&file);
        }
    }
}
