package report_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// The types of a HAR 1.2 file, as its specification lists their fields. Optional ones are
// pointers.
type (
	harFile struct {
		Log *struct {
			Version *string `json:"version"`
			Creator *struct {
				Name    *string `json:"name"`
				Version *string `json:"version"`
			} `json:"creator"`
			Pages []struct {
				Started     *time.Time `json:"startedDateTime"`
				ID          *string    `json:"id"`
				Title       *string    `json:"title"`
				PageTimings *struct{}  `json:"pageTimings"`
				Comment     string     `json:"comment"`
			} `json:"pages"`
			Entries []harEntry `json:"entries"`
		} `json:"log"`
	}
	harEntry struct {
		Page     string       `json:"pageref"`
		Started  *time.Time   `json:"startedDateTime"`
		Time     *float64     `json:"time"`
		Request  *harRequest  `json:"request"`
		Response *harResponse `json:"response"`
		Cache    *struct{}    `json:"cache"`
		Timings  *struct {
			Send    *float64 `json:"send"`
			Wait    *float64 `json:"wait"`
			Receive *float64 `json:"receive"`
		} `json:"timings"`
		Comment string `json:"comment"`
	}
	harRequest struct {
		Method      *string   `json:"method"`
		URL         *string   `json:"url"`
		HTTPVersion *string   `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Query       []harPair `json:"queryString"`
		PostData    *struct {
			MimeType *string   `json:"mimeType"`
			Params   []harPair `json:"params"`
			Text     *string   `json:"text"`
		} `json:"postData"`
		HeadersSize *int `json:"headersSize"`
		BodySize    *int `json:"bodySize"`
	}
	harResponse struct {
		Status      *int      `json:"status"`
		StatusText  *string   `json:"statusText"`
		HTTPVersion *string   `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Content     *struct {
			Size     *int    `json:"size"`
			MimeType *string `json:"mimeType"`
			Text     string  `json:"text"`
		} `json:"content"`
		RedirectURL *string `json:"redirectURL"`
		HeadersSize *int    `json:"headersSize"`
		BodySize    *int    `json:"bodySize"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// readHAR returns the HAR report of r, decoded strictly: no field is unknown or missing.
func readHAR(t *testing.T, r *contracttests.Report) *harFile {
	t.Helper()
	var b bytes.Buffer
	if err := report.HAR(&b, r); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&b)
	dec.DisallowUnknownFields()
	var file harFile
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	log := file.Log
	if log == nil || log.Version == nil || *log.Version != "1.2" || log.Creator == nil || log.Creator.Name == nil || log.Creator.Version == nil || log.Entries == nil {
		t.Fatalf("the log is not complete: %+v", log)
	}
	pages := map[string]bool{}
	for _, p := range log.Pages {
		if p.Started == nil || p.ID == nil || p.Title == nil || p.PageTimings == nil || pages[*p.ID] {
			t.Fatalf("the page is not complete, or not unique: %+v", p)
		}
		pages[*p.ID] = true
	}
	for _, e := range log.Entries {
		q, p := e.Request, e.Response
		if !pages[e.Page] || e.Started == nil || e.Time == nil || *e.Time < 0 || q == nil || p == nil || e.Cache == nil || e.Timings == nil ||
			e.Timings.Send == nil || e.Timings.Wait == nil || e.Timings.Receive == nil {
			t.Fatalf("the entry is not complete: %+v", e)
		}
		if q.Method == nil || q.URL == nil || q.HTTPVersion == nil || q.Cookies == nil || q.Headers == nil || q.Query == nil || q.HeadersSize == nil || q.BodySize == nil ||
			q.PostData != nil && (q.PostData.MimeType == nil || q.PostData.Params == nil || q.PostData.Text == nil) {
			t.Fatalf("the request is not complete: %+v", q)
		}
		if p.Status == nil || p.StatusText == nil || p.HTTPVersion == nil || p.Cookies == nil || p.Headers == nil || p.Content == nil || p.Content.Size == nil ||
			p.Content.MimeType == nil || p.RedirectURL == nil || p.HeadersSize == nil || p.BodySize == nil {
			t.Fatalf("the response is not complete: %+v", p)
		}
	}
	return &file
}

// TestHAR checks that the HAR report has the calls of the failed cases, completely and
// without secrets.
func TestHAR(t *testing.T) {
	started := time.Date(2026, 3, 4, 15, 16, 17, 250e6, time.UTC)
	r := smallReport()
	r.URL = "https://shop.example:8443/shop"
	r.Results[1].Calls = []contracttests.CallLog{
		{As: "admin", Started: started, Took: 1500 * time.Microsecond,
			Request: "PUT /shop/api/rest/customers/17?a=1&b=x%20y HTTP/1.1\r\nHost: shop.example:8443\r\nContent-Type: application/json\r\nAuthorization: $AUTHORIZATION_ADMIN\r\nCookie: session=abc\r\n\r\n{\"a\":\n\n1}",
			Reply:   "202 Accepted\nContent-Type: text/plain\nLocation: /x\nSet-Cookie: session=abc\n\na\n\nb"},
		{As: "guest", Request: "GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n", Reply: "dial tcp: connection refused"},
	}
	log := readHAR(t, r).Log
	if len(log.Pages) != 1 || *log.Pages[0].Title != "customers/a/xml" || len(log.Entries) != 2 {
		t.Fatalf("got %d pages and %d entries, want the failed case with its calls", len(log.Pages), len(log.Entries))
	}
	one, two := log.Entries[0], log.Entries[1]
	if !one.Started.Equal(started) || *one.Time != 1.5 {
		t.Errorf("started %v, took %v ms", one.Started, *one.Time)
	}
	if got := *one.Request.Method + " " + *one.Request.URL + " " + *one.Request.PostData.MimeType + " " + *one.Request.PostData.Text; got !=
		"PUT https://shop.example:8443/shop/api/rest/customers/17?a=1&b=x%20y application/json {\"a\":\n\n1}" {
		t.Errorf("request %q", got)
	}
	if q := one.Request.Query; len(q) != 2 || q[1] != (harPair{"b", "x y"}) {
		t.Errorf("query %v", q)
	}
	if p := one.Response; *p.Status != http.StatusAccepted || *p.StatusText != "Accepted" || *p.RedirectURL != "/x" || p.Content.Text != "a\n\nb" || *p.Content.Size != 4 || *p.Content.MimeType != "text/plain" {
		t.Errorf("response %+v", p)
	}
	for _, h := range append(one.Request.Headers, one.Response.Headers...) {
		if strings.Contains(h.Value, "abc") {
			t.Errorf("the cookie is shown: %v", h)
		}
	}
	if *two.Request.URL != "http://other.example/" || *two.Response.Status != 0 || !strings.HasSuffix(two.Comment, "no reply: dial tcp: connection refused") {
		t.Errorf("call without a reply: %+v, comment %q", two.Response, two.Comment)
	}
}

// TestHAROfSamples checks the HAR report of large, hostile and empty reports.
func TestHAROfSamples(t *testing.T) {
	s := newSampler(t)
	for name, r := range map[string]*contracttests.Report{"many": s.newReport(200, false), "hostile": s.hostileReport(), "passed": s.newReport(8, true), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			for _, e := range readHAR(t, r).Log.Entries {
				if _, err := url.Parse(*e.Request.URL); err != nil && name == "many" {
					t.Error(err)
				}
			}
		})
	}
}
