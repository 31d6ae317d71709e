package mapping

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/portico-commerce/portico/mapping/codec"
)

// pieceBytes is the size at which what has been rendered of a list is written.
const pieceBytes = 32 << 10

// errNotTaken is that of a client that does not take its reply.
var errNotTaken = errors.New("the client takes no more")

// stream writes a list that goes on behind reply.Body. The status has been sent:
// what fails from here on is only in the log, unless the client itself has gone.
func (s *Service) stream(ctx context.Context, c *Call, reply *Reply, buf []byte, w io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(ctx, c, p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	err = s.write(ctx, c, reply, buf, w)
	if err != nil && !errors.Is(err, errNotTaken) && !errors.Is(err, context.Canceled) {
		s.report(ctx, c, "list cut off", err)
	}
	return err
}

// write renders a list and writes it piece by piece, each out of buf.
func (s *Service) write(ctx context.Context, c *Call, reply *Reply, buf []byte, w io.Writer) error {
	list := codec.NewEncoder(c.Format, s.dialect.Root, reply.Body.Shape(), reply.Numbered)
	buf = buf[:0]
	send := func() error {
		_, err := w.Write(buf)
		buf = buf[:0]
		if err != nil {
			return fmt.Errorf("%w: %w", errNotTaken, err)
		}
		return nil
	}
	add := func(entry *codec.Member) error {
		if buf = list.Append(buf, entry); len(buf) < pieceBytes {
			return nil
		}
		return send()
	}
	for i := range reply.Body.Members {
		if err := add(&reply.Body.Members[i]); err != nil {
			return err
		}
	}
	reply.Body = nil // the first batch is not needed while others are written
	if err := reply.Rest(ctx, add); err != nil {
		return err
	}
	buf = list.End(buf)
	return send()
}
