package ratelimit_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/octostore/octostore/ratelimit"
)

func mustProxies(t testing.TB, list string) ratelimit.Proxies {
	t.Helper()
	proxies, err := ratelimit.ParseProxies(list)
	if err != nil {
		t.Fatalf("ParseProxies(%q): %v", list, err)
	}
	return proxies
}

func TestParseProxies(t *testing.T) {
	t.Parallel()

	trust := []struct {
		name, list      string
		trusted, others []string
	}{
		{"EmptyTextTrustsNobody", "", nil, []string{"127.0.0.1", "::1", "10.0.0.1"}},
		{"BlankTextTrustsNobody", " \t ", nil, []string{"127.0.0.1"}},
		{"BareAddressStandsForItself", "127.0.0.1,2001:db8::1", []string{"127.0.0.1", "2001:db8::1"}, []string{"127.0.0.2", "2001:db8::2"}},
		{"TrimsSpaces", " 10.0.0.0/8 ,\t192.168.0.0/16 ", []string{"10.255.0.1", "192.168.1.1"}, []string{"11.0.0.1"}},
		{"ReadsIPv6Networks", "2001:db8::/32", []string{"2001:db8:ffff::1"}, []string{"2001:db9::1"}},
		{"DropsBitsBehindThePrefix", "10.1.2.3/8", []string{"10.9.9.9"}, []string{"11.1.2.3"}},
		{"ComparesMappedAddressesAsIPv4", "10.0.0.0/8", []string{"::ffff:10.1.1.1"}, []string{"::ffff:11.1.1.1"}},
		{"TurnsMappedNetworksIntoIPv4", "::ffff:10.0.0.0/104", []string{"10.1.2.3", "::ffff:10.255.2.3"}, []string{"9.255.0.1", "11.0.0.1", "::1"}},
		{"TurnsAMappedAddressIntoIPv4", "::ffff:10.0.0.1", []string{"10.0.0.1"}, []string{"10.0.0.2"}},
		{"AllOfIPv6IsNotIPv4", "::/0", []string{"2001:db8::1"}, []string{"10.0.0.1", "::ffff:10.0.0.1"}},
		{"IgnoresTheZoneOfAPeer", "fe80::/10", []string{"fe80::1%eth0"}, nil},
	}
	for _, tt := range trust {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxies := mustProxies(t, tt.list)
			for _, addr := range tt.trusted {
				if !proxies.Trusts(netip.MustParseAddr(addr)) {
					t.Errorf("%s is not trusted by %q", addr, tt.list)
				}
			}
			for _, addr := range tt.others {
				if proxies.Trusts(netip.MustParseAddr(addr)) {
					t.Errorf("%s is trusted by %q", addr, tt.list)
				}
			}
			if proxies.Trusts(netip.Addr{}) {
				t.Error("the invalid address is trusted")
			}
		})
	}

	refused := []struct{ name, list, entry string }{
		{"RefusesBadCIDR", "10.0.0.0/8, 10.0.0.0/33", `"10.0.0.0/33"`},
		{"RefusesHostName", "localhost", `"localhost"`},
		{"RefusesIncompleteAddress", "10.0.0/8", `"10.0.0/8"`},
		{"RefusesNegativePrefix", "10.0.0.0/-1", `"10.0.0.0/-1"`},
		{"RefusesSpaceInsteadOfComma", "10.0.0.1 10.0.0.2", `"10.0.0.1 10.0.0.2"`},
		{"RefusesAddressWithPort", "127.0.0.1:80", `"127.0.0.1:80"`},
		{"RefusesEmptyEntry", "127.0.0.1,,10.0.0.1", `""`},
		{"RefusesTrailingComma", "127.0.0.1,", `""`},
		{"RefusesZoneOfAddress", "fe80::1%eth0", `"fe80::1%eth0"`},
		{"RefusesZoneOfNetwork", "fe80::%eth0/10", `"fe80::%eth0/10"`},
		{"RefusesMappedNetworkBeyondIPv4", "::ffff:10.0.0.0/95", `"::ffff:10.0.0.0/95"`},
		{"RefusesLeadingZeros", "010.0.0.1", `"010.0.0.1"`},
	}
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			proxies, err := ratelimit.ParseProxies(tt.list)
			if err == nil {
				t.Fatalf("ParseProxies(%q) accepted a bad entry", tt.list)
			}
			if !strings.Contains(err.Error(), tt.entry) {
				t.Errorf("error %q does not name the entry %s", err, tt.entry)
			}
			if proxies.Trusts(netip.MustParseAddr("127.0.0.1")) {
				t.Error("a refused list trusts its good entries")
			}
		})
	}
}
