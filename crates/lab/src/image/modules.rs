//! Adds kernel modules and their dependencies to an image, in loading order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Image;
use crate::tool::{self, ToolError};

/// Why modules could not be added.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The kernel has no such module.
    #[error("this kernel has no module {0}, neither as a file nor built in")]
    Unknown(String),
    /// It could not be unpacked.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// It could not be read.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
}

/// The modules of one kernel: files by name, and names of built-in ones.
#[derive(Debug)]
pub struct Modules {
    files: BTreeMap<String, PathBuf>,
    built_in: Vec<String>,
}

impl Modules {
    /// Collects the modules below a kernel's folder `/lib/modules/RELEASE/kernel`.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        collect(folder, &mut files);
        let list = folder.parent().map(|release| release.join("modules.builtin"));
        let built_in = list.and_then(|list| fs::read_to_string(list).ok()).unwrap_or_default();
        Self { files, built_in: built_in.lines().filter_map(|line| module_name(Path::new(line))).collect() }
    }

    /// Adds a module from another source, such as one of our own.
    pub fn insert(&mut self, name: &str, file: PathBuf) {
        self.files.insert(name.to_owned(), file);
    }

    /// Adds modules and their dependencies to an image, below `/lab/modules`; returns their paths in loading order.
    ///
    /// # Errors
    /// If a module is unknown or cannot be unpacked.
    pub fn add(&self, image: &mut Image, names: &[String]) -> Result<Vec<String>, ModuleError> {
        let mut order = Vec::new();
        for name in names {
            self.add_one(image, &name.replace('-', "_"), &mut order)?;
        }
        Ok(order)
    }

    fn add_one(&self, image: &mut Image, name: &str, order: &mut Vec<String>) -> Result<(), ModuleError> {
        let path = format!("/lab/modules/{name}.ko");
        if order.contains(&path) || self.built_in.iter().any(|known| known == name) {
            return Ok(());
        }
        let file = self.files.get(name).ok_or_else(|| ModuleError::Unknown(name.to_owned()))?;
        let bytes = read(file)?;
        for needed in needed_modules(&bytes) {
            self.add_one(image, &needed, order)?;
        }
        image.add_bytes(&path, bytes, 0o644);
        order.push(path);
        Ok(())
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if let Some(name) = module_name(&path) {
            files.insert(name, path);
        }
    }
}

/// `virtio_net` for `.../virtio-net.ko.xz`: the kernel treats dashes and underscores as equal.
fn module_name(path: &Path) -> Option<String> {
    let (name, _) = path.file_name()?.to_str()?.split_once(".ko")?;
    Some(name.replace('-', "_"))
}

fn read(file: &Path) -> Result<Vec<u8>, ModuleError> {
    let program = match file.extension().and_then(|ending| ending.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(file).map_err(|error| ModuleError::File(file.to_owned(), error)),
    };
    Ok(tool::run(Command::new(program).arg("-dqc").arg(file), "unpacking a module")?.stdout)
}

/// The names in `depends=a,b` of a module's section `.modinfo`, which consists of texts that end in NUL.
fn needed_modules(module: &[u8]) -> Vec<String> {
    let key = b"\0depends=";
    let Some(at) = module.windows(key.len()).position(|window| window == key) else { return Vec::new() };
    let text = module[at + key.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    text.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first_and_built_in_modules_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = folder.path().join("kernel/drivers");
        fs::create_dir_all(&kernel).unwrap();
        fs::write(kernel.join("virtio-net.ko"), b"\0license=x\0depends=net_failover,virtio\0").unwrap();
        fs::write(kernel.join("net_failover.ko"), b"\0depends=failover\0").unwrap();
        fs::write(kernel.join("failover.ko"), b"\0depends=\0").unwrap();
        fs::write(folder.path().join("modules.builtin"), "kernel/drivers/virtio/virtio.ko\n").unwrap();
        let modules = Modules::in_folder(&folder.path().join("kernel"));
        let mut image = Image::new();
        let order = modules.add(&mut image, &["virtio_net".to_owned(), "virtio-net".to_owned()]).unwrap();
        assert_eq!(order, ["failover", "net_failover", "virtio_net"].map(|name| format!("/lab/modules/{name}.ko")));
        assert!(image.has("lab/modules/failover.ko"));
        let unknown = modules.add(&mut image, &["warp_drive".to_owned()]).unwrap_err();
        assert_eq!(unknown.to_string(), "this kernel has no module warp_drive, neither as a file nor built in");
    }
}
