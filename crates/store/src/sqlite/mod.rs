//! The contract over SQLite: one file with its log beside it (WAL), durable at each commit (`synchronous=FULL`).

mod between;
mod boot_clock;
mod days;
mod fault;
mod fleet;
mod held;
mod history;
mod known;
mod packs;
mod people;
mod schema;
mod summary;
mod taking;
mod tiers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use farm::stream::{Common, ContentHash, NodeKey, Place as ChainPlace, StreamId};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use self::fault::{BUSY_MS, Fault};
use self::known::Known;
use self::schema::Found;
use crate::{
    Adopting, Arriving, AuditRow, BatchError, By, Change, ChangeError, Committed, Content, ContentAt, EnrolError,
    Enrolling, FleetRow, History, HistoryAsked, LastRestore, Maintained, NewToken, Node, Quotas, Read, SecretHash,
    SpanHistogram, Store, StoreError, Token,
};

/// Statements that are kept ready.
const READY_STATEMENTS: usize = 128;
/// Pages of the log after which SQLite itself moves them into the file, where [`Store::maintain`] did not (16 MiB).
const MOST_LOG_PAGES: i64 = 4_096;
/// Memory for pages, for the writer and each reader (KiB).
const PAGE_MEMORY_KIB: i64 = 16 * 1_024;

/// A store in a file.
#[derive(Debug)]
pub struct Sqlite {
    db: Connection,
    path: PathBuf,
    quotas: Quotas,
    known: Arc<Known>,
    /// The boot whose histograms of hours were looked at last.
    looked_at: i64,
}

/// A reader of a store in a file.
#[derive(Debug)]
struct Reader {
    db: Connection,
    path: PathBuf,
    known: Arc<Known>,
}

impl Sqlite {
    /// Opens the store of a file, which is made where there is none, and brings it up to this release's version. `now_wall_ns`: the
    /// hub's clock.
    ///
    /// # Errors
    /// Where it is something else, of a later release, damaged, or cannot be opened.
    pub fn open(path: &Path, quotas: Quotas, now_wall_ns: i64) -> Result<Self, StoreError> {
        Self::open_file(path, quotas, now_wall_ns).map_err(|fault| fault.of(path))?
    }

    fn open_file(path: &Path, quotas: Quotas, now_wall_ns: i64) -> Result<Result<Self, StoreError>, Fault> {
        let mut db = Connection::open(path)?;
        prepare(&db)?;
        // Before anything is written to a file that may be somebody else's.
        let known = schema::VERSION;
        match schema::find(&db)? {
            Found::Foreign => return Ok(Err(StoreError::Foreign { path: path.display().to_string() })),
            Found::Version(found) if found > known => {
                return Ok(Err(StoreError::Newer { path: path.display().to_string(), found, known }));
            }
            Found::Empty | Found::Version(_) => {}
        }
        db.pragma_update(None, "journal_mode", "wal")?;
        db.pragma_update(None, "synchronous", "full")?;
        db.pragma_update(None, "wal_autocheckpoint", MOST_LOG_PAGES)?;
        schema::bring_up_to_date(&mut db, now_wall_ns)?;
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        fleet::forget_other_forms(&change)?;
        change.commit()?;
        Ok(Ok(Self { db, path: path.to_owned(), quotas, known: Arc::default(), looked_at: 0 }))
    }

    /// Looks whether a store that nobody uses is whole, as far as the engine can say: the structure of its file, and that each value is
    /// what its table allows.
    ///
    /// # Errors
    /// Where it is not, or cannot be read.
    pub fn check(path: &Path) -> Result<(), StoreError> {
        let check = || {
            let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            prepare(&db)?;
            if !matches!(schema::find(&db)?, Found::Version(_)) {
                return Ok(Err(StoreError::Foreign { path: path.display().to_string() }));
            }
            let found: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            Ok(if found == "ok" {
                Ok(())
            } else {
                Err(StoreError::Damaged { path: path.display().to_string(), why: found })
            })
        };
        check().map_err(|fault: Fault| fault.of(path))?
    }

    /// Closes the store so that its file alone has all of it, without a log beside it.
    ///
    /// # Errors
    /// Where another program has it open, or it cannot be written.
    pub fn close_whole(self) -> Result<(), StoreError> {
        let Self { db, path, .. } = self;
        // The log goes with the last connection.
        let close = || {
            db.pragma_update(None, "journal_mode", "delete")?;
            db.close().map_err(|(_, error)| error)
        };
        close().map_err(|error: rusqlite::Error| Fault::Sql(error).of(&path))
    }

    /// Does something in one transaction; nothing of it stays where it fails.
    fn change<T, E: From<StoreError>>(
        &mut self,
        change: impl FnOnce(&Connection) -> Result<Result<T, E>, Fault>,
    ) -> Result<T, E> {
        let path = &self.path;
        let store = |fault: Fault| E::from(fault.of(path));
        let transaction = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| store(Fault::Sql(error)))?;
        let changed = change(&transaction).map_err(store)??;
        transaction.commit().map_err(|error| store(Fault::Sql(error)))?;
        Ok(changed)
    }
}

fn prepare(db: &Connection) -> Result<(), Fault> {
    db.set_prepared_statement_cache_capacity(READY_STATEMENTS);
    db.busy_timeout(Duration::from_millis(BUSY_MS))?;
    db.pragma_update(None, "cache_size", -PAGE_MEMORY_KIB)?;
    db.pragma_update(None, "foreign_keys", true)?;
    // A file that somebody prepared must not run functions.
    db.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

/// What reads by a connection.
trait Reads: Send {
    fn db(&self) -> &Connection;
    fn path(&self) -> &Path;
    fn known(&self) -> &Known;

    /// Reads something of one moment.
    fn at_once<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError>
    where
        Self: Sized,
    {
        let read = || {
            let moment = self.db().unchecked_transaction()?;
            read(&moment)
        };
        read().map_err(|fault: Fault| fault.of(self.path()))
    }
}

impl Reads for Sqlite {
    fn db(&self) -> &Connection {
        &self.db
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn known(&self) -> &Known {
        &self.known
    }
}

impl Reads for Reader {
    fn db(&self) -> &Connection {
        &self.db
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn known(&self) -> &Known {
        &self.known
    }
}

impl<R: Reads> Read for R {
    fn epoch(&self) -> Result<u64, StoreError> {
        self.at_once(people::epoch)
    }

    fn last_backup(&self) -> Result<Option<i64>, StoreError> {
        self.at_once(people::last_backup)
    }

    fn last_restore(&self) -> Result<Option<LastRestore>, StoreError> {
        self.at_once(people::last_restore)
    }

    fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        self.at_once(people::tokens)
    }

    fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.at_once(|db| Ok(people::nodes(db)?.into_iter().map(|(_, node)| node).collect()))
    }

    fn node(&self, key: NodeKey) -> Result<Option<Node>, StoreError> {
        self.at_once(|db| Ok(people::node(db, key)?.map(|(_, node)| node)))
    }

    fn node_named(&self, name: &str) -> Result<Option<Node>, StoreError> {
        self.at_once(|db| Ok(people::node_named(db, name)?.map(|(_, node)| node)))
    }

    fn audit(&self, node: Option<NodeKey>, most: usize) -> Result<Vec<AuditRow>, StoreError> {
        self.at_once(|db| people::audit(db, node, most))
    }

    fn common(&self, node: NodeKey, stream: StreamId, places: &[(u64, ChainPlace)]) -> Result<Common, StoreError> {
        self.at_once(|db| taking::common(db, node, stream, places))
    }

    fn fleet(&self, now_wall_ns: i64) -> Result<Vec<FleetRow>, StoreError> {
        self.at_once(|db| fleet::fleet(db, self.known(), now_wall_ns))
    }

    fn fleet_row(&self, node: NodeKey, now_wall_ns: i64) -> Result<Option<FleetRow>, StoreError> {
        self.at_once(|db| fleet::one(db, self.known(), node, now_wall_ns))
    }

    fn history(&self, node: NodeKey, asked: &HistoryAsked) -> Result<History, StoreError> {
        self.at_once(|db| history::history(db, node, asked))
    }

    fn histograms(&self, node: NodeKey, from_utc_ns: i64, to_utc_ns: i64) -> Result<Vec<SpanHistogram>, StoreError> {
        self.at_once(|db| history::histograms(db, node, (from_utc_ns, to_utc_ns)))
    }

    fn contents(&self, node: NodeKey) -> Result<Vec<ContentAt>, StoreError> {
        self.at_once(|db| history::contents(db, node))
    }

    fn content(&self, hash: ContentHash) -> Result<Option<Content>, StoreError> {
        self.at_once(|db| history::content(db, hash))
    }
}

impl Store for Sqlite {
    fn reader(&self) -> Result<Box<dyn Read>, StoreError> {
        let open = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let db = Connection::open_with_flags(&self.path, flags)?;
            prepare(&db)?;
            Ok(Reader { db, path: self.path.clone(), known: Arc::clone(&self.known) })
        };
        let reader = open().map_err(|fault: Fault| fault.of(&self.path))?;
        Ok(Box::new(reader))
    }

    fn raise_epoch(&mut self, to: u64, by: &By) -> Result<u64, StoreError> {
        self.change(|db| Ok(Ok(people::raise_epoch(db, to, by)?)))
    }

    fn log_of_hub(&mut self, change: &Change, by: &By) -> Result<(), ChangeError> {
        self.change(|db| people::log_of_hub(db, change, by))
    }

    fn add_token(&mut self, secret: SecretHash, made_for: &NewToken, by: &By) -> Result<i64, ChangeError> {
        self.change(|db| people::add_token(db, secret, made_for, by))
    }

    fn end_token(&mut self, token: i64, by: &By) -> Result<(), ChangeError> {
        self.change(|db| people::end_token(db, token, by))
    }

    fn end_all_tokens(&mut self, by: &By) -> Result<usize, StoreError> {
        self.change(|db| Ok(Ok(people::end_all_tokens(db, by)?)))
    }

    fn enrol(&mut self, asked: &Enrolling) -> Result<Node, EnrolError> {
        self.change(|db| people::enrol(db, asked))
    }

    fn adopt(&mut self, asked: &Adopting) -> Result<Node, EnrolError> {
        self.change(|db| people::adopt(db, asked))
    }

    fn change_node(&mut self, node: NodeKey, change: &Change, by: &By) -> Result<Node, ChangeError> {
        self.change(|db| people::change_node(db, node, change, by))
    }

    fn take_batches(&mut self, arriving: &[Arriving]) -> Result<Vec<Result<Committed, BatchError>>, StoreError> {
        let quotas = self.quotas;
        self.change(|db| Ok(Ok(taking::take_batches(db, arriving, &quotas)?)))
    }

    fn maintain(&mut self, most: usize, now_wall_ns: i64) -> Result<Maintained, StoreError> {
        let (known, looked_at) = (Arc::clone(&self.known), self.looked_at);
        let (maintained, looked_at) = self.change(|db| {
            let mut maintained = tiers::maintain(db, &known, most)?;
            let (merged, looked_at) = days::renew(db, looked_at, now_wall_ns, most)?;
            maintained.merged = merged;
            maintained.is_more |= merged >= most;
            Ok(Ok::<_, StoreError>((maintained, looked_at)))
        })?;
        self.looked_at = looked_at;
        // Readers are not waited for: what they still need stays in the log.
        let checkpoint = self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        checkpoint.map_err(|error| Fault::Sql(error).of(&self.path))?;
        Ok(maintained)
    }

    fn back_up(&self, to: &Path) -> Result<(), StoreError> {
        let name = to.display().to_string();
        // A file that was made empty has the permissions that its maker wanted.
        if std::fs::symlink_metadata(to).is_ok_and(|found| found.len() > 0) {
            return Err(StoreError::Engine { path: name, why: "it is there already".to_owned() });
        }
        self.db.execute("VACUUM INTO ?1", [&name]).map_err(|error| Fault::Sql(error).of(to))?;
        Ok(())
    }
}
