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
	// freeReply is the size of a reply, in bytes, up to which no budget is asked: the
	// system takes as much for a connection.
	freeReply = 64 << 10
	// unknownLength is the length of a body that is sent piece by piece.
	unknownLength = -1
)

// send writes a response, and returns it as it was written. An error is that of a body
// that could not be finished.
func (a *api) send(ctx context.Context, c *gin.Context, scheme string, response mapping.Response, buf []byte) (mapping.Response, error) {
	if response.EntityTag != "" && matches(c.Request.Header["If-None-Match"], response.EntityTag) {
		response.Status, response.Body = http.StatusNotModified, response.Body[:0]
	}
	switch {
	case response.Stream == nil && len(response.Body) <= freeReply:
		a.write(c, &response)
		return response, nil
	case response.Stream == nil:
		return a.sendLarge(c, scheme, response, buf)
	case !c.Request.ProtoAtLeast(1, 1):
		// HTTP/1.0 ends a body of unknown length with the connection, so that one that is
		// cut off would look whole.
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

// sendLarge is send for a body that is large. A client may take as long as it likes to
// read it, so the memory that it takes counts.
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
		body = nil // what is in the file need not be in memory
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
	// A client that has gone cannot be told so; its status is counted all the same.
	_, _ = c.Writer.Write(response.Body)
}

// writeHeaders writes the headers of a response with a body of a length.
func (a *api) writeHeaders(c *gin.Context, response *mapping.Response, length int64) {
	header := headers{c.Writer.Header(), make([]string, 0, mostHeaders)}
	header.set("Cache-Control", "no-store")
	if response.Location != "" {
		header.set("Location", a.BasePath+response.Location)
	}
	if response.RetryAfter > 0 {
		header.set("Retry-After", strconv.Itoa(response.RetryAfter))
	}
	describeKept(&header, response)
	if response.Status != http.StatusNotModified {
		header.set("Content-Type", response.ContentType)
		if length != unknownLength {
			header.set("Content-Length", strconv.FormatInt(length, 10))
		}
	}
	c.Writer.WriteHeader(response.Status)
	c.Writer.WriteHeaderNow()
}

// flushing sends each piece of a body at once.
type flushing struct{ gin.ResponseWriter }

// Write writes a piece of the body and waits until it is on its way.
func (f flushing) Write(piece []byte) (int, error) {
	n, err := f.ResponseWriter.Write(piece)
	f.Flush()
	return n, err
}
