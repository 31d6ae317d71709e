package reststore

import (
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"net/http"
	"testing"
)

// conditionalMapping is a mapping whose updates are sent for the version that was read.
const conditionalMapping = `name: conditional
connection:
  errors:
    - {when: '.body.code == "stale"', kind: changed}
resources:
  customers:
    attributes: [email]
    fetch: {path: '/c/{$id}', item: .}
    scan: {path: /c, items: ., pages: {page: page}}
    id: id
    read: '{email}'
    update:
      - {name: doc, method: GET, path: '/c/{.id}'}
      - {when: 'if .steps.doc.email != .old.email then error({changed: null}) else false end', method: GET, path: /unused}
      - method: PUT
        path: '/c/{.id}'
        headers: {If-Match: '{.headers.doc.etag}', X-Note: 'of {.key} at {.steps.doc.version}', X-None: '{.steps.doc.none}', X-Fixed: portico}
        body: '{email: .new.email}'
    without: {create: none, delete: none, find: none}
`

// TestPreconditions checks the headers of conditional requests, and that each way in which a backend
// or a mapping reports that another program has changed the record means replica.ErrChanged.
func TestPreconditions(t *testing.T) {
	for _, c := range []struct {
		name, stored, body string
		status             int
		want               bool // ErrChanged
	}{
		{"accepted", "old@x.y", `{}`, http.StatusOK, false},
		{"precondition failed", "old@x.y", ``, http.StatusPreconditionFailed, true},
		{"a rule", "old@x.y", `{"code": "stale"}`, http.StatusConflict, true},
		{"another conflict", "old@x.y", `{"code": "taken"}`, http.StatusConflict, false},
		{"an expression", "theirs@x.y", `{}`, http.StatusOK, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent http.Header
			b := serve(t, conditionalMapping, nil, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.Header().Set("ETag", `"v7"`)
					respond(w, http.StatusOK, `{"id": "c1", "email": "`+c.stored+`", "version": 7}`)
					return
				}
				sent = r.Header
				respond(w, c.status, c.body)
			})
			err := b.Update(t.Context(), &replica.Write{Resource: adapter.Customers, Key: 3, ID: "c1", Old: customer("old@x.y"), New: customer("new@x.y"), Changed: []string{"email"}})
			if errors.Is(err, replica.ErrChanged) != c.want || (err != nil) != (c.want || c.status == http.StatusConflict) || err != nil && adapter.KindOf(err) != adapter.Conflict {
				t.Errorf("%v", err)
			}
			if c.stored == "theirs@x.y" {
				if sent != nil {
					t.Error("the update was sent")
				}
				return
			}
			for name, want := range map[string]string{"If-Match": `"v7"`, "X-Note": "of 3 at 7", "X-Fixed": "portico"} {
				if got := sent.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if _, present := sent["X-None"]; present {
				t.Error("a header without a value was sent")
			}
		})
	}
}
