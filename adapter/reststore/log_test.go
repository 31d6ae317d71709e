package reststore

import (
	"bytes"
	"github.com/portico-commerce/portico/adapter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLog checks that log lines identify requests but do not contain their data.
func TestLog(t *testing.T) {
	var id string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id = r.Header.Get("X-Request-Id")
		respond(w, 200, `{"data": {"list": [{"id": "someone@example.com", "group": "lost"}]}}`)
	}))
	defer s.Close()
	var log bytes.Buffer
	b, err := Open(Options{Mapping: []byte(tinyMappingWith("  auth: {bearer: $secret}")), URL: s.URL, Secret: "hush", IDs: groups,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	documents, err := b.Fetch(t.Context(), adapter.Customers, []string{"someone@example.com"})
	if err != nil || len(documents) != 1 {
		t.Fatalf("%v, %v", documents, err)
	}
	if _, _, err := documents[0].Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`request="fetch customers: GET /c"`, "backend_request_id=" + id, "outcome=ok", "resource=customer_groups backend_id=lost"} {
		if id == "" || !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, log.String())
		}
	}
	for _, hidden := range []string{"someone", "hush"} {
		if strings.Contains(log.String(), hidden) {
			t.Errorf("the log has %s:\n%s", hidden, log.String())
		}
	}
}
