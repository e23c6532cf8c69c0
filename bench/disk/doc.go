// Package disk measures how often a second the disk under a folder makes a small
// write durable: the limit of every server that answers only what would survive
// a crash, and that does not gather several answers in one sync.
//
// The write is 4 KiB over bytes that the file already has, as a write-ahead log
// that has reached its size writes them: no block is allocated and no length
// changes, so it is the cheapest durable write that there is.
package disk
