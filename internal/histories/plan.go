package histories

import (
	"math/rand/v2"
	"time"
)

// Plan is the size of a run.
type Plan struct {
	Seed    uint64
	Clients int // 32 to 64
	Names   int // 64 to 256
	// Hot is how many of the names get Crowd of the calls: contention is where
	// queues form.
	Hot   int
	Crowd float64

	// The kills go on until there were as many of them, as many calls that were
	// answered, and as many grants whose answer a kill swallowed and that were found again by their key, or
	// Limit is over. The last is rare: the kill has to fall between a commit and its
	// answers.
	Kills, Answers, Found int
	Limit                 time.Duration
	// A server is killed between MinLife and MaxLife after it became ready, one in
	// EarlyKills even before it is.
	MinLife, MaxLife time.Duration
	EarlyKills       int
	// Calm is how long the run goes on after the last kill, so that leases end by
	// themselves and waits come to their end.
	Calm time.Duration
}

// NewPlan returns a plan with at least so many kills, answers and found grants, whose other
// numbers are drawn from the seed.
func NewPlan(seed uint64, kills, answers, found int, limit time.Duration) Plan {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // G404: a run has to be repeatable
	names := 64 + r.IntN(193)
	return Plan{
		Seed: seed, Clients: 32 + r.IntN(33), Names: names, Hot: 4 + names/24, Crowd: 0.45,
		Kills: kills, Answers: answers, Found: found, Limit: limit,
		MinLife: 20 * time.Millisecond, MaxLife: 300 * time.Millisecond, EarlyKills: 8,
		Calm: 6 * time.Second,
	}
}
