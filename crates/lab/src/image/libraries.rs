//! Finds the shared libraries of a program in unpacked packages.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use elf::ElfBytes;
use elf::abi::{DT_NEEDED, PT_INTERP};
use elf::endian::AnyEndian;

use super::Image;

/// The shared libraries of unpacked packages, by file name.
#[derive(Debug, Default)]
pub struct Libraries {
    by_name: BTreeMap<String, PathBuf>,
}

/// The loader and the libraries that a program needs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    loader: Option<String>,
    libraries: Vec<String>,
}

impl Libraries {
    /// Collects the libraries of unpacked packages.
    #[must_use]
    pub fn in_packages<'a>(packages: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut libraries = Self::default();
        for package in packages {
            for folder in ["lib", "lib64", "usr/lib"] {
                libraries.collect(&package.join(folder), 0);
            }
        }
        libraries
    }

    fn collect(&mut self, folder: &Path, depth: usize) {
        // /usr/lib/<triplet>/<name>: deeper folders contain plug-ins, which no program links to.
        if depth > 1 {
            return;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else { continue };
            if path.is_dir() {
                self.collect(&path, depth + 1);
            } else if name.contains(".so") {
                self.by_name.entry(name).or_insert(path);
            }
        }
    }

    /// Adds a program to an image, with its loader and all libraries that it needs; libraries go to `/lib`.
    ///
    /// # Errors
    /// If a file cannot be read or is not ELF, or no package contains a library.
    pub fn add_program(&self, image: &mut Image, path: &str, program: &Path) -> io::Result<()> {
        image.add_program(path, program);
        let needs = needs(program)?;
        if let Some(loader) = &needs.loader {
            let name = loader.rsplit('/').next().unwrap_or(loader);
            image.add_program(loader, &self.find(name, program)?);
        }
        let mut open = needs.libraries;
        while let Some(name) = open.pop() {
            let at = format!("lib/{name}");
            if !image.has(&at) {
                let file = self.find(&name, program)?;
                image.add_program(&at, &file);
                open.extend(self::needs(&file)?.libraries);
            }
        }
        Ok(())
    }

    fn find(&self, name: &str, program: &Path) -> io::Result<PathBuf> {
        let missing =
            || io::Error::other(format!("{} needs {name}, which is in none of the packages", program.display()));
        let found = self.by_name.get(name).ok_or_else(missing)?;
        // Resolve the link from the short to the full name; packages have both in one folder.
        found.canonicalize()
    }
}

/// Properties of a program file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The machine it is built for (`e_machine` of `elf(5)`).
    pub(crate) machine: u16,
    /// Whether it runs without a loader and libraries.
    pub(crate) is_static: bool,
}

impl Program {
    /// Reads the properties from a program file.
    ///
    /// # Errors
    /// If it cannot be read, or is not ELF.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path).map_err(|error| io::Error::new(error.kind(), with_path(path, error)))?;
        let program = |bytes| {
            let machine = ElfBytes::<AnyEndian>::minimal_parse(bytes)?.ehdr.e_machine;
            Ok::<_, elf::ParseError>(Self { machine, is_static: parse_needs(bytes)?.loader.is_none() })
        };
        program(&bytes).map_err(|error| io::Error::other(with_path(path, error)))
    }
}

fn with_path(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

fn needs(program: &Path) -> io::Result<Needs> {
    let bytes = fs::read(program)?;
    parse_needs(&bytes).map_err(|error| io::Error::other(with_path(program, error)))
}

fn parse_needs(bytes: &[u8]) -> Result<Needs, elf::ParseError> {
    let file = ElfBytes::<AnyEndian>::minimal_parse(bytes)?;
    let mut needs = Needs::default();
    for segment in file.segments().into_iter().flatten().filter(|segment| segment.p_type == PT_INTERP) {
        let text = String::from_utf8_lossy(file.segment_data(&segment)?).into_owned();
        needs.loader = Some(text.trim_end_matches('\0').to_owned());
    }
    if let (Some(dynamic), Some((_, names))) = (file.dynamic()?, file.dynamic_symbol_table()?) {
        for entry in dynamic.iter().filter(|entry| entry.d_tag == DT_NEEDED) {
            let at = usize::try_from(entry.d_val()).unwrap_or(usize::MAX);
            needs.libraries.push(names.get(at)?.to_owned());
        }
    }
    Ok(needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_program_names_its_loader_and_the_c_library() {
        let needs = needs(Path::new("/bin/sh")).unwrap();
        assert!(needs.loader.unwrap().contains("ld-"));
        assert!(needs.libraries.iter().any(|name| name.starts_with("libc.")));
        assert!(!Program::read(Path::new("/bin/sh")).unwrap().is_static);
        assert!(parse_needs(b"#!/bin/sh\n").is_err());
    }

    #[test]
    fn a_missing_library_is_named() {
        let nothing = Libraries::default();
        let error = nothing.add_program(&mut Image::new(), "bin/sh", Path::new("/bin/sh")).unwrap_err();
        assert!(error.to_string().contains("/bin/sh needs ld-"), "{error}");
    }
}
