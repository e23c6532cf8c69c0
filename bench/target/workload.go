package target

import (
	"fmt"
	"io"

	"github.com/octostore/octostore/bench/load"
)

// caller speaks to a server about one name at a time.
type caller interface {
	// aim chooses the name by its number, below 10^10.
	aim(n int)
	// lead takes the name, which must be free.
	lead() error
	// renew goes on holding it.
	renew() error
	// resign gives it up.
	resign() error
	// look asks for the state of the name, which must be held.
	look() error
}

// contender waits for the one name that everybody wants.
type contender interface {
	// win returns true once the name is this caller's, false if the gate closed
	// before.
	win(gate *load.Gate) (bool, error)
	resign() error
}

// line is a connection to a server.
type line interface {
	io.Closer
	caller() caller
	contender() (contender, error)
}

// join makes a client of a connection, which it closes if it fails.
func join(l line, s Seat) (c Client, err error) {
	defer func() {
		if err != nil {
			_ = l.Close()
			err = fmt.Errorf("client %d joins: %w", s.Index, err)
		}
	}()
	switch s.Workload {
	case Cycle:
		return &cycling{Closer: l, at: l.caller(), first: s.Index * NamesPerClient}, nil
	case Contended:
		at, err := l.contender()
		return &contending{l, at}, err
	case Renew:
		at := l.caller()
		at.aim(s.Index)
		return &renewing{l, at}, at.lead()
	case Mixed:
		// The names that are held come first, those that come and go behind them.
		held, other := l.caller(), l.caller()
		held.aim(s.Index)
		return &mixing{Closer: l, held: held, other: other, name: 1_000_000 + s.Index, step: s.Index * 7 % len(mix)}, held.lead()
	default:
		return nil, fmt.Errorf("no such workload: %q", s.Workload)
	}
}

type cycling struct {
	io.Closer
	at    caller
	first int
	n     int
}

// Cycle implements [load.Client].
func (c *cycling) Cycle(*load.Gate) error {
	c.at.aim(c.first + c.n)
	c.n = (c.n + 1) % NamesPerClient
	if err := c.at.lead(); err != nil {
		return err
	}
	return c.at.resign()
}

type contending struct {
	io.Closer
	at contender
}

// Cycle implements [load.Client].
func (c *contending) Cycle(gate *load.Gate) error {
	if won, err := c.at.win(gate); err != nil || !won {
		return err
	}
	return c.at.resign()
}

type renewing struct {
	io.Closer
	at caller
}

// Cycle implements [load.Client].
func (c *renewing) Cycle(*load.Gate) error { return c.at.renew() }

// request is one kind of request of Mixed.
type request uint8

const (
	renewal request = iota
	query
	campaign
	resignation
)

// mix is the order in which a client of Mixed makes its requests. Clients begin
// at different places of it.
var mix = [20]request{
	renewal, renewal, renewal, query, renewal, renewal, renewal, campaign, renewal, renewal,
	renewal, renewal, renewal, query, renewal, renewal, renewal, resignation, renewal, renewal,
}

type mixing struct {
	io.Closer
	held, other caller
	name        int
	step        int
	leads       bool // the other name
}

// Cycle implements [load.Client].
func (c *mixing) Cycle(*load.Gate) error {
	next := mix[c.step]
	c.step = (c.step + 1) % len(mix)
	switch next {
	case query:
		return c.held.look()
	case campaign:
		c.other.aim(c.name)
		c.leads = true
		return c.other.lead()
	case resignation:
		if c.leads { // not if it began between the two
			c.leads = false
			return c.other.resign()
		}
	case renewal:
	}
	return c.held.renew()
}

// digits writes n into all of b, with leading zeros.
func digits(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}
