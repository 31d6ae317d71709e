package mapping

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/portico-commerce/portico/mapping/codec"
)

// errPanicked is that of a reply that a panic has ended, which has been logged.
var errPanicked = errors.New("panic")

// errNotTaken is that of a writer that does not take the reply, because the client is
// gone or there is no room.
var errClientWrite = errors.New("the reply could not be written")

// stream writes a list that goes on behind reply.Body, batch by batch, each out of buf.
// written is the number of records that w has taken.
func (s *Service) stream(ctx context.Context, c *Call, reply *Reply, buf []byte, w io.Writer) (written int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(ctx, c, p)
			err = errPanicked
		}
	}()
	err = s.streamList(ctx, c, reply, buf, w, &written)
	return written, err
}

// ReportCut logs why a reply of a call ended in the middle, with the error of its
// Stream, unless the client is the cause.
func (s *Service) LogInterruptedList(ctx context.Context, call string, err error) {
	if !errors.Is(err, errClientWrite) && shouldLog(err) {
		s.logFailure(ctx, call, "list cut off", err)
	}
}

// write renders a list and writes it, a batch at a time. While a batch is being written
// nothing of it is in memory but its rendering: clients may be slow.
// It adds the entries of each batch that w has taken to written.
func (s *Service) streamList(ctx context.Context, c *Call, reply *Reply, buf []byte, w io.Writer, written *int64) error {
	list := codec.NewEncoder(c.Format, s.dialect.Root, reply.Body.Shape(), reply.Numbered)
	buf = buf[:0]
	entries := int64(0) // in buf
	add := func(entry *codec.Member) {
		entries++
		buf = list.Append(buf, entry)
	}
	send := func() error {
		if _, err := w.Write(buf); err != nil {
			return fmt.Errorf("%w: %w", errClientWrite, err)
		}
		*written += entries
		buf, entries = buf[:0], 0
		return nil
	}
	for i := range reply.Body.Members {
		add(&reply.Body.Members[i])
	}
	reply.Body = nil
	reply.release()
	for more := true; more; {
		if err := send(); err != nil {
			return err
		}
		var err error
		if more, err = reply.NextBatch(withCallerRole(ctx, c), add); err != nil {
			return err
		}
	}
	buf = list.End(buf)
	return send()
}
