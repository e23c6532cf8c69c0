package histories

import (
	"time"
)

// A story is a history that is written by hand. Its instants are milliseconds; the
// wall clock shows wallAt more. Unless it says otherwise every TTL is 5 s, so that a
// lease decided at t is over at t+5050.
type story struct {
	calls []Call
	lives []Life
}

const wallAt = 1_000_000

func ms(t int) Instant { return Instant(t) * Instant(time.Millisecond) }

// tell returns the history of a server that lives until each of the ends, and then
// for ever.
func tell(ends []int, calls ...Call) *History {
	s := story{calls: calls}
	begin := 0
	for i, end := range append(ends, 1_000_000) {
		s.lives = append(s.lives, Life{Number: i + 1, Launched: ms(begin), Ready: ms(begin) + 1, Ending: ms(end), Ended: ms(end + 1)})
		begin = end + 2
	}
	for i := range s.calls {
		c := &s.calls[i]
		c.Name, c.Life = "room-0000", 1
		for _, l := range s.lives {
			if c.Sent > l.Ended {
				c.Life = l.Number + 1
			}
		}
	}
	h := &History{Calls: s.calls, Lives: s.lives}
	h.settle()
	return h
}

func act(sent, received int, verb Verb, outcome Outcome) Call {
	return Call{
		Verb: verb, Outcome: outcome, Sent: ms(sent), Received: ms(received),
		SentWall: wallAt + int64(sent), ReceivedWall: wallAt + int64(received), Replica: 0,
	}
}

// campaigns is a campaign without an answer.
func campaigns(sent int, who Attempt) Call {
	c := act(sent, sent, Campaign, Lost)
	c.Attempt, c.TTL = who, shortTTL
	return c
}

// wins is a campaign that was granted.
func wins(sent, received int, who Attempt, term int64) Call {
	c := campaigns(sent, who)
	c.Outcome, c.Received, c.ReceivedWall = Won, ms(received), wallAt+int64(received)
	c.Answer = Answer{Leader: who, Term: term, Expires: wallAt + int64(sent+received)/2 + 5000, Token: token(who, term)}
	return c
}

func token(who Attempt, term int64) string { return who.String() + "/" + string(rune('A'+term%26)) }

// decided says when within the call its lease was decided or extended.
func (c Call) decided(at int) Call {
	c.Answer.Expires = wallAt + int64(at) + 5000
	return c
}

func (c Call) keyed() Call { c.Keyed = true; return c }

// waits is the same call with a wait, of which a grant told how long it was.
func (c Call) waits(wait, waited int) Call {
	c.Wait, c.Answer.Waited = time.Duration(wait)*time.Millisecond, time.Duration(waited)*time.Millisecond
	return c
}

func (c Call) hangsUp(at int) Call { c.HungUp = ms(at); return c }

// lost is the same call without its answer.
func (c Call) lost() Call {
	c.Outcome, c.Answer = Lost, Answer{}
	return c
}

// follows is a campaign that was told of a leader.
func follows(sent, received int, who, leader Attempt, term int64, deadline int) Call {
	c := campaigns(sent, who)
	c.Outcome, c.Received, c.ReceivedWall = Following, ms(received), wallAt+int64(received)
	c.Answer = leads(leader, term, deadline, received)
	return c
}

// leads is what is told at an instant of a lease with this deadline.
func leads(leader Attempt, term int64, deadline, at int) Answer {
	return Answer{
		Leader: leader, Term: term, Expires: wallAt + int64(deadline) - 50,
		Retry: time.Duration(deadline-at) * time.Millisecond,
	}
}

// shows is a status that tells of a leader.
func shows(at int, leader Attempt, term int64, deadline int, revision int64) Call {
	c := act(at, at, Status, Shown)
	c.Answer = leads(leader, term, deadline, at)
	c.Answer.Revision = revision
	return c
}

// vacancy is a status that tells of none.
func vacancy(at int, revision int64) Call {
	c := act(at, at, Status, Shown)
	c.Answer.Revision = revision
	return c
}

// counts is the same status with a number of waiters.
func (c Call) counts(waiters int) Call { c.Answer.Waiters = waiters; return c }

func renews(sent, received int, who Attempt, term int64) Call {
	c := act(sent, received, Renew, Won)
	c.Attempt, c.Term, c.Token = who, term, token(who, term)
	c.Answer = Answer{Leader: who, Term: term, Expires: wallAt + int64(sent+received)/2 + 5000, Token: c.Token}
	return c
}

func resigns(sent, received int, who Attempt, term int64) Call {
	c := act(sent, received, Resign, Resigned)
	c.Attempt, c.Term, c.Token = who, term, token(who, term)
	c.Answer.Term = term
	return c
}

// isRefused is the same call with another outcome.
func (c Call) isRefused(o Outcome) Call {
	c.Outcome, c.Answer = o, Answer{}
	return c
}

// Who acts in the stories.
var (
	ann = NewAttempt(1, 1)
	bob = NewAttempt(2, 1)
	cat = NewAttempt(3, 1)
	dan = NewAttempt(4, 1)
)
