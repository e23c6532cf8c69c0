package storetest

import (
	"time"

	"github.com/octostore/octostore/lease"
)

// heal is how long it may take until room on the disk is noticed.
const heal = 5 * time.Second

// A disk that fills up: what is left of it is for those who hold. Nothing
// happens here for a backend whose harness has no such lever.
func roomScenarios() []scenario {
	plays := []scenario{
		{"ScarceRefusesNewLeasesAndNothingElse", func(s *scene) {
			a := s.take(room("a"), time.Hour, s.keyed("k")).Record
			b := s.take(room("b"), time.Hour).Record
			s.Room(Scarce)
			s.Advance(heal)
			s.refused(s.sendAcquire(room("c"), 0, ttl))
			s.refused(s.sendAcquire(room("c"), time.Minute, ttl))
			s.want(lease.Confirmed, s.renew(a.Key, a.Ref(), 0))
			s.want(lease.Confirmed, s.acquire(a.Key, time.Hour, s.keyed("k"))) // a repeat begins nothing
			s.want(lease.Taken, s.acquire(a.Key, ttl))
			s.want(lease.Released, s.release(b.Key, b.Ref()))
			s.want(lease.Repeated, s.release(b.Key, b.Ref()))
			s.told(room("c"))
			s.Room(Plenty)
			s.Advance(heal)
			s.take(room("c"), ttl)
		}},
		{"ScarceLetsLeasesExpire", func(s *scene) {
			rec := s.take(room("a"), ttl).Record
			s.Room(Scarce)
			s.until(rec.Lease.Deadline.Add(prompt))
			s.told(room("a"), lease.Acquired, lease.Expired)
		}},
		{"ScarceRefusesTheWaiterWhoseTurnItIs", func(s *scene) {
			key := room("r")
			holder := s.take(key, time.Hour).Record
			w := s.queueUp(key, time.Minute, ttl)
			s.Room(Scarce)
			s.Advance(heal)
			s.want(lease.Released, s.release(key, holder.Ref()))
			s.refused(w)
			if s.read(key).Record.Held {
				s.Error("a lease began")
			}
		}},
		{"NoneRefusesEveryChangeAndIsNotFatal", func(s *scene) {
			a := s.take(room("a"), time.Hour).Record
			s.Room(None)
			s.refused(s.sendRenew(a.Key, a.Ref(), 0))
			s.refused(s.sendRelease(a.Key, a.Ref()))
			s.refused(s.sendAcquire(room("b"), 0, ttl))
			s.unchanged(a)
			s.want(lease.Taken, s.acquire(a.Key, ttl)) // reads and refusals go on
			if s.Failed() {
				s.Error("a full disk was taken for a broken one")
			}
			s.Room(Plenty)
			s.Advance(heal)
			s.want(lease.Confirmed, s.renew(a.Key, a.Ref(), 0))
			s.take(room("b"), ttl)
		}},
		{"ExpiryThatFindsNoneIsToldOnceThereIsSome", func(s *scene) {
			key := room("r")
			rec := s.take(key, ttl).Record
			s.Room(None)
			s.until(rec.Lease.Deadline.Add(30 * time.Second))
			s.told(key, lease.Acquired)
			if s.read(key).Record.Live(s.now().At) {
				s.Error("shown as live")
			}
			s.Room(Plenty)
			s.Advance(heal)
			e := s.told(key, lease.Acquired, lease.Expired)[1]
			if e.At.At != rec.Lease.Deadline {
				s.Errorf("told as of %v, the deadline was %v", e.At.At, rec.Lease.Deadline)
			}
		}},
		{"WhatWasConfirmedIsThereAfterACrashOnAFullDisk", func(s *scene) {
			a := s.take(room("a"), time.Hour).Record
			s.Room(None)
			s.refused(s.sendRenew(a.Key, a.Ref(), 2*time.Hour))
			s.refused(s.sendAcquire(room("b"), 0, ttl))
			s.Room(Plenty)
			s.Reopen(Crash, time.Second)
			s.unchanged(a)
			if s.read(room("b")).Record.Term != 0 {
				s.Error("a grant that was refused is there")
			}
		}},
	}
	for i := range plays {
		play := plays[i].play
		plays[i].play = func(s *scene) {
			if s.Room != nil {
				play(s)
			}
		}
	}
	return plays
}
