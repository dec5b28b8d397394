//! The one thread that writes to the store. What is to be written waits in a queue; batches that wait together are committed together.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kernel::supervisor::Supervisor;
use store::{Adopting, Arriving, BatchError, Committed, EnrolError, Enrolling, Node, Store, StoreError};
use tokio::sync::oneshot;

use crate::clock::now_wall_ns;

/// The most batches of one commit.
const MOST_TOGETHER: usize = 256;
/// How often what is left to do in the store is done.
const MAINTAIN_EVERY: Duration = Duration::from_secs(2);
/// Where much is left to do while batches wait: so many times as long as it took they have before more of it is done.
const MAINTAIN_SHARE: u32 = 3;
/// How much of it at once (hours and rows): little enough that batches do not wait for it.
const MAINTAIN_MOST: usize = 512;

enum Job {
    Batch(Arriving, oneshot::Sender<Result<Committed, BatchError>>),
    Enrol(Enrolling, oneshot::Sender<Result<Node, EnrolError>>),
    Adopt(Adopting, oneshot::Sender<Result<Node, EnrolError>>),
}

/// The way to the thread that writes.
#[derive(Clone)]
pub struct Writer {
    jobs: SyncSender<Job>,
}

/// Nothing was written: too much waits already, or the hub ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hub cannot write fast enough: try again in a while")]
pub struct Busy;

impl Writer {
    /// Starts the thread, which ends when all writers are gone. `queue`: how many jobs wait at most.
    ///
    /// # Errors
    /// Where the kernel gives no thread.
    pub fn start(store: impl Store + 'static, queue: usize) -> std::io::Result<(Self, JoinHandle<()>)> {
        let (jobs, waiting) = sync_channel(queue);
        let supervisor = Supervisor::from_environment()?;
        let thread =
            thread::Builder::new().name("store".to_owned()).spawn(move || write(store, &waiting, &supervisor))?;
        Ok((Self { jobs }, thread))
    }

    /// Takes a batch; it is durable when this returns what was committed.
    ///
    /// # Errors
    /// Where it is refused, or too much waits.
    pub async fn batch(&self, arriving: Arriving) -> Result<Result<Committed, BatchError>, Busy> {
        let (answer, waits) = oneshot::channel();
        self.send(Job::Batch(arriving, answer))?;
        waits.await.map_err(|_| Busy)
    }

    /// Enrols a node.
    ///
    /// # Errors
    /// Where it is refused, or too much waits.
    pub async fn enrol(&self, asked: Enrolling) -> Result<Result<Node, EnrolError>, Busy> {
        let (answer, waits) = oneshot::channel();
        self.send(Job::Enrol(asked, answer))?;
        waits.await.map_err(|_| Busy)
    }

    /// Enrols a node that has shown an enrolment of this hub's.
    ///
    /// # Errors
    /// Where it is refused, or too much waits.
    pub async fn adopt(&self, asked: Adopting) -> Result<Result<Node, EnrolError>, Busy> {
        let (answer, waits) = oneshot::channel();
        self.send(Job::Adopt(asked, answer))?;
        waits.await.map_err(|_| Busy)
    }

    fn send(&self, job: Job) -> Result<(), Busy> {
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => Busy,
        })
    }
}

fn write(mut store: impl Store, waiting: &Receiver<Job>, supervisor: &Supervisor) {
    let (mut is_more, mut due, mut told) = (false, Instant::now() + MAINTAIN_EVERY, Instant::now());
    loop {
        // Where much is left to do it is done whenever nobody waits.
        let patience = if is_more { Duration::ZERO } else { due.saturating_duration_since(Instant::now()) };
        let is_idle = match waiting.recv_timeout(patience) {
            Ok(first) => {
                carry_out(&mut store, first, waiting);
                false
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let began = Instant::now();
        if began >= due || (is_more && is_idle) {
            // A store that cannot be written is no reason to start again: nodes keep what they have, and it is said.
            let maintained = store.maintain(MAINTAIN_MOST, now_wall_ns());
            is_more = maintained.as_ref().is_ok_and(|maintained| maintained.is_more);
            if let Err(error) = maintained {
                complain(&error);
            }
            let wait = if is_more { (began.elapsed() * MAINTAIN_SHARE).min(MAINTAIN_EVERY) } else { MAINTAIN_EVERY };
            due = Instant::now() + wait;
        }
        if told.elapsed() >= MAINTAIN_EVERY {
            // This thread shows by it that it is not stuck.
            supervisor.still_works();
            told = Instant::now();
        }
    }
}

/// Carries a job out with all that wait behind it.
fn carry_out(store: &mut impl Store, first: Job, waiting: &Receiver<Job>) {
    let (mut arriving, mut answers) = (Vec::new(), Vec::new());
    for job in std::iter::once(first).chain(waiting.try_iter()) {
        match job {
            Job::Batch(batch, answer) => {
                arriving.push(batch);
                answers.push(answer);
            }
            Job::Enrol(asked, answer) => {
                // Who asked may have gone: a node asks again and gets the same answer.
                let _ = answer.send(store.enrol(&asked));
            }
            Job::Adopt(asked, answer) => {
                let _ = answer.send(store.adopt(&asked));
            }
        }
        if arriving.len() >= MOST_TOGETHER {
            break;
        }
    }
    if arriving.is_empty() {
        return;
    }
    match store.take_batches(&arriving) {
        Ok(taken) => taken.into_iter().zip(answers).for_each(|(taken, answer)| {
            // Who asked may have gone: a node sends it again and gets the same answer.
            let _ = answer.send(taken);
        }),
        Err(error) => {
            complain(&error);
            // One that the store cannot take does not keep the others out.
            for (batch, answer) in arriving.iter().zip(answers) {
                let _ = answer.send(store.take_batch(batch));
            }
        }
    }
}

fn complain(error: &StoreError) {
    terminal::output::warning(&error.to_string());
}
