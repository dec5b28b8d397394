-- Version 2 of the store: what the page of all nodes shows stands in a table of its own, so that a look at which nodes have changed does
-- not read all of it.

DROP INDEX node_without_summary;
ALTER TABLE node DROP COLUMN summary;
-- Raised by whatever changes something of a node: what was computed of it is of one of these numbers.
ALTER TABLE node ADD COLUMN changed INTEGER NOT NULL DEFAULT 1;
-- The number that the kept summary is of.
ALTER TABLE node ADD COLUMN summarized INTEGER NOT NULL DEFAULT 0;
CREATE INDEX node_to_summarize ON node (id) WHERE summarized <> changed;

CREATE TABLE summary (
    node INTEGER PRIMARY KEY REFERENCES node (id),
    changed INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
