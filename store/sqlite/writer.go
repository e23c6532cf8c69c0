package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// Stage names a step of a group's transaction, for failpoints.
type Stage string

// The stages, in order.
const (
	AtBegin     Stage = "begin"     // before the transaction begins
	AtRows      Stage = "rows"      // before the first row is written
	AtCommit    Stage = "commit"    // before COMMIT
	AtCommitted Stage = "committed" // after COMMIT, before it is told
)

// writer is the one connection that writes. It implements store.Writer.
type writer struct {
	instance string
	fault    *fault
	room     *diskRoom
	log      *slog.Logger
	fail     func(Stage) error // nil without failpoints
	poisoned func(error)

	mu       sync.Mutex // the connection: groups, and housekeeping between them
	conn     *rawConn
	codec    *rowCodec
	begin    driver.StmtExecContext
	commit   driver.StmtExecContext
	rollback driver.StmtExecContext
	stamp    driver.StmtExecContext
	upsert   driver.StmtExecContext
	remove   driver.StmtExecContext
	meta     []driver.NamedValue
	id       []driver.NamedValue
	last     time.Time // of the last group
	unseen   int       // bytes written since the length of the log was looked at
}

func (w *writer) prepare(ctx context.Context) error {
	marks := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	for _, s := range []struct {
		into *driver.StmtExecContext
		text string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.stamp, "UPDATE meta SET stamp = ?, floor = ? WHERE id = 1 AND instance_id = ?"},
		{&w.upsert, "INSERT OR REPLACE INTO lease (" + columnList + ") VALUES (" + marks + ")"},
		{&w.remove, "DELETE FROM lease WHERE id = ?"},
	} {
		stmt, err := w.conn.prepare(ctx, s.text)
		if err != nil {
			return err
		}
		*s.into = stmt
	}
	w.codec = newRowCodec()
	w.meta, w.id = named(make([]driver.Value, 3)), named(make([]driver.Value, 1))
	return nil
}

// Write implements store.Writer. It does not follow the context of any
// request: a group belongs to many.
func (w *writer) Write(ctx context.Context, c store.Changes) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fault.serving(); err != nil {
		return err
	}
	w.last = time.Now()
	return w.group(context.WithoutCancel(ctx), c)
}

// group writes one transaction.
func (w *writer) group(ctx context.Context, c store.Changes) error {
	if err := w.at(AtBegin); err != nil {
		return w.judge(ctx, err, false)
	}
	if _, err := w.begin.ExecContext(ctx, nil); err != nil {
		return w.judge(ctx, err, false)
	}
	if err := w.rows(ctx, c); err != nil {
		return w.judge(ctx, err, true)
	}
	if err := w.at(AtCommit); err != nil {
		return w.judge(ctx, err, true)
	}
	if _, err := w.commit.ExecContext(ctx, nil); err != nil {
		return w.judge(ctx, err, true)
	}
	if err := w.at(AtCommitted); err != nil {
		return w.judge(ctx, err, false)
	}
	w.tidy(ctx)
	return nil
}

// How long the log may grow before it is moved into the file, in pages, and
// after how many written bytes it is looked at, each row counted with logRow
// beyond its body. An overwritten log syncs twice as fast as a growing one.
const (
	logPages = 1000
	logEvery = 64 << 10
	logRow   = 512
)

// tidy moves a long log into the file, without waiting for anyone. SQLite would
// do it by itself, but says nothing when the file can not be synced then: an
// error here is as bad as one in a commit. The group itself is durable either
// way.
func (w *writer) tidy(ctx context.Context) {
	if w.unseen < logEvery {
		return
	}
	w.unseen = 0
	pages, err := w.conn.column(ctx, "PRAGMA wal_checkpoint(NOOP)", 1) // of busy, log, moved
	if n, ok := pages.(int64); err == nil && ok && n >= logPages {
		_, err = w.conn.value(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	}
	if err != nil && classify(err) == poisonous {
		w.poisoned(fmt.Errorf("checkpoint: %w", err))
	}
}

func (w *writer) rows(ctx context.Context, c store.Changes) error {
	if err := w.at(AtRows); err != nil {
		return err
	}
	w.meta[0].Value, w.meta[1].Value, w.meta[2].Value = int64(c.Now.At), int64(c.Floor), w.instance
	res, err := w.stamp.ExecContext(ctx, w.meta)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); (err != nil || n != 1) && !mutant("fence-ignored") {
		return errors.Join(ErrFenced, err)
	}
	for i := range c.Rows {
		if _, err := w.upsert.ExecContext(ctx, w.codec.encode(c.Rows[i])); err != nil {
			return err
		}
		w.unseen += logRow + len(w.codec.body)
	}
	for _, id := range c.Drop {
		w.id[0].Value = id
		if _, err := w.remove.ExecContext(ctx, w.id); err != nil {
			return err
		}
		w.unseen += logRow
	}
	return nil
}

func (w *writer) at(s Stage) error {
	if w.fail == nil {
		return nil
	}
	return w.fail(s)
}

// judge turns a failure into what the pipeline may tell, and rolls back.
func (w *writer) judge(ctx context.Context, err error, open bool) error {
	verdict := classify(err)
	switch {
	case errors.Is(err, lease.ErrUnavailable): // of a failpoint
		verdict = notApplied
	case errors.Is(err, ErrFenced):
		verdict = poisonous
	}
	if open && verdict != poisonous {
		// SQLite has often rolled back by itself; that there is nothing to roll
		// back is then the expected answer.
		if _, rerr := w.rollback.ExecContext(ctx, nil); rerr != nil && classify(rerr) == poisonous && !noTransaction(rerr) {
			err, verdict = errors.Join(err, rerr), poisonous
		}
	}
	switch verdict {
	case diskFull:
		gaveUp := w.room.full()
		w.log.ErrorContext(ctx, "the disk is full; nothing was written", "ballast_given_up", gaveUp, "error", err)
		return &lease.Retry{Err: fmt.Errorf("%w: disk full: %w", lease.ErrUnavailable, err), After: time.Second}
	case notApplied:
		w.log.WarnContext(ctx, "a group was not written", "error", err)
		return &lease.Retry{Err: fmt.Errorf("%w: %w", lease.ErrUnavailable, err), After: time.Second}
	case poisonous:
	}
	if !mutant("serves-after-io-error") {
		w.poisoned(err)
	}
	return fmt.Errorf("%w: %w", lease.ErrOutcomeUnknown, err)
}

func noTransaction(err error) bool {
	return strings.Contains(err.Error(), "no transaction is active")
}

// errPinned: the log is in use by a reader or a writer outside.
var errPinned = errors.New("another process is using the log")

// checkpoint moves the log into the file and empties it, if nobody reads from
// it right now. It never waits: commits go first.
func (w *writer) checkpoint(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault.serving() != nil {
		return nil
	}
	if _, err := w.conn.exec(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	busy, err := w.conn.value(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	_, berr := w.conn.exec(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout))
	if err != nil && classify(err) == poisonous {
		w.poisoned(err)
	}
	if err == nil && busy != int64(0) {
		err = errPinned // which the library tells in a row, not as an error
	}
	return errors.Join(err, berr)
}

// idleFor tells whether no group was written for d.
func (w *writer) idleFor(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last) >= d
}
