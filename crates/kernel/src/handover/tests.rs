use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// Long enough for a busy machine, and an end where a thread hangs.
const AT_MOST: Duration = Duration::from_secs(20);

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < AT_MOST, "not within {AT_MOST:?}: {what}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Whether a thread of this process sleeps, and has given its CPU up to since it had done so `before` times: its state is set
/// before it gives way, and may be taken back (proc_pid_status(5)).
fn sleeps(tid: u32, before: i64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).unwrap();
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    of("State:").starts_with('S') && of("voluntary_ctxt_switches:").parse::<i64>().unwrap() > before
}

/// A sleeper that waits so often, with what each wait was: woken for nothing so often before, and whether it slept.
struct Sleeper {
    tid: u32,
    /// Waits that it is about to begin: from there to the wait nothing else makes it sleep.
    begun: Arc<AtomicU64>,
    /// How often it had given its CPU up before the one that goes on.
    before: Arc<AtomicI64>,
    taken: Arc<AtomicU64>,
    ended: std::sync::mpsc::Receiver<Vec<(u32, bool)>>,
}

impl Sleeper {
    /// Waits until it sleeps in its n-th wait, counted from 0.
    fn waits(&self, n: u64) {
        until("the sleeper waits", || {
            let is_begun = self.begun.load(Ordering::Acquire) == n + 1;
            is_begun && sleeps(self.tid, self.before.load(Ordering::Relaxed))
        });
    }
}

fn sleeper<H: HandOver>(hand: &Arc<H>, waits: u64, goes: impl Fn(u64) + Send + 'static) -> Sleeper {
    let (hand, taken, begun) = (Arc::clone(hand), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (tell, told) = channel();
    let (say_tid, tid) = channel();
    let (counted, begins) = (Arc::clone(&taken), Arc::clone(&begun));
    let slept_before = Arc::new(AtomicI64::new(0));
    let sleeps = Arc::clone(&slept_before);
    thread::spawn(move || {
        hand.begin_waiting();
        say_tid.send(crate::sched::thread_id()).unwrap();
        let mut all = Vec::new();
        for wait in 0..waits {
            goes(wait);
            let before = sleeps_so_far();
            sleeps.store(before, Ordering::Relaxed);
            begins.store(wait + 1, Ordering::Release);
            all.push((hand.wait().unwrap(), sleeps_so_far() != before));
            hand.leave();
            counted.fetch_add(1, Ordering::Release);
        }
        tell.send(all).unwrap();
    });
    Sleeper { tid: tid.recv_timeout(AT_MOST).unwrap(), begun, before: slept_before, taken, ended: told }
}

fn hands_over<H: HandOver>(tells: bool) {
    const TIMES: u64 = 50;
    let hand = Arc::new(H::open().unwrap());
    hand.begin_waking();
    let sleeper = sleeper(&hand, TIMES + 1, |_| ());
    for n in 0..TIMES {
        sleeper.waits(n);
        hand.prepare();
        let found = hand.wake().unwrap();
        assert_eq!(found, if tells { Found::Sleeper } else { Found::Unknown });
    }
    until("the last is taken", || sleeper.taken.load(Ordering::Acquire) == TIMES);
    // No wake-up too many: it waits for the next one.
    sleeper.waits(TIMES);
    assert_eq!(sleeper.taken.load(Ordering::Acquire), TIMES);
    hand.wake_last();
    let all = sleeper.ended.recv_timeout(AT_MOST).unwrap();
    assert!(all.iter().all(|(for_nothing, slept)| *for_nothing == 0 && *slept), "{all:?}");
}

/// A wake-up for which nobody waits is kept: the wait that follows returns without having slept.
fn is_kept<H: HandOver>(tells: bool) {
    let hand = Arc::new(H::open().unwrap());
    hand.begin_waking();
    let (go, may_go) = channel();
    let sleeper = sleeper(&hand, 1, move |_| may_go.recv().unwrap());
    hand.prepare();
    let found = hand.wake().unwrap();
    assert_eq!(found, if tells { Found::Nobody } else { Found::Unknown });
    // What has slept before the wait, for its permission, is not of the wait.
    go.send(()).unwrap();
    assert_eq!(sleeper.ended.recv_timeout(AT_MOST).unwrap(), [(0, false)]);
}

/// A sleeper whose waker is gone is released by others.
fn is_released<H: HandOver>() {
    let hand = Arc::new(H::open().unwrap());
    let waker = Arc::clone(&hand);
    let (go, may_go) = channel::<()>();
    let waking = thread::spawn(move || {
        waker.begin_waking();
        let _ = may_go.recv();
    });
    thread::sleep(Duration::from_millis(2));
    let sleeper = sleeper(&hand, 1, |_| ());
    sleeper.waits(0);
    drop(go);
    waking.join().unwrap();
    hand.release();
    assert_eq!(sleeper.ended.recv_timeout(AT_MOST).unwrap().len(), 1);
    // Once more, with nobody there any more.
    hand.release();
}

macro_rules! kinds {
    ($($name:ident: $kind:ty, tells: $tells:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn hands_over() {
                super::hands_over::<$kind>($tells);
            }

            #[test]
            fn a_wake_up_for_which_nobody_waits_is_kept() {
                is_kept::<$kind>($tells);
            }

            #[test]
            fn a_sleeper_whose_waker_is_gone_is_released() {
                is_released::<$kind>();
            }
        })+
    };
}

kinds! {
    eventfd: Eventfd, tells: false;
    pipe: Pipe, tells: false;
    futex: Futex, tells: true;
    futex_pi: FutexPi, tells: true;
    signal: Signal, tells: false;
    mqueue: Mqueue, tells: false;
    condvar: Condvar, tells: true;
}

#[test]
fn a_futex_that_is_woken_for_nothing_waits_on_and_says_so() {
    let hand = Arc::new(Futex::open().unwrap());
    let sleeper = sleeper(&hand, 1, |_| ());
    sleeper.waits(0);
    hand.wake_for_nothing();
    until("the sleeper waits again", || sleeps(sleeper.tid, sleeper.before.load(Ordering::Relaxed)));
    thread::sleep(Duration::from_millis(2));
    assert_eq!(sleeper.taken.load(Ordering::Acquire), 0);
    hand.wake().unwrap();
    assert_eq!(sleeper.ended.recv_timeout(AT_MOST).unwrap(), [(1, true)]);
}

#[test]
fn a_queue_leaves_no_name_behind_and_never_blocks_its_sender() {
    let hand = Mqueue::open().unwrap();
    for _ in 0..4 {
        hand.wake().unwrap();
    }
    assert_eq!(hand.wake(), Err(CallFailed { errno: libc::EAGAIN }));
    // Where the kernel's file system of queues is mounted it shows no name.
    let names =
        std::fs::read_dir("/dev/mqueue").map(|all| all.flatten().map(|one| one.file_name()).collect::<Vec<_>>());
    let own = format!("punctual-{}-", std::process::id());
    assert!(names.unwrap_or_default().iter().all(|name| !name.to_string_lossy().starts_with(&own)));
}

#[test]
fn what_the_kernel_says_of_queues_is_put_in_words() {
    assert!(HandOverError::NoMqueue.to_string().contains("CONFIG_POSIX_MQUEUE"));
    let refused = HandOverError::MqueueLimit(io::Error::from_raw_os_error(libc::EMFILE));
    assert!(refused.to_string().contains("RLIMIT_MSGQUEUE"), "{refused}");
}
