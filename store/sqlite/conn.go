package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"

	"modernc.org/sqlite"
)

// busyTimeout is how long a statement waits for a lock that another process
// holds on the file, in milliseconds. Such a process is a backup or a person
// with a shell; a second server is kept out before it gets that far.
const busyTimeout = 5000

// walLimit is the size in bytes to which the log is cut when it is reset. In
// normal running it is overwritten in place at about 4 MiB; it only grows
// beyond that while an outside reader pins it.
const walLimit = 64 << 20

// pragma is a setting of a connection and what reading it back must give.
type pragma struct{ name, set, want string }

// pragmas of every connection. They are read back, because a misspelt or
// unsupported pragma is silently ignored by SQLite.
var pragmas = []pragma{
	{"busy_timeout", fmt.Sprint(busyTimeout), fmt.Sprint(busyTimeout)},
	{"journal_mode", "WAL", "wal"},
	{"synchronous", "FULL", "2"},
	{"foreign_keys", "1", "1"},
	{"mmap_size", "0", "0"},
	{"temp_store", "MEMORY", "2"},
	{"cache_size", "-65536", "-65536"},
	{"journal_size_limit", fmt.Sprint(walLimit), fmt.Sprint(walLimit)},
	// The library's own checkpoint passes over its errors; see writer.tidy.
	{"wal_autocheckpoint", "0", "0"},
}

// minVersion is the first SQLite without the bug by which a reset of the log
// could lose commits.
var minVersion = [3]int{3, 51, 3}

// tuneOnce switches the library, for the process: to fdatasync, which is what
// SQLite is built with elsewhere and syncs in about half the time; and to locks
// that belong to an open file and not to the process, so that no stray open and
// close of the file can drop them.
var tuneOnce = sync.OnceFunc(func() {
	_, _ = sqlite.Fdatasync(true)  // not available: fsync stays, which is safe
	_, _ = sqlite.OFDLocking(true) // not available or too late: as above
})

// dsn returns the name to open the file with. Only a reader's has mode=ro.
func (l location) dsn(readOnly bool) string {
	q := url.Values{}
	for _, p := range pragmas {
		if readOnly && (p.name == "journal_mode" || p.name == "journal_size_limit" || p.name == "wal_autocheckpoint") {
			continue
		}
		q.Add("_pragma", p.name+"("+p.set+")")
	}
	if readOnly {
		q.Set("mode", "ro")
		q.Add("_pragma", "query_only(1)")
	}
	return "file:" + (&url.URL{Path: l.path}).EscapedPath() + "?" + q.Encode()
}

// rawConn is a connection of the driver used directly, without database/sql:
// the one writer makes every commit and pays for every layer.
type rawConn struct {
	conn     driver.Conn
	prepared []driver.Stmt // closed with it: an open one would keep the file open
}

func openRaw(ctx context.Context, l location) (*rawConn, error) {
	c, err := (&sqlite.Driver{}).Open(l.dsn(false))
	if err != nil {
		return nil, err
	}
	r := &rawConn{conn: c}
	if err := r.verify(ctx, false); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if mutant("sync-normal") {
		_, err = r.exec(ctx, "PRAGMA synchronous = NORMAL")
	}
	return r, err
}

// verify reads every pragma back.
func (r *rawConn) verify(ctx context.Context, readOnly bool) error {
	for _, p := range pragmas {
		if readOnly && p.name != "synchronous" && p.name != "journal_mode" && p.name != "busy_timeout" && p.name != "foreign_keys" && p.name != "mmap_size" {
			continue
		}
		got, err := r.value(ctx, "PRAGMA "+p.name)
		if err != nil {
			return fmt.Errorf("read back pragma %s: %w", p.name, err)
		}
		if fmt.Sprint(got) != p.want {
			return fmt.Errorf("pragma %s reads %v, must be %s", p.name, got, p.want)
		}
	}
	return nil
}

// close ends the connection and with it a transaction that is still open. A
// connection with statements left would live on inside the library, with its
// locks and its files.
func (r *rawConn) close() error {
	var errs []error
	for _, s := range r.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, r.conn.Close())...)
}

func (r *rawConn) exec(ctx context.Context, query string, args ...driver.Value) (int64, error) {
	e, ok := r.conn.(driver.ExecerContext)
	if !ok {
		return 0, errors.New("the driver can not execute")
	}
	res, err := e.ExecContext(ctx, query, named(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// rows calls each with the values of every row. They are valid during the call.
func (r *rawConn) rows(ctx context.Context, query string, each func([]driver.Value) error) error {
	q, ok := r.conn.(driver.QueryerContext)
	if !ok {
		return errors.New("the driver can not query")
	}
	rows, err := q.QueryContext(ctx, query, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(dest); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(dest); err != nil {
			return err
		}
	}
}

func (r *rawConn) value(ctx context.Context, query string) (driver.Value, error) {
	return r.column(ctx, query, 0)
}

// column returns one value of the last row.
func (r *rawConn) column(ctx context.Context, query string, i int) (v driver.Value, err error) {
	err = r.rows(ctx, query, func(row []driver.Value) error {
		v = row[i]
		return nil
	})
	return v, err
}

func (r *rawConn) prepare(ctx context.Context, query string) (driver.StmtExecContext, error) {
	p, ok := r.conn.(driver.ConnPrepareContext)
	if !ok {
		return nil, errors.New("the driver can not prepare")
	}
	s, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	x, ok := s.(driver.StmtExecContext)
	if !ok {
		return nil, errors.Join(errors.New("the driver's statements can not execute"), s.Close())
	}
	r.prepared = append(r.prepared, s)
	return x, nil
}

func named(args []driver.Value) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return out
}

// connector opens connections of a pool and verifies each one.
type connector struct {
	at       location
	readOnly bool
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.at.dsn(c.readOnly))
	if err != nil {
		return nil, err
	}
	r := &rawConn{conn: conn}
	if err := r.verify(ctx, c.readOnly); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

// pool opens a pool of connections to the file.
func (l location) pool(readOnly bool, size int) *sql.DB {
	db := sql.OpenDB(connector{l, readOnly})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db
}

// checkVersion refuses a library that is known to lose commits.
func checkVersion(ctx context.Context, db *sql.DB) error {
	var text string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&text); err != nil {
		return err
	}
	var v [3]int
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		return fmt.Errorf("SQLite version %q: %w", text, err)
	}
	for i := range v {
		if v[i] != minVersion[i] {
			if v[i] < minVersion[i] {
				return fmt.Errorf("SQLite %s can lose commits; at least %s is needed", text, strings.Trim(strings.ReplaceAll(fmt.Sprint(minVersion), " ", "."), "[]"))
			}
			break
		}
	}
	return nil
}
