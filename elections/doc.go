// Package elections is the anonymous product: rooms in which candidates
// campaign, one leads, and the rest learn who does and when to try again.
//
// It owns the meaning of a campaign, a renewal, a resignation and a status
// over the kernel: which request is a repeat, what the leader token of a term
// is, what is told to a follower, and that no answer ever carries a lease that
// is over. It does not own HTTP, admission limits, or how a transition becomes
// durable: that is what Store promises.
//
// A room id is an address, not a permission. The leader token is the
// authority: whoever shows it may renew and resign, nobody else, whatever name
// they campaigned under. Tokens are derived from the server key and never
// stored.
package elections
