package storetest

import (
	"time"

	"github.com/octostore/octostore/lease"
)

// Steps of the wall clock move nothing but what is shown.
func wallScenarios() []scenario {
	var scenarios []scenario
	for _, step := range []time.Duration{day, -day, time.Hour, -time.Hour, time.Second, -time.Second} {
		scenarios = append(scenarios, scenario{"StepOf" + step.String() + "MovesNoDeadline", func(s *scene) {
			a, b := room("a"), lock("b")
			rec := s.take(a, 30*time.Second).Record
			delay := s.release(b, s.take(b, ttl, delayed(30*time.Second)).Record.Ref()).Record.Free
			s.StepWall(step)
			for range 5 {
				s.Advance(5 * time.Second)
				read := s.read(a)
				left := read.Record.Remaining(read.At.At)
				if left != rec.Lease.Deadline.Sub(read.At.At) || left < 0 || left > guarded(30*time.Second) {
					s.Errorf("%v remain, want %v", left, rec.Lease.Deadline.Sub(read.At.At))
				}
				if off := read.Record.ExpiresAt(read.At).Time().Sub(read.At.Wall.Add(left - lease.MinGuard).Time()).Abs(); off > time.Second {
					s.Errorf("the expiry is shown %v away from where the wall clock will stand", off)
				}
				s.want(lease.Taken, s.acquire(a, ttl))
				out := s.want(lease.Delayed, s.acquire(b, ttl))
				at := out.At.Wall.Add(delay.Sub(out.At.At))
				if off := out.Record.AvailableAt(out.At).Time().Sub(at.Time()).Abs(); off > time.Second {
					s.Errorf("the end of the delay is shown %v away", off)
				}
			}
			s.until(delay - lease.Instant(tick))
			s.want(lease.Delayed, s.acquire(b, ttl))
			s.until(delay)
			s.take(b, ttl)
			s.until(rec.Lease.Deadline - lease.Instant(tick))
			s.want(lease.Taken, s.acquire(a, ttl))
			s.until(rec.Lease.Deadline)
			s.take(a, ttl)
			s.told(a, lease.Acquired, lease.Expired, lease.Acquired)
		}})
		scenarios = append(scenarios, scenario{"RenewalAfterAStepOf" + step.String() + "CountsFromItself", func(s *scene) {
			key := room("r")
			ref := s.take(key, 30*time.Second).Record.Ref()
			for range 4 {
				s.Advance(20 * time.Second)
				s.StepWall(step)
				s.lasts(30*time.Second, s.renew(key, ref, 0))
			}
		}})
	}
	return append(scenarios,
		scenario{"StepsDoNotEndAWait", func(s *scene) {
			key := room("r")
			s.take(key, time.Hour)
			w := s.queueUp(key, 10*time.Second, ttl)
			s.StepWall(day)
			s.Advance(5 * time.Second)
			s.StepWall(-2 * day)
			s.Advance(5*time.Second - prompt)
			s.pending(w)
			s.Advance(2 * prompt)
			s.answered(lease.Taken, w)
		}},
		scenario{"StepsInTheDowntimeMoveNoDeadline", func(s *scene) {
			key := room("r")
			rec := s.take(key, 30*time.Second).Record
			for _, how := range []Stop{CleanStop, Crash} {
				s.StepWall(day)
				s.Reopen(how, time.Second)
				s.unchanged(rec)
				s.StepWall(-2 * day)
				s.Reopen(how, time.Second)
				s.unchanged(rec)
			}
			s.until(rec.Lease.Deadline - lease.Instant(tick))
			s.want(lease.Taken, s.acquire(key, ttl))
			s.until(rec.Lease.Deadline)
			s.take(key, ttl)
		}},
	)
}
