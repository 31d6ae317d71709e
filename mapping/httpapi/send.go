package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/portico-commerce/portico/mapping/resource"
)

const (
	// unbudgetedReply is the size in bytes of replies that do not count against the budget: the
	// system uses as much memory for a connection.
	unbudgetedReply = 64 << 10
	// unknownLength is the length of a streamed body.
	unknownLength = -1
)

// send writes the reply of s. It fails only if the body could not be completed.
func (a *API) send(ctx context.Context, c *gin.Context, s *state) error {
	r := &s.response
	if r.EntityTag != "" && matches(c.Request.Header["If-None-Match"], r.EntityTag) {
		r.Status, r.Body = http.StatusNotModified, r.Body[:0]
	}
	switch {
	case r.Stream == nil && len(r.Body) <= unbudgetedReply:
		a.write(c, r)
		return nil
	case r.Stream == nil:
		return a.sendLarge(c, s)
	case !c.Request.ProtoAtLeast(1, 1):
		// HTTP/1.0 marks the end of a body of unknown length by closing the connection, so
		// that a truncated body would look complete.
		return a.sendSpooled(c, s, func(w io.Writer) error {
			_, err := r.Stream(ctx, w)
			return err
		})
	default:
		a.writeHeaders(c, r, unknownLength)
		records, err := r.Stream(ctx, flushing{c.Writer})
		a.Metrics.streamed.WithLabelValues(r.Call).Add(float64(records))
		if err != nil {
			a.service.LogInterruptedList(ctx, r.Call, err)
		}
		return err
	}
}

// sendLarge is send for a large body. A slow client can keep it in memory for long, so its
// memory counts against the budget.
func (a *API) sendLarge(c *gin.Context, s *state) error {
	size := int64(len(s.response.Body))
	if a.replies.TryTake(size) == nil {
		defer a.replies.Return(size)
		a.write(c, &s.response)
		return nil
	}
	return a.sendSpooled(c, s, func(w io.Writer) error {
		_, err := w.Write(s.response.Body)
		s.response.Body = nil // the file holds it now
		return err
	})
}

// sendSpooled is send for a body that fill writes to a temporary file first.
func (a *API) sendSpooled(c *gin.Context, s *state, fill func(io.Writer) error) error {
	file := &spoolFile{spool: &a.spool}
	defer func() {
		if err := file.Close(); err != nil {
			a.Log.LogAttrs(c.Request.Context(), slog.LevelWarn, "temporary file not removed", slog.Any("error", err))
		}
	}()
	if err := fill(file); err != nil {
		role := s.response.Role
		s.response = a.service.ErrorResponse(c.Request.Context(), &s.request, err, s.buffer[:0])
		s.response.Role = role
		a.write(c, &s.response)
		return nil
	}
	a.writeHeaders(c, &s.response, file.size)
	_, err := file.WriteTo(c.Writer)
	return err
}

// reply writes a response and makes it the reply of s.
func (a *API) reply(c *gin.Context, s *state, response resource.Response) {
	s.response = response
	a.write(c, &s.response)
}

// write writes the headers and the body of a response.
func (a *API) write(c *gin.Context, response *resource.Response) {
	a.writeHeaders(c, response, int64(len(response.Body)))
	// Errors are ignored: a client that disconnects still counts with its status.
	_, _ = c.Writer.Write(response.Body)
}

// writeHeaders writes the headers of a response with a body of the given length.
func (a *API) writeHeaders(c *gin.Context, response *resource.Response, length int64) {
	header := headers{c.Writer.Header(), make([]string, 0, maxHeaders)}
	header.set("Cache-Control", "no-store")
	if response.Location != "" {
		header.set("Location", a.BasePath+response.Location)
	}
	if response.RetryAfter > 0 {
		header.set("Retry-After", strconv.Itoa(response.RetryAfter))
	}
	setCacheHeaders(&header, response)
	if response.Status != http.StatusNotModified {
		header.set("Content-Type", response.ContentType)
		if length != unknownLength {
			header.set("Content-Length", strconv.FormatInt(length, 10))
		}
	}
	c.Writer.WriteHeader(response.Status)
	c.Writer.WriteHeaderNow()
}

// flushing is a response writer that flushes after each piece.
type flushing struct{ gin.ResponseWriter }

// Write writes a piece of the body and flushes it.
func (f flushing) Write(piece []byte) (int, error) {
	n, err := f.ResponseWriter.Write(piece)
	f.Flush()
	return n, err
}
