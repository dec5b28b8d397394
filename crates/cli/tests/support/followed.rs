//! What the tests of followed programs share: the examples, built once, and whether this machine can show anything.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use kernel::tracefs::{Instance, TraceError, Tracefs};
use record::{AppRun, Record};

use super::{may_be_real_time, said};

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The way to tracefs, whether it is mounted or not; `None` where this process may not use it.
pub(crate) fn tracing() -> Option<&'static Tracefs> {
    static TRACING: OnceLock<Result<Tracefs, TraceError>> = OnceLock::new();
    let found = TRACING.get_or_init(|| {
        let tracefs = Tracefs::find()?;
        Instance::new(&tracefs).map(|_| tracefs)
    });
    found.as_ref().inspect_err(|error| println!("not shown here: {error}")).ok()
}

pub(crate) fn instances_folder() -> PathBuf {
    tracing().unwrap().root().join("instances")
}

pub(crate) fn instances() -> Vec<String> {
    let entries = std::fs::read_dir(instances_folder()).unwrap();
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Whether this machine lets us show anything; says what is missing.
pub(crate) fn can_follow() -> bool {
    let can_trace = tracing().is_some();
    let can = can_trace && may_be_real_time();
    if !can {
        println!("not shown here: tracefs {can_trace}, real-time priority {}", may_be_real_time());
    }
    can
}

/// The examples, built once.
pub(crate) fn built() -> &'static Path {
    static BUILT: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let build = |program: &str, arguments: &[&str], source: &str| {
            let name = source.replace('.', "-");
            let mut command = Command::new(program);
            command.args(arguments).arg("-o").arg(folder.path().join(name)).arg(examples().join(source));
            let output = command.output().unwrap();
            assert!(output.status.success(), "{source}: {}", said(&output));
        };
        build("cc", &["-O2", "-pthread", "-Wall", "-Wextra", "-Werror"], "periodic-good.c");
        build("cc", &["-O0", "-pthread", "-Wall", "-Wextra", "-Werror"], "periodic-bad.c");
        build("cc", &["-O0", "-pthread", "-Wall", "-Wextra", "-Werror"], "periodic-alloc.c");
        build("cc", &["-O2", "-pthread", "-Wall", "-Wextra", "-Werror"], "waits.c");
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        build(&rustc, &["-O", "--edition", "2021"], "periodic-good.rs");
        build(&rustc, &["--edition", "2021"], "periodic-bad.rs");
        folder
    });
    folder.path()
}

pub(crate) fn app_of(record: &Record) -> &AppRun {
    record.app().unwrap()
}

/// Whether this kernel does not write down all switches, as that of one virtual machine was seen to; a run says so.
pub(crate) fn leaves_switches_out(record: &Record) -> bool {
    record.validity.reasons().iter().any(|reason| reason.detail.contains("left switches to these threads out"))
}

/// The finding that takes probes on the program.
pub(crate) const HEAP: &str = "app-heap-in-loop";

/// Whether calls of the allocator could be counted here; says why not.
pub(crate) fn counts_calls(record: &Record) -> bool {
    let look = app_of(record).allocations.as_ref().unwrap();
    if look.threads.is_empty() {
        println!("not shown here: {:?}", look.sentences());
    }
    !look.threads.is_empty()
}
