package ratelimit

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Proxies is the set of networks whose X-Forwarded-For is believed. The zero value trusts nobody. It is immutable and
// safe for concurrent use.
type Proxies struct {
	networks []netip.Prefix
}

// ParseProxies reads the TRUSTED_PROXIES setting: networks in CIDR notation separated by commas, with spaces around them
// ignored. A bare address stands for itself alone. The empty text trusts nobody. Bits behind the prefix length are
// dropped. An IPv4-mapped IPv6 network is the IPv4 network inside it, because clients are compared unwrapped.
//
// The error names the first entry that can not be used. An empty entry between commas is refused as well: it is more
// likely a lost address than a decision.
func ParseProxies(cidrList string) (Proxies, error) {
	if strings.TrimSpace(cidrList) == "" {
		return Proxies{}, nil
	}
	var networks []netip.Prefix
	for entry := range strings.SplitSeq(cidrList, ",") {
		network, err := parseNetwork(strings.TrimSpace(entry))
		if err != nil {
			return Proxies{}, fmt.Errorf("trusted proxy %q: %w", strings.TrimSpace(entry), err)
		}
		networks = append(networks, network)
	}
	return Proxies{networks: networks}, nil
}

func parseNetwork(entry string) (netip.Prefix, error) {
	if entry == "" {
		return netip.Prefix{}, errors.New("the entry is empty")
	}
	if !strings.Contains(entry, "/") {
		addr, err := netip.ParseAddr(entry)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("not an IP address or a CIDR network: %w", err)
		}
		if addr.Zone() != "" {
			return netip.Prefix{}, errors.New("an address with a zone can not be trusted")
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	network, err := netip.ParsePrefix(entry)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("not a CIDR network: %w", err)
	}
	if addr := network.Addr(); addr.Is4In6() {
		// The mapped IPv4 space is ::ffff:0:0/96. A shorter prefix would reach outside of it, so there is no IPv4
		// network that it could mean.
		const mapped = 96
		if network.Bits() < mapped {
			return netip.Prefix{}, fmt.Errorf("an IPv4-mapped network needs a prefix of at least /%d", mapped)
		}
		network = netip.PrefixFrom(addr.Unmap(), network.Bits()-mapped)
	}
	return network.Masked(), nil
}

// Trusts tells whether addr belongs to a trusted proxy. An IPv4-mapped address is compared as IPv4 and a zone is
// ignored. An invalid address is never trusted.
func (p Proxies) Trusts(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, network := range p.networks {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}
