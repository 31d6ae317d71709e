package binlog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// A stream is the state of a Reader after the events that it has read.
type stream struct {
	position magento1.Position // of the last event, GTID excepted
	open     *Set
	schema   bool      // the open transaction may have changed columns
	findings []Finding // of the open transaction
	found    map[Finding]bool
	layouts  map[uint64]*layout // by the ids that the log gives to tables
	inside   bool               // a transaction has begun that will end with an event of its own
	xa       xaTransactions

	// The transactions up to the last one that has ended, while Reader.mu is locked: the last
	// one of each domain of MariaDB, or MySQL's set. Both are nil if the server does not number
	// them.
	domains map[uint32]string
	set     gomysql.GTIDSet
	gtid    func() // adds the open transaction

	undecoded bool // the rows of the event could not be decoded
	// lookupErr is why the columns of a table could not be looked up, which ends the stream: the
	// library makes a text of it.
	lookupErr error
}

// A streamError is one that the handler returns, which may be shown.
type streamError struct{ error }

// setGTIDs sets the transactions that have been read.
func (s *stream) setGTIDs(flavor, text string) error {
	s.gtid = func() {}
	if flavor != gomysql.MariaDBFlavor {
		if text == "" {
			return nil // gtid_mode is off
		}
		set, err := gomysql.ParseMysqlGTIDSet(text)
		if err != nil {
			return fmt.Errorf("%w: its set of GTIDs is of a form that is not known here", ErrGap)
		}
		s.set = set
		return nil
	}
	s.domains = map[uint32]string{}
	for one := range strings.SplitSeq(text, ",") {
		if one == "" {
			continue
		}
		gtid, err := gomysql.ParseMariadbGTID(strings.TrimSpace(one))
		if err != nil {
			return fmt.Errorf("%w: its GTIDs are not those of MariaDB", ErrGap)
		}
		s.domains[gtid.DomainID] = gtid.String()
	}
	return nil
}

// gtids returns the transactions that have been read, in the server's form.
func (s *stream) gtids() string {
	if s.set != nil {
		return s.set.String()
	}
	var all []string
	for _, domain := range slices.Sorted(maps.Keys(s.domains)) {
		all = append(all, s.domains[domain])
	}
	return strings.Join(all, ",")
}

// A handler handles events for a Reader, in the goroutine that reads them.
type handler struct{ *Reader }

// HandleEvent implements [replication.EventHandler].
func (h handler) HandleEvent(e *replication.BinlogEvent) error {
	if err := h.handle(e); err != nil {
		return &streamError{err}
	}
	return nil
}

func (r *Reader) handle(e *replication.BinlogEvent) error {
	r.advance(e.Header)
	switch event := e.Event.(type) {
	case *replication.RotateEvent:
		r.position.File, r.position.Offset = string(event.NextLogName), event.Position
	case *replication.FormatDescriptionEvent:
		clear(r.layouts) // the server may have started again, and given other ids to tables
		select {
		case <-r.opened:
		default:
			close(r.opened)
		}
	case *replication.MariadbGTIDEvent:
		r.begin(!event.IsStandalone(), func() { r.domains[event.GTID.DomainID] = event.GTID.String() })
	case *replication.GTIDEvent:
		if e.Header.EventType == replication.GTID_EVENT && r.set != nil {
			next, err := event.GTIDNext()
			if err != nil {
				return fmt.Errorf("%w: a GTID is of a form that is not known here", ErrGap)
			}
			r.begin(false, func() { _ = r.set.Update(next.String()) }) // it comes from a set
		}
	case *replication.GtidTaggedLogEvent:
		return errors.New("the server tags GTIDs, which cannot be read here: unset gtid_next tags in its clients")
	case *replication.RowsEvent:
		r.addRows(event)
	case *replication.TransactionPayloadEvent:
		for _, inner := range event.Events {
			inner.Header.LogPos = 0 // it has no place of its own
			if err := r.handle(inner); err != nil {
				return err
			}
		}
	case *replication.QueryEvent:
		r.addStatement(e.Header, string(event.Schema), event.Query)
	case *replication.ExecuteLoadQueryEvent:
		r.open.AddAll()
		r.find(findFormat)
	case *replication.XIDEvent:
		r.commit(e.Header)
	default:
		return r.handleOther(e.Header)
	}
	return nil
}

// advance sets the place in the file to the end of an event. The event has the last 32 bits of
// it, or 0 if its end is not known; MariaDB 11.4 and later write others only at the end of a
// transaction. Events that the server sends to begin with can have places before the position.
func (s *stream) advance(h *replication.EventHeader) {
	const maxEvent = 1 << 31
	ahead := h.LogPos - uint32(s.position.Offset)
	if h.LogPos != 0 && h.Flags&replication.LOG_EVENT_ARTIFICIAL_F == 0 && h.EventType != replication.HEARTBEAT_EVENT && ahead < maxEvent {
		s.position.Offset += uint64(ahead)
	}
}

// handleOther handles the types of events that have no type of their own in the library.
func (r *Reader) handleOther(h *replication.EventHeader) error {
	switch h.EventType {
	case replication.INCIDENT_EVENT:
		return fmt.Errorf("%w: the server says that it has lost events", ErrGap)
	case replication.HEARTBEAT_EVENT:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ready.beat = true
		r.signal()
	case xaPrepareEvent:
		r.xa.prepare(&r.open)
		r.commit(h)
	}
	return nil
}

// xaPrepareEvent is the type of the event that ends a transaction which a later statement
// commits.
const xaPrepareEvent = replication.EventType(38)

// begin begins a transaction.
func (r *Reader) begin(inside bool, gtid func()) { r.inside, r.gtid = inside, gtid }

// commit ends a transaction, and makes its changes ready.
func (r *Reader) commit(h *replication.EventHeader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gtid()
	r.begin(false, func() {})
	b := &batch{changes: r.open, schema: r.schema, findings: r.findings, position: r.position}
	if !b.changes.Empty() {
		b.at = time.Unix(int64(h.Timestamp), 0).UTC()
		r.open = r.open.New()
	}
	r.schema, r.findings = false, nil
	b.beat = time.Since(r.returned) >= r.heartbeat
	if r.ready.add(b); r.ready.isDue() {
		r.signal()
	}
}

// find notes a finding, each only once.
func (r *Reader) find(f Finding) {
	if !r.found[f] {
		r.found[f] = true
		r.findings = append(r.findings, f)
	}
}
