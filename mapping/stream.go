package mapping

import (
	"bytes"
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
// written is the number of records that w has taken.
func (s *Service) stream(ctx context.Context, c *Call, reply *Reply, buf []byte, w io.Writer) (written int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(ctx, c, p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	err = s.write(ctx, c, reply, buf, w, &written)
	if err != nil && !errors.Is(err, errNotTaken) && !errors.Is(err, context.Canceled) {
		s.report(ctx, c, "list cut off", err)
	}
	return written, err
}

// write renders a list and writes it piece by piece, each out of buf. It adds the
// entries of each piece that w has taken to written.
func (s *Service) write(ctx context.Context, c *Call, reply *Reply, buf []byte, w io.Writer, written *int64) error {
	list := codec.NewEncoder(c.Format, s.dialect.Root, reply.Body.Shape(), reply.Numbered)
	buf = buf[:0]
	held := int64(0) // entries in buf
	send := func() error {
		_, err := w.Write(buf)
		buf = buf[:0]
		if err != nil {
			return fmt.Errorf("%w: %w", errNotTaken, err)
		}
		*written += held
		held = 0
		return nil
	}
	add := func(entry *codec.Member) error {
		held++
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

// whole renders a list that goes on behind reply.Body into one body, with buf for
// its pieces.
func (s *Service) whole(ctx context.Context, c *Call, reply *Reply, buf []byte) ([]byte, error) {
	var body bytes.Buffer
	err := s.write(ctx, c, reply, buf, &body, new(int64))
	return body.Bytes(), err
}
