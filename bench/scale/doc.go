// Package scale measures the SQLite store alone, without HTTP, with few and with
// very many rooms that are led: what a cycle on other rooms costs then, what a room
// costs in memory, and how long the real server takes to start on such a file.
//
// Each store lives in a process of its own, a worker, so that neither the memory
// nor the garbage collector of one is in the figures of the other. Workers stay
// until the end and measure in turn, when they are told to.
package scale
