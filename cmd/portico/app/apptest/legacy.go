package apptest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A LegacyStub stands in for a legacy store: it records requests, and answers all of them with
// "old".
type LegacyStub struct {
	*httptest.Server
	mu    sync.Mutex
	asked []*http.Request
}

// NewLegacyStub starts a LegacyStub.
func NewLegacyStub(t testing.TB) *LegacyStub {
	t.Helper()
	s := &LegacyStub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/xml")
		_, _ = io.WriteString(w, "old")
	}))
	t.Cleanup(s.Close)
	return s
}

// Last returns the last request and forgets all requests. It returns nil if there was none
// since the last call.
func (s *LegacyStub) Last() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return nil
	}
	r := s.asked[len(s.asked)-1]
	s.asked = nil
	return r
}
