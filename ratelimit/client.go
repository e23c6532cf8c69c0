package ratelimit

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// unknownKey is the key of all requests without a usable peer address. They share one budget: an address that can not be
// read must not be a way around the limits.
const unknownKey = "unknown"

// ipv6ClientBits is how much of an IPv6 address tells clients apart. A single host is usually handed a whole /64 and may
// pick any address in it.
const ipv6ClientBits = 64

// Client is who a request counts against.
type Client struct {
	// Addr is the client's address, IPv4-mapped addresses unwrapped and zones removed. It is invalid if the peer's
	// address could not be read.
	Addr netip.Addr

	// Key is what budgets and bounds count by: an IPv4 address as text, the /64 network of an IPv6 address, or "unknown".
	Key string

	// Forged tells that a forwarding header came from a peer that is not a trusted proxy. The header had no effect;
	// either someone tries to choose an address, or TRUSTED_PROXIES lacks the proxy in front.
	Forged bool

	// Trusted tells that the TCP peer is a trusted proxy. Addr may still be the peer itself, if the proxy named nobody.
	Trusted bool
}

// Client tells who sent r. It is the TCP peer, unless the peer is a trusted proxy: then it is the rightmost address in
// X-Forwarded-For that is not a trusted proxy. Several X-Forwarded-For lines count as one list in their order. What
// stands left of that address is not even parsed, because anybody may have written it. An element that is no address
// (see parseHop) and is met before it makes the whole list unusable, and the peer is the client. If every address is a
// trusted proxy the leftmost one is the client.
//
// No other header is ever read. Some are looked for, by name only, to set [Client.Forged].
func (p Proxies) Client(r *http.Request) Client {
	peer, key := parsePeer(r.RemoteAddr)
	if !p.Trusts(peer) {
		return Client{Addr: peer, Key: key, Forged: claimsForwarding(r.Header)}
	}
	if addr, ok := p.forwarded(r.Header["X-Forwarded-For"]); ok {
		return Client{Addr: addr, Key: clientKey(addr), Trusted: true}
	}
	return Client{Addr: peer, Key: key, Trusted: true}
}

// forwarded walks the lines of X-Forwarded-For from the end of the last to the start of the first.
func (p Proxies) forwarded(lines []string) (netip.Addr, bool) {
	var leftmost netip.Addr
	for i := len(lines) - 1; i >= 0; i-- {
		rest := lines[i]
		for {
			comma := strings.LastIndexByte(rest, ',')
			addr, ok := parseHop(strings.Trim(rest[comma+1:], " \t"))
			if !ok {
				return netip.Addr{}, false
			}
			if !p.Trusts(addr) {
				return addr, true
			}
			leftmost = addr
			if comma < 0 {
				break
			}
			rest = rest[:comma]
		}
	}
	return leftmost, leftmost.IsValid()
}

// parseHop reads one element of X-Forwarded-For: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1] or
// [2001:db8::1]:80. Everything else is refused: the empty element, names, quotes, ports out of range, and zones, which
// mean something only on the host that wrote them.
func parseHop(hop string) (netip.Addr, bool) {
	text, port, bracketed := hop, "", false
	switch {
	case strings.HasPrefix(hop, "["):
		end := strings.IndexByte(hop, ']')
		if end < 0 {
			return netip.Addr{}, false
		}
		text, port, bracketed = hop[1:end], hop[end+1:], true
	case strings.Count(hop, ":") == 1:
		colon := strings.IndexByte(hop, ':')
		text, port = hop[:colon], hop[colon:]
	}
	if port != "" && !isPort(port) {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" || bracketed && addr.Is4() {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}

// isPort tells whether text is a colon and a port number.
func isPort(text string) bool {
	digits, found := strings.CutPrefix(text, ":")
	if !found {
		return false
	}
	_, err := strconv.ParseUint(digits, 10, 16)
	return err == nil
}

// parsePeer reads what net/http wrote into RemoteAddr. It is on the path of every request, so the key of an IPv4 peer is
// a part of remoteAddr itself and costs no allocation: netip refuses leading zeros, hence the text is canonical.
func parsePeer(remoteAddr string) (netip.Addr, string) {
	addrPort, err := netip.ParseAddrPort(remoteAddr)
	if err != nil {
		return netip.Addr{}, unknownKey
	}
	addr := addrPort.Addr()
	if addr.Is4() {
		return addr, remoteAddr[:strings.LastIndexByte(remoteAddr, ':')]
	}
	// A link-local peer carries the zone of our own interface, which is no part of who the peer is.
	addr = addr.Unmap().WithZone("")
	return addr, clientKey(addr)
}

// clientKey is the text that a client with a valid address is counted by.
func clientKey(addr netip.Addr) string {
	if addr.Is4() {
		return addr.String()
	}
	network, _ := addr.Prefix(ipv6ClientBits) // can not fail: an IPv6 address has these bits
	var room [len("ffff:ffff:ffff:ffff::/64")]byte
	return string(network.AppendTo(room[:0]))
}

// clientAddr is clientKey as a comparable value: the address of an IPv4 client, the first address of an IPv6 client's
// network, the invalid address for an unknown client.
func clientAddr(addr netip.Addr) netip.Addr {
	if addr.Is4() {
		return addr
	}
	network, _ := addr.Prefix(ipv6ClientBits) // fails for the invalid address only, and leaves it invalid
	return network.Addr()
}

// claimsForwarding tells whether a header is present with which a proxy would name a client. net/http has already
// brought the names into this spelling. The values do not matter.
func claimsForwarding(h http.Header) bool {
	return h["X-Forwarded-For"] != nil || h["X-Real-Ip"] != nil || h["Cf-Connecting-Ip"] != nil ||
		h["Forwarded"] != nil || h["True-Client-Ip"] != nil
}
