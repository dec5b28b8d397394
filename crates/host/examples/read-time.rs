//! How long reading the running machine, or a captured tree, takes:
//! `cargo run --release -p punctual-host --example read-time [DIR]`.

use std::path::Path;
use std::time::Instant;

use host::{Root, read_profile};

fn main() -> Result<(), host::RootError> {
    let root = match std::env::args_os().nth(1) {
        Some(dir) => Root::tree(Path::new(&dir))?,
        None => Root::live(),
    };
    let mut times: Vec<_> = (0..30)
        .map(|_| {
            let start = Instant::now();
            let profile = read_profile(&root).0;
            (start.elapsed(), profile.tasks.task_count)
        })
        .collect();
    times.sort();
    let (median, task_count) = times[times.len() / 2];
    let (worst, _) = times[times.len() - 1];
    println!("read_profile: median {median:.1?}, worst {worst:.1?} of {} readings, {task_count} tasks", times.len());
    Ok(())
}
