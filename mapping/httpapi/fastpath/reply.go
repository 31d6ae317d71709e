package fastpath

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPooledReply is the size of the largest buffer that is used again, in bytes.
const maxPooledReply = 64 << 10

// A reply is the [http.ResponseWriter] of one request. It buffers the whole reply.
type reply struct {
	header http.Header
	names  []string // of the header
	status int
	body   bytes.Buffer
	out    bytes.Buffer
}

// newReply allocates a reply, for a sync.Pool.
func newReply() any { return &reply{header: http.Header{}} }

// reset makes a reply ready for another request. It reports whether the reply is worth being pooled.
func (w *reply) reset() bool {
	clear(w.header)
	w.status = 0
	w.body.Reset()
	w.out.Reset()
	return w.body.Cap()+w.out.Cap() <= maxPooledReply
}

// Header returns the header.
func (w *reply) Header() http.Header { return w.header }

// WriteHeader sets the status, unless it is set.
func (w *reply) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write adds to the body.
func (w *reply) Write(piece []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(piece)
}

// Flush does nothing: the reply is sent as a whole.
func (w *reply) Flush() {}

// bytes returns the reply as net/http would send it.
func (w *reply) bytes() []byte {
	w.WriteHeader(http.StatusOK)
	hasBody := w.status != http.StatusNotModified
	if !hasBody {
		delete(w.header, "Content-Length")
		delete(w.header, "Content-Type")
	}
	var room [64]byte
	line := strconv.AppendInt(append(room[:0], "HTTP/1.1 "...), int64(w.status), 10)
	w.out.Write(append(append(append(line, ' '), http.StatusText(w.status)...), "\r\n"...))
	w.writeFields()
	w.out.Write(append(time.Now().UTC().AppendFormat(append(room[:0], "Date: "...), http.TimeFormat), "\r\n"...))
	if _, set := w.header["Content-Length"]; !set && hasBody {
		w.out.Write(append(strconv.AppendInt(append(room[:0], "Content-Length: "...), int64(w.body.Len()), 10), "\r\n"...))
	}
	w.out.WriteString("\r\n")
	if hasBody {
		w.out.Write(w.body.Bytes())
	}
	return w.out.Bytes()
}

// writeFields writes the header fields, sorted by name. It does not use the method of [http.Header], which
// takes twice the time.
func (w *reply) writeFields() {
	w.names = w.names[:0]
	for name := range w.header {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	for _, name := range w.names {
		for _, value := range w.header[name] {
			if strings.ContainsAny(value, "\r\n") { // would begin another field
				value = strings.NewReplacer("\r", " ", "\n", " ").Replace(value)
			}
			for _, text := range [...]string{name, ": ", strings.Trim(value, " \t"), "\r\n"} {
				w.out.WriteString(text)
			}
		}
	}
}

// closes reports whether the connection ends with the reply.
func (w *reply) closes() bool { return w.header.Get("Connection") == "close" }
