package testenv

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// An Outcome is the result of a write.
type Outcome uint8

const (
	// Acknowledged: the write has taken effect.
	Acknowledged Outcome = iota
	// Unknown: the write may have taken effect, or may still do so at any time.
	Unknown
	// Refused: the write has no effect.
	Refused
)

// An Operation is a call of a client.
type Operation struct {
	Client   string
	Register string // the value's name, such as "qty of stock item 7"
	Write    bool   // otherwise a read
	Value    string // written or read; no two writes of a register have the same
	Outcome  Outcome
	// Early: the read was answered by a system that shows writes before other systems are sure
	// of them. So another system may still show an older value until the write is acknowledged.
	Early bool
	// Began and Ended are times since the beginning of the log.
	Began, Ended time.Duration
}

// String returns the operation for people.
func (o Operation) String() string {
	verb := "read"
	if o.Write {
		verb = "wrote"
	}
	text := fmt.Sprintf("%s %s %q from %v to %v", o.Client, verb, o.Value, o.Began, o.Ended)
	switch {
	case o.Write && o.Outcome == Unknown:
		return text + " (outcome unknown)"
	case o.Write && o.Outcome == Refused:
		return text + " (refused)"
	default:
		return text
	}
}

// An OperationLog records operations. It is safe for concurrent use.
type OperationLog struct {
	start time.Time
	mu    sync.Mutex
	all   []Operation
}

// NewOperationLog returns a log that begins now.
func NewOperationLog() *OperationLog { return &OperationLog{start: time.Now()} }

func (l *OperationLog) add(o Operation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, o)
}

// Initial records the value that a register has before all calls.
func (l *OperationLog) Initial(register, value string) {
	l.add(Operation{Client: "nobody", Register: register, Write: true, Value: value, Began: -1, Ended: -1})
}

// Write records a write, which do executes.
func (l *OperationLog) Write(client, register, value string, do func() Outcome) {
	began := time.Since(l.start)
	outcome := do()
	l.add(Operation{Client: client, Register: register, Write: true, Value: value, Outcome: outcome, Began: began, Ended: time.Since(l.start)})
}

// Read records a read, which do executes, unless ok is false.
func (l *OperationLog) Read(client, register string, do func() (value string, ok bool)) {
	l.read(client, register, false, do)
}

// ReadEarly is Read for a read that is [Operation.Early].
func (l *OperationLog) ReadEarly(client, register string, do func() (value string, ok bool)) {
	l.read(client, register, true, do)
}

func (l *OperationLog) read(client, register string, early bool, do func() (value string, ok bool)) {
	began := time.Since(l.start)
	if value, ok := do(); ok {
		l.add(Operation{Client: client, Register: register, Value: value, Early: early, Began: began, Ended: time.Since(l.start)})
	}
}

// Operations returns the recorded operations.
func (l *OperationLog) Operations() []Operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// A kind is the kind of fault of a read.
type kind string

const (
	// stale: the read showed an older value than an earlier call had shown or stored. Later
	// reads show others.
	stale kind = "stale"
	// Lost: as Stale, but from then on all reads show that older value, and none ever showed
	// the newer one.
	Lost kind = "lost"
	// doubled: as Lost, but reads had shown the newer value before: the older write was
	// executed again.
	doubled kind = "doubled"
	// phantom: no client had written the value when the read ended, or the write was refused.
	phantom kind = "phantom"
)

// A Fault is a read that cannot be right.
type Fault struct {
	Kind kind
	Read Operation
	// Before and After are, unless the Kind is Phantom, calls of the newer value: Before
	// ended before Read began, and After began after Older, a call of Read's value, had ended.
	// Each may be the write.
	Before, After, Older Operation
}

// String names the operations.
func (f Fault) String() string {
	if f.Kind == phantom {
		return fmt.Sprintf("%s: phantom: %s, which no write stored", f.Read.Register, f.Read)
	}
	return fmt.Sprintf("%s: %s: %s, after %s; but %s, after %s", f.Read.Register, f.Kind, f.Read, f.Before, f.After, f.Older)
}

// CheckOperations returns the faults of a history by the time of the read: for each pair of values at most
// one. There are none if, and only if, the history is linearizable. CheckOperations panics if two writes
// of a register that were not refused have the same value: no read could be assigned to one
// write then.
func CheckOperations(all []Operation) (faults []Fault) {
	registers := map[string][]Operation{}
	for _, o := range all {
		registers[o.Register] = append(registers[o.Register], o)
	}
	for _, of := range registers {
		faults = append(faults, check(of)...)
	}
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Read.Began, b.Read.Began), cmp.Compare(a.Read.Register, b.Read.Register), cmp.Compare(a.Before.Value, b.Before.Value))
	})
	return faults
}

// A cluster summarizes the calls of one value.
type cluster struct {
	write      Operation
	firstEnded Operation // the one that ended first
	lastBegan  Operation // the one that began last
	isRead     bool      // by a call
}

// mustPrecede reports whether a call of c ended before one of another value began.
func (c *cluster) mustPrecede(other *cluster) bool { return c.firstEnded.Ended < other.lastBegan.Began }

// endless is the end of a call whose effect has no known end.
const endless = time.Duration(1<<63 - 1)

// check returns the faults of one register.
func check(all []Operation) (faults []Fault) {
	clusters := map[string]*cluster{}
	for _, o := range all {
		if !o.Write || o.Outcome == Refused {
			continue
		}
		if clusters[o.Value] != nil {
			panic(fmt.Sprintf("consistency: two writes of %q to %s", o.Value, o.Register))
		}
		if o.Outcome == Unknown {
			o.Ended = endless
		}
		clusters[o.Value] = &cluster{write: o, firstEnded: o, lastBegan: o}
	}
	var lastRead Operation
	for _, o := range all {
		if o.Write {
			continue
		}
		c := clusters[o.Value]
		if c == nil || o.Ended < c.write.Began {
			faults = append(faults, Fault{Kind: phantom, Read: o})
			continue
		}
		c.isRead = true
		if o.Ended < c.firstEnded.Ended && !o.Early {
			c.firstEnded = o
		}
		if o.Began > c.lastBegan.Began {
			c.lastBegan = o
		}
		if o.Began >= lastRead.Began {
			lastRead = o
		}
	}
	values := slices.Sorted(maps.Keys(clusters))
	for _, older := range values {
		a := clusters[older]
		for _, newer := range values {
			b := clusters[newer]
			// The older value is the one that was stored or shown first. Its last call is a
			// read: a write would begin after a read of its value.
			isOlder := cmp.Or(cmp.Compare(a.firstEnded.Ended, b.firstEnded.Ended), cmp.Compare(older, newer)) < 0
			if !isOlder || !a.mustPrecede(b) || !b.mustPrecede(a) {
				continue
			}
			f := Fault{Kind: stale, Read: a.lastBegan, Before: b.firstEnded, After: b.lastBegan, Older: a.firstEnded}
			if lastRead.Value == older {
				if f.Kind = Lost; b.isRead {
					f.Kind = doubled
				}
			}
			faults = append(faults, f)
		}
	}
	return faults
}
