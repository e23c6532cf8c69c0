// Package sqlite keeps leases in one SQLite file that one process owns.
//
// It owns the file: where it is, its modes, the lock that keeps a second
// server out, the schema and its migrations, the pragmas, the one writer, the
// checks at the start, and what happens when the disk is full or lies. The
// records themselves live in memory (store.Image); the file is read at the
// start only, and every group is written to it before the image changes.
//
// Invariants:
//
//   - A group is one transaction with synchronous=FULL. It is written before it
//     is visible.
//   - After an I/O or corruption error nothing more is served or written: the
//     page cache may say what the disk does not. The process is to exit; the next
//     start checks the file and rewrites the log before it serves.
//   - A full disk is not such an error: nothing was applied, reads go on, and
//     what is left of the disk is kept for those who hold.
//   - Deadlines are kept on the boot clock together with the identity of the
//     boot. On the same boot a restart keeps them exactly; otherwise every live
//     lease gets its full TTL once more.
//   - The database, its -wal and its -shm file are never opened by this process
//     other than through SQLite.
package sqlite
