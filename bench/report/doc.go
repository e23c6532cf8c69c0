// Package report holds what was measured, compares it, judges it and prints it.
//
// It owns the form of the JSON file, the medians and ratios, and the list of
// requirements with their floors and goals. It measures nothing.
//
// Invariants: rates of different runs are never compared; a ratio is the median of
// the ratios of the single rounds, in each of which both sides ran within seconds
// of one another; what was not measured is told as not measured, and is neither
// met nor missed.
package report
