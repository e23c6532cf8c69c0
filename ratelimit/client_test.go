package ratelimit_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/octostore/octostore/ratelimit"
)

var compareAddrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func request(remote string, h http.Header) *http.Request {
	if h == nil {
		h = http.Header{}
	}
	return &http.Request{RemoteAddr: remote, Header: h}
}

func forwardedFor(lines ...string) http.Header {
	return http.Header{"X-Forwarded-For": lines}
}

func TestClientIsThePeerWithoutProxies(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, remote, addr, key string }{
		{"IPv4CountsByAddress", "203.0.113.9:4711", "203.0.113.9", "203.0.113.9"},
		{"IPv6CountsBy64", "[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"LongestIPv6KeyFits", "[fec1:fec2:fec3:fec4:fec5:fec6:fec7:fec8]:1", "fec1:fec2:fec3:fec4:fec5:fec6:fec7:fec8", "fec1:fec2:fec3:fec4::/64"},
		{"MappedCountsAsIPv4", "[::ffff:203.0.113.9]:4711", "203.0.113.9", "203.0.113.9"},
		{"LoopbackIPv6HasA64Too", "[::1]:4711", "::1", "::/64"},
		{"LinkLocalLosesItsZone", "[fe80::1%eth0]:4711", "fe80::1", "fe80::/64"},
		{"EmptyRemoteAddrIsUnknown", "", "", "unknown"},
		{"UnixSocketIsUnknown", "@", "", "unknown"},
		{"NameIsUnknown", "localhost:80", "", "unknown"},
		{"MissingPortIsUnknown", "203.0.113.9", "", "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := ratelimit.Client{Key: tt.key}
			if tt.addr != "" {
				want.Addr = netip.MustParseAddr(tt.addr)
			}
			got := ratelimit.Proxies{}.Client(request(tt.remote, nil))
			if diff := cmp.Diff(want, got, compareAddrs); diff != "" {
				t.Errorf("client of %q (-want +got):\n%s", tt.remote, diff)
			}
			if got := (ratelimit.Proxies{}).Client(&http.Request{RemoteAddr: tt.remote}); got.Key != tt.key {
				t.Errorf("without a header map the key is %q, want %q", got.Key, tt.key)
			}
		})
	}

	t.Run("NeighboursIn64AreOneClient", func(t *testing.T) {
		t.Parallel()
		a := ratelimit.Proxies{}.Client(request("[2001:db8::1]:1", nil))
		b := ratelimit.Proxies{}.Client(request("[2001:db8::ffff:1]:2", nil))
		c := ratelimit.Proxies{}.Client(request("[2001:db8:0:1::1]:3", nil))
		if a.Key != b.Key || a.Key == c.Key {
			t.Errorf("keys %q, %q and %q: want the first two equal and the third different", a.Key, b.Key, c.Key)
		}
	})
}

func TestHeadersOfAnUntrustedPeer(t *testing.T) {
	t.Parallel()
	forging := map[string]func(i int) string{
		"X-Forwarded-For":  func(i int) string { return fmt.Sprintf("198.51.100.%d", i) },
		"X-Real-IP":        func(i int) string { return fmt.Sprintf("198.51.100.%d", i) },
		"CF-Connecting-IP": func(i int) string { return fmt.Sprintf("198.51.100.%d", i) },
		"Forwarded":        func(i int) string { return fmt.Sprintf("for=198.51.100.%d", i) },
		"True-Client-IP":   func(i int) string { return fmt.Sprintf("198.51.100.%d", i) },
	}
	proxies := map[string]ratelimit.Proxies{
		"NoProxies":    {},
		"OtherProxies": mustProxies(t, "127.0.0.1"),
	}
	for name, value := range forging {
		for setting, trusted := range proxies {
			t.Run(name+"NeverChangesTheClient/"+setting, func(t *testing.T) {
				t.Parallel()
				for i := range 100 {
					h := http.Header{}
					h.Set(name, value(i))
					got := trusted.Client(request("203.0.113.9:4711", h))
					want := ratelimit.Client{Addr: netip.MustParseAddr("203.0.113.9"), Key: "203.0.113.9", Forged: true}
					if diff := cmp.Diff(want, got, compareAddrs); diff != "" {
						t.Fatalf("call %d (-want +got):\n%s", i, diff)
					}
				}
			})
		}
	}

	t.Run("UnknownPeerIsNotTrusted", func(t *testing.T) {
		t.Parallel()
		got := mustProxies(t, "0.0.0.0/0,::/0").Client(request("@", forwardedFor("1.2.3.4")))
		if got.Key != "unknown" || !got.Forged || got.Trusted {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OtherHeadersAreNoForgery", func(t *testing.T) {
		t.Parallel()
		h := http.Header{"Via": {"1.1 cache"}, "User-Agent": {"curl"}}
		if got := (ratelimit.Proxies{}).Client(request("203.0.113.9:1", h)); got.Forged {
			t.Errorf("got %+v", got)
		}
	})
}

func TestHeadersOfATrustedProxy(t *testing.T) {
	t.Parallel()
	const peer = "127.0.0.1"
	tests := []struct {
		name, proxies string
		lines         []string
		want          string
	}{
		{"TakesTheRightmostUntrusted", "127.0.0.1", []string{"6.6.6.6, 192.168.1.50"}, "192.168.1.50"},
		{"SkipsTrustedHops", "127.0.0.1,10.0.0.0/8", []string{"6.6.6.6, 203.0.113.7, 10.0.0.2, 10.0.0.1"}, "203.0.113.7"},
		{"JoinsSeveralLines", "127.0.0.1,10.0.0.0/8", []string{"6.6.6.6", "203.0.113.7, 10.0.0.2", "10.0.0.1"}, "203.0.113.7"},
		{"LastLineIsTheRightEnd", "127.0.0.1", []string{"6.6.6.6", "203.0.113.7"}, "203.0.113.7"},
		{"DoesNotLookLeftOfTheClient", "127.0.0.1", []string{"%%garbage, 203.0.113.7"}, "203.0.113.7"},
		{"DoesNotLookAtEarlierLines", "127.0.0.1", []string{"garbage", "203.0.113.7"}, "203.0.113.7"},
		{"GarbageFallsBackToThePeer", "127.0.0.1", []string{"203.0.113.7, garbage"}, peer},
		{"GarbageBehindTrustedHopsFallsBack", "127.0.0.1,10.0.0.0/8", []string{"203.0.113.7, garbage, 10.0.0.1"}, peer},
		{"GarbageInALaterLineFallsBack", "127.0.0.1", []string{"203.0.113.7", "unknown"}, peer},
		{"AllTrustedIsTheLeftmost", "127.0.0.1,10.0.0.0/8", []string{"10.0.0.3, 10.0.0.2", "10.0.0.1"}, "10.0.0.3"},
		{"NoHeaderIsThePeer", "127.0.0.1", nil, peer},
		{"EmptyHeaderIsThePeer", "127.0.0.1", []string{""}, peer},
		{"EmptyElementIsGarbage", "127.0.0.1", []string{"203.0.113.7, "}, peer},
		{"EmptyElementLeftOfTheClientIsNotSeen", "127.0.0.1", []string{", 203.0.113.7"}, "203.0.113.7"},
		{"TrimsTabsAndSpaces", "127.0.0.1", []string{"6.6.6.6,\t 203.0.113.7 \t"}, "203.0.113.7"},
		{"ReadsIPv4WithPort", "127.0.0.1", []string{"203.0.113.7:8080"}, "203.0.113.7"},
		{"ReadsBareIPv6", "127.0.0.1", []string{"2001:db8::7"}, "2001:db8::7"},
		{"ReadsBracketedIPv6", "127.0.0.1", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"ReadsIPv6WithPort", "127.0.0.1", []string{"6.6.6.6, [2001:db8::7]:443"}, "2001:db8::7"},
		{"UnwrapsMapped", "127.0.0.1", []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		{"UnwrapsMappedWithPort", "127.0.0.1", []string{"[::ffff:203.0.113.7]:1"}, "203.0.113.7"},
		{"TrustsMappedHops", "127.0.0.1,10.0.0.0/8", []string{"203.0.113.7, ::ffff:10.0.0.1"}, "203.0.113.7"},
		{"TrustsHopsWithPort", "127.0.0.1,10.0.0.0/8", []string{"203.0.113.7, 10.0.0.1:99"}, "203.0.113.7"},
		{"ZoneIsGarbage", "127.0.0.1", []string{"fe80::1%eth0"}, peer},
		{"BracketedZoneIsGarbage", "127.0.0.1", []string{"[fe80::1%eth0]:80"}, peer},
		{"ZoneOfATrustedNetworkIsGarbage", "127.0.0.1,fe80::/10", []string{"203.0.113.7, fe80::1%eth0"}, peer},
		{"OpenBracketIsGarbage", "127.0.0.1", []string{"[2001:db8::7"}, peer},
		{"BracketedIPv4IsGarbage", "127.0.0.1", []string{"[203.0.113.7]:80"}, peer},
		{"TextBehindBracketIsGarbage", "127.0.0.1", []string{"[2001:db8::7]x"}, peer},
		{"EmptyPortIsGarbage", "127.0.0.1", []string{"203.0.113.7:"}, peer},
		{"EmptyPortBehindBracketIsGarbage", "127.0.0.1", []string{"[2001:db8::7]:"}, peer},
		{"PortOutOfRangeIsGarbage", "127.0.0.1", []string{"203.0.113.7:65536"}, peer},
		{"SignedPortIsGarbage", "127.0.0.1", []string{"203.0.113.7:+80"}, peer},
		{"PortWithoutAddressIsGarbage", "127.0.0.1", []string{":80"}, peer},
		{"QuotesAreGarbage", "127.0.0.1", []string{`"203.0.113.7"`}, peer},
		{"ForwardedSyntaxIsGarbage", "127.0.0.1", []string{"for=203.0.113.7"}, peer},
		{"LeadingZerosAreGarbage", "127.0.0.1", []string{"203.0.113.007"}, peer},
		{"ShortIPv4IsGarbage", "127.0.0.1", []string{"127.1"}, peer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mustProxies(t, tt.proxies).Client(request(peer+":9999", forwardedFor(tt.lines...)))
			if want := netip.MustParseAddr(tt.want); got.Addr != want {
				t.Errorf("X-Forwarded-For %q: client %v, want %v", tt.lines, got.Addr, want)
			}
			if direct := (ratelimit.Proxies{}).Client(request(netip.AddrPortFrom(got.Addr, 1).String(), nil)); direct.Key != got.Key {
				t.Errorf("key %q behind the proxy, %q without it", got.Key, direct.Key)
			}
			if !got.Trusted || got.Forged {
				t.Errorf("got %+v, want a trusted peer and no forgery", got)
			}
		})
	}

	t.Run("OtherHeadersAreNotRead", func(t *testing.T) {
		t.Parallel()
		h := http.Header{
			"X-Real-Ip": {"6.6.6.6"}, "Cf-Connecting-Ip": {"6.6.6.6"}, "True-Client-Ip": {"6.6.6.6"},
			"Forwarded": {"for=6.6.6.6"}, "X-Client-Ip": {"6.6.6.6"}, "X_forwarded_for": {"6.6.6.6"},
		}
		got := mustProxies(t, peer).Client(request(peer+":1", h))
		if got.Key != peer || got.Forged {
			t.Errorf("got %+v, want the peer", got)
		}
	})
	t.Run("MappedPeerIsTheProxy", func(t *testing.T) {
		t.Parallel()
		got := mustProxies(t, peer).Client(request("[::ffff:127.0.0.1]:1", forwardedFor("203.0.113.7")))
		if got.Key != "203.0.113.7" {
			t.Errorf("got %+v", got)
		}
	})
}

// The test may not run in parallel: AllocsPerRun counts what the whole process allocates.
func TestClientAllocations(t *testing.T) {
	proxied := mustProxies(t, "10.0.0.0/8")
	tests := []struct {
		name    string
		proxies ratelimit.Proxies
		r       *http.Request
		most    float64
	}{
		{"NoneForIPv4", ratelimit.Proxies{}, request("203.0.113.9:4711", http.Header{"Accept": {"*/*"}}), 0},
		{"NoneForIPv4BesideProxies", proxied, request("203.0.113.9:4711", nil), 0},
		{"NoneForForgery", ratelimit.Proxies{}, request("203.0.113.9:4711", forwardedFor("1.2.3.4")), 0},
		{"TheKeyForIPv6", ratelimit.Proxies{}, request("[2001:db8::1]:4711", nil), 1},
		{"TheKeyBehindAProxy", proxied, request("10.0.0.1:4711", forwardedFor("6.6.6.6, 203.0.113.7, 10.0.0.2")), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var sink ratelimit.Client
			got := testing.AllocsPerRun(200, func() { sink = tt.proxies.Client(tt.r) })
			if got > tt.most {
				t.Errorf("%v allocations for %v, want at most %v", got, sink, tt.most)
			}
		})
	}
}

// FuzzForwardedFor checks that a header can name a client but not invent one, and that nothing left of the client's
// address has any effect.
func FuzzForwardedFor(f *testing.F) {
	f.Add("6.6.6.6, 192.168.1.50", "")
	f.Add("6.6.6.6", "[2001:db8::7]:443, 10.0.0.1:80")
	f.Add("garbage,,", "10.0.0.1")
	f.Add("fe80::1%eth0", "::ffff:10.0.0.1")
	f.Add("[", "]:")
	f.Add(":,:", "[]")
	proxies := mustProxies(f, "127.0.0.1,10.0.0.0/8")
	peer := netip.MustParseAddr("127.0.0.1")
	f.Fuzz(func(t *testing.T, first, second string) {
		got := proxies.Client(request("127.0.0.1:1", forwardedFor(first, second)))
		named := addressesIn(first + "," + second)
		if got.Addr != peer && !slices.Contains(named, got.Addr) {
			t.Fatalf("client %v is neither the peer nor named in %q and %q", got.Addr, first, second)
		}
		if got.Key == "" || got.Key == "unknown" || !got.Trusted || got.Forged {
			t.Fatalf("client %+v of a trusted peer", got)
		}
		if proxies.Trusts(got.Addr) {
			return
		}
		for _, left := range []string{"6.6.6.6", "10.9.9.9", "garbage", "[::1", ""} {
			if again := proxies.Client(request("127.0.0.1:1", forwardedFor(left+","+first, second))); again != got {
				t.Fatalf("%q on the left turned %+v into %+v", left, got, again)
			}
			if again := proxies.Client(request("127.0.0.1:1", forwardedFor(left, first, second))); again != got {
				t.Fatalf("line %q on top turned %+v into %+v", left, got, again)
			}
		}
		if direct := proxies.Client(request("203.0.113.9:1", forwardedFor(first, second))); direct.Key != "203.0.113.9" || !direct.Forged {
			t.Fatalf("an untrusted peer became %+v", direct)
		}
	})
}

// addressesIn lists every address that an element could be meant to be, by splitting generously.
func addressesIn(list string) []netip.Addr {
	var addrs []netip.Addr
	for element := range strings.SplitSeq(list, ",") {
		element = strings.Trim(element, " \t")
		if addr, err := netip.ParseAddr(strings.Trim(element, "[]")); err == nil {
			addrs = append(addrs, addr.Unmap())
		}
		if colon := strings.LastIndexByte(element, ':'); colon >= 0 {
			if addr, err := netip.ParseAddr(strings.Trim(element[:colon], "[]")); err == nil {
				addrs = append(addrs, addr.Unmap())
			}
		}
	}
	return addrs
}
