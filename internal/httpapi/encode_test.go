package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// text draws what a candidate may send, and worse.
func drawText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.RuneFrom([]rune{'"', '\\', '/', '\n', '\r', '\t', 0, 0x1f, 0x7f, '<', '&', '\u2028', 'é', '😀', 'a'})),
	)
}

func drawStanding(t *rapid.T) *elections.Standing {
	st := &elections.Standing{
		Room:     rapid.StringMatching(`[A-Za-z0-9_-]{8,64}`).Draw(t, "room"),
		Revision: rapid.Int64Range(0, 1<<53-1).Draw(t, "revision"),
		Waiters:  rapid.IntRange(0, 1024).Draw(t, "waiters"),
		At:       lease.Now{At: 1, Wall: lease.Wall(rapid.Int64Range(0, 4e15).Draw(t, "wall"))},
	}
	if rapid.Bool().Draw(t, "led") {
		st.Leader = &elections.Leader{
			Candidate: drawText().Draw(t, "candidate"),
			Metadata:  drawText().Draw(t, "metadata"),
			Described: rapid.Bool().Draw(t, "described"),
			Term:      lease.Term(rapid.Int64Range(1, 1<<53-1).Draw(t, "term")),
			ExpiresAt: lease.Wall(rapid.Int64Range(0, 4e15).Draw(t, "expires")),
		}
		st.RetryAfter = time.Duration(rapid.Int64Range(1, int64(301*time.Second)).Draw(t, "retry"))
	}
	return st
}

func wireLeader(l *elections.Leader) *api.Leader {
	if l == nil {
		return nil
	}
	w := &api.Leader{CandidateID: l.Candidate, Term: int64(l.Term), ExpiresAt: api.NewTime(l.ExpiresAt.Time())}
	if l.Described {
		w.Metadata = &l.Metadata
	}
	return w
}

// plain undoes what encoding/json escapes beyond the need, and what it spells
// differently, so that the rest can be compared byte by byte.
var plain = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029", `\b`, `\u0008`, `\f`, `\u000c`)

func same(t *rapid.T, got []byte, want any) {
	standard, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	// A backslash of the text itself must not be taken for one of an escape.
	hide := strings.NewReplacer(`\\`, "\x00")
	g, w := hide.Replace(string(got)), plain.Replace(hide.Replace(string(standard)))
	if diff := cmp.Diff(w, g); diff != "" {
		t.Fatalf("encoding/json (-) and the hand-written text (+) differ:\n%s", diff)
	}
}

func TestHandWrittenAnswersEqualTheWireTypes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		st := drawStanding(t)
		leader := wireLeader(st.Leader)
		retry := int64((st.RetryAfter + time.Millisecond - 1) / time.Millisecond)
		status := api.StatusVacant
		if leader != nil {
			status = api.StatusLeader
		}
		same(t, appendStatus(nil, st), api.ElectionStatus{
			ElectionID: st.Room, Status: status, Leader: leader, RetryAfterMs: retry, Revision: st.Revision, Waiters: int64(st.Waiters),
		})
		same(t, appendState(nil, st), api.ElectionState{
			SchemaVersion: 1, ElectionID: st.Room, Status: status, Leader: leader, RetryAfterMs: retry,
			ObservedAt: api.NewTime(st.At.Wall.Time()), Revision: st.Revision,
		})
		same(t, appendResigned(nil, st.Room, lease.Term(st.Revision)), api.ResignResponse{
			ElectionID: st.Room, Status: api.StatusVacant, PreviousTerm: st.Revision,
		})
		if leader == nil {
			return
		}
		same(t, appendFollower(nil, st), api.FollowerResponse{
			Status: api.StatusFollower, ElectionID: st.Room, Leader: *leader, RetryAfterMs: retry,
		})
		res := elections.Result{Standing: *st, Won: &elections.Leadership{
			Token:      rapid.StringMatching(`[A-Za-z0-9_-]{43}`).Draw(t, "token"),
			RenewAfter: time.Duration(rapid.IntRange(5, 300).Draw(t, "ttl")) * time.Second / 2,
			Waited:     time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "waited")),
		}}
		waited := res.Won.Waited.Milliseconds()
		want := api.LeaderResponse{
			Status: api.StatusLeader, ElectionID: st.Room, Leader: *leader, LeaderToken: res.Won.Token,
			RenewAfterMs: res.Won.RenewAfter.Milliseconds(), WaitedMs: &waited,
		}
		same(t, appendWon(nil, &res, true), want)
		want.WaitedMs = nil
		same(t, appendWon(nil, &res, false), want)
	})
}

func TestAppendStringReplacesWhatIsNotUTF8(t *testing.T) {
	t.Parallel()
	if got := string(appendString(nil, "a\xffb\xc3")); got != `"a\ufffdb\ufffd"` {
		t.Fatal(got)
	}
}
