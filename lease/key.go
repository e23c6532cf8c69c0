package lease

import (
	"fmt"
	"strings"
)

// Kind is the product that a name belongs to.
type Kind byte

// The two products. Their values are stored; never reuse one.
const (
	Election Kind = 'e'
	Lock     Kind = 'l'
)

// String returns the word used in logs, metrics and derivations.
func (k Kind) String() string {
	switch k {
	case Election:
		return "election"
	case Lock:
		return "lock"
	default:
		return "unknown"
	}
}

// Key is the full name of one lease: kind, tenant and name. It is comparable
// and small, so it serves as a map key. The zero Key names nothing.
type Key struct{ path string }

// ElectionKey returns the key of a room. Rooms belong to no tenant.
func ElectionKey(room string) Key { return NewKey(Election, "", room) }

// LockKey returns the key of a lock inside a tenant.
func LockKey(tenant, name string) Key { return NewKey(Lock, tenant, name) }

// NewKey returns the key made of its parts. It panics if the kind is not one
// of the two, or if the tenant contains a NUL byte, which no accepted tenant
// does: two names sharing a key would share a lease.
func NewKey(kind Kind, tenant, name string) Key {
	if kind != Election && kind != Lock {
		panic("lease: key of no kind")
	}
	if strings.IndexByte(tenant, 0) >= 0 {
		panic("lease: tenant with a NUL byte")
	}
	return Key{string(rune(kind)) + tenant + "\x00" + name}
}

// ParseKind returns the kind whose String is s.
func ParseKind(s string) (Kind, error) {
	switch s {
	case "election":
		return Election, nil
	case "lock":
		return Lock, nil
	}
	return 0, fmt.Errorf("lease: unknown kind %q", s)
}

// Kind returns the product.
func (k Key) Kind() Kind {
	if k.path == "" {
		return 0
	}
	return Kind(k.path[0])
}

// Tenant returns the tenant, empty for a room.
func (k Key) Tenant() string {
	if k.path == "" {
		return ""
	}
	return k.path[1:strings.IndexByte(k.path, 0)]
}

// Name returns the room id or the lock name.
func (k Key) Name() string {
	if k.path == "" {
		return ""
	}
	return k.path[strings.IndexByte(k.path, 0)+1:]
}

// IsZero tells whether k names nothing.
func (k Key) IsZero() bool { return k.path == "" }

// Less orders keys by their bytes. Stores lock several names in this order.
func (k Key) Less(o Key) bool { return k.path < o.path }

// Scope is where live leases are counted: one kind in one tenant.
type Scope struct {
	Kind   Kind
	Tenant string
}

// Scope returns the scope that k's lease counts in.
func (k Key) Scope() Scope { return Scope{k.Kind(), k.Tenant()} }
