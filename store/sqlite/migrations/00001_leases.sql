-- +goose Up
-- One row that says whose file this is and on which clock its instants are.
CREATE TABLE meta (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    instance_id  TEXT    NOT NULL, -- of the server that may write; every group is conditional on it
    open_seq     INTEGER NOT NULL, -- how often the file was opened
    floor        INTEGER NOT NULL, -- highest term of any row that was cleaned up
    boot_id      TEXT    NOT NULL, -- boot that all instants below belong to
    boot_offsets TEXT    NOT NULL,
    stamp        INTEGER NOT NULL  -- the deciding clock at the last commit, ns
) STRICT;

-- One row a name, for as long as it is remembered. The server answers from
-- memory and reads these rows at the start only, so there is no index: a new
-- name lands on the last page. Deadlines are nanoseconds of the deciding clock.
CREATE TABLE lease (
    id       INTEGER PRIMARY KEY, -- a number of the row's own
    kind     TEXT    NOT NULL,    -- election or lock
    tenant   TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    term     INTEGER NOT NULL,    -- of the present or the last lease
    revision INTEGER NOT NULL,
    held     INTEGER NOT NULL,
    deadline INTEGER,             -- of the present lease
    body     BLOB    NOT NULL,    -- the rest of the record; holds no capability
    crc      INTEGER NOT NULL     -- CRC-32C over the row; SQLite's pages have none
) STRICT;
