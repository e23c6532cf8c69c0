package ratelimit

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ulule/limiter/v3"
)

// watchedStore counts what reaches the store and can fail.
type watchedStore struct {
	limiter.Store
	resets int
	err    error
}

func (s *watchedStore) Get(ctx context.Context, key string, rate limiter.Rate) (limiter.Context, error) {
	if s.err != nil {
		return limiter.Context{}, s.err
	}
	return s.Store.Get(ctx, key, rate)
}

func (s *watchedStore) Reset(ctx context.Context, key string, rate limiter.Rate) (limiter.Context, error) {
	s.resets++
	return s.Store.Reset(ctx, key, rate)
}

func TestAdmissionAndItsStore(t *testing.T) {
	t.Parallel()

	t.Run("FailingCounterRefuses", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := NewAdmission(10)
			store := &watchedStore{Store: a.counts, err: errors.New("down")}
			a.counts = store
			if d := a.Allow(t.Context(), "a"); d.Allowed || d.Remaining != 0 || d.Limit != 10 || d.Reset != time.Minute {
				t.Errorf("got %+v, want a refusal with a wait", d)
			}
			store.err = nil
			if d := a.Allow(t.Context(), "a"); !d.Allowed {
				t.Errorf("got %+v after the store came back", d)
			}
		})
	})

	t.Run("NoCallClearsAwayMoreThanTwo", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			const places = 1000
			a := NewAdmission(10, MaxClients(places))
			store := &watchedStore{Store: a.counts}
			a.counts = store
			for i := range places {
				a.Allow(t.Context(), "old-"+strconv.Itoa(i))
			}
			store.resets = 0
			for i := range places { // full, and nothing has ended
				a.Allow(t.Context(), "overflow-"+strconv.Itoa(i))
			}
			if store.resets != 0 {
				t.Errorf("%d counters were touched while no window had ended", store.resets)
			}
			time.Sleep(time.Hour)
			for i := range places { // full, and everything has ended
				store.resets = 0
				a.Allow(t.Context(), "new-"+strconv.Itoa(i))
				if store.resets > purgePerNewcomer+1 {
					t.Fatalf("one call touched %d counters", store.resets)
				}
			}
		})
	})

	t.Run("ForgottenClientsLeaveTheStoreToo", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := NewAdmission(10, MaxClients(2))
			a.Allow(t.Context(), "a")
			a.Allow(t.Context(), "b")
			time.Sleep(2 * time.Minute)
			a.Allow(t.Context(), "c")
			for _, key := range []string{"a", "b"} {
				state, err := a.counts.Peek(t.Context(), key, a.rate)
				if err != nil || state.Remaining != 10 {
					t.Errorf("the store still counts %q: %+v, %v", key, state, err)
				}
			}
		})
	})
}
