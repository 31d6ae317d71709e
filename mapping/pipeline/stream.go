package pipeline

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/resource"
	"io"
)

// errClientWrite reports that the writer did not accept a reply: the client has gone, or
// the spool has no room.
var errClientWrite = errors.New("the reply could not be written")

// stream writes a list that continues after reply.Body in batches, using buf for each of
// them. written is the number of records that w has accepted.
func (s *Pipeline) stream(ctx context.Context, c *Run, reply *resource.Reply, buf []byte, w io.Writer) (written int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.LogPanic(ctx, c, p)
			err = ErrPanicked
		}
	}()
	err = s.streamList(ctx, c, reply, buf, w, &written)
	return written, err
}

// LogInterruptedList logs the reason why a list broke off after its reply had begun,
// unless the client is the cause. err is the error of [resource.Response.Stream].
func (s *Pipeline) LogInterruptedList(ctx context.Context, call string, err error) {
	if !errors.Is(err, errClientWrite) && shouldLog(err) {
		resource.LogFailure(ctx, s.log, call, "list interrupted", err)
	}
}

// streamList renders and writes a list in batches. While it writes a batch, only the
// rendering of that batch is in memory, because a client may be slow. It adds the entries
// of each batch that w has accepted to written.
func (s *Pipeline) streamList(ctx context.Context, c *Run, reply *resource.Reply, buf []byte, w io.Writer, written *int64) error {
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
	reply.Release()
	for more := true; more; {
		if err := send(); err != nil {
			return err
		}
		var err error
		if more, err = reply.NextBatch(resource.WithFilterLimits(ctx, s.filtersOf(c)), add); err != nil {
			return err
		}
	}
	buf = list.End(buf)
	return send()
}
