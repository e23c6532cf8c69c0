package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync/atomic"
)

// digest is what is kept of a token.
type digest [sha256.Size]byte

// Credentials knows the static tokens and the admin key of one server, as digests.
// It is safe for concurrent use; a look-up takes no lock.
type Credentials struct {
	// key makes the digests worthless outside of this process, and the order of the
	// map's comparisons unpredictable to a caller who tries tokens and a stopwatch.
	key [sha256.Size]byte
	// decoy is compared against when there is nothing to compare with.
	decoy    digest
	admin    digest
	hasAdmin bool
	label    func(token string) string
	current  atomic.Pointer[tokenSet]
}

// tokenSet is one list of tokens. It never changes once it is built.
type tokenSet struct {
	byDigest map[digest]credential
}

// credential is one token's digest and who it stands for.
type credential struct {
	digest    digest
	principal Principal
}

// NewCredentials builds the look-up for tokens and the admin key, which may be
// unset. label names the users of entries without a colon: "token-" and the first
// 8 hexadecimal digits of the token's HMAC under the server's digest key, which this
// package does not know. No token is kept in clear.
//
// It is an error if two users of a tenant get one name through label, or if a
// token is equal to the admin key: whether such a request is an admin's would
// depend on which is looked at first.
func NewCredentials(tokens StaticTokens, adminKey Secret, label func(token string) string) (*Credentials, error) {
	if label == nil {
		return nil, errors.New("auth: credentials need a label function")
	}
	c := &Credentials{label: label, hasAdmin: adminKey.IsSet()}
	// crypto/rand.Read never fails: it ends the process instead.
	_, _ = rand.Read(c.key[:])
	_, _ = rand.Read(c.decoy[:])
	c.admin = c.decoy
	if c.hasAdmin {
		c.admin = c.digestOf(adminKey.Reveal())
	}
	if err := c.replace(tokens); err != nil {
		return nil, err
	}
	return c, nil
}

// Lookup returns the principal of a static token, and false if the token is not in
// the present set. The admin key is not a token: see CheckAdminKey.
func (c *Credentials) Lookup(token string) (Principal, bool) {
	shown := c.digestOf(token)
	found, ok := c.current.Load().byDigest[shown]
	expected := c.decoy
	if ok {
		expected = found.digest
	}
	if subtle.ConstantTimeCompare(shown[:], expected[:]) != 1 || !ok {
		return Principal{}, false
	}
	return found.principal, true
}

// CheckAdminKey tells in constant time whether key is the admin key. Without an
// admin key in the configuration it is false for every key, the empty one too.
func (c *Credentials) CheckAdminKey(key string) bool {
	shown := c.digestOf(key)
	return subtle.ConstantTimeCompare(shown[:], c.admin[:]) == 1 && c.hasAdmin
}

// Len returns the number of static tokens in the present set.
func (c *Credentials) Len() int { return len(c.current.Load().byDigest) }

// Reload reads the sources again and swaps the whole set. On an error the old set
// stays and no token changes its meaning. The warnings are those of Load.
func (c *Credentials) Reload(sources TokenSources) ([]Warning, error) {
	tokens, warnings, err := sources.Load()
	if err != nil {
		return nil, err
	}
	if err := c.replace(tokens); err != nil {
		return nil, err
	}
	return warnings, nil
}

// replace builds a set and swaps it in.
func (c *Credentials) replace(tokens StaticTokens) error {
	set := &tokenSet{byDigest: make(map[digest]credential, len(tokens.entries))}
	owners := make(map[owner]position, len(tokens.entries))
	for _, entry := range tokens.entries {
		token := entry.token.Reveal()
		if c.CheckAdminKey(token) {
			return fmt.Errorf("%s: the token is equal to ADMIN_KEY; the two must differ", entry.at)
		}
		if entry.user == "" {
			entry.user = c.label(token)
		}
		if first, ok := owners[entry.owner()]; ok {
			return fmt.Errorf("%s: the user gets the same name as the one in %s; write user:token to name it", entry.at, first)
		}
		owners[entry.owner()] = entry.at
		d := c.digestOf(token)
		set.byDigest[d] = credential{
			digest:    d,
			principal: Principal{Tenant: entry.tenant, Name: entry.user, Kind: KindStatic},
		}
	}
	c.current.Store(set)
	return nil
}

// digestOf returns the HMAC-SHA-256 of a token under the key of this process.
func (c *Credentials) digestOf(token string) digest {
	mac := hmac.New(sha256.New, c.key[:])
	mac.Write([]byte(token))
	return digest(mac.Sum(nil))
}
