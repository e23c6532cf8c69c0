package ratelimit

// order is a list from the oldest to the newest element. The links live inside the elements, so that putting one in and
// taking it out again, which happens with every request on a kept connection, allocates nothing. It is not safe for
// concurrent use.
type order[T any] struct {
	oldest, newest *place[T]
	length         int
}

// place is an element's position in an order. The zero value is in none.
type place[T any] struct {
	older, newer *place[T]
	of           *T
}

// listed tells whether the place is taken in an order.
func (p *place[T]) listed() bool { return p.of != nil }

// push makes element the newest. p must be its place and must not be listed.
func (o *order[T]) push(p *place[T], element *T) {
	p.of, p.older = element, o.newest
	if o.newest == nil {
		o.oldest = p
	} else {
		o.newest.newer = p
	}
	o.newest = p
	o.length++
}

// remove takes p's element out. p must be listed in this order.
func (o *order[T]) remove(p *place[T]) {
	if p.older == nil {
		o.oldest = p.newer
	} else {
		p.older.newer = p.newer
	}
	if p.newer == nil {
		o.newest = p.older
	} else {
		p.newer.older = p.older
	}
	*p = place[T]{}
	o.length--
}

// first returns the oldest element, nil if there is none.
func (o *order[T]) first() *T {
	if o.oldest == nil {
		return nil
	}
	return o.oldest.of
}
