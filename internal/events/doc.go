// Package events tells, inside one process, what happened to names: it takes
// the events of committed transitions and hands each of them to every stream
// that watches the name.
//
// # What it owns
//
//   - [Hub]: which names are watched, and the recent events of those names,
//     kept for readers that come back.
//   - [Stream]: what one reader has seen, and so what it is told next: an
//     event, the present state, or that there is a gap.
//   - [Frame]: one such thing, encoded once however many streams send it.
//
// # What it does not own
//
// It writes nothing to a connection and knows no wire format: headers,
// heartbeats, the longest life of a stream and how many streams a client may
// have belong to the HTTP layer. It does not read the store either: a stream
// is given a function that shows the present state. And it is no record of
// the past: what it keeps is bounded and is gone after a restart, when a reader
// that comes back either has missed nothing or is told that there is a gap.
//
// # Invariants
//
//  1. Within a stream revisions rise. An event is sent only if its Previous is
//     the revision that was sent last; whatever else comes is announced by a
//     gap frame, and the next frame after a gap is the present state. (Only if
//     the store forgot the name, or was set back, can that state have a lower
//     revision than what was sent before the gap.)
//  2. Nothing falls between the present state and the events that follow it. A
//     stream has its place in the log of its name before it reads the state;
//     events that the state already tells of are passed over.
//  3. Publish never waits for a reader. It takes one short lock that no reader
//     holds while it reads, encodes or writes. Streams walk the log of a name
//     without a lock, and the goroutine that wakes them holds none either.
//  4. Memory is bounded by Options, whatever readers do: History events over
//     all names, one more for each name and each stream, and at most Names
//     names. A reader that stands still pins a single event.
//  5. A name that nobody watches costs a map look-up for each of its events
//     and no allocation.
//
// # How it works
//
// Every watched name has a topic with a log: a chain of entries that never
// change once they are linked. A stream is a place in that chain. Publish links
// new entries, puts the topic on a list of those to be woken, in which it
// stands at most once, and returns. The hub's goroutine takes that list and
// closes the one channel on which all idle streams of the topic wait. So the
// hand-over from the committer is bounded without a queue that could overflow:
// what a burst pushes out of the history is cut from its chain, and whoever had
// not read it finds the cut and is told of a gap.
//
// All entries stand in one history too, oldest first, and the oldest goes when
// there are too many, whatever its name. A topic outlives its last stream by
// Options.Linger so that a reader whose connection broke finds what it missed.
// When a new name needs the place, the name that has lingered longest goes.
//
// # More than one kind, and more than one name
//
// The hub does not look at the kind of a key: locks are watched as rooms are.
//
// A watch of all locks of a tenant under a prefix fits in like this, and is why
// position, link and encoding belong to the entry and not to the event. A topic
// can stand for a scope instead of a key; Publish then looks up key and scope,
// and links an entry of its own into the log of each. In the log of a scope
// continuity is the position in the log instead of Previous, the id told to the
// reader is that position together with something that names this process, the
// stream passes over what is not under its prefix, and the present state is the
// list of held names. History, lag, gaps, lingering and waking stay as they are.
package events
