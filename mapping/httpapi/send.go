package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/limits"
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
	if len(response.Body) >= heldReply && c.Request.Method != http.MethodHead {
		if conn := connectionOf(c.Request); conn != nil {
			conn.holdFirst(len(response.Body))
		}
	}
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

// maxHeaders is the maximum number of headers that a reply sets.
const maxHeaders = 8

// headers sets the headers of one reply. It stores all values in one slice, which saves an
// allocation per header: half the cost of a cached reply.
type headers struct {
	header http.Header
	values []string
}

// set sets a header. The name must be in canonical form.
func (h *headers) set(name, value string) {
	h.values = append(h.values, value)
	at := len(h.values)
	h.header[name] = h.values[at-1 : at : at]
}

// setCacheHeaders sets the cache status header of a reply for Guests and the headers that control
// the client's cache: it must revalidate each time, because a write may have invalidated the reply.
func setCacheHeaders(header *headers, r *resource.Response) {
	value := xCache(r.CacheOutcome)
	if value == "" {
		return
	}
	header.set("X-Cache", value)
	if value == staleReply {
		header.set("Age", strconv.FormatInt(int64(r.Age/time.Second), 10))
	}
	if r.EntityTag != "" {
		header.set("Cache-Control", "no-cache")
		header.set("Etag", r.EntityTag)
		header.set("Vary", "Accept, Authorization")
	}
}

// staleReply is the X-Cache of a reply that is older than it should be.
const staleReply = "STALE"

// xCache returns the value of the header X-Cache, and of the attribute of the log that agrees
// with it, for an outcome of the cache; "" for a reply that is not cached.
func xCache(outcome string) string {
	switch outcome {
	case "":
		return ""
	case "hit":
		return "HIT"
	case "stale":
		return staleReply
	default:
		return "MISS"
	}
}

// matches reports whether tag is among the tags of If-None-Match. It uses the weak
// comparison, as that header requires.
func matches(sent []string, tag string) bool {
	opaque := strings.TrimPrefix(tag, "W/")
	for _, line := range sent {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == opaque {
				return true
			}
		}
	}
	return false
}

// A spool stores replies in temporary files while they are being sent: replies whose length
// must be known before the first byte, and replies that do not fit into memory because many
// clients are slow.
type spool struct {
	dir   string // "" is the system's folder for temporary files
	bytes *limits.Budget
}

// check creates the folder and fails if no file can be created in it.
func (s *spool) check() error {
	if s.dir != "" {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
	}
	probe := &spoolFile{spool: s}
	_, err := probe.Write([]byte{0})
	return errors.Join(err, probe.Close())
}

// A spoolFile is one reply in a spool. The file is created by the first write.
type spoolFile struct {
	spool *spool
	file  *os.File
	size  int64
}

// Write appends to the reply. Errors are of kind Unavailable: the spool is full, or the file
// cannot be written.
func (f *spoolFile) Write(piece []byte) (int, error) {
	if f.file == nil {
		file, err := os.CreateTemp(f.spool.dir, "portico-reply-*")
		if err != nil {
			return 0, spoolFault(err)
		}
		// Remove the file at once, so that it disappears however the process ends. On
		// systems that cannot remove open files Close removes it.
		_ = os.Remove(file.Name())
		f.file = file
	}
	if err := f.spool.bytes.TryTake(int64(len(piece))); err != nil {
		return 0, err
	}
	f.size += int64(len(piece))
	n, err := f.file.Write(piece)
	if err != nil {
		return n, spoolFault(err)
	}
	return n, nil
}

// WriteTo sends the complete reply.
func (f *spoolFile) WriteTo(w io.Writer) (int64, error) {
	if f.file == nil {
		return 0, nil
	}
	return io.Copy(w, io.NewSectionReader(f.file, 0, f.size))
}

// Close deletes the reply.
func (f *spoolFile) Close() error {
	if f.file == nil {
		return nil
	}
	f.spool.bytes.Return(f.size)
	err := f.file.Close()
	if removed := os.Remove(f.file.Name()); removed != nil && !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

func spoolFault(err error) error {
	return &adapter.Error{Kind: adapter.Unavailable, Op: "spool reply", Err: fmt.Errorf("temporary file: %w", err)}
}
