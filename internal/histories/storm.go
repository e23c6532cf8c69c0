package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// storm starts and kills the target and keeps its lives.
type storm struct {
	world  *world
	target Target
	rand   *rand.Rand
	lives  []Life // the present one of each replica
	past   []Life
	kills  int
	gone   chan Life     // lives whose process has ended, whoever ended it
	over   chan struct{} // closed at the end of the run
}

// launch begins a life that is not ready yet.
func (s *storm) launch(replica int) error {
	life := Life{Replica: replica, Number: s.world.lives.begin(replica), Launched: Now()}
	s.lives[replica] = life
	if err := s.target.Launch(replica); err != nil {
		return err
	}
	exited := s.target.Exited(replica)
	go func() {
		<-exited
		select {
		case s.gone <- life:
		case <-s.over:
		}
	}()
	return nil
}

// ready waits until the life serves.
func (s *storm) ready(ctx context.Context, replica int) error {
	bounded, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	at, stolen, err := s.target.Ready(bounded, replica)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, s.target.Log(replica))
	}
	s.lives[replica].Ready, s.lives[replica].Stolen = at, stolen
	s.world.lives.set(replica, true)
	return nil
}

func (s *storm) start(ctx context.Context, replica int) error {
	if err := s.launch(replica); err != nil {
		return err
	}
	return s.ready(ctx, replica)
}

// end ends the present life of a replica.
func (s *storm) end(replica int, how func(replica int) error) error {
	life := &s.lives[replica]
	life.Ending = Now()
	if err := how(replica); err != nil {
		return err
	}
	life.Ended = Now()
	s.world.lives.set(replica, false)
	s.past = append(s.past, *life)
	return nil
}

// kill ends it as a crash does. Clients learn of it by their broken connections.
func (s *storm) kill(replica int) error {
	select {
	case <-s.target.Exited(replica):
		return s.crashed(replica)
	default:
	}
	s.kills++
	return s.end(replica, s.target.Kill)
}

// crashed notes that the present life ended by itself.
func (s *storm) crashed(replica int) error {
	s.world.accident("life %d of replica %d ended by itself:\n%s", s.lives[replica].Number, replica, s.target.Log(replica))
	return s.end(replica, func(int) error { return nil })
}

// rage kills and restarts until the plan is met.
func (s *storm) rage(ctx context.Context) error {
	plan := &s.world.plan
	limit := Now().Add(plan.Limit)
	for !s.enough() && Now() < limit {
		span := plan.MinLife + time.Duration(s.rand.Int64N(int64(plan.MaxLife-plan.MinLife)+1))
		if err := s.calm(ctx, span); err != nil {
			return err
		}
		replica := s.rand.IntN(len(s.lives))
		if s.rand.IntN(2) == 0 {
			s.aim(ctx)
		}
		if err := s.kill(replica); err != nil {
			return err
		}
		for plan.EarlyKills > 0 && s.rand.IntN(plan.EarlyKills) == 0 {
			// Killed again while it starts, at any step of its recovery.
			if err := s.launch(replica); err != nil {
				return err
			}
			if err := s.calm(ctx, time.Duration(s.rand.Int64N(int64(plan.MaxLife)))); err != nil {
				return err
			}
			if err := s.kill(replica); err != nil {
				return err
			}
		}
		if err := s.start(ctx, replica); err != nil {
			return err
		}
	}
	return nil
}

// enough tells whether the plan is met.
func (s *storm) enough() bool {
	p, w := &s.world.plan, s.world
	return s.kills >= p.Kills && w.answers.Load() >= int64(p.Answers) && w.found.Load() >= int64(p.Found)
}

// Aiming waits at most aimPatience for a campaign to be sent, and then up to
// aimDelay, which is about what a commit takes.
const (
	aimPatience = 20 * time.Millisecond
	aimDelay    = 4 * time.Millisecond
)

// aim waits for the moment in which a kill hurts.
func (s *storm) aim(ctx context.Context) {
	delay := time.Duration(s.rand.Int64N(int64(aimDelay)))
	timer := time.NewTimer(aimPatience)
	defer timer.Stop()
	select {
	case <-s.world.aim:
		timer.Reset(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	case <-timer.C:
	case <-ctx.Done():
	}
}

// calm lets time pass. A replica that ends by itself meanwhile is started again.
func (s *storm) calm(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case life := <-s.gone:
			if s.lives[life.Replica].Number != life.Number || s.lives[life.Replica].Ended != 0 {
				break // it was killed, and is past
			}
			if err := s.crashed(life.Replica); err != nil {
				return err
			}
			if err := s.start(ctx, life.Replica); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
