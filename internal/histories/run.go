package histories

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind is one product under test.
type Kind interface {
	// Play acts as one client until the run settles and nothing of this client is
	// uncertain any more, or ctx ends. It records every call.
	Play(ctx context.Context, c *Client)
	// Survey reads the present state of every name.
	Survey(ctx context.Context, c *Client)
	// Operations turns the calls on one name into steps of the model. The calls are
	// in the order of sending.
	Operations(h *History, calls []Call) []porcupine.Operation
	// Model is the model of one name.
	Model() porcupine.Model
	// Facts looks for what the calls on one name must never show.
	Facts(h *History, calls []Call) []Problem
	// Count adds up what the calls on one name have covered.
	Count(h *History, calls []Call, t *Tally)
}

// settlePatience is how long clients may take to find out what became of their
// last calls once nothing is killed any more.
const settlePatience = 30 * time.Second

// readyPatience is how long a run waits for a server to be ready. What it should
// take at most is judged afterwards.
const readyPatience = 30 * time.Second

// Run plays the plan and returns the history. It is an error if the target can not
// be run; what the target does wrong is in the history.
func Run(ctx context.Context, plan Plan, target Target, kind Kind) (*History, error) {
	s := &storm{
		world: &world{
			plan: plan, addresses: target.Addresses(), lives: newLives(len(target.Addresses())), aim: make(chan struct{}),
		},
		target: target,
		rand:   rand.New(rand.NewPCG(plan.Seed, 1<<63)), //nolint:gosec // G404: a run has to be repeatable
		lives:  make([]Life, len(target.Addresses())),
		gone:   make(chan Life), over: make(chan struct{}),
	}
	defer close(s.over)
	for replica := range s.lives {
		if err := s.start(ctx, replica); err != nil {
			return nil, err
		}
	}
	playing, stopPlaying := context.WithCancel(ctx)
	defer stopPlaying()
	clients := make([]*Client, plan.Clients)
	var players sync.WaitGroup
	for i := range clients {
		clients[i] = newClient(s.world, i+1)
		players.Go(func() { kind.Play(playing, clients[i]) })
	}
	err := s.rage(ctx)
	s.world.phase.Store(int32(Calm))
	if err == nil {
		err = s.calm(ctx, plan.Calm)
	}
	s.world.phase.Store(int32(Settle))
	if err != nil {
		stopPlaying() // nobody will answer them any more
	}
	if err := errors.Join(err, s.settled(ctx, &players, stopPlaying)); err != nil {
		return nil, err
	}
	// What everybody was told has to be there still after an orderly stop and one
	// more start.
	surveyor := newClient(s.world, 0)
	kind.Survey(ctx, surveyor)
	if err := s.restart(ctx); err != nil {
		return nil, err
	}
	kind.Survey(ctx, surveyor)
	for replica := range s.lives {
		if err := s.end(replica, target.Kill); err != nil {
			return nil, err
		}
	}
	h := &History{Plan: plan, Lives: s.past, Kills: s.kills, Accidents: s.world.accidents}
	for _, c := range append(clients, surveyor) {
		c.close()
		h.Calls = append(h.Calls, c.log...)
	}
	h.settle()
	return h, nil
}

// settled waits until every client has stopped.
func (s *storm) settled(ctx context.Context, players *sync.WaitGroup, stop context.CancelFunc) error {
	done := make(chan struct{})
	go func() { players.Wait(); close(done) }()
	timer := time.NewTimer(settlePatience)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		s.world.accident("after %v clients still do not know what became of their calls", settlePatience)
	case <-ctx.Done():
	}
	stop()
	<-done
	return ctx.Err()
}

// restart stops every replica in good order and starts it again.
func (s *storm) restart(ctx context.Context) error {
	for replica := range s.lives {
		err := s.end(replica, func(replica int) error { return s.target.Stop(ctx, replica) })
		if err != nil {
			s.world.accident("an orderly stop: %v\n%s", err, s.target.Log(replica))
			return err
		}
		if err := s.start(ctx, replica); err != nil {
			return err
		}
	}
	return nil
}
