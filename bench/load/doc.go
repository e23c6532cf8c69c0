// Package load drives clients in a closed loop and measures them.
//
// It owns the loop (one goroutine a client, warm-up, a measured window, a clean
// end) and the histogram of latencies. It knows nothing of what a cycle is:
// clients come from outside.
//
// Invariants: a client is called by one goroutine at a time and makes its next
// call as soon as the last one was answered; only cycles that end inside of the
// window are counted; the first error of any client ends the run, because a
// figure that contains wrong answers is worth nothing. Nothing is allocated
// while the loop runs.
package load
