package httpapi

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/octostore/octostore/api"
	"github.com/octostore/octostore/elections"
	"github.com/octostore/octostore/lease"
)

// The answers of the election routes are written by hand: they are most of what
// the server sends, and a reflecting encoder costs more than everything else
// that a request does here. A test compares each with the type of package api
// that it stands for, key by key.

// timeLayout is api.Time's: UTC, three digits cut off rather than rounded, Z.
const timeLayout = "2006-01-02T15:04:05.000Z"

func appendTime(b []byte, w lease.Wall) []byte {
	return w.Time().AppendFormat(b, timeLayout)
}

// ceilMs returns d in milliseconds, rounded up, so that whoever waits that long is
// not early.
func ceilMs(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string. What is not UTF-8, which no validated
// text holds, becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	plain := 0 // s[plain:i] needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[plain:i]...), `\ufffd`...)
				plain = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[plain:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		plain = i
	}
	return append(append(b, s[plain:]...), '"')
}

// appendLeader writes api.Leader.
func appendLeader(b []byte, l *elections.Leader) []byte {
	b = append(b, `{"candidate_id":`...)
	b = appendString(b, l.Candidate)
	if l.Described {
		b = append(b, `,"metadata":`...)
		b = appendString(b, l.Metadata)
	}
	b = append(b, `,"term":`...)
	b = strconv.AppendInt(b, int64(l.Term), 10)
	b = append(b, `,"expires_at":"`...)
	b = appendTime(b, l.ExpiresAt)
	return append(b, `"}`...)
}

// appendWon writes api.LeaderResponse. waited is told of grants only: a renewal
// counts from its own sending.
func appendWon(b []byte, res *elections.Result, granted bool) []byte {
	b = append(b, `{"status":"`+api.StatusLeader+`","election_id":`...)
	b = appendString(b, res.Room)
	b = append(b, `,"leader":`...)
	b = appendLeader(b, res.Leader)
	b = append(b, `,"leader_token":`...)
	b = appendString(b, res.Won.Token)
	b = append(b, `,"renew_after_ms":`...)
	b = strconv.AppendInt(b, res.Won.RenewAfter.Milliseconds(), 10)
	if granted {
		b = append(b, `,"waited_ms":`...)
		b = strconv.AppendInt(b, res.Won.Waited.Milliseconds(), 10)
	}
	return append(b, '}')
}

// appendFollower writes api.FollowerResponse.
func appendFollower(b []byte, st *elections.Standing) []byte {
	b = append(b, `{"status":"`+api.StatusFollower+`","election_id":`...)
	b = appendString(b, st.Room)
	b = append(b, `,"leader":`...)
	b = appendLeader(b, st.Leader)
	b = append(b, `,"retry_after_ms":`...)
	b = strconv.AppendInt(b, ceilMs(st.RetryAfter), 10)
	return append(b, '}')
}

// appendStatus writes api.ElectionStatus.
func appendStatus(b []byte, st *elections.Standing) []byte {
	b = append(b, `{"election_id":`...)
	b = appendString(b, st.Room)
	if st.Leader != nil {
		b = append(b, `,"status":"`+api.StatusLeader+`","leader":`...)
		b = appendLeader(b, st.Leader)
	} else {
		b = append(b, `,"status":"`+api.StatusVacant+`"`...)
	}
	b = append(b, `,"retry_after_ms":`...)
	b = strconv.AppendInt(b, ceilMs(st.RetryAfter), 10)
	b = append(b, `,"revision":`...)
	b = strconv.AppendInt(b, st.Revision, 10)
	b = append(b, `,"waiters":`...)
	b = strconv.AppendInt(b, int64(st.Waiters), 10)
	return append(b, '}')
}

// appendResigned writes api.ResignResponse.
func appendResigned(b []byte, room string, term lease.Term) []byte {
	b = append(b, `{"election_id":`...)
	b = appendString(b, room)
	b = append(b, `,"status":"`+api.StatusVacant+`","previous_term":`...)
	b = strconv.AppendInt(b, int64(term), 10)
	return append(b, '}')
}

// appendState writes api.ElectionState, the data of a watch's event.
func appendState(b []byte, st *elections.Standing) []byte {
	b = append(b, `{"schema_version":`...)
	b = strconv.AppendInt(b, api.ElectionStateSchemaVersion, 10)
	b = append(b, `,"election_id":`...)
	b = appendString(b, st.Room)
	if st.Leader != nil {
		b = append(b, `,"status":"`+api.StatusLeader+`","leader":`...)
		b = appendLeader(b, st.Leader)
	} else {
		b = append(b, `,"status":"`+api.StatusVacant+`","leader":null`...)
	}
	b = append(b, `,"retry_after_ms":`...)
	b = strconv.AppendInt(b, ceilMs(st.RetryAfter), 10)
	b = append(b, `,"observed_at":"`...)
	b = appendTime(b, st.At.Wall)
	b = append(b, `","revision":`...)
	b = strconv.AppendInt(b, st.Revision, 10)
	return append(b, '}')
}
