package storetest

import (
	"sync"

	"github.com/octostore/octostore/lease"
	"github.com/octostore/octostore/store"
)

// Recorder keeps the events that a database published, in order. It is safe
// for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	lives []life
}

// life is the time from one start of the server to its end.
type life struct {
	clock   lease.Clock
	after   Stop // how the life before it ended, 0 for the first
	lost    bool // the life before it ended with a commit whose outcome was lost
	batches []batch
}

// batch is what was published at once.
type batch struct {
	at     lease.Now // when it arrived
	events []lease.Event
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{} }

// Begin opens the next life and returns its publisher. clock tells when events
// arrive and must be the one that the store decides by; after is how the life
// before ended (0 for the first) and lost whether that one had failed. What an
// earlier life publishes from now on is not recorded: a process that was
// killed tells nobody anything.
func (r *Recorder) Begin(clock lease.Clock, after Stop, lost bool) store.Publisher {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lives = append(r.lives, life{clock: clock, after: after, lost: lost})
	return publisher{r, len(r.lives) - 1}
}

// publisher records for one life.
type publisher struct {
	r    *Recorder
	life int
}

// Publish implements store.Publisher.
func (p publisher) Publish(events []lease.Event) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.life != len(p.r.lives)-1 {
		return
	}
	l := &p.r.lives[p.life]
	l.batches = append(l.batches, batch{at: l.clock.Now(), events: events})
}

// All returns every event of every life, in the order of publication.
func (r *Recorder) All() []lease.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []lease.Event
	for _, l := range r.lives {
		for _, b := range l.batches {
			all = append(all, b.events...)
		}
	}
	return all
}

// Of returns the events of one name.
func (r *Recorder) Of(key lease.Key) []lease.Event {
	var of []lease.Event
	for _, e := range r.All() {
		if e.Record.Key == key {
			of = append(of, e)
		}
	}
	return of
}

// present returns the batches of the present life.
func (r *Recorder) present() []batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]batch(nil), r.lives[len(r.lives)-1].batches...)
}

func (r *Recorder) all() []life {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]life(nil), r.lives...)
}
