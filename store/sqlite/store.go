package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/octostore/octostore/internal/bootclock"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// Observer is told of the pipeline and of the file.
type Observer interface {
	store.Observer
	LiveLeases(kind string, n int64)
	IdleNames(n int64)
	WalBytes(n int64)
	DiskFreeBytes(n int64)
	StoreHealthy(ok bool)
	InvariantViolation(rule string)
}

// Options configures a Store. The zero value serves.
type Options struct {
	Clock     lease.Clock           // nil: the clock of this machine
	Boot      func() bootclock.Boot // nil: the running boot
	Publisher store.Publisher       // may be nil
	Observer  Observer              // may be nil
	Logger    *slog.Logger          // nil: discarded
	MaxIdle   int64                 // ended names kept; 0: store.DefaultMaxIdle
	Linger    time.Duration         // see store.Options

	// AcceptFaults starts although the disk failed twice within faultWindow.
	AcceptFaults bool

	// Manual leaves out all goroutines; the caller drives with Step and Housekeep.
	Manual bool
	// Statfs replaces the measuring of the file system. For tests.
	Statfs func(dir string) (Space, error)
	// Failpoint is asked before each step of a transaction; an error replaces
	// the step. One that wraps lease.ErrUnavailable means that nothing was
	// applied, any other is taken for an I/O error. For tests.
	Failpoint func(Stage) error
}

// Store is the embedded store: the pipeline over one SQLite file.
type Store struct {
	*store.Pipeline
	at       location
	opt      Options
	log      *slog.Logger
	lock     *lockFile
	image    *store.Image
	writer   *writer
	reads    *sql.DB
	fault    *fault
	room     *diskRoom
	identity fileIdentity
	warnings []string
	stop     chan struct{}
	stopped  chan struct{}
}

// Open opens or makes the database that the DATABASE_URL names, checks it,
// reads the leases and starts the pipeline. A file that another server has, a
// damaged one and one of a newer version are refused.
func Open(ctx context.Context, database string, o Options) (_ *Store, err error) {
	if o.Clock == nil {
		o.Clock = store.SystemClock{}
	}
	if o.Boot == nil {
		o.Boot = bootclock.Current
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Statfs == nil {
		o.Statfs = statfs
	}
	if mutant("wall-clock-deadlines") {
		o.Clock = byTheWall(o.Clock)
	}
	tuneOnce()
	s := &Store{opt: o, log: o.Logger, fault: newFault(), stop: make(chan struct{}), stopped: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("sqlite: %w", err), s.closeFiles())
		}
	}()
	if s.at, err = locate(database); err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	if err := s.inspect(ctx); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	s.reads = s.at.pool(true, 2)
	if s.identity, err = identify(s.at.path); err != nil {
		return nil, err
	}
	p := store.Options{Backend: s.image, Publisher: o.Publisher, Linger: o.Linger, Manual: o.Manual}
	if o.Observer != nil {
		p.Observer = o.Observer
	}
	s.Pipeline = store.New(p) //nolint:contextcheck // it outlives the call that opens it
	if o.Manual {
		close(s.stopped)
	} else {
		go s.keepHouse() //nolint:contextcheck // as above
	}
	return s, nil
}

// enter claims the file for this process.
func (s *Store) enter() error {
	warning, err := s.at.prepare()
	if err != nil {
		return err
	}
	s.warn(warning)
	if s.lock, err = acquireLock(s.at); err != nil {
		return err
	}
	if err := s.at.checkFaults(time.Now(), s.opt.AcceptFaults); err != nil {
		return err
	}
	s.room = &diskRoom{at: s.at, statfs: s.opt.Statfs}
	space, _, err := s.room.check()
	if err != nil {
		return fmt.Errorf("measure the file system: %w", err)
	}
	if s.at.throwaway {
		return nil
	}
	warning, err = space.judge()
	s.warn(warning)
	return err
}

func (s *Store) warn(w string) {
	if w != "" {
		s.warnings = append(s.warnings, w)
	}
}

// inspect checks the file and brings its schema up, before anything is read.
func (s *Store) inspect(ctx context.Context) error {
	db := s.at.pool(false, 1)
	defer db.Close()
	for _, step := range []func(context.Context, *sql.DB) error{checkVersion, quickCheck, rewriteLog, migrate, checkSchema, rewriteLog} {
		if err := step(ctx, db); err != nil {
			return s.explain(err)
		}
	}
	return nil
}

// explain says what an error of the library means for whoever starts the
// server.
func (s *Store) explain(err error) error {
	if errors.Is(err, errFileDamaged) || errors.Is(err, errRowDamaged) {
		return fmt.Errorf("%s: %w", s.at.path, err)
	}
	if classify(err) == poisonous && isLibrary(err) {
		return fmt.Errorf("%s: %w (%w)", s.at.path, errFileDamaged, err)
	}
	return fmt.Errorf("%s: %w", s.at.path, err)
}

// load opens the writer, claims the file in the database itself and reads the
// leases into the image.
func (s *Store) load(ctx context.Context) error {
	conn, err := openRaw(ctx, s.at)
	if err != nil {
		return s.explain(err)
	}
	s.writer = &writer{
		instance: rand.Text(), fault: s.fault, room: s.room, log: s.log,
		fail: s.opt.Failpoint, poisoned: s.poison, conn: conn,
	}
	if err := s.writer.prepare(ctx); err != nil {
		return s.explain(err)
	}
	s.image = store.NewImage(store.ImageOptions{
		Clock: s.opt.Clock, Writer: s.writer, MaxIdle: s.opt.MaxIdle,
		Grants: func() bool { return !s.room.low.Load() },
		Fault:  s.fault.serving, Gauges: s.gauges(), Breached: s.breached,
	})
	if err := s.claim(ctx, conn); err != nil {
		return s.explain(err)
	}
	return nil
}

// claim makes this process the one that may write and reads every row. If the
// instants in the file belong to another boot they are moved to this one, all
// in the transaction that records the new boot.
func (s *Store) claim(ctx context.Context, conn *rawConn) (err error) {
	if _, err := conn.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, rerr := conn.exec(ctx, "ROLLBACK")
			err = errors.Join(err, rerr)
		}
	}()
	then, err := readMeta(ctx, conn)
	if err != nil {
		return err
	}
	now, boot := s.opt.Clock.Now(), s.opt.Boot()
	moved := then.seq > 0 && (!boot.Same(then.boot) || now.At < then.stamp)
	if mutant("full-ttl-after-restart") || mutant("reboot-keeps-deadlines") {
		moved = then.seq > 0 && mutant("full-ttl-after-restart")
	}
	s.image.SetFloor(then.floor)
	count, err := conn.value(ctx, "SELECT count(*) FROM lease")
	if err != nil {
		return err
	}
	if n, ok := count.(int64); ok {
		s.image.Expect(int(n))
	}
	codec := newRowCodec()
	var rewrite []store.Row
	err = conn.rows(ctx, "SELECT "+columnList+" FROM lease", func(values []driver.Value) error {
		row, err := codec.decode(values)
		if err != nil {
			return err
		}
		if moved {
			row.Record = row.Record.Reanchor(now, then.stamp)
			rewrite = append(rewrite, row)
		}
		if mutant("delay-lost-on-restart") {
			row.Record.Free = 0
		}
		return s.image.Load(row)
	})
	if err != nil {
		return err
	}
	s.image.Loaded()
	for _, row := range rewrite {
		if _, err := s.writer.upsert.ExecContext(ctx, codec.encode(row)); err != nil {
			return err
		}
	}
	if moved {
		s.log.WarnContext(ctx, "the boot changed since the database was written: every live lease gets its full TTL once more", "leases", len(rewrite))
	}
	if _, err := conn.exec(ctx, `INSERT OR REPLACE INTO meta (id, instance_id, open_seq, floor, boot_id, boot_offsets, stamp)
		VALUES (1, ?, ?, ?, ?, ?, ?)`,
		s.writer.instance, then.seq+1, int64(then.floor), boot.ID, boot.Offsets, int64(now.At)); err != nil {
		return err
	}
	_, err = conn.exec(ctx, "COMMIT")
	return err
}

// meta is what the file says of itself.
type meta struct {
	seq   int64
	floor lease.Term
	boot  bootclock.Boot
	stamp lease.Instant
}

func readMeta(ctx context.Context, conn *rawConn) (m meta, err error) {
	err = conn.rows(ctx, "SELECT open_seq, floor, boot_id, boot_offsets, stamp FROM meta WHERE id = 1", func(v []driver.Value) error {
		d := cursor{values: v}
		m = meta{
			seq: d.int(), floor: lease.Term(d.int()),
			boot: bootclock.Boot{ID: d.text(), Offsets: d.text()}, stamp: lease.Instant(d.int()),
		}
		if d.bad {
			return fmt.Errorf("%w: meta", errRowDamaged)
		}
		return nil
	})
	return m, err
}

// gauges returns what is told of the image after each group, nil for nobody.
func (s *Store) gauges() func(store.ImageStats) {
	o := s.opt.Observer
	if o == nil {
		return nil
	}
	return func(st store.ImageStats) {
		o.LiveLeases(lease.Election.String(), st.Rooms)
		o.LiveLeases(lease.Lock.String(), st.Locks)
		o.IdleNames(st.Idle)
	}
}

// poison ends the service of this store: nothing is read or written any more.
func (s *Store) poison(err error) {
	if !s.fault.raise(err) {
		return
	}
	s.log.Error("the database failed; nothing more is served from it", "error", err)
	if s.opt.Observer != nil {
		s.opt.Observer.StoreHealthy(false)
	}
	if nerr := s.at.noteFault(time.Now()); nerr != nil {
		s.log.Error("the fault could not be noted beside the database", "error", nerr)
	}
}

// breached ends the service because a rule of leases would have been broken: a
// program that is wrong about that must not go on deciding.
func (s *Store) breached(err error) {
	var rule store.Breach
	if o := s.opt.Observer; o != nil && errors.As(err, &rule) {
		o.InvariantViolation(string(rule))
	}
	s.poison(err)
}

// Failed is closed once the store serves nothing any more. The process is to
// exit then, within a second and not with success.
func (s *Store) Failed() <-chan struct{} { return s.fault.done }

// Cause is why the store failed, nil while it has not.
func (s *Store) Cause() error { return s.fault.cause() }

// Warnings are what the operator should be told at the start.
func (s *Store) Warnings() []string { return s.warnings }

// Path is where the main file is.
func (s *Store) Path() string { return s.at.path }

// Throwaway tells whether the database goes with the process.
func (s *Store) Throwaway() bool { return s.at.throwaway }

// Stats returns the sizes of the committed image.
func (s *Store) Stats() store.ImageStats { return s.image.Stats() }

// Close stops the pipeline, moves the log into the file and gives the file up.
func (s *Store) Close() error {
	if s.Pipeline != nil {
		s.Pipeline.Close()
		select {
		case <-s.stop:
			return nil
		default:
			close(s.stop)
		}
		<-s.stopped
		_ = s.writer.checkpoint(context.Background()) // what stays in the log is read from there at the next start
	}
	return s.closeFiles()
}

func (s *Store) closeFiles() error {
	var errs []error
	if s.reads != nil {
		errs = append(errs, s.reads.Close())
	}
	if s.writer != nil {
		s.writer.mu.Lock()
		errs = append(errs, s.writer.conn.close())
		s.writer.mu.Unlock()
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	if s.at.throwaway {
		errs = append(errs, s.at.remove())
	}
	return errors.Join(errs...)
}
