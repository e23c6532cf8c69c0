package lease_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/octostore/octostore/lease"
)

func TestKey(t *testing.T) {
	t.Parallel()

	t.Run("HasItsParts", func(t *testing.T) {
		t.Parallel()
		room, lock := lease.ElectionKey("lobby-01"), lease.LockKey("acme", "repos/app/issues/1842")
		if room.Kind() != lease.Election || room.Tenant() != "" || room.Name() != "lobby-01" || room.IsZero() {
			t.Errorf("room %v", room)
		}
		if lock.Kind() != lease.Lock || lock.Tenant() != "acme" || lock.Name() != "repos/app/issues/1842" || lock.IsZero() {
			t.Errorf("lock %v", lock)
		}
		if got := lock.Scope(); got != (lease.Scope{Kind: lease.Lock, Tenant: "acme"}) {
			t.Errorf("scope %v", got)
		}
		if got := room.Scope(); got != (lease.Scope{Kind: lease.Election}) {
			t.Errorf("scope %v", got)
		}
	})

	t.Run("NamesNothingWhenZero", func(t *testing.T) {
		t.Parallel()
		var k lease.Key
		if !k.IsZero() || k.Kind() != 0 || k.Tenant() != "" || k.Name() != "" || k.Scope() != (lease.Scope{}) {
			t.Errorf("%v", k)
		}
	})

	t.Run("IsOrderedByKindTenantAndName", func(t *testing.T) {
		t.Parallel()
		want := []lease.Key{
			lease.ElectionKey("a"), lease.ElectionKey("b"),
			lease.LockKey("", "z"), lease.LockKey("a", "a"), lease.LockKey("a", "ab"), lease.LockKey("a", "b"),
			lease.LockKey("aa", "a"), lease.LockKey("b", "a"),
		}
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortFunc(got, func(a, b lease.Key) int {
			switch {
			case a.Less(b):
				return -1
			case b.Less(a):
				return 1
			}
			return 0
		})
		if !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		if want[0].Less(want[0]) {
			t.Error("less than itself")
		}
	})

	t.Run("RefusesATenantThatCouldMeetAnother", func(t *testing.T) {
		t.Parallel()
		mustPanic(t, func() { lease.LockKey("a\x00b", "c") })
	})

	t.Run("RefusesAKindThatIsNone", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []lease.Kind{0, 'x', 'E', 0x80, 0xff} {
			mustPanic(t, func() { lease.NewKey(kind, "a", "b") })
		}
	})
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "lease: ") {
			t.Errorf("panicked with %q", text)
		}
	}()
	f()
}

// Two names that share a key would share a lease.
func TestDistinctNamesNeverShareAKey(t *testing.T) {
	t.Parallel()
	type parts struct {
		kind         lease.Kind
		tenant, name string
	}
	// Few letters and short texts, so that parts often shift into each other.
	text := func(letters string) *rapid.Generator[string] {
		return rapid.StringOfN(rapid.SampledFrom([]rune(letters)), 0, 3, -1)
	}
	draw := rapid.Custom(func(t *rapid.T) parts {
		return parts{
			rapid.SampledFrom([]lease.Kind{lease.Election, lease.Lock}).Draw(t, "kind"),
			text("elaé/").Draw(t, "tenant"), text("elaé/\x00").Draw(t, "name"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		ka, kb := lease.NewKey(a.kind, a.tenant, a.name), lease.NewKey(b.kind, b.tenant, b.name)
		if (ka == kb) != (a == b) {
			t.Fatalf("%+v and %+v: keys equal %t", a, b, ka == kb)
		}
		if got := (parts{ka.Kind(), ka.Tenant(), ka.Name()}); got != a {
			t.Fatalf("%+v came back as %+v", a, got)
		}
		if ka != kb && ka.Less(kb) == kb.Less(ka) {
			t.Fatalf("%+v and %+v have no order", a, b)
		}
	})
}

func FuzzNewKey(f *testing.F) {
	f.Add(true, "", "lobby-01")
	f.Add(false, "acme", "repos/app/issues/1842")
	f.Add(false, "a", "\x00b")
	f.Add(false, "é\xff", "e\u0301")
	f.Fuzz(func(t *testing.T, election bool, tenant, name string) {
		kind := lease.Lock
		if election {
			kind = lease.Election
		}
		if strings.ContainsRune(tenant, 0) {
			mustPanic(t, func() { lease.NewKey(kind, tenant, name) })
			return
		}
		k := lease.NewKey(kind, tenant, name)
		if k.Kind() != kind || k.Tenant() != tenant || k.Name() != name || k.IsZero() {
			t.Errorf("(%s, %q, %q) came back as (%s, %q, %q)", kind, tenant, name, k.Kind(), k.Tenant(), k.Name())
		}
		if again := lease.NewKey(k.Kind(), k.Tenant(), k.Name()); again != k {
			t.Error("made again it is another key")
		}
	})
}

func FuzzParseKind(f *testing.F) {
	for _, s := range []string{"election", "lock", "", "unknown", "Lock", "lock ", "e", "l"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := lease.ParseKind(s)
		if known := s == "election" || s == "lock"; known != (err == nil) {
			t.Fatalf("%q: %v", s, err)
		}
		if err == nil && k.String() != s || err != nil && k != 0 {
			t.Errorf("%q is %q", s, k)
		}
	})
}
