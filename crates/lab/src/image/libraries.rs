//! Which shared libraries a program needs, found in unpacked packages.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use elf::ElfBytes;
use elf::abi::{DT_NEEDED, PT_INTERP};
use elf::endian::AnyEndian;

use super::Image;

/// The shared libraries of unpacked packages, by name.
#[derive(Debug, Default)]
pub struct Libraries {
    by_name: BTreeMap<String, PathBuf>,
}

/// What a program asks of its surroundings.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    loader: Option<String>,
    libraries: Vec<String>,
}

impl Libraries {
    /// Those in the library folders of unpacked packages.
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
        // /usr/lib/<triplet>/<name>: deeper are plug-ins, which nobody links to.
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

    /// Adds a program to an image, with its loader and all libraries that it needs, each in `/lib`.
    ///
    /// # Errors
    /// Where a file cannot be read, is no ELF, or a library is in none of the packages.
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
        let missing = || io::Error::other(format!("{} needs {name}, which no package has", program.display()));
        let found = self.by_name.get(name).ok_or_else(missing)?;
        // A link from the short to the full name; packages keep both in one folder.
        found.canonicalize()
    }
}

/// Checks that a program runs in a guest that has nothing else.
///
/// # Errors
/// Where it is linked dynamically, or cannot be read.
pub fn is_static(program: &Path) -> io::Result<()> {
    if needs(program)?.loader.is_none() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} is linked dynamically and would not start in a guest; 'make build' makes a static one",
        program.display()
    )))
}

fn needs(program: &Path) -> io::Result<Needs> {
    let bytes = fs::read(program)?;
    needs_of(&bytes).map_err(|error| io::Error::other(format!("{}: {error}", program.display())))
}

fn needs_of(bytes: &[u8]) -> Result<Needs, elf::ParseError> {
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
        assert!(is_static(Path::new("/bin/sh")).unwrap_err().to_string().contains("linked dynamically"));
        assert!(needs_of(b"#!/bin/sh\n").is_err());
    }

    #[test]
    fn a_missing_library_is_named() {
        let nothing = Libraries::default();
        let error = nothing.add_program(&mut Image::new(), "bin/sh", Path::new("/bin/sh")).unwrap_err();
        assert!(error.to_string().contains("/bin/sh needs ld-"), "{error}");
    }
}
