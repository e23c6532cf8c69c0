package api

import (
	"errors"
	"fmt"
	"time"
)

// timeLayout is RFC 3339 in UTC with exactly three fraction digits: one format
// for every instant that the API tells, so that texts compare like instants.
const timeLayout = "2006-01-02T15:04:05.000Z"

// errYear is returned for instants that RFC 3339 can not express.
var errYear = errors.New("api: year outside 0000 to 9999 has no RFC 3339 form")

// Time is an instant on the wire. It marshals as RFC 3339 in UTC with exactly three
// fraction digits and a `Z`; finer parts are cut off, never rounded up, so an
// expiry is not told later than it is.
//
// Instants in answers are information for people and logs. Whoever waits or
// measures uses the relative `*_ms` fields: two hosts seldom agree on the time.
type Time time.Time

// NewTime returns t as it will look on the wire: UTC, whole milliseconds, without
// a monotonic reading.
func NewTime(t time.Time) Time {
	return Time(t.UTC().Truncate(time.Millisecond))
}

// Time returns the instant as a time.Time.
func (t Time) Time() time.Time { return time.Time(t) }

// Equal reports whether both are the same instant; zones do not matter.
func (t Time) Equal(u Time) bool { return time.Time(t).Equal(time.Time(u)) }

// String returns the wire form.
func (t Time) String() string { return time.Time(t).UTC().Format(timeLayout) }

// MarshalText returns the wire form. It fails for years that RFC 3339 lacks.
func (t Time) MarshalText() ([]byte, error) {
	utc := time.Time(t).UTC()
	if y := utc.Year(); y < 0 || y > 9999 {
		return nil, errYear
	}
	return utc.AppendFormat(make([]byte, 0, len(timeLayout)), timeLayout), nil
}

// UnmarshalText reads any RFC 3339 instant, with or without fraction and in any zone,
// because servers of the first generation wrote up to nine digits.
func (t *Time) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("api: not an RFC 3339 instant: %w", err)
	}
	*t = Time(parsed.UTC())
	return nil
}
