// Command octostore is the coordination service in one binary: the server and
// what operates it.
//
// It owns wiring, the environment, exit codes and the order in which things
// are opened and closed. What the parts do is theirs.
package main
