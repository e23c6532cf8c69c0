package events_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/octostore/octostore/internal/events"
	"github.com/octostore/octostore/lease"
)

// A writer waits for the next frame, its heartbeat, the end of the stream's
// life and the reader's departure in one select.
func ExampleStream_Ready() {
	hub := events.New(events.Options{})
	key := lease.ElectionKey("nightly-job")
	record := lease.Record{Key: key}
	present := func(context.Context) (lease.Reading, error) { return lease.Reading{Record: record}, nil }

	ctx := context.Background()
	stream, err := hub.Watch(ctx, key, "", present)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()

	now := lease.Now{At: 1, Wall: 1_700_000_000_000_000}
	_, _, evs := record.Acquire(lease.Ground{Now: now}, lease.Acquire{TTL: 30 * time.Second, Label: "worker-1"})
	encode := func(f events.Frame) []byte {
		return fmt.Appendf(nil, "revision %d, held: %v, label: %q", f.Revision, f.Record.Held, f.Record.Lease.Label)
	}

	heartbeat := time.NewTicker(15 * time.Second)
	defer heartbeat.Stop()
	lifetime := time.NewTimer(15 * time.Minute)
	defer lifetime.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-lifetime.C:
			return
		case <-heartbeat.C:
			fmt.Println("heartbeat")
			continue
		case <-stream.Ready():
		}
		f, ok, err := stream.TryNext(ctx)
		switch {
		case errors.Is(err, events.ErrClosed):
			fmt.Println("the closing frame")
			return
		case err != nil:
			fmt.Println(err)
			return
		case !ok:
			continue
		case f.Gap:
			fmt.Println("gap")
			continue
		}
		fmt.Printf("%s\n", f.Encode(encode))
		if f.Event == nil {
			hub.Publish(evs)
		} else {
			hub.Close()
		}
	}
	// Output:
	// revision 0, held: false, label: ""
	// revision 1700000000000000, held: true, label: "worker-1"
	// the closing frame
}
