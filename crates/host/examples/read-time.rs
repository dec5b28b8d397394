//! How long reading the running machine takes: `cargo run --release -p punctual-host --example read-time`.

use std::time::Instant;

use host::{Root, read_profile};

fn main() {
    let root = Root::live();
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
}
