package lease_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/octostore/octostore/lease"
)

func TestKeyring(t *testing.T) {
	t.Parallel()

	t.Run("RefusesAKeyOfAnotherLength", func(t *testing.T) {
		t.Parallel()
		for _, n := range []int{0, 1, 16, 31, 33, 64} {
			if _, err := lease.NewKeyring(make([]byte, n)); err == nil || !strings.Contains(err.Error(), "server key 1") {
				t.Errorf("%d bytes: %v", n, err)
			}
			if _, err := lease.NewKeyring(serverKey(1), serverKey(2), make([]byte, n)); err == nil || !strings.Contains(err.Error(), "server key 3") {
				t.Errorf("%d bytes, the third: %v", n, err)
			}
		}
	})

	t.Run("TellsNoKeyInAnError", func(t *testing.T) {
		t.Parallel()
		_, err := lease.NewKeyring([]byte("correct horse battery"))
		if err == nil || strings.Contains(err.Error(), "horse") {
			t.Errorf("%v", err)
		}
	})

	t.Run("DerivesUnderTheKeyOfTheRow", func(t *testing.T) {
		t.Parallel()
		before, after := keyring(t, 1), keyring(t, 2, 1)
		key, ref := lease.LockKey("acme", "deploy"), lease.Ref{Term: 5}
		old := capability(t, before, key, ref)
		got, err := after.Capability(key, ref, before.Current())
		if err != nil || !got.Match(old) {
			t.Errorf("%v", err)
		}
		if after.Current() == before.Current() || !after.Has(before.Current()) || !after.Has(after.Current()) || before.Has(after.Current()) {
			t.Error("the ids are mixed up")
		}
		if capability(t, after, key, ref).Match(old) {
			t.Error("new rows are made under the previous key")
		}
	})

	t.Run("TakesAKeyThatIsGivenTwice", func(t *testing.T) {
		t.Parallel()
		k := keyring(t, 1, 1, 2, 1)
		if got := len(k.Digests("x")); got != 2 {
			t.Errorf("%d keys, want 2", got)
		}
	})

	// The ids have 32 bits, so among many keys two may have the same. These do.
	t.Run("RefusesTwoKeysWithOneID", func(t *testing.T) {
		t.Parallel()
		a, b := keyring(t, 75795), keyring(t, 173962)
		if a.Current() != b.Current() {
			t.Fatalf("ids %#x and %#x", a.Current(), b.Current())
		}
		if _, err := lease.NewKeyring(serverKey(75795), serverKey(1), serverKey(173962)); err == nil || !strings.Contains(err.Error(), "server key 3") {
			t.Errorf("%v", err)
		}
	})

	t.Run("KeepsNoHoldOfTheKeysItWasGiven", func(t *testing.T) {
		t.Parallel()
		secret := serverKey(1)
		k, err := lease.NewKeyring(secret)
		if err != nil {
			t.Fatal(err)
		}
		want := k.Digest("x")
		clear(secret)
		secret[0] = 0xff
		if k.Digest("x") != want {
			t.Error("the keyring changed with the slice")
		}
	})
}

func TestDigest(t *testing.T) {
	t.Parallel()

	t.Run("IsDerivedAsDescribed", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(rt *rapid.T) {
			purpose, parts := rapid.String().Draw(rt, "purpose"), rapid.SliceOf(rapid.String()).Draw(rt, "parts")
			got := keyring(t, 9).Digest(purpose, parts...)
			want := derive(t, serverKey(9), "digest", append([]string{purpose}, parts...)...)
			if !bytes.Equal(got[:], want[:16]) || got.IsZero() {
				rt.Fatalf("%x, want %x", got, want[:16])
			}
		})
	})

	t.Run("TellsPartsApart", func(t *testing.T) {
		t.Parallel()
		k := keyring(t, 1)
		seen := make(map[lease.Digest][]string)
		for _, parts := range [][]string{
			{"p"},
			{"p", ""},
			{"p", "", ""},
			{"p", "a"},
			{"p", "a", ""},
			{"p", "", "a"},
			{"p", "a", "b"},
			{"p", "ab"},
			{"pa", "b"},
			{"pab"},
			{"p", "\x00\x00\x00\x01a"},
			{"", "p"},
			{"q", "a"},
		} {
			d := k.Digest(parts[0], parts[1:]...)
			if other, dup := seen[d]; dup {
				t.Errorf("%q and %q have one digest", parts, other)
			}
			seen[d] = parts
		}
	})

	t.Run("IsFoundUnderEveryKeyTheCurrentOneFirst", func(t *testing.T) {
		t.Parallel()
		got := keyring(t, 3, 2, 1).Digests("session", "id")
		var want []lease.Digest
		for _, n := range []uint32{3, 2, 1} {
			want = append(want, keyring(t, n).Digest("session", "id"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%x, want %x", got, want)
		}
	})

	t.Run("OfNoneIsZero", func(t *testing.T) {
		t.Parallel()
		if d := (lease.Digest{15: 1}); d.IsZero() || !(lease.Digest{}).IsZero() {
			t.Error("IsZero is wrong")
		}
	})
}

func TestRepeatable(t *testing.T) {
	t.Parallel()
	scope, params := []string{"lock", "acme", "team", "deploy", "the key itself"}, []string{"30s", "m"}
	k := keyring(t, 3, 2)
	forms := k.Repeatable(scope, params)

	t.Run("HasAFormForEveryKeyTheCurrentOneFirst", func(t *testing.T) {
		t.Parallel()
		want := lease.Repeatable{
			{Key: keyring(t, 3).Digest("idempotency key", scope...), Params: keyring(t, 3).Digest("idempotency params", params...)},
			{Key: keyring(t, 2).Digest("idempotency key", scope...), Params: keyring(t, 2).Digest("idempotency params", params...)},
		}
		if !slices.Equal(forms, want) {
			t.Errorf("%x, want %x", forms, want)
		}
	})

	for name, c := range map[string]struct {
		stored      *lease.Idempotency
		same, equal bool
	}{
		"IsNoRepeatOfNothing":            {nil, false, false},
		"IsNoRepeatOfAnotherKey":         {&keyring(t, 3).Repeatable([]string{"x"}, params)[0], false, false},
		"RepeatsUnderTheCurrentKey":      {&keyring(t, 3).Repeatable(scope, params)[0], true, true},
		"RepeatsUnderThePreviousKey":     {&keyring(t, 2).Repeatable(scope, params)[0], true, true},
		"TellsOtherParameters":           {&keyring(t, 3).Repeatable(scope, []string{"31s", "m"})[0], true, false},
		"TellsOtherParametersOfOld":      {&keyring(t, 2).Repeatable(scope, []string{"31s", "m"})[0], true, false},
		"IsNoRepeatUnderAKeyThatIsGone":  {&keyring(t, 1).Repeatable(scope, params)[0], false, false},
		"IsNoRepeatInAnotherScope":       {&k.Repeatable(append([]string{"election"}, scope[1:]...), params)[0], false, false},
		"IsNoRepeatOfSomebodyElsesEqual": {&k.Repeatable([]string{"lock", "acme", "other", "deploy", "the key itself"}, params)[0], false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if same, equal := forms.Repeats(c.stored); same != c.same || equal != c.equal {
				t.Errorf("same %t, equal %t; want %t, %t", same, equal, c.same, c.equal)
			}
		})
	}
}
