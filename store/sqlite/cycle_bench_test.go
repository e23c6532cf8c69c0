package sqlite

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/octostore/octostore/lease"
)

// BenchmarkCycle grants and releases leases on distinct names, durably, from
// 256 callers at a time.
func BenchmarkCycle(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "octostore.db"), Options{Linger: time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var caller atomic.Int64
	b.SetParallelism(128)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		key := lease.ElectionKey(fmt.Sprintf("room-%08d", caller.Add(1)))
		for pb.Next() {
			req := lease.Acquire{TTL: 30 * time.Second, Label: "candidate", Labelled: true, KeyID: 1}
			_, _ = rand.Read(req.Nonce[:])
			out, err := s.Acquire(b.Context(), key, req, 0)
			if err != nil || out.Verdict != lease.Granted {
				b.Errorf("%v %v", out.Verdict, err)
				return
			}
			if out, err = s.Release(b.Context(), key, out.Record.Ref()); err != nil || out.Verdict != lease.Released {
				b.Errorf("%v %v", out.Verdict, err)
				return
			}
		}
	})
}
