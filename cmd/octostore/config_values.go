package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/octostore/octostore/auth"
)

// shortSecret is the length, in characters, below which a secret gets a warning.
const shortSecret = 32

// shownCharacters bounds what an error quotes of a value.
const shownCharacters = 60

// errBlank refuses a variable that is set to nothing where "not set" is meant.
var errBlank = errors.New("the value is blank; give it one, or do not set the variable")

// allowed completes a complaint with what would be right.
func allowed(err error, what string) error { return fmt.Errorf("%w; allowed is %s", err, what) }

// quote shows a value that is no secret, on one line and of bounded length.
func quote(value string) string {
	if utf8.RuneCountInString(value) > shownCharacters {
		value = string([]rune(value)[:shownCharacters]) + "…"
	}
	return strconv.Quote(value)
}

func notBlank(value string) error {
	if strings.TrimSpace(value) == "" {
		return errBlank
	}
	return nil
}

// parseText takes any text that is not blank, trimmed.
func parseText(value string) (string, error) { return strings.TrimSpace(value), notBlank(value) }

// parseSecret takes any text that is not blank, trimmed: whitespace around a header
// value never reaches the server, so it can not be part of a key.
func parseSecret(value string) (auth.Secret, error) {
	if err := notBlank(value); err != nil {
		return auth.Secret{}, err
	}
	return auth.NewSecret(strings.TrimSpace(value)), nil
}

func isShort(secret auth.Secret) bool {
	return utf8.RuneCountInString(secret.Reveal()) < shortSecret
}

// parseBool takes the words of 0.14. An empty value is refused: whoever sets a
// switch to nothing has not said which way.
func parseBool(value string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "true", "on", "yes":
		return true, nil
	case "0", "false", "off", "no":
		return false, nil
	default:
		return false, allowed(fmt.Errorf("%s is not a switch", quote(value)), "1, true, on, yes or 0, false, off, no, in any case")
	}
}

// parsePositive takes a whole number from 1 to most.
func parsePositive(value string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
	if err != nil || n == 0 || n > most {
		return 0, allowed(fmt.Errorf("%s is not such a number", quote(value)), fmt.Sprintf("a whole number from 1 to %d", most))
	}
	return n, nil
}

// parseCount takes any whole number above 0. What this machine can not count to is
// as good as the most that it can.
func parseCount(value string) (int, error) {
	n, err := parsePositive(value, math.MaxUint64)
	return int(min(n, math.MaxInt)), err //nolint:gosec // G115: bounded in the same expression
}

// parseUint32 takes what 0.14 keeps in an unsigned 32-bit number, without 0.
func parseUint32(value string) (int64, error) {
	n, err := parsePositive(value, math.MaxUint32)
	return int64(n), err //nolint:gosec // G115: at most MaxUint32
}

// parseSeconds takes any whole number of seconds above 0. More than 292 years, the
// longest Duration, is that long.
func parseSeconds(value string) (time.Duration, error) {
	n, err := parsePositive(value, math.MaxUint64)
	const most = uint64(math.MaxInt64 / time.Second)
	return time.Duration(min(n, most)) * time.Second, err //nolint:gosec // G115: bounded in the same expression
}

// parseShutdownTimeout takes 1 to 300 whole seconds.
func parseShutdownTimeout(value string) (time.Duration, error) {
	const most = 300
	n, err := parsePositive(value, most)
	return time.Duration(n) * time.Second, err //nolint:gosec // G115: at most 300
}

// parseBindAddr takes host:port. Whether a name resolves is for the listener to find out.
func parseBindAddr(value string) (string, error) {
	value = strings.TrimSpace(value)
	host, port, err := net.SplitHostPort(value)
	if err == nil && !isHost(host) {
		err = errors.New("the host is missing or not one")
	}
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", allowed(fmt.Errorf("%s is not host:port", quote(value)), "for example 0.0.0.0:3000, [::]:3000, 127.0.0.1:3000 or localhost:3000")
	}
	return value, nil
}

// parseDatabaseURL keeps the value as it is, unless it names a kind of database
// that this build has not. The value is not quoted: such a URL often has a password.
func parseDatabaseURL(value string) (string, error) {
	scheme, _, isURL := strings.Cut(value, "://")
	switch scheme = strings.ToLower(scheme); {
	case !isURL, scheme == "file", strings.ContainsAny(scheme, "/\\ "):
		return value, nil
	case scheme == "postgres", scheme == "postgresql":
		return "", allowed(errors.New("this build stores in SQLite only and can not use a PostgreSQL URL"), "a path, a file: URI or :memory:")
	default:
		return "", allowed(errors.New("this build stores in SQLite only and can not use such a URL"), "a path, a file: URI or :memory:")
	}
}

// isHost tells whether a text can be a host: an address, or a name of letters,
// digits, dots, hyphens and underscores.
func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	const maxNameBytes = 253 // RFC 1035, as text
	return host != "" && len(host) <= maxNameBytes && !strings.ContainsFunc(host, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", r)
	})
}

// settleLocalRegistration holds the switch against what it can not go together
// with: registration hands a token to whoever asks, so nobody else may reach it.
func (e *environment) settleLocalRegistration() error {
	if !e.config.LocalRegistration {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf(varRegistration+": "+format, args...)
	}
	if e.config.GitHub.enabled() {
		return refuse("it can not be on together with the sign-in with GitHub; switch it off or remove %s", varGitHubID)
	}
	for _, name := range []string{varTokens, varTokensFile} {
		if e.has(name) {
			return refuse("it can not be on together with static tokens; switch it off or remove %s", name)
		}
	}
	socket, err := netip.ParseAddrPort(e.config.BindAddr)
	if err != nil || !socket.Addr().IsLoopback() {
		return refuse("it needs a BIND_ADDR that only this host can reach; allowed is a numeric loopback address such as 127.0.0.1:3000 or [::1]:3000")
	}
	return nil
}
