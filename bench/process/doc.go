// Package process starts the servers that are measured, each as a process of its
// own, and ends them.
//
// Invariants: what it starts, it ends, by the process id that it got and by no
// name; a server goes with the program that started it; what a server prints goes
// to a file, so that nobody has to read a pipe while the load runs, and its end
// is quoted when the server fails.
package process
