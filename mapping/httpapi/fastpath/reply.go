package fastpath

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxPooledReply is the size of the largest buffer that is used again, in bytes.
	maxPooledReply = 64 << 10
	// headRoom is the room for the head before the body, in bytes. A longer head has the body copied.
	headRoom = 1 << 10
)

// A reply is the [http.ResponseWriter] of one request. It buffers the whole reply.
type reply struct {
	header http.Header
	names  []string // of the header
	status int
	head   []byte
	buffer []byte // headRoom, and the body
}

// newReply allocates a reply, for a sync.Pool.
func newReply() any { return &reply{header: http.Header{}, buffer: make([]byte, headRoom, 4*headRoom)} }

// reset makes a reply ready for another request. It reports whether the reply is worth being pooled.
func (w *reply) reset() bool {
	clear(w.header)
	w.status = 0
	w.buffer = w.buffer[:headRoom]
	return cap(w.buffer)+cap(w.head) <= maxPooledReply
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
	w.buffer = append(w.buffer, piece...)
	return len(piece), nil
}

// Flush does nothing: the reply is sent as a whole.
func (w *reply) Flush() {}

// bytes returns the reply as net/http would send it.
func (w *reply) bytes() []byte {
	w.WriteHeader(http.StatusOK)
	if w.status == http.StatusNotModified {
		delete(w.header, "Content-Length")
		delete(w.header, "Content-Type")
		w.buffer = w.buffer[:headRoom]
	}
	w.appendHead()
	if len(w.head) > headRoom {
		return append(w.head, w.buffer[headRoom:]...)
	}
	start := headRoom - len(w.head)
	copy(w.buffer[start:], w.head)
	return w.buffer[start:]
}

// appendHead sets the head.
func (w *reply) appendHead() {
	w.head = strconv.AppendInt(append(w.head[:0], "HTTP/1.1 "...), int64(w.status), 10)
	w.head = append(append(append(w.head, ' '), http.StatusText(w.status)...), "\r\n"...)
	w.appendFields()
	w.head = append(time.Now().UTC().AppendFormat(append(w.head, "Date: "...), http.TimeFormat), "\r\n"...)
	if _, set := w.header["Content-Length"]; !set && w.status != http.StatusNotModified {
		w.head = append(strconv.AppendInt(append(w.head, "Content-Length: "...), int64(len(w.buffer)-headRoom), 10), "\r\n"...)
	}
	w.head = append(w.head, "\r\n"...)
}

// appendFields appends the header fields to the head, sorted by name. It does not use the method of
// [http.Header], which takes twice the time.
func (w *reply) appendFields() {
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
				w.head = append(w.head, text...)
			}
		}
	}
}

// closes reports whether the connection ends with the reply.
func (w *reply) closes() bool { return w.header.Get("Connection") == "close" }
