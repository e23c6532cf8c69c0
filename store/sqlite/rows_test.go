package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
	"pgregory.net/rapid"
)

// drawRecord draws any record that the kernel can make, and more.
func drawRecord(t *rapid.T) lease.Record {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringN(0, 20, -1))
	whole := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 53}))
	digest := rapid.Custom(func(t *rapid.T) (d lease.Digest) {
		copy(d[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "digest"))
		return d
	})
	idem := rapid.OneOf(rapid.Just((*lease.Idempotency)(nil)), rapid.Custom(func(t *rapid.T) *lease.Idempotency {
		return &lease.Idempotency{Key: digest.Draw(t, "key"), Params: digest.Draw(t, "params")}
	}))
	flip := rapid.Bool()
	var key lease.Key
	if name := rapid.StringN(1, 30, -1).Draw(t, "name"); flip.Draw(t, "election") {
		key = lease.ElectionKey(name)
	} else {
		key = lease.LockKey(rapid.StringMatching(`[^\x00]*`).Draw(t, "tenant"), name)
	}
	r := lease.Record{
		Key: key, Term: lease.Term(whole.Draw(t, "term")), Revision: whole.Draw(t, "revision"),
		Held: flip.Draw(t, "held"), Rebase: flip.Draw(t, "rebase"),
		Free: lease.Instant(whole.Draw(t, "free")), FreeWall: lease.Wall(whole.Draw(t, "free wall")),
	}
	if r.Held {
		r.Lease = lease.Lease{
			Nonce: lease.Nonce(digest.Draw(t, "nonce")), KeyID: lease.KeyID(rapid.Uint32().Draw(t, "key id")),
			TTL: time.Duration(whole.Draw(t, "ttl")), Deadline: lease.Instant(whole.Draw(t, "deadline")),
			Granted: lease.Wall(whole.Draw(t, "granted")), Expires: lease.Wall(whole.Draw(t, "expires")),
			Renewed: lease.Wall(whole.Draw(t, "renewed")), Label: text.Draw(t, "label"), Idem: idem.Draw(t, "idem"),
		}
		if r.Lease.Described = flip.Draw(t, "described"); r.Lease.Described {
			r.Lease.Metadata = text.Draw(t, "metadata")
		}
		if flip.Draw(t, "bound") {
			r.Lease.Bound = &lease.Binding{
				Principal: text.Draw(t, "principal"), Session: digest.Draw(t, "session"),
				Ephemeral: flip.Draw(t, "ephemeral"), LockDelay: time.Duration(whole.Draw(t, "delay")),
			}
		}
	}
	if flip.Draw(t, "last") {
		r.Last = &lease.Past{
			Ref:   lease.Ref{Term: lease.Term(whole.Draw(t, "last term")), Nonce: lease.Nonce(digest.Draw(t, "last nonce"))},
			KeyID: lease.KeyID(rapid.Uint32().Draw(t, "last key id")), Reason: lease.Reason(rapid.Uint8().Draw(t, "reason")),
			Idem: idem.Draw(t, "last idem"), At: lease.Instant(whole.Draw(t, "at")),
			Wall: lease.Wall(whole.Draw(t, "wall")), Delay: time.Duration(whole.Draw(t, "last delay")),
		}
	}
	return r
}

func drawRow(t *rapid.T) store.Row {
	return store.Row{ID: rapid.Int64Range(1, math.MaxInt64).Draw(t, "id"), Record: drawRecord(t)}
}

func diffRows(want, got any) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b lease.Key) bool { return a == b }))
}

// plainValues copies the values of an encoded row.
func plainValues(named []driver.NamedValue) []driver.Value {
	values := make([]driver.Value, len(named))
	for i, n := range named {
		values[i] = n.Value
		if b, ok := n.Value.([]byte); ok {
			values[i] = slices.Clone(b)
		}
	}
	return values
}

func TestRowIsReadBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	codec := newRowCodec() // reused, as by the writer
	rapid.Check(t, func(t *rapid.T) {
		row := drawRow(t)
		got, err := codec.decode(plainValues(codec.encode(row)))
		if err != nil {
			t.Fatal(err)
		}
		if d := diffRows(row, got); d != "" {
			t.Errorf("read back differently (-written +read):\n%s", d)
		}
	})
}

func TestRowGoesThroughTheDatabaseUnchanged(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), Options{Manual: true})
	rapid.Check(t, func(rt *rapid.T) {
		row := drawRow(rt)
		if err := s.writer.Write(t.Context(), store.Changes{Rows: []store.Row{row}}); err != nil {
			rt.Fatal(err)
		}
		var got []store.Row
		err := s.writer.conn.rows(t.Context(), "SELECT "+columnList+" FROM lease", func(v []driver.Value) error {
			r, err := newRowCodec().decode(v)
			got = append(got, r)
			return err
		})
		if err != nil {
			rt.Fatal(err)
		}
		if d := diffRows([]store.Row{row}, got); d != "" {
			rt.Errorf("read back differently (-written +read):\n%s", d)
		}
		if err := s.writer.Write(t.Context(), store.Changes{Drop: []int64{row.ID}}); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestRowThatWasChangedInAnyColumnIsRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		codec := newRowCodec()
		values := plainValues(codec.encode(drawRow(t)))
		i := rapid.IntRange(0, len(values)-1).Draw(t, "column")
		was := values[i]
		values[i] = rapid.OneOf(
			rapid.Just(driver.Value(nil)),
			rapid.Custom(func(t *rapid.T) driver.Value { return rapid.Int64().Draw(t, "int") }),
			rapid.Custom(func(t *rapid.T) driver.Value { return rapid.String().Draw(t, "text") }),
			rapid.Custom(func(t *rapid.T) driver.Value { return rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "blob") }),
			rapid.Custom(func(t *rapid.T) driver.Value { return rapid.Float64().Draw(t, "real") }),
		).Draw(t, "value")
		if reflect.DeepEqual(was, values[i]) {
			return
		}
		if row, err := codec.decode(values); !errors.Is(err, errRowDamaged) {
			t.Errorf("%s became %v and nobody noticed: %v, %+v", columns[i], values[i], err, row)
		}
	})
}

// A sound checksum does not make a row sound: what no record can hold is
// refused, so that what is read is what was written.
func TestRowThatNoRecordCanHoldIsRefused(t *testing.T) {
	t.Parallel()
	body := slices.Index(columns, "body")
	anything := rapid.OneOf(
		rapid.Just(driver.Value(nil)),
		rapid.Custom(func(t *rapid.T) driver.Value { return rapid.Int64().Draw(t, "int") }),
		rapid.SampledFrom([]driver.Value{int64(0), int64(1), int64(2), int64(-1), int64(1 << 40), "", "lock", "a\x00b", []byte{}, 1.5}),
		rapid.Custom(func(t *rapid.T) driver.Value { return rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "blob") }),
	)
	rapid.Check(t, func(t *rapid.T) {
		codec := newRowCodec()
		values := plainValues(codec.encode(drawRow(t)))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			b, ok := values[body].([]byte)
			switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
			case kind == 0 || !ok:
				values[rapid.IntRange(0, len(values)-2).Draw(t, "column")] = anything.Draw(t, "value")
			case kind == 1:
				values[body] = b[:rapid.IntRange(0, len(b)).Draw(t, "cut at")]
			case kind == 2:
				values[body] = append(b, rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "tail")...)
			case len(b) > 0: // often in the flags, which say what follows
				b[min(rapid.IntRange(0, 2*len(b)).Draw(t, "at")/2, len(b)-1)] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
			}
		}
		values[len(values)-1] = codec.sum(values[:len(values)-1])
		row, err := codec.decode(values)
		if err != nil {
			if !errors.Is(err, errRowDamaged) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if d := cmp.Diff(values, plainValues(codec.encode(row))); d != "" {
			t.Errorf("accepted, and would be written differently (-read +written):\n%s", d)
		}
	})
}

func TestBodyOfWhichEveryByteIsTriedIsReadExactlyOrRefused(t *testing.T) {
	t.Parallel()
	sound := appendBody(nil, &fullRecord)
	for i := range sound {
		for v := range 256 {
			b := slices.Clone(sound)
			b[i] = byte(v)
			r := lease.Record{Key: fullRecord.Key, Term: fullRecord.Term, Revision: fullRecord.Revision, Held: true}
			if readBody(b, &r) && !bytes.Equal(appendBody(nil, &r), b) {
				t.Fatalf("byte %d with value %d is read as something else", i, v)
			}
		}
		r := lease.Record{Key: fullRecord.Key, Held: true}
		if readBody(sound[:i], &r) {
			t.Errorf("%d of %d bytes are taken for a body", i, len(sound))
		}
	}
}

// fullRecord has everything that a record can have.
var fullRecord = lease.Record{
	Key: lease.LockKey("acme", "l"), Term: 2, Revision: 5, Rebase: true, Held: true, Free: 1, FreeWall: 2,
	Lease: lease.Lease{
		Nonce: lease.Nonce{3}, KeyID: 4, TTL: time.Hour, Deadline: 5, Granted: 6, Expires: 7, Renewed: 8,
		Label: "worker", Metadata: "notes", Described: true,
		Idem:  &lease.Idempotency{Key: lease.Digest{9}, Params: lease.Digest{10}},
		Bound: &lease.Binding{Principal: "p", Session: lease.Digest{11}, Ephemeral: true, LockDelay: time.Second},
	},
	Last: &lease.Past{
		Ref: lease.Ref{Term: 1, Nonce: lease.Nonce{12}}, KeyID: 13, Reason: lease.ByForce,
		Idem: &lease.Idempotency{Key: lease.Digest{14}, Params: lease.Digest{15}}, At: 16, Wall: 17, Delay: 18,
	},
}

// What was written once has to be readable for ever: this is a row of the first
// form, as it stands in databases.
func TestRowOfTheFirstFormIsStillRead(t *testing.T) {
	t.Parallel()
	const written = "01ff0000000000000001000000000000000203000000000000000000000000000000000000040000034630b8a00000000000" +
		"000000060000000000000007000000000000000800000006776f726b6572000000056e6f7465730900000000000000000000" +
		"00000000000a00000000000000000000000000000000000001700b000000000000000000000000000000000000003b9aca00" +
		"0c0000000000000000000000000000000000000d050000000000000001000000000000001000000000000000110000000000" +
		"0000120e0000000000000000000000000000000f000000000000000000000000000000"
	body, err := hex.DecodeString(written)
	if err != nil {
		t.Fatal(err)
	}
	r := lease.Record{Key: fullRecord.Key, Term: fullRecord.Term, Revision: fullRecord.Revision, Held: true}
	if !readBody(body, &r) {
		t.Fatal("it is refused")
	}
	r.Lease.Deadline = fullRecord.Lease.Deadline // has a column
	if d := diffRows(fullRecord, r); d != "" {
		t.Errorf("read differently (-written +read):\n%s", d)
	}
}

func TestRowWithTheWrongNumberOfColumnsIsRefused(t *testing.T) {
	t.Parallel()
	codec := newRowCodec()
	values := plainValues(codec.encode(store.Row{ID: 1, Record: lease.Record{Key: lease.ElectionKey("r")}}))
	for _, v := range [][]driver.Value{nil, values[:1], values[:len(values)-1], append(slices.Clone(values), nil)} {
		if _, err := codec.decode(v); !errors.Is(err, errRowDamaged) {
			t.Errorf("%d columns: %v", len(v), err)
		}
	}
}

func TestColumnsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), Options{Manual: true})
	var table []string
	err := s.writer.conn.rows(t.Context(), "SELECT name FROM pragma_table_info('lease') ORDER BY cid", func(v []driver.Value) error {
		name, _ := v[0].(string)
		table = append(table, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(columns, table); d != "" {
		t.Errorf("the code and the table disagree (-code +table):\n%s", d)
	}
}

// FuzzDecodeRow reads rows with any values under a sound checksum: whatever is
// not refused must be a row that the codec itself would have written so.
func FuzzDecodeRow(f *testing.F) {
	for _, r := range []lease.Record{
		{Key: lease.ElectionKey("r")},
		{Key: lease.ElectionKey("r"), Term: 1, Revision: 1, Held: true, Lease: lease.Lease{TTL: time.Second, Described: true}},
		fullRecord,
	} {
		f.Add(pack(plainValues(newRowCodec().encode(store.Row{ID: 9, Record: r}))))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		values := unpack(data)
		codec := newRowCodec()
		if n := len(values); n > 0 {
			values[n-1] = codec.sum(values[:n-1])
		}
		row, err := codec.decode(values)
		if err != nil {
			if !errors.Is(err, errRowDamaged) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if d := cmp.Diff(values, plainValues(codec.encode(row))); d != "" {
			t.Errorf("accepted, and would be written differently (-read +written):\n%s", d)
		}
	})
}

// pack and unpack turn the values of a row into bytes that a fuzzer can change
// and back: a tag, and what belongs to it.
func pack(values []driver.Value) (data []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			data = append(data, 1)
			for i := range 8 {
				data = append(data, byte(v>>(8*i)))
			}
		case string:
			data = append(append(data, 2, byte(len(v)), byte(len(v)>>8)), v...)
		case []byte:
			data = append(append(data, 3, byte(len(v)), byte(len(v)>>8)), v...)
		default:
			data = append(data, 0)
		}
	}
	return data
}

func unpack(data []byte) (values []driver.Value) {
	for len(data) > 0 && len(values) < len(columns) {
		tag := data[0] % 5
		data = data[1:]
		switch tag {
		case 1:
			var n int64
			for i := range min(8, len(data)) {
				n |= int64(data[i]) << (8 * i)
			}
			data = data[min(8, len(data)):]
			values = append(values, n)
		case 2, 3:
			n := 0
			if len(data) > 1 {
				n = min(int(data[0])|int(data[1])<<8, len(data)-2)
				data = data[2:]
			}
			if tag == 2 {
				values = append(values, string(data[:n]))
			} else {
				values = append(values, slices.Clone(data[:n]))
			}
			data = data[n:]
		case 4:
			values = append(values, 1.5)
		default:
			values = append(values, nil)
		}
	}
	for len(values) < len(columns) {
		values = append(values, nil)
	}
	return values
}
