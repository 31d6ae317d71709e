package mapping_test

import (
	"fmt"
	"maps"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A transcript is a file of testdata/transcripts that holds calls and their replies:
//
//	## a case, which begins with the records that its shop opens with
//	# a remark
//	admin PUT /products/1 {"status":0}
//		documented 400 Invalid value "0" for attribute "status". | 400 Resource data pre-validation error.
//		magento 200
//	guest GET /products/1?attrs=sku
//		Accept: text/xml
//		200 xml "<?xml version=\"1.0\"?>\n…"
//
// A call is made by admin, guest, or a customer such as customer1. It accepts and sends
// JSON unless a header below it says otherwise; a header without a value is not sent, one
// with the value "" is sent empty. A body in double quotes is a Go string. "reads 2" below
// a call limits its store reads.
//
// A reply without a dialect is the same in both; a call with a reply for one dialect is
// made in that only. A reply is the status, the Location after "at", the subtype of the
// Content-Type unless that is JSON, and the body, as a Go string if it has control
// characters; or the entries of an error reply, the last of which has its status.

// A transcribedCall is a call of a transcript.
type transcribedCall struct {
	line                         int
	caller, method, target, body string
	headers                      map[string]string
	reply                        string
	reads                        int // -1 means any number
}

// A transcribedCase is a case of a transcript in one dialect.
type transcribedCase struct {
	name  string
	calls []transcribedCall
}

// readTranscript returns the cases of a transcript in a dialect.
func readTranscript(t testing.TB, file string, d *contract.Dialect) []transcribedCase {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []transcribedCase
	var call *transcribedCall // the last one, even if it is not made in this dialect
	replied := true           // whether it has a reply in any dialect
	finish := func() {
		if !replied {
			t.Fatalf("%s:%d: no reply", file, call.line)
		}
		if call != nil && call.reply != "" {
			c := &cases[len(cases)-1]
			c.calls = append(c.calls, *call)
		}
		call = nil
	}
	for i, line := range strings.Split(string(text), "\n") {
		detail, indented := strings.CutPrefix(line, "\t")
		first, rest, _ := strings.Cut(detail, " ")
		switch header, isHeader := strings.CutSuffix(first, ":"); {
		case indented && isHeader:
			call.headers[header] = rest
		case indented && first == "reads":
			call.reads, err = strconv.Atoi(rest)
		case indented && (first == "documented" || first == "magento"):
			replied = true
			if first == d.Name {
				call.reply = rest
			}
		case indented:
			replied, call.reply = true, detail
		case first == "##":
			finish()
			cases = append(cases, transcribedCase{name: rest})
		case line != "" && first != "#":
			finish()
			replied = false
			call = &transcribedCall{line: i + 1, caller: first, headers: map[string]string{}, reads: -1}
			call.method, rest, _ = strings.Cut(rest, " ")
			call.target, call.body, _ = strings.Cut(rest, " ")
			if strings.HasPrefix(call.body, `"`) {
				call.body, err = strconv.Unquote(call.body)
			}
		}
		if err != nil {
			t.Fatalf("%s:%d: %v", file, i+1, err)
		}
	}
	finish()
	return cases
}

// make makes a call and returns the reply as transcripts show it.
func (c *transcribedCall) make(t *testing.T, s *shop) string {
	t.Helper()
	headers := map[string]string{"Accept": asJSON}
	if c.body != "" {
		headers["Content-Type"] = asJSON
	}
	for _, token := range demotest.Data(t).Tokens {
		if c.caller == "admin" && token.AdminID != 0 || c.caller == fmt.Sprintf("customer%d", token.CustomerID) {
			headers["Authorization"] = authorization(demotest.Data(t), token)
		}
	}
	maps.Copy(headers, c.headers)
	var sent []string
	for name, value := range headers {
		if value != "" {
			sent = append(sent, name, strings.TrimPrefix(value, `""`))
		}
	}
	return transcribedReply(withFullBody(t, s.serve(contract.Guest, c.method, c.target, c.body, sent...)))
}

// transcribedReply returns a reply as transcripts show it.
func transcribedReply(r resource.Response) string {
	if list, err := faultsIn(r); err == nil && len(list) > 0 && strings.HasPrefix(list[len(list)-1], fmt.Sprint(r.Status)) {
		return quoteControls(strings.Join(list, " | "))
	}
	reply := fmt.Sprint(r.Status)
	if r.Location != "" {
		reply += " at " + r.Location
	}
	if mediaType, _, _ := mime.ParseMediaType(r.ContentType); mediaType != "" && mediaType != asJSON {
		reply += " " + mediaType[strings.Index(mediaType, "/")+1:]
	}
	return strings.TrimSuffix(reply+" "+quoteControls(string(r.Body)), " ")
}

// quoteControls returns text in the syntax of Go if it has control characters.
func quoteControls(text string) string {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return strconv.Quote(text)
	}
	return text
}

// A transcribedShop makes the calls of a transcript in one dialect.
type transcribedShop struct {
	*shop
	reads   *reads // nil unless the transcript limits them
	written bool   // whether a call since the last reset may have written
}

// runCase runs one case.
func (s *transcribedShop) runCase(t *testing.T, c transcribedCase) {
	if s.written {
		s.reset(t)
	}
	s.written = false
	for _, call := range c.calls {
		s.written = s.written || call.method != "GET"
		if s.reads != nil {
			s.reads.take()
		}
		got := call.make(t, s.shop)
		if got != call.reply {
			t.Errorf("line %d: %s %s %s\n got %s\nwant %s", call.line, call.caller, call.method, call.target, got, call.reply)
		}
		if call.reads < 0 {
			continue
		}
		if n := len(s.reads.take()); n > call.reads {
			t.Errorf("line %d: %d store reads, want at most %d", call.line, n, call.reads)
		}
	}
}

// transcribedShops returns the functions that open the shops of the transcripts that do not use the demo
// store unchanged.
func transcribedShops() map[string]func(*testing.T, *contract.Dialect) transcribedShop {
	return map[string]func(*testing.T, *contract.Dialect) transcribedShop{
		"customers": func(t *testing.T, d *contract.Dialect) transcribedShop {
			customers := openCustomerShop(t, 1000)
			return transcribedShop{shop: &shop{service: customers.services[d.Name], log: &testenv.Log{}}, reads: customers.reads}
		},
		"gallery": func(t *testing.T, d *contract.Dialect) transcribedShop {
			gallery := openGalleryShop(t)
			return transcribedShop{shop: &shop{service: gallery.serve(t, d, mapping.Settings{}), log: &testenv.Log{}}, reads: &gallery.reads}
		},
		"orders": func(t *testing.T, d *contract.Dialect) transcribedShop {
			s := openOrderShop(t, d)
			return transcribedShop{shop: s.shop, reads: s.reads}
		},
		"storeviews": func(t *testing.T, d *contract.Dialect) transcribedShop {
			return transcribedShop{shop: openScopedShop(t, d)}
		},
	}
}

// TestTranscripts makes the calls of every transcript in both dialects.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, d := range bothDialects() {
			t.Run(name+"/"+d.Name, func(t *testing.T) {
				t.Parallel()
				var s transcribedShop
				if open := transcribedShops()[name]; open != nil {
					s = open(t, d)
				} else {
					s.shop = openShop(t, d)
				}
				for _, c := range readTranscript(t, file, d) {
					t.Run(c.name, func(t *testing.T) { s.runCase(t, c) })
				}
				if log := s.log.String(); log != "" {
					t.Errorf("logged: %s", log)
				}
			})
		}
	}
}
