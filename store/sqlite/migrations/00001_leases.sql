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
-- name lands on the last page. Instants are nanoseconds of the deciding clock,
-- wall times microseconds since the epoch.
CREATE TABLE lease (
    id          INTEGER PRIMARY KEY,
    kind        TEXT    NOT NULL,
    tenant      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    term        INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    rebase      INTEGER NOT NULL,
    held        INTEGER NOT NULL,
    nonce       BLOB,
    key_id      INTEGER,
    ttl         INTEGER,
    deadline    INTEGER,
    granted     INTEGER,
    expires     INTEGER,
    renewed     INTEGER,
    label       TEXT,
    metadata    TEXT,
    idem_key    BLOB,
    idem_params BLOB,
    principal   TEXT,
    session     BLOB,
    ephemeral   INTEGER,
    lock_delay  INTEGER,
    free        INTEGER NOT NULL,
    free_wall   INTEGER NOT NULL,
    last_term   INTEGER,
    last_nonce  BLOB,
    last_key_id INTEGER,
    last_reason INTEGER,
    last_idem_key    BLOB,
    last_idem_params BLOB,
    last_at     INTEGER,
    last_wall   INTEGER,
    last_delay  INTEGER,
    crc         INTEGER NOT NULL -- CRC-32C over the row; SQLite pages have none
) STRICT;
