//! Tokens, nodes and the log of changes.

use std::collections::BTreeMap;

use farm::stream::NodeKey;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::fault::Fault;
use crate::cast::WithoutSign;
use crate::{
    Adopting, AuditRow, By, Change, ChangeError, EnrolError, Enrolling, LastRestore, MOST_LABELS, MOST_NAME_BYTES,
    NameError, NewToken, Node, Place, SecretHash, Token, TokenState, check_label, check_name,
};

/// The most bytes of a note.
const MOST_NOTE_BYTES: usize = 4_096;

pub(super) fn epoch(db: &Connection) -> Result<u64, Fault> {
    let epoch: i64 = db.prepare_cached("SELECT epoch FROM hub")?.query_row([], |row| row.get(0))?;
    Ok(epoch.without_sign())
}

pub(super) fn raise_epoch(db: &Connection, to: u64, by: &By) -> Result<u64, Fault> {
    let to = i64::try_from(to).unwrap_or(i64::MAX);
    db.execute("UPDATE hub SET epoch = max(epoch + 1, ?1)", [to])?;
    let epoch = epoch(db)?;
    log(db, by, None, &Change::Epoch { epoch })?;
    Ok(epoch)
}

/// Until when the latest backup is complete, as the log has it.
pub(super) fn last_backup(db: &Connection) -> Result<Option<i64>, Fault> {
    let mut find = db.prepare_cached(
        "SELECT max(change ->> '$.complete_until_wall_ns') FROM audit
         WHERE change ->> '$.change' IN ('backed-up', 'restored')",
    )?;
    Ok(find.query_row([], |row| row.get(0))?)
}

/// The latest restore, as the log has it.
pub(super) fn last_restore(db: &Connection) -> Result<Option<LastRestore>, Fault> {
    let mut find = db.prepare_cached(
        "SELECT at_wall_ns, change ->> '$.complete_until_wall_ns' FROM audit
         WHERE change ->> '$.change' = 'restored' ORDER BY id DESC LIMIT 1",
    )?;
    let found = find
        .query_row([], |row| Ok(LastRestore { at_wall_ns: row.get(0)?, complete_until_wall_ns: row.get(1)? }))
        .optional()?;
    Ok(found)
}

pub(super) fn log_of_hub(db: &Connection, change: &Change, by: &By) -> Result<Result<(), ChangeError>, Fault> {
    let is_the_hub_s = matches!(
        change,
        Change::BackedUp { .. }
            | Change::Restored { .. }
            | Change::CertificateChanged { .. }
            | Change::Announced { .. }
    );
    if !is_the_hub_s {
        return Ok(Err(ChangeError::NotOfTheHub));
    }
    log(db, by, None, change)?;
    Ok(Ok(()))
}

fn log(db: &Connection, by: &By, node: Option<NodeKey>, change: &Change) -> Result<(), Fault> {
    let mut add = db.prepare_cached("INSERT INTO audit (at_wall_ns, who, node, change) VALUES (?1, ?2, ?3, ?4)")?;
    add.execute(params![by.at_wall_ns, by.who, node.map(|key| key.0), serde_json::to_string(change)?])?;
    Ok(())
}

pub(super) fn audit(db: &Connection, node: Option<NodeKey>, most: usize) -> Result<Vec<AuditRow>, Fault> {
    let which = if node.is_some() { "WHERE node = ?1" } else { "WHERE ?1 IS NULL" };
    let sql = format!("SELECT id, at_wall_ns, who, node, change FROM audit {which} ORDER BY id DESC LIMIT ?2");
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query(params![node.map(|key| key.0), i64::try_from(most).unwrap_or(i64::MAX)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(AuditRow {
            id: row.get(0)?,
            by: By { at_wall_ns: row.get(1)?, who: row.get(2)? },
            node: row.get::<_, Option<[u8; 32]>>(3)?.map(NodeKey),
            change: serde_json::from_str(row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?)?,
        });
    }
    Ok(found)
}

const TOKEN_COLUMNS: &str = "id, name, labels, replaces, made_wall_ns, used_by, ended_wall_ns";

fn read_token(row: &Row<'_>) -> Result<Token, Fault> {
    let made_for = NewToken {
        name: row.get(1)?,
        labels: labels(row, 2)?,
        replaces: row.get::<_, Option<[u8; 32]>>(3)?.map(NodeKey),
    };
    let state = match (row.get::<_, Option<[u8; 32]>>(5)?, row.get::<_, Option<i64>>(6)?) {
        (Some(key), _) => TokenState::Used(NodeKey(key)),
        (None, Some(_)) => TokenState::Ended,
        (None, None) => TokenState::Open,
    };
    Ok(Token { id: row.get(0)?, made_for, made_wall_ns: row.get(4)?, state })
}

fn labels(row: &Row<'_>, column: usize) -> Result<BTreeMap<String, String>, Fault> {
    Ok(serde_json::from_str(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)?)
}

pub(super) fn tokens(db: &Connection) -> Result<Vec<Token>, Fault> {
    let mut find = db.prepare_cached(&format!("SELECT {TOKEN_COLUMNS} FROM token ORDER BY id DESC"))?;
    let mut rows = find.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_token(row)?);
    }
    Ok(found)
}

fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), NameError> {
    if labels.len() > MOST_LABELS {
        return Err(NameError::TooManyLabels(labels.len()));
    }
    labels.iter().try_for_each(|(key, value)| {
        check_name(key)?;
        check_label(value)
    })
}

pub(super) fn add_token(
    db: &Connection,
    secret: SecretHash,
    made_for: &NewToken,
    by: &By,
) -> Result<Result<i64, ChangeError>, Fault> {
    let checked = made_for.name.as_deref().map_or(Ok(()), check_name).and_then(|()| check_labels(&made_for.labels));
    if let Err(error) = checked {
        return Ok(Err(error.into()));
    }
    if let Some(replaced) = made_for.replaces {
        if node(db, replaced)?.is_none() {
            return Ok(Err(ChangeError::NoSuchNode));
        }
    }
    let mut add = db.prepare_cached(
        "INSERT INTO token (secret_sha256, name, labels, replaces, made_wall_ns) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let (labels, replaces) = (serde_json::to_string(&made_for.labels)?, made_for.replaces.map(|key| key.0));
    let token = add.insert(params![secret.0, made_for.name, labels, replaces, by.at_wall_ns])?;
    log(db, by, None, &Change::TokenMade { token })?;
    Ok(Ok(token))
}

pub(super) fn end_token(db: &Connection, token: i64, by: &By) -> Result<Result<(), ChangeError>, Fault> {
    let mut find = db.prepare_cached("SELECT count(*) FROM token WHERE id = ?1")?;
    if find.query_row([token], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(Err(ChangeError::NoSuchToken));
    }
    let ended = db.execute(
        "UPDATE token SET ended_wall_ns = ?2 WHERE id = ?1 AND used_by IS NULL AND ended_wall_ns IS NULL",
        params![token, by.at_wall_ns],
    )?;
    if ended > 0 {
        log(db, by, None, &Change::TokenEnded { token })?;
    }
    Ok(Ok(()))
}

pub(super) fn end_all_tokens(db: &Connection, by: &By) -> Result<usize, Fault> {
    let open: Vec<i64> =
        tokens(db)?.into_iter().filter(|token| token.state == TokenState::Open).map(|token| token.id).collect();
    for token in &open {
        db.execute("UPDATE token SET ended_wall_ns = ?2 WHERE id = ?1", params![token, by.at_wall_ns])?;
        log(db, by, None, &Change::TokenEnded { token: *token })?;
    }
    Ok(open.len())
}

const NODE_COLUMNS: &str = "id, key, name, labels, rack, slot, enrolled_wall_ns, seen_wall_ns, version, revoked_wall_ns, \
     retired_wall_ns, replaces";

fn read_node(row: &Row<'_>) -> Result<(i64, Node), Fault> {
    let place = match (row.get(4)?, row.get(5)?) {
        (Some(rack), Some(slot)) => Some(Place { rack, slot }),
        _ => None,
    };
    let node = Node {
        key: NodeKey(row.get(1)?),
        name: row.get(2)?,
        labels: labels(row, 3)?,
        place,
        enrolled_wall_ns: row.get(6)?,
        seen_wall_ns: row.get(7)?,
        version: row.get(8)?,
        revoked_wall_ns: row.get(9)?,
        retired_wall_ns: row.get(10)?,
        replaces: row.get::<_, Option<[u8; 32]>>(11)?.map(NodeKey),
    };
    Ok((row.get(0)?, node))
}

fn find_nodes(db: &Connection, which: &str, by: impl rusqlite::Params) -> Result<Vec<(i64, Node)>, Fault> {
    let mut find = db.prepare_cached(&format!("SELECT {NODE_COLUMNS} FROM node {which} ORDER BY name"))?;
    let mut rows = find.query(by)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_node(row)?);
    }
    Ok(found)
}

/// All nodes with their numbers, by their names.
pub(super) fn nodes(db: &Connection) -> Result<Vec<(i64, Node)>, Fault> {
    find_nodes(db, "", [])
}

/// A node by its number.
pub(super) fn node_numbered(db: &Connection, id: i64) -> Result<Option<Node>, Fault> {
    Ok(find_nodes(db, "WHERE id = ?1", [id])?.pop().map(|(_, node)| node))
}

/// A node with its number.
pub(super) fn node(db: &Connection, key: NodeKey) -> Result<Option<(i64, Node)>, Fault> {
    Ok(find_nodes(db, "WHERE key = ?1", [key.0])?.pop())
}

pub(super) fn node_named(db: &Connection, name: &str) -> Result<Option<(i64, Node)>, Fault> {
    Ok(find_nodes(db, "WHERE name = ?1", [name])?.pop())
}

/// A name that no other node has: the wanted one, or with a number behind it.
fn free_name(db: &Connection, wanted: &str) -> Result<String, Fault> {
    let mut name = wanted.to_owned();
    let mut number = 1_u64;
    while node_named(db, &name)?.is_some() {
        number += 1;
        let suffix = format!("-{number}");
        let room = MOST_NAME_BYTES - suffix.len();
        let end = (0..=wanted.len().min(room)).rev().find(|at| wanted.is_char_boundary(*at)).unwrap_or(0);
        name = format!("{}{suffix}", &wanted[..end]);
    }
    Ok(name)
}

/// What is known of a node as it is enrolled.
struct NewNode<'a> {
    key: NodeKey,
    name: &'a str,
    version: &'a str,
    made_for: NewToken,
    token: Option<i64>,
    at_wall_ns: i64,
}

fn add_node(db: &Connection, new: &NewNode<'_>) -> Result<Node, Fault> {
    let name = free_name(db, new.made_for.name.as_deref().unwrap_or(new.name))?;
    let mut add = db.prepare_cached(
        "INSERT INTO node (key, name, labels, enrolled_wall_ns, version, replaces) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let (labels, replaces) = (serde_json::to_string(&new.made_for.labels)?, new.made_for.replaces);
    add.execute(params![new.key.0, name, labels, new.at_wall_ns, new.version, replaces.map(|key| key.0)])?;
    let by = By { who: "node".to_owned(), at_wall_ns: new.at_wall_ns };
    log(db, &by, Some(new.key), &Change::Enrolled { token: new.token, name })?;
    if let Some(replaced) = replaces {
        set(db, replaced, "retired_wall_ns", Some(new.at_wall_ns))?;
        log(db, &by, Some(replaced), &Change::Retired)?;
    }
    Ok(node(db, new.key)?.ok_or(Fault::Damaged("a node that was added is not there"))?.1)
}

pub(super) fn enrol(db: &Connection, asked: &Enrolling) -> Result<Result<Node, EnrolError>, Fault> {
    let mut find = db.prepare_cached(&format!("SELECT {TOKEN_COLUMNS} FROM token WHERE secret_sha256 = ?1"))?;
    let mut rows = find.query([asked.secret.0])?;
    let Some(row) = rows.next()? else { return Ok(Err(EnrolError::NoSuchToken)) };
    let token = read_token(row)?;
    drop(rows);
    let enrolled = node(db, asked.node)?.map(|(_, node)| node);
    if enrolled.as_ref().is_some_and(|node| node.revoked_wall_ns.is_some()) {
        return Ok(Err(EnrolError::Revoked));
    }
    match (token.state, enrolled) {
        (TokenState::Used(key), Some(node)) if key == asked.node => return Ok(Ok(node)),
        (TokenState::Used(_), _) => return Ok(Err(EnrolError::TokenUsed)),
        (TokenState::Ended, _) => return Ok(Err(EnrolError::TokenEnded)),
        (TokenState::Open, Some(node)) => return Ok(Err(EnrolError::AlreadyEnrolled { name: node.name })),
        (TokenState::Open, None) => {}
    }
    if let Err(error) = check_name(&asked.name).and_then(|()| check_label(&asked.version)) {
        return Ok(Err(error.into()));
    }
    let used =
        db.prepare_cached("UPDATE token SET used_by = ?2 WHERE id = ?1")?.execute(params![token.id, asked.node.0])?;
    debug_assert_eq!(used, 1, "the token was found by its secret");
    let new = NewNode {
        key: asked.node,
        name: &asked.name,
        version: &asked.version,
        made_for: token.made_for,
        token: Some(token.id),
        at_wall_ns: asked.at_wall_ns,
    };
    Ok(Ok(add_node(db, &new)?))
}

pub(super) fn adopt(db: &Connection, asked: &Adopting) -> Result<Result<Node, EnrolError>, Fault> {
    match node(db, asked.node)? {
        Some((_, node)) if node.revoked_wall_ns.is_some() => return Ok(Err(EnrolError::Revoked)),
        Some((_, node)) => return Ok(Ok(node)),
        None => {}
    }
    if let Err(error) = check_name(&asked.name) {
        return Ok(Err(error.into()));
    }
    let made_for = NewToken::default();
    let new = NewNode {
        key: asked.node,
        name: &asked.name,
        version: "",
        made_for,
        token: None,
        at_wall_ns: asked.at_wall_ns,
    };
    Ok(Ok(add_node(db, &new)?))
}

fn set(db: &Connection, node: NodeKey, column: &str, value: impl rusqlite::ToSql) -> Result<(), Fault> {
    let sql = format!("UPDATE node SET {column} = ?2, changed = changed + 1 WHERE key = ?1");
    db.prepare_cached(&sql)?.execute(params![node.0, value])?;
    Ok(())
}

pub(super) fn change_node(
    db: &Connection,
    key: NodeKey,
    change: &Change,
    by: &By,
) -> Result<Result<Node, ChangeError>, Fault> {
    let Some((_, found)) = node(db, key)? else { return Ok(Err(ChangeError::NoSuchNode)) };
    match change {
        Change::Renamed { name } => {
            if let Err(error) = check_name(name) {
                return Ok(Err(error.into()));
            }
            if node_named(db, name)?.is_some_and(|(_, other)| other.key != key) {
                return Ok(Err(ChangeError::NameTaken { name: name.clone() }));
            }
            set(db, key, "name", name)?;
        }
        Change::Placed { place } => {
            let checked =
                place.iter().flat_map(|place| [&place.rack, &place.slot]).try_for_each(|text| check_label(text));
            if let Err(error) = checked {
                return Ok(Err(error.into()));
            }
            set(db, key, "rack", place.as_ref().map(|place| &place.rack))?;
            set(db, key, "slot", place.as_ref().map(|place| &place.slot))?;
        }
        Change::Labeled { key: label, value } => {
            let mut labels = found.labels;
            match value {
                Some(value) => labels.insert(label.clone(), value.clone()),
                None => labels.remove(label),
            };
            if let Err(error) = check_labels(&labels) {
                return Ok(Err(error.into()));
            }
            set(db, key, "labels", serde_json::to_string(&labels)?)?;
        }
        Change::Retired => set(db, key, "retired_wall_ns", Some(by.at_wall_ns))?,
        Change::Unretired => set(db, key, "retired_wall_ns", None::<i64>)?,
        Change::Revoked => set(db, key, "revoked_wall_ns", Some(by.at_wall_ns))?,
        Change::Noted { text } if text.len() > MOST_NOTE_BYTES => {
            return Ok(Err(ChangeError::NoteTooLong { found: text.len(), most: MOST_NOTE_BYTES }));
        }
        Change::Noted { .. } => {}
        Change::Epoch { .. }
        | Change::BackedUp { .. }
        | Change::Restored { .. }
        | Change::CertificateChanged { .. }
        | Change::Announced { .. }
        | Change::TokenMade { .. }
        | Change::TokenEnded { .. }
        | Change::Enrolled { .. } => {
            return Ok(Err(ChangeError::NotOfANode));
        }
    }
    log(db, by, Some(key), change)?;
    let (_, node) = node(db, key)?.ok_or(Fault::Damaged("a node that was changed is not there"))?;
    Ok(Ok(node))
}
