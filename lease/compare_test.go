package lease_test

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/octostore/octostore/lease"
)

var byValue = cmpopts.EquateComparable(lease.Key{})

// same compares two records with everything that they point to.
func same(a, b lease.Record) bool { return cmp.Equal(a, b, byValue) }

// diff says what is different, empty if nothing is.
func diff(want, got any) string { return cmp.Diff(want, got, byValue) }

// deepCopy copies a record with everything that it points to.
func deepCopy(r lease.Record) lease.Record {
	r.Lease.Idem, r.Lease.Bound = clone(r.Lease.Idem), clone(r.Lease.Bound)
	if r.Last = clone(r.Last); r.Last != nil {
		r.Last.Idem = clone(r.Last.Idem)
	}
	return r
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
