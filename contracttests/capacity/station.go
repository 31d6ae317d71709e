package capacity

// A station is a server with one core or more that serves its work in the order of arrival.
type station struct {
	unqueued bool
	free     []float64 // when each core is free
}

func (p *Plan) newStation(cores int) station {
	return station{unqueued: p.Unqueued, free: make([]float64, max(cores, 1))}
}

// serve returns when work of so many seconds that arrives now is done. Calls must be in the order of
// time.
func (s *station) serve(now, seconds float64) float64 {
	if s.unqueued {
		return now + seconds
	}
	core := 0
	for i, free := range s.free {
		if free < s.free[core] {
			core = i
		}
	}
	s.free[core] = max(s.free[core], now) + seconds
	return s.free[core]
}

// An event is something that happens at a time in seconds.
type event struct {
	at    float64
	order uint64 // of events at the same time
	run   func()
	// counts: it belongs to a request that is counted.
	counts bool
}

// An agenda is a heap of events, the next one first.
type agenda struct {
	events []event
	added  uint64
	counts bool // of the events that are added
}

func (a *agenda) less(i, j int) bool {
	x, y := &a.events[i], &a.events[j]
	return x.at < y.at || x.at == y.at && x.order < y.order
}

func (a *agenda) add(at float64, run func()) {
	a.added++
	a.events = append(a.events, event{at, a.added, run, a.counts})
	for i := len(a.events) - 1; i > 0 && a.less(i, (i-1)/2); i = (i - 1) / 2 {
		a.events[i], a.events[(i-1)/2] = a.events[(i-1)/2], a.events[i]
	}
}

// next removes the next event.
func (a *agenda) next() event {
	first, last := a.events[0], len(a.events)-1
	a.events[0], a.events[last] = a.events[last], event{}
	a.events = a.events[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && a.less(child+1, child) {
			child++
		}
		if !a.less(child, i) {
			return first
		}
		a.events[i], a.events[child] = a.events[child], a.events[i]
		i = child
	}
}
