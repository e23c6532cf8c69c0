package sqlite

import (
	"encoding/binary"
	"time"

	"github.com/octostore/octostore/lease"
)

// bodyVersion is the first byte of a body. A later form gets another number, and
// this one stays readable.
const bodyVersion = 1

// What a body holds beyond its fixed part, bit by bit in its second byte.
const (
	hasRebase = 1 << iota
	hasMetadata
	hasIdem
	hasBinding
	hasSession
	hasEphemeral
	hasPast
	hasPastIdem
)

// appendBody appends what a record is beside its columns. There is one way to
// write a record: numbers are eight bytes, texts stand behind their length.
func appendBody(b []byte, r *lease.Record) []byte {
	b = append(b, bodyVersion, bodyFlags(r))
	b = appendInts(b, int64(r.Free), int64(r.FreeWall))
	if l := &r.Lease; r.Held {
		b = append(b, l.Nonce[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(l.KeyID))
		b = appendInts(b, int64(l.TTL), int64(l.Granted), int64(l.Expires), int64(l.Renewed))
		b = appendText(b, l.Label)
		if l.Described {
			b = appendText(b, l.Metadata)
		}
		b = appendIdem(b, l.Idem)
		if l.Bound != nil {
			b = appendText(b, l.Bound.Principal)
			if !l.Bound.Session.IsZero() {
				b = append(b, l.Bound.Session[:]...)
			}
			b = appendInts(b, int64(l.Bound.LockDelay))
		}
	}
	if p := r.Last; p != nil {
		b = append(b, p.Nonce[:]...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(p.KeyID)), byte(p.Reason))
		b = appendInts(b, int64(p.Term), int64(p.At), int64(p.Wall), int64(p.Delay))
		b = appendIdem(b, p.Idem)
	}
	return b
}

func bodyFlags(r *lease.Record) (f byte) {
	set := func(on bool, bit byte) {
		if on {
			f |= bit
		}
	}
	set(r.Rebase, hasRebase)
	if l := &r.Lease; r.Held {
		set(l.Described, hasMetadata)
		set(l.Idem != nil, hasIdem)
		if l.Bound != nil {
			f |= hasBinding
			set(!l.Bound.Session.IsZero(), hasSession)
			set(l.Bound.Ephemeral, hasEphemeral)
		}
	}
	if r.Last != nil {
		f |= hasPast
		set(r.Last.Idem != nil, hasPastIdem)
	}
	return f
}

func appendInts(b []byte, ints ...int64) []byte {
	for _, v := range ints {
		b = binary.BigEndian.AppendUint64(b, uint64(v)) //nolint:gosec // the bits, not the number
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...) //nolint:gosec // bounded by the API
}

func appendIdem(b []byte, i *lease.Idempotency) []byte {
	if i == nil {
		return b
	}
	return append(append(b, i.Key[:]...), i.Params[:]...)
}

// readBody reads a body into a record whose columns are read already. It
// reports false for anything that appendBody would not have written.
func readBody(b []byte, r *lease.Record) bool {
	d := bodyReader{b: b}
	version, flags := d.byte(), d.byte()
	has := func(bit byte) bool { return flags&bit != 0 }
	r.Rebase = has(hasRebase)
	r.Free, r.FreeWall = lease.Instant(d.int()), lease.Wall(d.int())
	if r.Held {
		l := &r.Lease
		d.copy(l.Nonce[:])
		l.KeyID = lease.KeyID(d.uint32())
		l.TTL, l.Granted = time.Duration(d.int()), lease.Wall(d.int())
		l.Expires, l.Renewed = lease.Wall(d.int()), lease.Wall(d.int())
		l.Label = d.text()
		if l.Described = has(hasMetadata); l.Described {
			l.Metadata = d.text()
		}
		l.Idem = d.idem(has(hasIdem))
		if has(hasBinding) {
			l.Bound = &lease.Binding{Principal: d.text(), Ephemeral: has(hasEphemeral)}
			if has(hasSession) {
				d.copy(l.Bound.Session[:])
			}
			l.Bound.LockDelay = time.Duration(d.int())
		}
	}
	if has(hasPast) {
		p := &lease.Past{}
		d.copy(p.Nonce[:])
		p.KeyID, p.Reason = lease.KeyID(d.uint32()), lease.Reason(d.byte())
		p.Term, p.At = lease.Term(d.int()), lease.Instant(d.int())
		p.Wall, p.Delay = lease.Wall(d.int()), time.Duration(d.int())
		p.Idem = d.idem(has(hasPastIdem))
		r.Last = p
	}
	// Bits that go with nothing are no record's.
	return !d.short && len(d.b) == 0 && version == bodyVersion && flags == bodyFlags(r)
}

// bodyReader takes a body apart and remembers whether it was too short.
type bodyReader struct {
	b     []byte
	short bool
}

func (d *bodyReader) take(n int) []byte {
	if d.short || n > len(d.b) {
		d.short = true
		return nil
	}
	taken := d.b[:n]
	d.b = d.b[n:]
	return taken
}

func (d *bodyReader) copy(into []byte) { copy(into, d.take(len(into))) }

func (d *bodyReader) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *bodyReader) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (d *bodyReader) int() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // the bits, not the number
	}
	return 0
}

func (d *bodyReader) text() string {
	n := d.uint32()
	if int64(n) > int64(len(d.b)) {
		d.short = true
		return ""
	}
	return string(d.take(int(n)))
}

func (d *bodyReader) idem(present bool) *lease.Idempotency {
	if !present {
		return nil
	}
	var i lease.Idempotency
	d.copy(i.Key[:])
	d.copy(i.Params[:])
	return &i
}
