//! This program as guests run it: the running file itself, or its build for another architecture.

use std::io;
use std::path::{Path, PathBuf};

use crate::image;
use crate::machine::{Architecture, Machine};

/// Why there is no program for a guest.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It was not built.
    #[error(
        "there is no {} for guests of that architecture: '{built_by}' builds it, or {variable} names one",
        path.display()
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// What builds it.
        built_by: &'static str,
        /// The variable that may name it.
        variable: String,
    },
    /// It is made for another machine.
    #[error(
        "{} is made for another machine than {architecture} (ELF machine {found} instead of {wanted}); \
         '{built_by}' builds the right one",
        path.display()
    )]
    Machine {
        /// Which file.
        path: PathBuf,
        /// Debian's word for the architecture.
        architecture: &'static str,
        /// What it is made for (`e_machine`).
        found: u16,
        /// What was wanted.
        wanted: u16,
        /// What builds the right one.
        built_by: &'static str,
    },
    /// It needs what a guest does not have.
    #[error(
        "{} is linked dynamically and would not start in a guest; '{built_by}' makes a static one",
        path.display()
    )]
    Dynamic {
        /// Which file.
        path: PathBuf,
        /// What makes a static one.
        built_by: &'static str,
    },
    /// It cannot be read, or is no program.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// The file that goes into guests of an architecture: `running`, this program's own file, where it is made for that;
/// else the one that the variable `PUNCTUAL_LAB_ARMHF` names, else `punctual-armhf` beside the running one.
///
/// # Errors
/// Where there is none, or it would not run there.
pub fn for_guests(architecture: Architecture, running: &Path) -> Result<PathBuf, ProgramError> {
    let variable = format!("PUNCTUAL_LAB_{}", architecture.machine().debian.to_ascii_uppercase());
    let named = std::env::var_os(&variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    choose(architecture, running, named, variable)
}

/// Checks that a file runs in guests of an architecture, which have nothing else.
///
/// # Errors
/// Where it would not.
pub fn check(architecture: Architecture, path: &Path) -> Result<(), ProgramError> {
    let Machine { debian: architecture, elf_machine: wanted, built_by, .. } = architecture.machine();
    let (path, program) = (path.to_owned(), image::Program::read(path)?);
    if program.machine != wanted {
        return Err(ProgramError::Machine { path, architecture, found: program.machine, wanted, built_by });
    }
    if program.is_static { Ok(()) } else { Err(ProgramError::Dynamic { path, built_by }) }
}

fn choose(
    architecture: Architecture,
    running: &Path,
    named: Option<PathBuf>,
    variable: String,
) -> Result<PathBuf, ProgramError> {
    let Machine { debian: name, elf_machine, built_by, .. } = architecture.machine();
    let path = if image::Program::read(running)?.machine == elf_machine {
        running.to_owned()
    } else {
        named.unwrap_or_else(|| running.with_file_name(format!("punctual-{name}")))
    };
    if !path.exists() {
        return Err(ProgramError::Missing { path, built_by, variable });
    }
    check(architecture, &path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program without content: only the head of the file (`elf(5)`).
    fn program(folder: &Path, name: &str, class: u8, machine: u16) -> PathBuf {
        let mut bytes = vec![0; if class == 1 { 52 } else { 64 }];
        bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
        bytes[16] = 2;
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[20] = 1;
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn a_guest_gets_the_program_of_its_architecture_or_the_way_to_one() {
        let folder = tempfile::tempdir().unwrap();
        let running = program(folder.path(), "punctual", 2, elf::abi::EM_X86_64);
        let chosen = |architecture, named: Option<&Path>| {
            choose(architecture, &running, named.map(Path::to_owned), "PUNCTUAL_LAB_ARMHF".to_owned())
        };
        assert_eq!(chosen(Architecture::Amd64, None).unwrap(), running);
        let missing = chosen(Architecture::Armhf, None).unwrap_err().to_string();
        assert!(
            missing.contains("punctual-armhf for guests") && missing.contains("'make armhf' builds it"),
            "{missing}"
        );
        assert!(missing.contains("PUNCTUAL_LAB_ARMHF names one"), "{missing}");
        let beside = program(folder.path(), "punctual-armhf", 1, elf::abi::EM_ARM);
        assert_eq!(chosen(Architecture::Armhf, None).unwrap(), beside);
        let wrong = chosen(Architecture::Armhf, Some(&running)).unwrap_err().to_string();
        assert!(wrong.contains("ELF machine 62 instead of 40"), "{wrong}");
        assert!(chosen(Architecture::Armhf, Some(Path::new("/nowhere"))).is_err(), "what is named is not passed over");
    }

    #[test]
    fn a_dynamic_program_is_refused_with_the_way_to_a_static_one() {
        let native = [Architecture::Amd64, Architecture::Armhf];
        let machine = image::Program::read(Path::new("/bin/sh")).unwrap().machine;
        for architecture in native.into_iter().filter(|architecture| architecture.machine().elf_machine == machine) {
            let error = choose(architecture, Path::new("/bin/sh"), None, String::new()).unwrap_err().to_string();
            assert!(error.contains("linked dynamically") && error.contains("'make build'"), "{error}");
        }
    }
}
