//go:build linux

package migration_test

import (
	"bytes"
	"context"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A faultyShop is an HTTP proxy in front of a legacy store's REST interface, which misbehaves
// as tests request.
type faultyShop struct {
	*httptest.Server
	shop http.Handler
	mu   sync.Mutex
	// faults are the faults of the next requests that contain a text, in order.
	faults map[string][]shopFault
	asked  []string // the requests so far, as their texts
}

// A shopFault answers a request in place of the legacy store. execute lets the legacy store answer
// it.
type shopFault func(w http.ResponseWriter, r *http.Request, execute func() *httptest.ResponseRecorder)

// newFaultyShop returns a proxy for the legacy store at a base URL, without faults.
func newFaultyShop(t testing.TB, to string) *faultyShop {
	t.Helper()
	f := &faultyShop{faults: map[string][]shopFault{}, shop: apptest.ProxyTo(t, to)}
	f.Server = httptest.NewServer(http.HandlerFunc(f.answer))
	t.Cleanup(f.Close)
	return f
}

// textOf returns a request as the text that faults are chosen by, such as
// "PUT /products/3 {"price":7}".
func textOf(r *http.Request, body []byte) string {
	return r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api/rest") + " " + string(body)
}

// answer answers a request with the next fault for it, or passes it on.
func (f *faultyShop) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // so that the server notices when the client goes
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	execute := func() *httptest.ResponseRecorder {
		again := r.Clone(context.WithoutCancel(r.Context()))
		again.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		f.shop.ServeHTTP(answer, again)
		return answer
	}
	f.next(textOf(r, body))(w, r, execute)
}

// next returns the fault or the honest answer for a request.
func (f *faultyShop) next(text string) shopFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, text)
	for of, faults := range f.faults {
		if strings.Contains(text, of) && len(faults) > 0 {
			f.faults[of] = faults[1:]
			return faults[0]
		}
	}
	return honest
}

// fail lets faults answer the next requests whose text contains of.
func (f *faultyShop) fail(of string, faults ...shopFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[of] = faults
}

// requests returns the requests so far whose text contains one of some texts.
func (f *faultyShop) requests(of ...string) (found []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range f.asked {
		for _, one := range of {
			if strings.Contains(text, one) {
				found = append(found, text)
				break
			}
		}
	}
	return found
}

// honest forwards the answer of the legacy store.
func honest(w http.ResponseWriter, _ *http.Request, execute func() *httptest.ResponseRecorder) {
	answer := execute()
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// answers answers with a status, a body, and headers as names and values, and executes nothing.
func answers(status int, body string, headers ...string) shopFault {
	return func(w http.ResponseWriter, _ *http.Request, _ func() *httptest.ResponseRecorder) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// refuses answers as the original refuses a request.
func refuses(status int, message string) shopFault {
	return answers(status, fmt.Sprintf(`{"messages":{"error":[{"code":%d,"message":%q}]}}`, status, message), "Content-Type", "application/json")
}

// executed lets the legacy store execute a request, and then answers it by another fault.
func executed(then shopFault) shopFault {
	return func(w http.ResponseWriter, r *http.Request, execute func() *httptest.ResponseRecorder) {
		execute()
		then(w, r, execute)
	}
}

// cut closes the connection.
func cut(http.ResponseWriter, *http.Request, func() *httptest.ResponseRecorder) {
	panic(http.ErrAbortHandler)
}

// silentUntilGone answers nothing until the client has gone.
func silentUntilGone(_ http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
	<-r.Context().Done()
}

// executedLate executes a request after the client has gone.
func executedLate(_ http.ResponseWriter, r *http.Request, execute func() *httptest.ResponseRecorder) {
	<-r.Context().Done()
	execute()
}

// noHTTP answers with something else than HTTP.
func noHTTP(w http.ResponseWriter, _ *http.Request, _ func() *httptest.ResponseRecorder) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "\x00\x17\x03garbage\r\n\r\n")
	_ = conn.Close()
}

// endless answers with a body that does not end before the client closes the connection.
func endless(w http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
	for r.Context().Err() == nil {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}
