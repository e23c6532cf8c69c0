package main

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// announce tells whoever started the server where it is, what it keeps, and
// the command that works next. It goes to standard error: standard output is
// the log.
func (s *server) announce() error {
	base := "http://" + reachable(s.listener.Addr())
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s "+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintf(&b, "octostore %s is serving\n\n", currentVersion())
	line("address", "%s (bound to %s)", base, s.listener.Addr())
	if s.store.Throwaway() {
		line("database", "a throw-away SQLite file, lost when the server stops (%s)", s.store.Path())
	} else {
		line("database", "SQLite, %s", s.store.Path())
	}
	line("mode", "%s", s.mode())
	line("reference", "%s/docs", base)
	if !isLoopback(s.listener.Addr()) {
		line("network", "anyone who reaches this port can use it in clear text; TLS and network policy belong in a reverse proxy")
	}
	for _, later := range s.notServed() {
		line("note", "%s", later)
	}
	if s.cfg.PublicElections {
		fmt.Fprintf(&b, `
Elect a leader:

  ROOM=$(curl -s -X POST %[1]s/elections | sed 's/.*"election_id":"\([^"]*\)".*/\1/')
  curl -s -X POST "%[1]s/elections/$ROOM/campaign" \
    -H "Content-Type: application/json" \
    -d '{"candidate_id":"worker-a","ttl_seconds":30}'
`, base)
	} else {
		fmt.Fprintf(&b, "\nAsk how it is:\n\n  curl -s %s/health\n", base)
	}
	if _, err := fmt.Fprintln(s.io.err, b.String()); err != nil {
		return fmt.Errorf("write the start-up text: %w", err)
	}
	s.log.Info("serving", "address", s.listener.Addr().String(), "version", currentVersion(),
		"public_elections", s.cfg.PublicElections, "throwaway", s.store.Throwaway())
	return nil
}

// mode says in a few words what is switched on.
func (s *server) mode() string {
	var parts []string
	if s.cfg.PublicElections {
		parts = append(parts, fmt.Sprintf("public elections (%d a minute per client, %d rooms)", s.cfg.ElectionRequestsPerMinute, s.cfg.MaxPublicElections))
	} else {
		parts = append(parts, "public elections are off")
	}
	if n := s.creds.Len(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d static tokens", n))
	}
	if s.cfg.AdminKey.IsSet() {
		parts = append(parts, "admin key")
	}
	return strings.Join(parts, ", ")
}

// notServed names what was configured although this version has no routes for
// it: a setting that does nothing must not look as if it did.
func (s *server) notServed() []string {
	var notes []string
	if s.creds.Len() > 0 {
		notes = append(notes, "static tokens are read and checked, but this version serves no locks yet")
	}
	if s.cfg.GitHub.enabled() {
		notes = append(notes, "GITHUB_CLIENT_ID is read and checked, but this version serves no sign-in yet")
	}
	if s.cfg.LocalRegistration {
		notes = append(notes, "LOCAL_REGISTRATION is read and checked, but this version serves no registration yet")
	}
	return notes
}

// reachable is the address under which the server answers on this machine.
func reachable(addr net.Addr) string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ap.Addr().IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", ap.Port())
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()).String()
}

func isLoopback(addr net.Addr) bool {
	ap, err := netip.ParseAddrPort(addr.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
