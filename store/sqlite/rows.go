package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"time"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// columns of the lease table, in the order in which rows are written and read.
var columns = []string{
	"id", "kind", "tenant", "name", "term", "revision", "rebase", "held",
	"nonce", "key_id", "ttl", "deadline", "granted", "expires", "renewed", "label", "metadata",
	"idem_key", "idem_params", "principal", "session", "ephemeral", "lock_delay",
	"free", "free_wall",
	"last_term", "last_nonce", "last_key_id", "last_reason", "last_idem_key", "last_idem_params",
	"last_at", "last_wall", "last_delay", "crc",
}

// columnList names every column, in order.
var columnList = strings.Join(columns, ", ")

// How many of the columns describe the present lease, and the last one.
const (
	heldColumns = 15
	pastColumns = 9
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rowCodec turns rows into bound values and back. It is reused and belongs to
// one goroutine.
type rowCodec struct {
	values []driver.Value
	named  []driver.NamedValue
	buf    []byte
}

func newRowCodec() *rowCodec {
	c := &rowCodec{values: make([]driver.Value, 0, len(columns)), named: make([]driver.NamedValue, len(columns))}
	for i := range c.named {
		c.named[i].Ordinal = i + 1
	}
	return c
}

// encode returns the bound values of a row. They are valid until the next call.
func (c *rowCodec) encode(row store.Row) []driver.NamedValue {
	r := &row.Record
	v := append(c.values[:0], row.ID, r.Key.Kind().String(), r.Key.Tenant(), r.Key.Name(),
		int64(r.Term), r.Revision, flag(r.Rebase), flag(r.Held))
	if l := &r.Lease; r.Held {
		v = append(v, l.Nonce[:], int64(l.KeyID), int64(l.TTL), int64(l.Deadline), int64(l.Granted), int64(l.Expires), int64(l.Renewed), l.Label)
		if l.Described {
			v = append(v, l.Metadata)
		} else {
			v = append(v, nil)
		}
		v = appendIdem(v, l.Idem)
		if b := l.Bound; b != nil {
			v = append(v, b.Principal, digest(b.Session), flag(b.Ephemeral), int64(b.LockDelay))
		} else {
			v = append(v, nil, nil, nil, nil)
		}
	} else {
		v = append(v, make([]driver.Value, heldColumns)...)
	}
	v = append(v, int64(r.Free), int64(r.FreeWall))
	if p := r.Last; p != nil {
		v = append(v, int64(p.Term), p.Nonce[:], int64(p.KeyID), int64(p.Reason))
		v = appendIdem(v, p.Idem)
		v = append(v, int64(p.At), int64(p.Wall), int64(p.Delay))
	} else {
		v = append(v, make([]driver.Value, pastColumns)...)
	}
	v = append(v, c.sum(v))
	c.values = v
	for i := range v {
		c.named[i].Value = v[i]
	}
	return c.named
}

func appendIdem(v []driver.Value, i *lease.Idempotency) []driver.Value {
	if i == nil {
		return append(v, nil, nil)
	}
	return append(v, i.Key[:], i.Params[:])
}

func digest(d lease.Digest) driver.Value {
	if d.IsZero() {
		return nil
	}
	return d[:]
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// sum is the checksum over the values of a row, each behind its type and, if it
// has no fixed size, its length.
func (c *rowCodec) sum(values []driver.Value) int64 {
	b := c.buf[:0]
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			b = append(b, 0)
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 1), uint64(v)) //nolint:gosec // the bits, not the number
		case string:
			b = append(binary.BigEndian.AppendUint32(append(b, 2), uint32(len(v))), v...) //nolint:gosec // bounded by the API
		case []byte:
			b = append(binary.BigEndian.AppendUint32(append(b, 3), uint32(len(v))), v...) //nolint:gosec // bounded by the API
		default:
			b = fmt.Appendf(append(b, 4), "%T", v) // no such type is ever written, so it can not match
		}
	}
	c.buf = b
	return int64(crc32.Checksum(b, castagnoli))
}

// errRowDamaged: a row does not have the checksum that it was written with, or
// holds what no record can hold.
var errRowDamaged = errors.New("a row is damaged")

// decode reads a row back and verifies it.
func (c *rowCodec) decode(values []driver.Value) (store.Row, error) {
	if len(values) != len(columns) {
		return store.Row{}, fmt.Errorf("%w: %d columns", errRowDamaged, len(values))
	}
	d := cursor{values: values}
	row := store.Row{ID: d.int()}
	if want, ok := values[len(values)-1].(int64); !ok || want != c.sum(values[:len(values)-1]) {
		return row, fmt.Errorf("%w: checksum of row %d", errRowDamaged, row.ID)
	}
	kind, err := lease.ParseKind(d.text())
	tenant, name := d.text(), d.text()
	if err != nil || strings.IndexByte(tenant, 0) >= 0 || name == "" {
		return row, fmt.Errorf("%w: name of row %d", errRowDamaged, row.ID)
	}
	r := lease.Record{
		Key: lease.NewKey(kind, tenant, name), Term: lease.Term(d.int()), Revision: d.int(),
		Rebase: d.flag(), Held: d.flag(),
	}
	var l lease.Lease
	if r.Held {
		copy(l.Nonce[:], d.bytes(len(l.Nonce), false))
	} else {
		d.empty(1)
	}
	l.KeyID = lease.KeyID(d.within(d.optInt(r.Held), math.MaxUint32)) //nolint:gosec // within
	l.TTL = time.Duration(d.optInt(r.Held))
	l.Deadline = lease.Instant(d.optInt(r.Held))
	l.Granted, l.Expires, l.Renewed = lease.Wall(d.optInt(r.Held)), lease.Wall(d.optInt(r.Held)), lease.Wall(d.optInt(r.Held))
	l.Label = d.optText(r.Held)
	l.Described = r.Held && d.peek() != nil
	l.Metadata = d.optText(l.Described)
	if l.Idem = d.idem(); l.Idem != nil {
		d.bad = d.bad || !r.Held
	}
	if bound := r.Held && d.peek() != nil; bound {
		b := &lease.Binding{Principal: d.text()}
		given := d.peek() != nil
		copy(b.Session[:], d.bytes(len(b.Session), true))
		d.bad = d.bad || given && b.Session.IsZero()
		b.Ephemeral, b.LockDelay = d.flag(), time.Duration(d.int())
		l.Bound = b
	} else {
		d.empty(4)
	}
	r.Lease = l
	r.Free, r.FreeWall = lease.Instant(d.int()), lease.Wall(d.int())
	if last := d.peek() != nil; last {
		p := &lease.Past{Ref: lease.Ref{Term: lease.Term(d.int())}}
		copy(p.Nonce[:], d.bytes(len(p.Nonce), false))
		p.KeyID = lease.KeyID(d.within(d.int(), math.MaxUint32))  //nolint:gosec // within
		p.Reason = lease.Reason(d.within(d.int(), math.MaxUint8)) //nolint:gosec // within
		p.Idem = d.idem()
		p.At, p.Wall, p.Delay = lease.Instant(d.int()), lease.Wall(d.int()), time.Duration(d.int())
		r.Last = p
	} else {
		d.empty(pastColumns)
	}
	if d.bad {
		return row, fmt.Errorf("%w: types of row %d", errRowDamaged, row.ID)
	}
	row.Record = r
	return row, nil
}

// cursor walks over the values of a row and remembers whether any had the
// wrong type.
type cursor struct {
	values []driver.Value
	i      int
	bad    bool
}

func (d *cursor) peek() driver.Value { return d.values[d.i] }

func (d *cursor) next() driver.Value {
	v := d.values[d.i]
	d.i++
	return v
}

// empty steps over columns that must hold nothing.
func (d *cursor) empty(n int) {
	for range n {
		d.bad = d.next() != nil || d.bad
	}
}

// flag reads a column that is 0 or 1.
func (d *cursor) flag() bool { return d.within(d.int(), 1) == 1 }

// within passes a number on that must be from 0 to most.
func (d *cursor) within(v, most int64) int64 {
	if v < 0 || v > most {
		d.bad = true
		return 0
	}
	return v
}

func (d *cursor) int() int64 {
	v, ok := d.next().(int64)
	d.bad = d.bad || !ok
	return v
}

func (d *cursor) text() string {
	v, ok := d.next().(string)
	d.bad = d.bad || !ok
	return v
}

func (d *cursor) optInt(present bool) int64 {
	if !present {
		d.bad = d.bad || d.next() != nil
		return 0
	}
	return d.int()
}

func (d *cursor) optText(present bool) string {
	if !present {
		d.bad = d.bad || d.next() != nil
		return ""
	}
	return d.text()
}

func (d *cursor) bytes(n int, optional bool) []byte {
	v := d.next()
	if v == nil && optional {
		return nil
	}
	b, ok := v.([]byte)
	d.bad = d.bad || !ok || len(b) != n
	if d.bad {
		return nil
	}
	return b
}

func (d *cursor) idem() *lease.Idempotency {
	if d.peek() == nil {
		d.empty(2)
		return nil
	}
	var i lease.Idempotency
	copy(i.Key[:], d.bytes(len(i.Key), false))
	copy(i.Params[:], d.bytes(len(i.Params), false))
	return &i
}
