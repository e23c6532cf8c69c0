//go:build race

package simulation

// raced tells that the detector is on, under which the library of the database
// runs about twenty times slower.
const raced = true
