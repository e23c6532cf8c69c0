package lease

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
)

// KeySize is the length of a server key in bytes.
const KeySize = 32

// KeyID tells server keys apart without telling anything about them.
type KeyID uint32

// Digest is a keyed hash of a secret, cut to 128 bits: enough to find the
// secret again, useless to whoever reads the store.
type Digest [16]byte

// IsZero tells whether d is the zero value, which stands for "none".
func (d Digest) IsZero() bool { return d == Digest{} }

// Keyring derives everything secret from the server keys. Nothing that grants
// authority is stored: a capability is computed from the key, the name, the
// term and the row's nonce, and compared in constant time. The first key makes
// new rows; further ones are accepted, so that a key can be changed while
// leases live. A Keyring is safe for concurrent use.
type Keyring struct {
	current *serverKey
	keys    map[KeyID]*serverKey
	order   []*serverKey
}

type serverKey struct {
	id                     KeyID
	lease, webhook, digest []byte
}

// NewKeyring returns a keyring. Every key must have KeySize bytes. A key may
// be given twice; two different keys with one KeyID are refused, because the
// rows of one would be judged by the other.
func NewKeyring(current []byte, previous ...[]byte) (*Keyring, error) {
	k := &Keyring{keys: make(map[KeyID]*serverKey)}
	for i, secret := range append([][]byte{current}, previous...) {
		sk, err := deriveKeys(secret)
		if err != nil {
			return nil, fmt.Errorf("lease: server key %d: %w", i+1, err)
		}
		if i == 0 {
			k.current = sk
		}
		switch known := k.keys[sk.id]; {
		case known == nil:
			k.keys[sk.id] = sk
			k.order = append(k.order, sk)
		case !hmac.Equal(known.lease, sk.lease):
			return nil, fmt.Errorf("lease: server key %d: its id is that of another key", i+1)
		}
	}
	return k, nil
}

func deriveKeys(secret []byte) (*serverKey, error) {
	if len(secret) != KeySize {
		return nil, fmt.Errorf("has %d bytes, must have %d", len(secret), KeySize)
	}
	sub := make(map[string][]byte, 4)
	for _, use := range []string{"id", "lease", "webhook", "digest"} {
		b, err := hkdf.Key(sha256.New, secret, nil, "octostore/v1/"+use, sha256.Size)
		if err != nil {
			return nil, err
		}
		sub[use] = b
	}
	id := KeyID(binary.BigEndian.Uint32(sub["id"]))
	if id == 0 {
		id = 1 // 0 stands for "no key" in a row
	}
	return &serverKey{id: id, lease: sub["lease"], webhook: sub["webhook"], digest: sub["digest"]}, nil
}

// Current returns the id of the key that new rows are made under.
func (k *Keyring) Current() KeyID { return k.current.id }

// Has tells whether rows under the key can be judged.
func (k *Keyring) Has(id KeyID) bool { return k.keys[id] != nil }

// CapabilitySize is the length of a capability in bytes before encoding.
const CapabilitySize = 32

// Capability is the secret that proves one lease.
type Capability [CapabilitySize]byte

// Capability derives the secret of the lease that ref names. It fails with
// ErrUnknownKey if the row's key is not in the ring.
func (k *Keyring) Capability(key Key, ref Ref, id KeyID) (Capability, error) {
	sk := k.keys[id]
	if sk == nil {
		return Capability{}, ErrUnknownKey
	}
	mac := hmac.New(sha256.New, sk.lease)
	var term [8]byte
	binary.BigEndian.PutUint64(term[:], uint64(ref.Term)) //nolint:gosec // the bits, not the number
	writeParts(mac, []byte(key.Kind().String()), []byte(key.Tenant()), []byte(key.Name()), term[:], ref.Nonce[:])
	var c Capability
	mac.Sum(c[:0])
	return c, nil
}

// Match compares two capabilities in constant time.
func (c Capability) Match(o Capability) bool {
	if mutant("prefix-compare") {
		return c[0] == o[0] && c[1] == o[1]
	}
	return subtle.ConstantTimeCompare(c[:], o[:]) == 1
}

// Text returns the capability as a leader token: 43 characters of unpadded
// base64url.
func (c Capability) Text() string { return base64.RawURLEncoding.EncodeToString(c[:]) }

// LeaseID returns the capability as a lock's lease id: its first 16 bytes as a
// UUID of version 4 form.
func (c Capability) LeaseID() [16]byte {
	var u [16]byte
	copy(u[:], c[:16])
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

// ErrMalformed: the text is not a capability at all.
var ErrMalformed = errors.New("lease: not a capability")

// ParseCapability reads a leader token. Only the exact canonical form is
// accepted: two spellings of one secret would be two secrets to a log filter.
func ParseCapability(s string) (Capability, error) {
	var c Capability
	if len(s) != base64.RawURLEncoding.EncodedLen(CapabilitySize) {
		return c, ErrMalformed
	}
	n, err := base64.RawURLEncoding.Strict().Decode(c[:], []byte(s))
	if err != nil || n != CapabilitySize {
		return Capability{}, ErrMalformed
	}
	return c, nil
}

// Digest returns the keyed hash of parts under the current key. The purpose
// keeps digests of different things apart even where the parts are equal.
func (k *Keyring) Digest(purpose string, parts ...string) Digest {
	return k.current.digestOf(purpose, parts)
}

// Digests returns the same under every key, the current one first, for looking
// up what may have been written under an older key.
func (k *Keyring) Digests(purpose string, parts ...string) []Digest {
	out := make([]Digest, len(k.order))
	for i, sk := range k.order {
		out[i] = sk.digestOf(purpose, parts)
	}
	return out
}

// Repeatable returns the digests of an idempotency key and of the parameters
// that it was sent with, under every key. scope ends with the key itself.
func (k *Keyring) Repeatable(scope, params []string) Repeatable {
	out := make(Repeatable, len(k.order))
	for i, sk := range k.order {
		out[i] = Idempotency{Key: sk.digestOf("idempotency key", scope), Params: sk.digestOf("idempotency params", params)}
	}
	return out
}

func (sk *serverKey) digestOf(purpose string, parts []string) Digest {
	mac := hmac.New(sha256.New, sk.digest)
	writePart(mac, []byte(purpose))
	for _, p := range parts {
		writePart(mac, []byte(p))
	}
	var full [sha256.Size]byte
	mac.Sum(full[:0])
	d := Digest(full[:16])
	if d.IsZero() {
		d[0] = 1 // the zero digest stands for "none"
	}
	return d
}

// writeParts writes each part behind its length, so that no two lists of parts
// have the same bytes.
func writeParts(h hash.Hash, parts ...[]byte) {
	for _, p := range parts {
		writePart(h, p)
	}
}

func writePart(h hash.Hash, p []byte) {
	var n [4]byte
	binary.BigEndian.PutUint32(n[:], uint32(len(p))) //nolint:gosec // parts are names of a few hundred bytes
	h.Write(n[:])
	h.Write(p)
}
