package report

import (
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/contracttests"
)

// The objects of HAR 1.2 with the fields that the format requires.
type (
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Pages   []harPage  `json:"pages"`
		Entries []harEntry `json:"entries"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harPage struct { // a failed case
		Started string         `json:"startedDateTime"`
		ID      string         `json:"id"`
		Title   string         `json:"title"`
		Timings harPageTimings `json:"pageTimings"`
		Comment string         `json:"comment"`
	}
	harPageTimings struct{}
	harEntry       struct {
		Page     string      `json:"pageref"`
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"` // milliseconds
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Comment  string      `json:"comment,omitempty"`
	}
	harTimings struct { // milliseconds
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	harRequest struct {
		Method      string       `json:"method"`
		URL         string       `json:"url"`
		HTTPVersion string       `json:"httpVersion"`
		Cookies     []harPair    `json:"cookies"`
		Headers     []harPair    `json:"headers"`
		Query       []harPair    `json:"queryString"`
		PostData    *harPostData `json:"postData,omitempty"`
		HeadersSize int          `json:"headersSize"` // bytes, -1 for unknown
		BodySize    int          `json:"bodySize"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPostData struct {
		MimeType string    `json:"mimeType"`
		Params   []harPair `json:"params"`
		Text     string    `json:"text"`
	}
	harContent struct {
		Size     int    `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
	}
)

// HAR writes the requests and replies of the failed cases in the format HAR 1.2, which
// browsers and HTTP tools open. Each failed case is a page. Long messages are truncated, and
// there are no secrets: credentials are names of shell variables, and cookies are masked.
func HAR(w io.Writer, r *contracttests.Report) error {
	log := harLog{Version: "1.2", Creator: harCreator{"contracttest", "1"}, Pages: []harPage{}, Entries: []harEntry{}}
	for i := range r.Results {
		one := &r.Results[i]
		if one.Status != contracttests.Failed {
			continue
		}
		page := harPage{Started: harTime(r.Started), ID: "case_" + strconv.Itoa(i), Title: one.ID(), Comment: headline(one.Failure)}
		for j := range one.Calls {
			entry := newHAREntry(&one.Calls[j], r)
			entry.Page = page.ID
			if j == 0 {
				page.Started = entry.Started
			}
			log.Entries = append(log.Entries, entry)
		}
		log.Pages = append(log.Pages, page)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(map[string]harLog{"log": log})
}

// harTime returns a time in the format of HAR.
func harTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// newHAREntry returns the entry of one call.
func newHAREntry(c *contracttests.CallLog, r *contracttests.Report) harEntry {
	started := c.Started
	if started.IsZero() {
		started = r.Started
	}
	took := float64(c.Took.Microseconds()) / 1000
	e := harEntry{
		Started: harTime(started), Time: took, Timings: harTimings{Wait: took},
		Request: newHARRequest(c.Request, r.URL), Response: newHARResponse(c.Reply), Comment: "as " + c.As,
	}
	if e.Response.Status == 0 {
		e.Comment += ", no reply: " + c.Reply
	}
	return e
}

// newHARRequest returns a request as it is logged. base is the base URL of the server.
func newHARRequest(logged, base string) harRequest {
	line, headers, body := splitMessage(logged)
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	q := harRequest{
		Method: method, URL: absoluteURL(base, target), HTTPVersion: version, Cookies: []harPair{},
		Headers: headers, Query: []harPair{}, HeadersSize: -1, BodySize: len(body),
	}
	_, query, _ := strings.Cut(target, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); pair != "" {
			q.Query = append(q.Query, harPair{unescapeQuery(name), unescapeQuery(value)})
		}
	}
	if body != "" {
		q.PostData = &harPostData{MimeType: valueOf(headers, "Content-Type"), Params: []harPair{}, Text: body}
	}
	return q
}

// statusLine matches the first line of a logged reply.
var statusLine = regexp.MustCompile(`^(?:HTTP/[0-9.]+ )?(\d{3})(?: (.*))?$`)

// newHARResponse returns a reply as it is logged, with status 0 if there was none.
func newHARResponse(logged string) harResponse {
	p := harResponse{HTTPVersion: "HTTP/1.1", Cookies: []harPair{}, Headers: []harPair{}, HeadersSize: -1, BodySize: -1}
	line, headers, body := splitMessage(logged)
	found := statusLine.FindStringSubmatch(line)
	if found == nil {
		return p
	}
	p.Status, _ = strconv.Atoi(found[1]) // three digits
	p.StatusText, p.Headers, p.RedirectURL = found[2], headers, valueOf(headers, "Location")
	p.Content = harContent{len(body), valueOf(headers, "Content-Type"), body}
	return p
}

// splitMessage returns the first line, the headers and the body of a logged message.
func splitMessage(logged string) (line string, headers []harPair, body string) {
	head, body, found := strings.Cut(logged, "\r\n\r\n")
	if !found {
		head, body, _ = strings.Cut(logged, "\n\n")
	}
	lines := strings.Split(strings.ReplaceAll(head, "\r\n", "\n"), "\n")
	headers = []harPair{}
	for _, l := range lines[1:] {
		name, value, ok := strings.Cut(l, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if slices.ContainsFunc([]string{"Cookie", "Set-Cookie"}, func(secret string) bool { return strings.EqualFold(secret, name) }) {
			value = "[secret]"
		}
		headers = append(headers, harPair{name, value})
	}
	return lines[0], headers, body
}

// valueOf returns the first value of a header, or "".
func valueOf(headers []harPair, name string) string {
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// absoluteURL returns the URL of a request target.
func absoluteURL(base, target string) string {
	if strings.Contains(target[:min(len(target), 8)], "://") {
		return target
	}
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + target
}

// unescapeQuery decodes a part of a query, and returns it unchanged if it is malformed.
func unescapeQuery(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}
