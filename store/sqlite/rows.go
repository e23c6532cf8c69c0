package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// columns of the lease table, in the order in which rows are written and read.
// What a person or a query may look for has a column of its own; the rest is one
// blob, because every bound value costs as much as a tenth of a row.
var columns = []string{"id", "kind", "tenant", "name", "term", "revision", "held", "deadline", "body", "crc"}

// columnList names every column, in order.
var columnList = strings.Join(columns, ", ")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rowCodec turns rows into bound values and back. It is reused and belongs to
// one goroutine.
type rowCodec struct {
	values []driver.Value
	named  []driver.NamedValue
	body   []byte
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
	c.body = appendBody(c.body[:0], r)
	v := append(c.values[:0], row.ID, r.Key.Kind().String(), r.Key.Tenant(), r.Key.Name(),
		int64(r.Term), r.Revision, flag(r.Held), deadline(r), c.body)
	v = append(v, c.sum(v))
	c.values = v
	for i := range v {
		c.named[i].Value = v[i]
	}
	return c.named
}

func deadline(r *lease.Record) driver.Value {
	if !r.Held {
		return nil
	}
	return int64(r.Lease.Deadline)
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
	if want, ok := values[len(values)-1].(int64); (!ok || want != c.sum(values[:len(values)-1])) && !mutant("damaged-row-served") {
		return row, fmt.Errorf("%w: checksum of row %d", errRowDamaged, row.ID)
	}
	kind, err := lease.ParseKind(d.text())
	tenant, name := d.text(), d.text()
	if err != nil || strings.IndexByte(tenant, 0) >= 0 || name == "" {
		return row, fmt.Errorf("%w: name of row %d", errRowDamaged, row.ID)
	}
	r := lease.Record{
		Key: lease.NewKey(kind, tenant, name), Term: lease.Term(d.int()), Revision: d.int(), Held: d.flag(),
	}
	due := d.optInt(r.Held)
	body := d.blob()
	if d.bad || !readBody(body, &r) {
		return row, fmt.Errorf("%w: contents of row %d", errRowDamaged, row.ID)
	}
	if r.Held {
		r.Lease.Deadline = lease.Instant(due)
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

func (d *cursor) next() driver.Value {
	v := d.values[d.i]
	d.i++
	return v
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

func (d *cursor) blob() []byte {
	b, ok := d.next().([]byte)
	d.bad = d.bad || !ok
	return b
}
