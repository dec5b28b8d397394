//! The files of programs for guests: the running file itself, or its build for another architecture, and beside it what
//! proves the instrument.

use std::io;
use std::path::{Path, PathBuf};

use crate::image;
use crate::image::Image;
use crate::machine::{Architecture, Machine};
use crate::scenario::Node;

/// Why there is no program for a guest.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It has not been built.
    #[error(
        "there is no {} for guests of that architecture: build it with '{built_by}', or set {variable} to its path",
        path.display()
    )]
    Missing {
        /// The expected path.
        path: PathBuf,
        /// The command that builds it.
        built_by: &'static str,
        /// The environment variable that may name another path.
        variable: String,
    },
    /// It is built for another machine.
    #[error(
        "{} is built for another machine than {architecture} (ELF machine {found} instead of {wanted}); \
         build the right one with '{built_by}'",
        path.display()
    )]
    Machine {
        /// Path of the file.
        path: PathBuf,
        /// Debian's name of the architecture.
        architecture: &'static str,
        /// The machine it is built for (`e_machine`).
        found: u16,
        /// The machine of the guest (`e_machine`).
        wanted: u16,
        /// The command that builds the right one.
        built_by: &'static str,
    },
    /// It is linked dynamically; guests lack the libraries.
    #[error(
        "{} is linked dynamically and would not start in a guest; build a static one with '{built_by}'",
        path.display()
    )]
    Dynamic {
        /// Path of the file.
        path: PathBuf,
        /// The command that builds a static one.
        built_by: &'static str,
    },
    /// It cannot be read, or is not an ELF program.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// What a guest can run of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// `punctual` itself, or another program of ours: the guest's first process and agent too.
    pub punctual: PathBuf,
    /// `punctual-proof`, for a guest that injects faults.
    pub proof: Option<PathBuf>,
    /// More static programs, each with its name in the guest's `/bin`.
    pub others: Vec<(String, PathBuf)>,
}

impl Programs {
    /// The files for a node, where `running` is this program's own.
    ///
    /// # Errors
    /// If one is missing, or would not run there.
    pub fn for_node(node: &Node, running: &Path) -> Result<Self, ProgramError> {
        let proof = if node.proof { Some(proof(running)?) } else { None };
        Ok(Self { punctual: for_guests(node.architecture(), running)?, proof, others: Vec::new() })
    }

    /// Puts them into the file system of a guest.
    pub(crate) fn add_to(&self, image: &mut Image) {
        image.add_program("bin/punctual", &self.punctual);
        if let Some(proof) = &self.proof {
            image.add_program("bin/punctual-proof", proof);
        }
        for (name, path) in &self.others {
            image.add_program(&format!("bin/{name}"), path);
        }
    }
}

/// Names another file of `punctual-proof` than the one beside the running program.
const PROOF_VARIABLE: &str = "PUNCTUAL_LAB_PROOF";

/// `punctual-proof` for guests of amd64: the file that `PUNCTUAL_LAB_PROOF` names, else the one beside `running`.
///
/// # Errors
/// If there is no such file, or it would not run in such a guest.
pub fn proof(running: &Path) -> Result<PathBuf, ProgramError> {
    let named = std::env::var_os(PROOF_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = named.unwrap_or_else(|| running.with_file_name("punctual-proof"));
    let built_by = "make build";
    if !path.exists() {
        return Err(ProgramError::Missing { path, built_by, variable: PROOF_VARIABLE.to_owned() });
    }
    check(Architecture::Amd64, &path)?;
    Ok(path)
}

/// The program file for guests of an architecture: `running`, this program's own file, if it is built for that; else
/// the file that the environment variable `PUNCTUAL_LAB_ARMHF` names; else `punctual-armhf` beside the running file.
///
/// # Errors
/// If there is no such file, or it would not run in such a guest.
pub fn for_guests(architecture: Architecture, running: &Path) -> Result<PathBuf, ProgramError> {
    let variable = format!("PUNCTUAL_LAB_{}", architecture.machine().debian.to_ascii_uppercase());
    let named = std::env::var_os(&variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    choose(architecture, running, named, variable)
}

/// Checks that a file runs in guests of an architecture, which have no libraries.
///
/// # Errors
/// If it would not run.
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

    /// Writes a program file that consists only of an ELF header (`elf(5)`).
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
    fn a_guest_gets_the_program_of_its_architecture_or_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let running = program(folder.path(), "punctual", 2, elf::abi::EM_X86_64);
        let chosen = |architecture, named: Option<&Path>| {
            choose(architecture, &running, named.map(Path::to_owned), "PUNCTUAL_LAB_ARMHF".to_owned())
        };
        assert_eq!(chosen(Architecture::Amd64, None).unwrap(), running);
        let missing = chosen(Architecture::Armhf, None).unwrap_err().to_string();
        assert!(
            missing.contains("punctual-armhf for guests") && missing.contains("build it with 'make armhf'"),
            "{missing}"
        );
        assert!(missing.contains("set PUNCTUAL_LAB_ARMHF"), "{missing}");
        let beside = program(folder.path(), "punctual-armhf", 1, elf::abi::EM_ARM);
        assert_eq!(chosen(Architecture::Armhf, None).unwrap(), beside);
        let wrong = chosen(Architecture::Armhf, Some(&running)).unwrap_err().to_string();
        assert!(wrong.contains("ELF machine 62 instead of 40"), "{wrong}");
        assert!(
            chosen(Architecture::Armhf, Some(Path::new("/nowhere"))).is_err(),
            "a named file that is missing is an error"
        );
    }

    #[test]
    fn a_dynamic_program_is_refused_with_a_remedy() {
        let native = [Architecture::Amd64, Architecture::Armhf];
        let machine = image::Program::read(Path::new("/bin/sh")).unwrap().machine;
        for architecture in native.into_iter().filter(|architecture| architecture.machine().elf_machine == machine) {
            let error = choose(architecture, Path::new("/bin/sh"), None, String::new()).unwrap_err().to_string();
            assert!(error.contains("linked dynamically") && error.contains("'make build'"), "{error}");
        }
    }
}
