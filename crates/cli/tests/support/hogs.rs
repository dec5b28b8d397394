//! Threads of real-time priority that take 5 ms of each 100 ms of their CPUs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kernel::sched::{Policy, set_affinity, set_policy};
use units::CpuSet;

/// Two hogs on one CPU would explain each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
/// However long what they are beside takes.
const AT_MOST: Duration = Duration::from_secs(60);

/// `test-hog (fifo 60)` on each of some CPUs, all at the same times, until they are dropped.
pub(crate) struct Hogs {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    _alone: MutexGuard<'static, ()>,
}

impl Hogs {
    /// Waits until no other test has some.
    pub(crate) fn on(cpus: &CpuSet) -> Self {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (ends, begin) = (Arc::new(AtomicBool::new(false)), Instant::now());
        let hog = |cpu: u32| {
            let ends = Arc::clone(&ends);
            let work = move || {
                set_affinity(0, &CpuSet::from_iter([cpu])).unwrap();
                set_policy(Policy::Fifo(60)).unwrap();
                let mut from = begin;
                while !ends.load(Ordering::Relaxed) && begin.elapsed() < AT_MOST {
                    std::thread::sleep(from.saturating_duration_since(Instant::now()));
                    let until = Instant::now() + Duration::from_millis(5);
                    while Instant::now() < until {}
                    from += Duration::from_millis(100);
                }
            };
            std::thread::Builder::new().name("test-hog".to_owned()).spawn(work).unwrap()
        };
        let threads = cpus.iter().map(hog).collect();
        Self { ends, threads, _alone: alone }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
