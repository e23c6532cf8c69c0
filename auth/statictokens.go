package auth

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The two places that static tokens come from, as messages name them.
const (
	inlineSetting = "STATIC_TOKENS"
	fileSetting   = "STATIC_TOKENS_FILE"
)

// shortToken is the length, in characters, below which a token gets a warning: 32
// hexadecimal digits are 128 bits.
const shortToken = 32

// maxTenantBytes bounds a tenant's name, which stands in every row of that tenant.
const maxTenantBytes = 128

// StaticTokens is a checked list of static tokens. It still holds them in clear,
// each in a Secret; Credentials turns them into digests. The zero value is empty.
type StaticTokens struct {
	entries []staticToken
}

// staticToken is one entry. user is empty for an entry without a colon, whose name
// is only known once there is a digest key.
type staticToken struct {
	at     position
	tenant string
	user   string
	token  Secret
}

// position says where an entry stands, for messages that must not quote it.
type position struct {
	setting string
	line    int
}

func (p position) String() string { return fmt.Sprintf("%s, line %d", p.setting, p.line) }

// Len returns the number of tokens.
func (t StaticTokens) Len() int { return len(t.entries) }

// Contains tells whether secret is one of the tokens. The time depends on the number
// of tokens only, not on their texts.
func (t StaticTokens) Contains(secret Secret) bool {
	found := false
	for _, entry := range t.entries {
		found = entry.token.Matches(secret) || found
	}
	return found
}

// TokenSources says where the static tokens of a server come from. Either part, or
// both, may be absent; the two lists are merged.
type TokenSources struct {
	// Inline is the value of STATIC_TOKENS. Not set means that there is none.
	Inline Secret
	// File is the path from STATIC_TOKENS_FILE; "" means that there is none.
	File string
}

// Load reads and checks all tokens. Each source that is present must have at least
// one entry. The warnings tell of a file that others can read and of short tokens.
// Errors name the setting and the line, and contain nothing of the lists.
func (s TokenSources) Load() (StaticTokens, []Warning, error) {
	var all StaticTokens
	var warnings []Warning
	if s.Inline.IsSet() {
		tokens, err := parseStaticTokens(inlineSetting, s.Inline.Reveal())
		if err != nil {
			return StaticTokens{}, nil, err
		}
		all.entries = append(all.entries, tokens...)
	}
	if s.File != "" {
		text, fileWarnings, err := ReadSecretFile(fileSetting, s.File)
		if err != nil {
			return StaticTokens{}, nil, err
		}
		tokens, err := parseStaticTokens(fileSetting, text)
		if err != nil {
			return StaticTokens{}, nil, err
		}
		all.entries = append(all.entries, tokens...)
		warnings = append(warnings, fileWarnings...)
	}
	if err := refuseDuplicates(all.entries); err != nil {
		return StaticTokens{}, nil, err
	}
	return all, append(warnings, shortTokenWarnings(all.entries)...), nil
}

// parseStaticTokens reads one list:
//
//	list  = line *( LF line )
//	line  = "#" anything / entry *( "," entry )
//	entry = "" / "#" anything / token / user ":" token / tenant "/" user ":" token
//
// Everything is trimmed. The first colon ends the user, the first slash before it
// ends the tenant, so that a token may contain both but never a comma.
func parseStaticTokens(setting, text string) ([]staticToken, error) {
	var tokens []staticToken
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue // the whole line, also what follows a comma
		}
		for entry := range strings.SplitSeq(line, ",") {
			entry = strings.TrimSpace(entry)
			if entry == "" || strings.HasPrefix(entry, "#") {
				continue
			}
			at := position{setting: setting, line: number + 1}
			parsed, err := parseEntry(at, entry)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, parsed)
		}
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s: there is no token in it; write user:token, separated by commas or line breaks", setting)
	}
	return tokens, nil
}

// parseEntry reads one entry that is neither empty nor a comment.
func parseEntry(at position, entry string) (staticToken, error) {
	parsed := staticToken{at: at, tenant: DefaultTenant}
	user, token, named := strings.Cut(entry, ":")
	if !named {
		token = entry // all of it, slashes included: base64 has some
	} else if err := parsed.setOwner(strings.TrimSpace(user)); err != nil {
		return staticToken{}, err
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return staticToken{}, fmt.Errorf("%s: a token is empty; write user:token", at)
	}
	if strings.ContainsFunc(token, unicode.IsSpace) {
		return staticToken{}, fmt.Errorf("%s: a token has whitespace inside; no Authorization header can carry it", at)
	}
	parsed.token = NewSecret(token)
	return parsed, nil
}

// setOwner reads what stands before the colon: "user" or "tenant/user".
func (t *staticToken) setOwner(owner string) error {
	tenant, user, hasTenant := strings.Cut(owner, "/")
	if !hasTenant {
		tenant, user = DefaultTenant, owner
	}
	tenant, user = strings.TrimSpace(tenant), strings.TrimSpace(user)
	switch {
	case user == "":
		return fmt.Errorf("%s: a user name is empty; write user:token or tenant/user:token", t.at)
	case tenant == "":
		return fmt.Errorf("%s: a tenant name is empty; write tenant/user:token, or user:token for the tenant %q", t.at, DefaultTenant)
	case len(tenant) > maxTenantBytes:
		return fmt.Errorf("%s: a tenant name is longer than %d bytes", t.at, maxTenantBytes)
	case strings.ContainsFunc(tenant, unicode.IsControl):
		return fmt.Errorf("%s: a tenant name has a control character; no X-OctoStore-Tenant header can carry it", t.at)
	}
	t.tenant, t.user = tenant, user
	return nil
}

// owner identifies a user inside a tenant. Users are told apart ignoring case,
// tenants byte for byte.
type owner struct{ tenant, foldedUser string }

func (t staticToken) owner() owner { return owner{t.tenant, strings.ToLower(t.user)} }

// refuseDuplicates finds two entries for one user of a tenant, and two for one
// token, which could not tell whose request it is. Entries that have no user yet
// are compared by token only.
func refuseDuplicates(entries []staticToken) error {
	owners := make(map[owner]position, len(entries))
	tokens := make(map[string]position, len(entries))
	for _, entry := range entries {
		if entry.user != "" {
			if first, ok := owners[entry.owner()]; ok {
				return fmt.Errorf("%s: the same user of the same tenant stands in %s; a user has one token, and case does not count", entry.at, first)
			}
			owners[entry.owner()] = entry.at
		}
		if first, ok := tokens[entry.token.Reveal()]; ok {
			return fmt.Errorf("%s: the same token stands in %s; each token belongs to one user", entry.at, first)
		}
		tokens[entry.token.Reveal()] = entry.at
	}
	return nil
}

// shortTokenWarnings returns one warning for each source that has short tokens,
// however many they are.
func shortTokenWarnings(entries []staticToken) []Warning {
	var warnings []Warning
	for _, setting := range []string{inlineSetting, fileSetting} {
		count, first := 0, 0
		for _, entry := range entries {
			if entry.at.setting != setting || utf8.RuneCountInString(entry.token.Reveal()) >= shortToken {
				continue
			}
			if count == 0 {
				first = entry.at.line
			}
			count++
		}
		if count > 0 {
			warnings = append(warnings, Warning{
				Setting: setting,
				Text: fmt.Sprintf("tokens of less than %d characters can be guessed: %d found, the first in line %d; openssl rand -hex 32 makes a good one",
					shortToken, count, first),
			})
		}
	}
	return warnings
}
