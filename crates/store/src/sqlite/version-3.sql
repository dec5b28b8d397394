-- Version 3 of the store: histograms of hours become those of days when they are old; and how right a boot's clock was.

-- What the node's own clock said at the beginnings of the entries of six hours of a boot: UTC less CLOCK_BOOTTIME.
CREATE TABLE clock_span (
    boot INTEGER NOT NULL REFERENCES boot (id),
    span INTEGER NOT NULL,
    lowest_ns INTEGER NOT NULL,
    highest_ns INTEGER NOT NULL,
    is_broken INTEGER NOT NULL,
    PRIMARY KEY (boot, span)
) STRICT, WITHOUT ROWID;
-- When it arrived was kept of entries of any boot, and said nothing of how long they had waited.
DELETE FROM relation WHERE is_own = 0;

-- Those of the hours of a boot's day, under one condition.
CREATE TABLE day_histogram (
    boot INTEGER NOT NULL REFERENCES boot (id),
    number INTEGER NOT NULL,
    content INTEGER NOT NULL,
    -- From the beginning of the first hour to the end of the last.
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    hours INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (boot, number, content)
) STRICT, WITHOUT ROWID;

-- Those of hours: an event of this kind without a body is in one of a day.
CREATE INDEX event_hourly ON event (boot, start_ns) WHERE kind = 4 AND length(body) > 0;
