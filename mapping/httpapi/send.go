package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
)

const (
	// unbudgetedReply is the size in bytes of replies that do not count against the budget: the
	// system uses as much memory for a connection.
	unbudgetedReply = 64 << 10
	// unknownLength is the length of a streamed body.
	unknownLength = -1
)

// send writes a response and returns it as it was sent. The error is that of a body that
// could not be completed.
func (a *api) send(ctx context.Context, c *gin.Context, scheme string, response mapping.Response, buf []byte) (mapping.Response, error) {
	if response.EntityTag != "" && matches(c.Request.Header["If-None-Match"], response.EntityTag) {
		response.Status, response.Body = http.StatusNotModified, response.Body[:0]
	}
	switch {
	case response.Stream == nil && len(response.Body) <= unbudgetedReply:
		a.write(c, &response)
		return response, nil
	case response.Stream == nil:
		return a.sendLarge(c, scheme, response, buf)
	case !c.Request.ProtoAtLeast(1, 1):
		// HTTP/1.0 marks the end of a body of unknown length by closing the connection, so
		// that a truncated body would look complete.
		return a.sendSpooled(c, scheme, response, buf, func(w io.Writer) error {
			_, err := response.Stream(ctx, w)
			return err
		})
	default:
		a.writeHeaders(c, &response, unknownLength)
		records, err := response.Stream(ctx, flushing{c.Writer})
		a.Metrics.streamed.WithLabelValues(response.Call).Add(float64(records))
		if err != nil {
			a.service.LogInterruptedList(ctx, response.Call, err)
		}
		return response, err
	}
}

// sendLarge is send for a large body. A slow client can keep it in memory for long, so its
// memory counts against the budget.
func (a *api) sendLarge(c *gin.Context, scheme string, response mapping.Response, buf []byte) (mapping.Response, error) {
	size := int64(len(response.Body))
	if a.replies.TryTake(size) == nil {
		defer a.replies.Return(size)
		a.write(c, &response)
		return response, nil
	}
	body := response.Body
	response.Body = nil
	return a.sendSpooled(c, scheme, response, buf, func(w io.Writer) error {
		_, err := w.Write(body)
		body = nil // the file holds it now
		return err
	})
}

// sendSpooled is send for a body that fill writes to a temporary file first.
func (a *api) sendSpooled(c *gin.Context, scheme string, response mapping.Response, buf []byte, fill func(io.Writer) error) (mapping.Response, error) {
	file := &spoolFile{spool: &a.spool}
	defer func() {
		if err := file.Close(); err != nil {
			a.Log.LogAttrs(c.Request.Context(), slog.LevelWarn, "temporary file not removed", slog.Any("error", err))
		}
	}()
	if err := fill(file); err != nil {
		refusal := a.service.ErrorResponse(c.Request.Context(), c.Request, scheme, err, buf)
		refusal.Role = response.Role
		a.write(c, &refusal)
		return refusal, nil
	}
	a.writeHeaders(c, &response, file.size)
	_, err := file.WriteTo(c.Writer)
	return response, err
}

// write writes the headers and the body of a response.
func (a *api) write(c *gin.Context, response *mapping.Response) {
	a.writeHeaders(c, response, int64(len(response.Body)))
	// Errors are ignored: a client that disconnects still counts with its status.
	_, _ = c.Writer.Write(response.Body)
}

// writeHeaders writes the headers of a response with a body of the given length.
func (a *api) writeHeaders(c *gin.Context, response *mapping.Response, length int64) {
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
