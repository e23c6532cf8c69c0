package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrNewerSchema: a newer server has written to the file.
var ErrNewerSchema = errors.New("the database was written by a newer version of octostore; this one must not touch it")

// migrate brings the schema up to this version. Migrations only go forward,
// each in a transaction of its own; the lock file keeps others out.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	g, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	current, target, err := g.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if current > target {
		return fmt.Errorf("%w (schema %d, this version knows %d)", ErrNewerSchema, current, target)
	}
	if _, err := g.Up(ctx); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}

// checkSchema compares the schema of the file with what the migrations make,
// so that a file that was tampered with or half restored is refused before
// anything is read from it.
func checkSchema(ctx context.Context, db *sql.DB) error {
	fresh, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer fresh.Close()
	fresh.SetMaxOpenConns(1)
	if err := migrate(ctx, fresh); err != nil {
		return err
	}
	want, err := schemaText(ctx, fresh)
	if err != nil {
		return err
	}
	got, err := schemaText(ctx, db)
	if err != nil {
		return err
	}
	if got != want {
		return errors.New("the schema of the database is not the one that this version makes; restore the file from a backup")
	}
	return nil
}

func schemaText(ctx context.Context, db *sql.DB) (string, error) {
	rows, err := db.QueryContext(ctx, `SELECT type, name, COALESCE(sql, '') FROM sqlite_schema
		WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name`)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s %s\n", kind, name, text)
	}
	return b.String(), rows.Err()
}

// quickCheck reads the whole file and verifies its structure.
func quickCheck(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, "PRAGMA quick_check(3)")
	if err != nil {
		return err
	}
	defer rows.Close()
	var problems []string
	for rows.Next() {
		var p string
		if err := rows.Scan(&p); err != nil {
			return err
		}
		problems = append(problems, p)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(problems) != 1 || problems[0] != "ok" {
		return fmt.Errorf("%w: %s", errFileDamaged, strings.Join(problems, "; "))
	}
	return nil
}

// errFileDamaged: the file is not a sound database. It is never repaired or
// made anew without being asked: both would let terms go back.
var errFileDamaged = errors.New("the database file is damaged; restore it from a backup")

// rewriteLog moves the whole log into the file and empties it. A new process
// still reads what a failed sync left in the page cache; only writing it again
// makes it durable.
func rewriteLog(ctx context.Context, db *sql.DB) error {
	var busy, log, moved int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("another process is using the database; the log could not be rewritten")
	}
	return nil
}
