package telemetry

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// family is a bounded set of children that grows on first use: the resolved children of a metric vector, or the words that
// a label may have. A key that is known is found by one look-up in an immutable map, without a lock or an allocation. A new
// one is first settled onto the closed sets, then made if there is room, and otherwise shares the child of rest. So an
// attacker who chooses keys freely costs a bounded amount of memory once, and a short lock for each unknown key.
type family[K comparable, C any] struct {
	settle func(K) K // maps any key onto one that may exist
	make   func(K) C
	rest   K // what counts for everything that has no room

	children atomic.Pointer[map[K]C] // copied on each growth; there are few
	mu       sync.Mutex
	room     int // how many children may still be made
}

func newFamily[K comparable, C any](room int, rest K, settle func(K) K, make func(K) C) *family[K, C] {
	f := &family[K, C]{settle: settle, make: make, rest: rest, room: room}
	f.children.Store(&map[K]C{})
	return f
}

// of is the child for key.
func (f *family[K, C]) of(key K) C {
	if child, ok := (*f.children.Load())[key]; ok {
		return child
	}
	return f.grow(f.settle(key))
}

func (f *family[K, C]) grow(key K) C {
	if child, ok := (*f.children.Load())[key]; ok {
		return child
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := *f.children.Load()
	if child, ok := known[key]; ok {
		return child
	}
	if f.room > 0 {
		f.room--
	} else {
		key = f.rest
		if child, ok := known[key]; ok {
			return child
		}
	}
	child := f.make(key)
	grown := maps.Clone(known)
	grown[key] = child
	f.children.Store(&grown)
	return child
}

// vocabulary is the closed set of one label's values: any value is mapped onto one of them, or onto the rest.
type vocabulary = family[string, string]

// newVocabulary makes a set of the given words, rest among them. Beyond those it takes room more that satisfy plausible,
// so that a set whose words live in another package need not be repeated here; with room 0 it is closed from the start.
func newVocabulary(rest string, room int, plausible func(string) bool, words ...string) *vocabulary {
	settle := func(word string) string {
		if plausible(word) {
			return strings.Clone(word) // it may be a slice of a whole request, which would stay in memory with it
		}
		return rest
	}
	v := newFamily(room, rest, settle, func(word string) string { return word })
	known := map[string]string{rest: rest}
	for _, word := range words {
		known[word] = word
	}
	v.children.Store(&known)
	return v
}

// isWord tells whether s looks like a value that a programmer wrote for a label.
func isWord(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// isTemplate tells whether s looks like a route template.
func isTemplate(s string) bool {
	return s != "" && len(s) <= 128 && isPlain(s)
}

// The constructors below register a vector with one label and hand out its children by the words of a vocabulary. The
// vocabulary is the bound, so the family itself needs none.
const boundedByVocabulary = 1 << 20

func countersBy(r prometheus.Registerer, name, help, label string, words *vocabulary) *family[string, prometheus.Counter] {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	r.MustRegister(vec)
	return newFamily(boundedByVocabulary, words.rest, words.of, func(w string) prometheus.Counter { return vec.WithLabelValues(w) })
}

func gaugesBy(r prometheus.Registerer, name, help, label string, words *vocabulary) *family[string, prometheus.Gauge] {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
	r.MustRegister(vec)
	return newFamily(boundedByVocabulary, words.rest, words.of, func(w string) prometheus.Gauge { return vec.WithLabelValues(w) })
}

func histogramsBy(
	r prometheus.Registerer, name, help, label string, words *vocabulary, buckets []float64,
) *family[string, prometheus.Observer] {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
	r.MustRegister(vec)
	return newFamily(boundedByVocabulary, words.rest, words.of, func(w string) prometheus.Observer { return vec.WithLabelValues(w) })
}

func counter(r prometheus.Registerer, name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	r.MustRegister(c)
	return c
}

func gauge(r prometheus.Registerer, name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	r.MustRegister(g)
	return g
}

func histogram(r prometheus.Registerer, name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	r.MustRegister(h)
	return h
}
