// Package machine tells what the kernel says of the machine and of processes on
// it: processor time, load, and what file system a folder is on. It needs Linux.
//
// It only reads. It decides nothing about what a reading means for a figure.
package machine
