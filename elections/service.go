package elections

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/octostore/octostore/lease"
)

// What a call can be refused with, beside the errors of Store.
var (
	// ErrNotCurrent: the token's term is over, or never was.
	ErrNotCurrent = errors.New("elections: lease is not current")
	// ErrConflict: the idempotency key belongs to another request, or to one
	// whose lease has ended.
	ErrConflict = errors.New("elections: idempotency key conflict")
	// ErrCapacity: as many rooms are led as the server allows. An occupied room
	// is never refused for it.
	ErrCapacity = errors.New("elections: too many active rooms")
)

// maxDecisions is how often a campaign is decided whose outcome runs out before
// it can be told. A process that stands still that often serves nobody.
const maxDecisions = 8

// Service answers the election routes. It is safe for concurrent use.
type Service struct {
	store    Store
	keys     *lease.Keyring
	maxRooms int64
	random   io.Reader
}

// Config is what a Service needs.
type Config struct {
	Store    Store
	Keys     *lease.Keyring
	MaxRooms int64     // rooms led at one time, 0 for no limit
	Random   io.Reader // nil for crypto/rand
}

// New returns a Service.
func New(c Config) *Service {
	if c.Random == nil {
		c.Random = rand.Reader
	}
	return &Service{store: c.Store, keys: c.Keys, maxRooms: c.MaxRooms, random: c.Random}
}

// Candidacy is a request to lead a room. The caller has validated its fields.
type Candidacy struct {
	Room           string
	Candidate      string
	TTL            time.Duration
	Metadata       string
	Described      bool          // Metadata was given
	Wait           time.Duration // how long to wait for the room, 0 for not at all
	IdempotencyKey string        // a secret; empty for none
	Received       lease.Instant // when the request arrived
	Again          bool          // it was decided before, and the outcome ran out before it was told
}

// Leader is what everyone may know of who leads.
type Leader struct {
	Candidate string
	Metadata  string
	Described bool
	Term      lease.Term
	ExpiresAt lease.Wall
}

// Standing is the state of a room at one instant.
type Standing struct {
	Room       string
	Leader     *Leader       // nil when the room is vacant
	RetryAfter time.Duration // until the deadline, 0 when vacant
	Revision   int64
	Waiters    int
	At         lease.Now
}

// Leadership is what the winner alone is told.
type Leadership struct {
	Token      string // the secret leader token
	TTL        time.Duration
	RenewAfter time.Duration // half the TTL
	Waited     time.Duration // from Received to the instant that the TTL counts from
	ref        lease.Ref
	repeatable bool
	deadline   lease.Instant
}

// Result is the answer to a campaign or a renewal: Won is nil for a follower.
type Result struct {
	Standing
	Won *Leadership
}

// NewRoom draws the id of a room: 192 random bits as 32 characters. Nothing is
// stored; any valid id works.
func (s *Service) NewRoom() (string, error) {
	var b [24]byte
	if _, err := io.ReadFull(s.random, b[:]); err != nil {
		return "", fmt.Errorf("elections: draw a room id: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// Campaign tries to lead a room. An occupied room is not an error: the result
// then says who leads. A repeat of a request with the same idempotency key
// finds the lease that the first one got.
func (s *Service) Campaign(ctx context.Context, c Candidacy) (Result, error) {
	key := lease.ElectionKey(c.Room)
	req, err := s.request(key, c)
	if err != nil {
		return Result{}, err
	}
	wait := c.Wait
	for range maxDecisions {
		out, err := s.store.Acquire(ctx, key, req, wait)
		if err != nil {
			return Result{}, err
		}
		switch out.Verdict {
		case lease.Granted, lease.Confirmed:
			won, err := s.won(key, out, req, c)
			if err != nil {
				return Result{}, err
			}
			if won.Over(s.store.Now()) {
				// It ran out between the decision and the answer: decided anew.
				wait = max(0, c.Wait-s.store.Now().At.Sub(c.Received))
				c.Again = true
				if _, err := io.ReadFull(s.random, req.Nonce[:]); err != nil {
					return Result{}, fmt.Errorf("elections: draw a nonce: %w", err)
				}
				continue
			}
			return won, nil
		case lease.Taken, lease.Delayed:
			if len(req.Idem) > 0 && out.Record.Held && !s.keys.Has(out.Record.Lease.KeyID) {
				return Result{}, lease.ErrUnknownKey // it may be the leader's own repeat
			}
			return Result{Standing: standing(out.Record, out.At, out.Waiters)}, nil
		case lease.Conflict:
			return Result{}, ErrConflict
		case lease.Full:
			return Result{}, ErrCapacity
		case lease.NotCurrent, lease.Released, lease.Repeated, lease.NotHeld, lease.SessionEnded, lease.NoSession:
			fallthrough
		default:
			return Result{}, fmt.Errorf("elections: store answered a campaign with %q", out.Verdict)
		}
	}
	return Result{}, lease.ErrUnavailable
}

func (s *Service) request(key lease.Key, c Candidacy) (lease.Acquire, error) {
	req := lease.Acquire{
		TTL: c.TTL, KeyID: s.keys.Current(),
		Label: c.Candidate, Labelled: true, Metadata: c.Metadata, Described: c.Described,
		Limit: s.maxRooms,
	}
	if _, err := io.ReadFull(s.random, req.Nonce[:]); err != nil {
		return req, fmt.Errorf("elections: draw a nonce: %w", err)
	}
	if c.IdempotencyKey != "" {
		req.Idem = s.keys.Repeatable(
			[]string{key.Kind().String(), key.Tenant(), "", key.Name(), c.Candidate, c.IdempotencyKey},
			[]string{c.TTL.String(), fmt.Sprint(c.Described), c.Metadata},
		)
	}
	return req, nil
}

func (s *Service) won(key lease.Key, out lease.Outcome, req lease.Acquire, c Candidacy) (Result, error) {
	r := &out.Record
	token, err := s.keys.Capability(key, r.Ref(), r.Lease.KeyID)
	if err != nil {
		return Result{}, err
	}
	won := &Leadership{
		Token: token.Text(), TTL: c.TTL, RenewAfter: c.TTL / 2,
		ref: r.Ref(), repeatable: len(req.Idem) > 0 || out.Verdict == lease.Confirmed, deadline: r.Lease.Deadline,
	}
	if out.Waited || c.Again {
		won.Waited = max(0, out.At.At.Sub(c.Received)).Truncate(time.Millisecond)
	}
	return Result{Standing: standing(out.Record, out.At, out.Waiters), Won: won}, nil
}

// Over tells whether the lease that a result carries is over at now. An answer
// that would carry it must not be written.
func (r Result) Over(now lease.Now) bool { return r.Won != nil && now.At >= r.Won.deadline }

// Abandon gives back what a campaign won, because its caller is gone and no
// byte of the answer was written. A grant with an idempotency key stays, so
// that the repeat finds it.
func (s *Service) Abandon(ctx context.Context, r Result) error {
	if r.Won == nil || r.Won.repeatable {
		return nil
	}
	return s.store.GiveBack(ctx, lease.ElectionKey(r.Room), r.Won.ref)
}

// Status tells the present state of a room.
func (s *Service) Status(ctx context.Context, room string) (Standing, error) {
	read, err := s.store.Read(ctx, lease.ElectionKey(room))
	if err != nil {
		return Standing{}, err
	}
	return standing(read.Record, read.At, read.Waiters), nil
}

// Renew extends the term that the token proves; ttl 0 keeps its own TTL. It is
// ErrNotCurrent if that term is over, also when nobody leads since.
func (s *Service) Renew(ctx context.Context, room string, token lease.Capability, ttl time.Duration) (Result, error) {
	key := lease.ElectionKey(room)
	ref, err := s.prove(ctx, key, token, false)
	if err != nil {
		return Result{}, err
	}
	out, err := s.store.Renew(ctx, key, ref, ttl)
	if err != nil {
		return Result{}, err
	}
	if out.Verdict != lease.Confirmed {
		return Result{}, ErrNotCurrent
	}
	res := Result{Standing: standing(out.Record, out.At, out.Waiters)}
	t := out.Record.Lease.TTL
	res.Won = &Leadership{Token: token.Text(), TTL: t, RenewAfter: t / 2, ref: ref, repeatable: true, deadline: out.Record.Lease.Deadline}
	if res.Over(s.store.Now()) {
		return Result{}, ErrNotCurrent
	}
	return res, nil
}

// Resign ends the term that the token proves and returns its number. A
// repeated resignation succeeds as the first did, as long as no later term has
// ended.
func (s *Service) Resign(ctx context.Context, room string, token lease.Capability) (lease.Term, error) {
	key := lease.ElectionKey(room)
	ref, err := s.prove(ctx, key, token, true)
	if err != nil {
		return 0, err
	}
	out, err := s.store.Release(ctx, key, ref)
	if err != nil {
		return 0, err
	}
	if out.Verdict != lease.Released && out.Verdict != lease.Repeated {
		return 0, ErrNotCurrent
	}
	return ref.Term, nil
}

// prove finds the lease that the token belongs to by the committed record, so
// that a call with a wrong or stale token is refused without queueing: only
// the leader can fill the lane that leaders use.
func (s *Service) prove(ctx context.Context, key lease.Key, token lease.Capability, past bool) (lease.Ref, error) {
	read, err := s.store.Read(ctx, key)
	if err != nil {
		return lease.Ref{}, err
	}
	r := &read.Record
	var unknown error
	if r.Held {
		switch ok, err := s.matches(key, r.Ref(), r.Lease.KeyID, token); {
		case ok && (past || r.Live(read.At.At)):
			return r.Ref(), nil
		case err != nil:
			unknown = err
		}
	}
	if past && r.Last != nil && r.Last.Reason == lease.ByRelease {
		switch ok, err := s.matches(key, r.Last.Ref, r.Last.KeyID, token); {
		case ok:
			return r.Last.Ref, nil
		case err != nil:
			unknown = err
		}
	}
	if unknown != nil {
		return lease.Ref{}, unknown
	}
	return lease.Ref{}, ErrNotCurrent
}

func (s *Service) matches(key lease.Key, ref lease.Ref, id lease.KeyID, token lease.Capability) (bool, error) {
	want, err := s.keys.Capability(key, ref, id)
	if err != nil {
		return false, err
	}
	return want.Match(token), nil
}

// StandingOf describes a record to watchers.
func StandingOf(r lease.Record, at lease.Now) Standing { return standing(r, at, 0) }

func standing(r lease.Record, at lease.Now, waiters int) Standing {
	st := Standing{Room: r.Key.Name(), Revision: r.Revision, Waiters: waiters, At: at}
	if r.Live(at.At) {
		st.Leader = &Leader{
			Candidate: r.Lease.Label, Metadata: r.Lease.Metadata, Described: r.Lease.Described,
			Term: r.Term, ExpiresAt: r.ExpiresAt(at),
		}
		st.RetryAfter = r.Remaining(at.At)
	}
	return st
}
