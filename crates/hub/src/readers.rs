//! Threads that read the store, so many at once and no more.

use std::sync::{Arc, Mutex, PoisonError};

use store::{Read, Store, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// Readers of the store.
pub struct Readers {
    free: Mutex<Vec<Box<dyn Read>>>,
    permits: Arc<Semaphore>,
}

/// What was asked for could not be read: a thread failed, or the hub ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hub could not read what it keeps")]
pub struct NotRead;

/// A reader that goes back when it is dropped, also where its user panics.
struct Lent {
    reader: Option<Box<dyn Read>>,
    to: Arc<Readers>,
    /// Given back after the reader.
    _permit: OwnedSemaphorePermit,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.to.free.lock().unwrap_or_else(PoisonError::into_inner).extend(self.reader.take());
    }
}

impl Readers {
    /// So many readers of a store.
    ///
    /// # Errors
    /// Where they cannot be opened.
    pub fn new(store: &impl Store, count: usize) -> Result<Arc<Self>, StoreError> {
        let free = (0..count).map(|_| store.reader()).collect::<Result<_, _>>()?;
        Ok(Arc::new(Self { free: Mutex::new(free), permits: Arc::new(Semaphore::new(count)) }))
    }

    /// Reads on a thread that may wait, when a reader is free.
    ///
    /// # Errors
    /// Where the thread failed.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&dyn Read) -> T + Send + 'static,
    ) -> Result<T, NotRead> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| NotRead)?;
        let to = Arc::clone(self);
        let reading = spawn_blocking(move || {
            let reader = to.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
            // Who asked may go while it is read: the reader is not free before it is back.
            let lent = Lent { reader, to, _permit: permit };
            lent.reader.as_deref().map(read)
        });
        reading.await.ok().flatten().ok_or(NotRead)
    }
}

#[cfg(test)]
mod tests {
    use store::{Quotas, Sqlite};

    use super::*;

    fn epoch(store: &dyn Read) -> Result<u64, StoreError> {
        store.epoch()
    }

    #[test]
    fn a_reader_is_free_again_when_it_is_back_whatever_became_of_who_asked() {
        let place = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&place.path().join("store"), Quotas::default(), 0).unwrap();
        let readers = Readers::new(&store, 1).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (go, waits) = std::sync::mpsc::channel::<()>();
            let (began, has_begun) = tokio::sync::oneshot::channel();
            let asks = readers.read(move |_| {
                let _ = began.send(());
                let _ = waits.recv();
            });
            // Who asked goes while it is read.
            tokio::select! {
                _ = asks => panic!("it waits"),
                begun = has_begun => begun.unwrap(),
            }
            assert_eq!(readers.permits.available_permits(), 0);
            go.send(()).unwrap();
            assert_eq!(readers.read(epoch).await.unwrap().unwrap(), 1);
            assert_eq!(readers.read(|_| panic!("of a test")).await, Err::<(), _>(NotRead));
            assert_eq!(readers.read(epoch).await.unwrap().unwrap(), 1);
        });
    }
}
