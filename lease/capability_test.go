package lease_test

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/octostore/octostore/lease"
)

// serverKey returns a server key whose last bytes are n.
func serverKey(n uint32) []byte {
	key := make([]byte, lease.KeySize)
	binary.BigEndian.PutUint32(key[lease.KeySize-4:], n)
	return key
}

func keyring(t *testing.T, current uint32, previous ...uint32) *lease.Keyring {
	t.Helper()
	var older [][]byte
	for _, n := range previous {
		older = append(older, serverKey(n))
	}
	k, err := lease.NewKeyring(serverKey(current), older...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func capability(t *testing.T, k *lease.Keyring, key lease.Key, ref lease.Ref) lease.Capability {
	t.Helper()
	c, err := k.Capability(key, ref, k.Current())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// derive is the derivation once more, straight from its description: an HKDF
// sub-key and an HMAC over parts that each stand behind their length.
func derive(t *testing.T, server []byte, use string, parts ...string) []byte {
	t.Helper()
	sub, err := hkdf.Key(sha256.New, server, nil, "octostore/v1/"+use, 32)
	if err != nil {
		t.Fatal(err)
	}
	var message bytes.Buffer
	for _, p := range parts {
		_ = binary.Write(&message, binary.BigEndian, uint32(len(p)))
		message.WriteString(p)
	}
	mac := hmac.New(sha256.New, sub)
	mac.Write(message.Bytes())
	return mac.Sum(nil)
}

// number is a term as a part.
func number(n lease.Term) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

// These are held by clients while a server is upgraded: a derivation that
// changes ends every lease there is. They were computed apart from this code.
func TestCapabilityOfAKnownLease(t *testing.T) {
	t.Parallel()
	secret := make([]byte, lease.KeySize)
	for i := range secret {
		secret[i] = byte(i)
	}
	k, err := lease.NewKeyring(secret)
	if err != nil {
		t.Fatal(err)
	}
	var nonce lease.Nonce
	for i := range nonce {
		nonce[i] = 0xf0 + byte(i)
	}
	for name, c := range map[string]struct {
		key         lease.Key
		term        lease.Term
		token, uuid string
	}{
		"Room": {
			lease.ElectionKey("room-one"), 1_700_000_000_000_001,
			"6X0NsyDBlRaq9v4e_oDpC-PIDizBnfKTYzd11H7_osc", "e97d0db320c14516aaf6fe1efe80e90b",
		},
		"Lock": {
			lease.LockKey("acme", "repos/app/issues/1842"), 2,
			"07irUwBXfMApitX1XzHyQlf4R3Y4Z3fHDNPHkDf-mB0", "d3b8ab5300574cc0a98ad5f55f31f242",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := capability(t, k, c.key, lease.Ref{Term: c.term, Nonce: nonce})
			if got.Text() != c.token {
				t.Errorf("token %s, want %s", got.Text(), c.token)
			}
			if id := got.LeaseID(); hex.EncodeToString(id[:]) != c.uuid {
				t.Errorf("lease id %x, want %s", id, c.uuid)
			}
		})
	}
	if got, want := k.Digest("idempotency key", "a", "bc"), "6ced9d5d4a3b8abc9d86f250291d79d9"; hex.EncodeToString(got[:]) != want {
		t.Errorf("digest %x, want %s", got, want)
	}
	if got, want := k.Current(), lease.KeyID(0x8f846bed); got != want {
		t.Errorf("key id %#x, want %#x", got, want)
	}
}

func TestCapabilityIsDerivedAsDescribed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		server := rapid.SliceOfN(rapid.Byte(), lease.KeySize, lease.KeySize).Draw(rt, "server key")
		tenant := strings.ReplaceAll(rapid.String().Draw(rt, "tenant"), "\x00", "")
		key := lease.NewKey(rapid.SampledFrom([]lease.Kind{lease.Election, lease.Lock}).Draw(rt, "kind"), tenant, rapid.String().Draw(rt, "name"))
		ref := lease.Ref{
			Term:  lease.Term(rapid.Int64Range(1, 1<<53-1).Draw(rt, "term")),
			Nonce: lease.Nonce(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "nonce")),
		}
		k, err := lease.NewKeyring(server)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := k.Capability(key, ref, k.Current())
		if err != nil {
			rt.Fatal(err)
		}
		want := derive(t, server, "lease", key.Kind().String(), key.Tenant(), key.Name(), number(ref.Term), string(ref.Nonce[:]))
		if !bytes.Equal(got[:], want) {
			rt.Fatalf("%x, want %x", got, want)
		}
		if got.Text() != base64.RawURLEncoding.EncodeToString(want) || len(got.Text()) != 43 {
			rt.Fatalf("text %q", got.Text())
		}
		back, err := lease.ParseCapability(got.Text())
		if err != nil || !back.Match(got) {
			rt.Fatalf("%q came back as %x: %v", got.Text(), back, err)
		}
		id := got.LeaseID()
		if id[6]>>4 != 4 || id[8]>>6 != 0b10 {
			rt.Fatalf("lease id %x has version %d, variant %b", id, id[6]>>4, id[8]>>6)
		}
		for i := range id {
			kept := byte(0xff)
			switch i {
			case 6:
				kept = 0x0f
			case 8:
				kept = 0x3f
			}
			if id[i]&kept != want[i]&kept {
				rt.Fatalf("byte %d of lease id %x is not that of %x", i, id, want)
			}
		}
	})
}

func TestCapabilityProvesOneLeaseOnly(t *testing.T) {
	t.Parallel()
	k := keyring(t, 1)
	key, ref := lease.LockKey("acme", "deploy"), lease.Ref{Term: 5, Nonce: lease.Nonce{1}}
	proof := capability(t, k, key, ref)
	if !proof.Match(capability(t, k, key, ref)) {
		t.Fatal("it does not match itself")
	}
	for name, other := range map[string]lease.Capability{
		"AnotherTerm":           capability(t, k, key, lease.Ref{Term: 6, Nonce: ref.Nonce}),
		"AnotherNonce":          capability(t, k, key, lease.Ref{Term: 5, Nonce: lease.Nonce{2}}),
		"AnotherName":           capability(t, k, lease.LockKey("acme", "deplox"), ref),
		"AnotherTenant":         capability(t, k, lease.LockKey("acne", "deploy"), ref),
		"NoTenant":              capability(t, k, lease.LockKey("", "deploy"), ref),
		"AnotherKind":           capability(t, k, lease.NewKey(lease.Election, "acme", "deploy"), ref),
		"PartsThatShiftedLeft":  capability(t, k, lease.LockKey("acmed", "eploy"), ref),
		"PartsThatShiftedRight": capability(t, k, lease.LockKey("acm", "edeploy"), ref),
		"AnotherServerKey":      capability(t, keyring(t, 2), key, ref),
		"Zero":                  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if proof.Match(other) || other.Match(proof) || proof.Text() == other.Text() || proof.LeaseID() == other.LeaseID() {
				t.Error("it matches")
			}
		})
	}

	t.Run("NotOneThatDiffersInABit", func(t *testing.T) {
		t.Parallel()
		for bit := range lease.CapabilitySize * 8 {
			other := proof
			other[bit/8] ^= 1 << (bit % 8)
			if proof.Match(other) {
				t.Errorf("it matches without bit %d", bit)
			}
		}
	})
}

func TestCapabilityUnderAServerKeyThatIsNotThere(t *testing.T) {
	t.Parallel()
	k := keyring(t, 1)
	c, err := k.Capability(lease.ElectionKey("lobby-01"), lease.Ref{Term: 1}, k.Current()+1)
	if !errors.Is(err, lease.ErrUnknownKey) || c != (lease.Capability{}) {
		t.Errorf("%x, %v", c, err)
	}
}

func TestParseCapability(t *testing.T) {
	t.Parallel()
	good := capability(t, keyring(t, 1), lease.ElectionKey("lobby-01"), lease.Ref{Term: 1}).Text()
	for name, text := range map[string]string{
		"Empty":                  "",
		"OneCharacterShort":      good[:42],
		"OneCharacterLong":       good + "A",
		"Padded":                 good[:42] + "=",
		"PaddedBehind":           good + "=",
		"StandardAlphabet":       strings.Repeat("+", 42) + "A",
		"StandardAlphabetSlash":  strings.Repeat("/", 42) + "A",
		"SpaceInside":            good[:20] + " " + good[21:],
		"NewlineInside":          good[:20] + "\n" + good[21:],
		"CarriageReturnAtTheEnd": good[:42] + "\r",
		"NewlineBehind":          good + "\n",
		"SpaceBefore":            " " + good[:42],
		"NoASCII":                good[:41] + "é",
		"NUL":                    good[:42] + "\x00",
		"UUID":                   "e97d0db3-20c1-4516-aaf6-fe1efe80e90b",
		"TrailingBitsThatAreNot": strings.Repeat("A", 42) + "B",
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			if c, err := lease.ParseCapability(text); !errors.Is(err, lease.ErrMalformed) || c != (lease.Capability{}) {
				t.Errorf("%x, %v", c, err)
			}
		})
	}

	t.Run("TakesOneSpellingOfEachSecret", func(t *testing.T) {
		t.Parallel()
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		taken := 0
		for _, end := range alphabet {
			if _, err := lease.ParseCapability(good[:42] + string(end)); err == nil {
				taken++
			}
		}
		if taken != 16 { // the last character carries four bits
			t.Errorf("%d of 64 last characters are taken, want 16", taken)
		}
	})
}

func FuzzParseCapability(f *testing.F) {
	for _, s := range []string{
		"", "6X0NsyDBlRaq9v4e_oDpC-PIDizBnfKTYzd11H7_osc", "6X0NsyDBlRaq9v4e_oDpC-PIDizBnfKTYzd11H7_osd",
		"6X0NsyDBlRaq9v4e_oDpC+PIDizBnfKTYzd11H7/osc", "6X0NsyDBlRaq9v4e_oDpC-PIDizBnfKTYzd11H7_os=",
		"6X0NsyDBlRaq9v4e_oDpC\nPIDizBnfKTYzd11H7_osc", strings.Repeat("A", 43), strings.Repeat("\n", 43),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := lease.ParseCapability(s)
		switch {
		case err != nil && (!errors.Is(err, lease.ErrMalformed) || c != (lease.Capability{})):
			t.Errorf("%q: %x, %v", s, c, err)
		case err == nil && c.Text() != s:
			t.Errorf("%q is %q in its own spelling", s, c.Text())
		}
	})
}
