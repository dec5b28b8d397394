-- Version 1 of the store. Hashes, keys and bodies are blobs; times say their clock in their name.

CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    at_wall_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE hub (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL
) STRICT;
INSERT INTO hub (one, epoch) VALUES (1, 1);

CREATE TABLE token (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    secret_sha256 BLOB NOT NULL UNIQUE,
    name TEXT,
    labels TEXT NOT NULL,
    replaces BLOB,
    made_wall_ns INTEGER NOT NULL,
    used_by BLOB,
    ended_wall_ns INTEGER
) STRICT;

CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    labels TEXT NOT NULL DEFAULT '{}',
    rack TEXT,
    slot TEXT,
    enrolled_wall_ns INTEGER NOT NULL,
    seen_wall_ns INTEGER,
    version TEXT NOT NULL,
    revoked_wall_ns INTEGER,
    retired_wall_ns INTEGER,
    replaces BLOB,
    -- What was sent on a day (days since 1970 by the hub's clock).
    quota_day INTEGER NOT NULL DEFAULT 0,
    quota_streams INTEGER NOT NULL DEFAULT 0,
    quota_entries INTEGER NOT NULL DEFAULT 0,
    quota_bytes INTEGER NOT NULL DEFAULT 0,
    -- What the page of all nodes shows; NULL where something has arrived since it was computed.
    summary TEXT
) STRICT;
CREATE INDEX node_without_summary ON node (id) WHERE summary IS NULL;

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_wall_ns INTEGER NOT NULL,
    who TEXT NOT NULL,
    node BLOB,
    change TEXT NOT NULL
) STRICT;
CREATE INDEX audit_of_node ON audit (node, id);

CREATE TABLE stream (
    id INTEGER PRIMARY KEY,
    node INTEGER NOT NULL REFERENCES node (id),
    start INTEGER NOT NULL,
    random INTEGER NOT NULL,
    -- Where it begins: the sequence before its first, 0 but for a branch, and the whole place after that.
    base_sequence INTEGER NOT NULL,
    base_place BLOB NOT NULL,
    -- The last sequence that is held, and the whole place in the chain after it.
    last INTEGER NOT NULL,
    after BLOB NOT NULL,
    -- When something of it was last taken, by the hub's clock.
    seen_wall_ns INTEGER NOT NULL,
    -- Pieces that are not packed.
    loose INTEGER NOT NULL DEFAULT 0,
    UNIQUE (node, start, random)
) STRICT;

CREATE TABLE boot (
    id INTEGER PRIMARY KEY,
    node INTEGER NOT NULL REFERENCES node (id),
    name TEXT NOT NULL,
    UNIQUE (node, name)
) STRICT;

-- What was known of a boot's time in UTC: the best of each six hours of the boot.
CREATE TABLE relation (
    boot INTEGER NOT NULL REFERENCES boot (id),
    is_own INTEGER NOT NULL,
    span INTEGER NOT NULL,
    boot_ns INTEGER NOT NULL,
    utc_ns INTEGER NOT NULL,
    error_ns INTEGER NOT NULL,
    PRIMARY KEY (boot, is_own, span)
) STRICT, WITHOUT ROWID;

CREATE TABLE content (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    -- Absent where it was named and has not come yet.
    kind INTEGER,
    compressed BLOB
) STRICT;

-- Pieces of streams that are shown, and not packed. Places in chains are kept by their first six bytes: they tell histories apart, and
-- prove nothing here. In `after` those within a merged piece come first.
CREATE TABLE piece (
    stream INTEGER NOT NULL REFERENCES stream (id),
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    after BLOB NOT NULL,
    kind INTEGER NOT NULL,
    boot INTEGER,
    content INTEGER,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    worst_ns INTEGER,
    body BLOB NOT NULL,
    PRIMARY KEY (stream, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX piece_in_time ON piece (boot, start_ns) WHERE kind = 3;

-- Pieces that follow on each other, all intervals in them of one boot and one condition.
CREATE TABLE pack (
    id INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES stream (id),
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    heads BLOB NOT NULL,
    boot INTEGER,
    content INTEGER,
    -- Of the intervals: when the first begins and the last ends.
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    rows BLOB NOT NULL,
    -- Of each interval the largest latency that stands.
    worsts BLOB NOT NULL,
    UNIQUE (stream, first)
) STRICT;
CREATE INDEX pack_in_time ON pack (boot, end_ns);

-- What entries of other kinds say: those that are shown, packed or not.
CREATE TABLE event (
    stream INTEGER NOT NULL REFERENCES stream (id),
    first INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    boot INTEGER,
    content INTEGER,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (stream, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_in_time ON event (boot, kind, start_ns);

-- Pieces that wait for their neighbors, and pieces that were merged into others.
CREATE TABLE aside (
    id INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES stream (id),
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    before BLOB NOT NULL,
    after BLOB NOT NULL,
    kind INTEGER NOT NULL,
    boot INTEGER,
    content INTEGER,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    worst_ns INTEGER,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX aside_in_stream ON aside (stream, first);

-- Days of a boot, each with its hours.
CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    boot INTEGER NOT NULL REFERENCES boot (id),
    number INTEGER NOT NULL,
    content INTEGER NOT NULL,
    worst_ns INTEGER,
    day BLOB NOT NULL,
    hours BLOB NOT NULL,
    UNIQUE (boot, number, content)
) STRICT;

-- Hours of which an interval has come or gone since they were computed.
CREATE TABLE stale (
    boot INTEGER NOT NULL REFERENCES boot (id),
    number INTEGER NOT NULL,
    PRIMARY KEY (boot, number)
) STRICT, WITHOUT ROWID;
