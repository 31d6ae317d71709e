package contracttests

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxExchangeFile limits the size of a file of exchanges, in bytes.
const maxExchangeFile = 16 << 20

//go:embed exchanges/*.json
var exchangeFiles embed.FS

// An Exchange is a recorded sequence of requests and responses. It starts from the seeded
// data set.
type Exchange struct {
	File    string `json:"-"`                 // base name of the exchange's file
	Name    string `json:"name"`              // unique in its file
	Clause  string `json:"clause,omitempty"`  // covered sections of the specification: "contract 5.2 (GET); wire 10.5"
	Differs string `json:"differs,omitempty"` // how the documented dialect differs; empty if it does not
	Note    string `json:"note,omitempty"`    // a remark for readers
	Reset   *bool  `json:"reset,omitempty"`   // false continues from the state after the previous exchange; nil means true
	// Clauses are the covered clauses of clauses.json for an exchange of the document's
	// clauses; recordings have none.
	Clauses []string `json:"clauses,omitempty"`
	Steps   []Step   `json:"steps"`
}

// A Step is one request and its recorded response. Path, Headers and Body may contain
// {{base_url}}, which is replaced by the base URL of the target.
type Step struct {
	As          string            `json:"as"`                     // Admin, Customer1, Customer2 or Guest
	Method      string            `json:"method"`                 // any token
	Path        string            `json:"path"`                   // path below /api/rest; or "!" and the whole request target
	Accept      *string           `json:"accept,omitempty"`       // nil for no header, "" for an empty one
	ContentType *string           `json:"content_type,omitempty"` // nil for no header
	Headers     map[string]string `json:"headers,omitempty"`      // further headers; they override Accept, Content-Type and Host
	Body        *string           `json:"body,omitempty"`         // nil for none
	Response    Response          `json:"response"`
}

// A Response is a recorded reply. Location and Body may contain the placeholders
// {{datetime}}, {{base_url}} and {{any}}. A header that the reply did not have is nil.
type Response struct {
	Status          int     `json:"status"`
	ContentType     *string `json:"content_type,omitempty"`
	Location        *string `json:"location,omitempty"`
	WWWAuthenticate *string `json:"www_authenticate,omitempty"`
	Allow           *string `json:"allow,omitempty"`
	Body            string  `json:"body"`
}

// Result returns a result that describes the exchange, as before a replay: without
// status, calls and failure. Its Resource is "documented/" for exchanges of the
// document's clauses and "recorded/" for others, followed by the name of the file without
// extension.
func (c *Exchange) Result() Result {
	folder := "recorded/"
	if len(c.Clauses) > 0 {
		folder = "documented/"
	}
	r := Result{Resource: folder + strings.TrimSuffix(c.File, ".json"), Name: c.Name, Format: "json", Clauses: c.clauseNames()}
	formats := map[string]string{"JSON": "json", "XML": "xml", "form": "text"}
	for i := len(c.Steps) - 1; i >= 0; i-- { // backwards, so that the first step determines the format
		s := &c.Steps[i]
		if s.Response.ContentType != nil {
			if f, known := formatOfMediaType(*s.Response.ContentType); known {
				r.Format = formats[f.name]
			}
		}
		if !slices.Contains(r.Roles, s.As) {
			r.Roles = append(r.Roles, s.As)
		}
	}
	slices.Sort(r.Roles)
	return r
}

// clauseNames returns the names of the clauses that the exchange covers. For a recording
// it returns the text of Clause, which cites sections.
func (c *Exchange) clauseNames() []string {
	if len(c.Clauses) > 0 {
		return c.Clauses
	}
	return []string{c.Clause}
}

// Exchanges returns the recordings that are built into the package, in the order of their
// files. The caller may modify the slice.
func Exchanges() ([]Exchange, error) {
	sub, err := fs.Sub(exchangeFiles, "exchanges")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}

// Load reads all *.json files at the root of fsys as lists of exchanges. It returns an
// error if there is no such file, or if one is unreadable, larger than 16 MiB or invalid;
// the error names the file, the exchange and the step.
func Load(fsys fs.FS) ([]Exchange, error) {
	names, err := fs.Glob(fsys, "*.json")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("contracttests: no files of exchanges")
	}
	var all []Exchange
	for _, name := range names {
		exchanges, err := loadFile(fsys, name, (*Step).validate)
		if err != nil {
			return nil, fmt.Errorf("contracttests: %s: %w", name, err)
		}
		all = append(all, exchanges...)
	}
	return all, nil
}

// LoadRequests reads one file of exchanges whose steps need no responses, for [Record].
// Otherwise it is like [Load].
func LoadRequests(fsys fs.FS, name string) ([]Exchange, error) {
	exchanges, err := loadFile(fsys, name, (*Step).validateRequest)
	if err != nil {
		return nil, fmt.Errorf("contracttests: %s: %w", name, err)
	}
	return exchanges, nil
}

// loadFile reads one file of exchanges and calls validate for each step.
func loadFile(fsys fs.FS, name string, validate func(*Step) error) ([]Exchange, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxExchangeFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxExchangeFile {
		return nil, fmt.Errorf("larger than %d bytes", maxExchangeFile)
	}
	return decodeExchanges(path.Base(name), data, validate)
}

// decodeExchanges parses and validates the content of a file of exchanges. file is stored
// in Exchange.File.
func decodeExchanges(file string, data []byte, validate func(*Step) error) ([]Exchange, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var exchanges []Exchange
	if err := dec.Decode(&exchanges); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("text after the list of exchanges")
	}
	seen := make(map[string]bool, len(exchanges))
	for i := range exchanges {
		c := &exchanges[i]
		c.File = file
		if c.Name == "" {
			return nil, fmt.Errorf("exchange %d has no name", i+1)
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("duplicate exchange %q", c.Name)
		}
		seen[c.Name] = true
		if len(c.Steps) == 0 {
			return nil, fmt.Errorf("exchange %q has no steps", c.Name)
		}
		for j := range c.Steps {
			s := &c.Steps[j]
			s.As = cmp.Or(s.As, Guest)
			if err := validate(s); err != nil {
				return nil, fmt.Errorf("exchange %q, step %d: %w", c.Name, j+1, err)
			}
		}
	}
	return exchanges, nil
}

// validate returns an error if the step cannot be sent as one request, or if its response
// is not a final HTTP response.
func (s *Step) validate() error {
	if s.Response.Status < 200 || s.Response.Status > 599 {
		return fmt.Errorf("status %d of the response is not between 200 and 599", s.Response.Status)
	}
	return s.validateRequest()
}

// validateRequest returns an error if the step cannot be sent as one request.
func (s *Step) validateRequest() error {
	switch {
	case s.As != Admin && s.As != Customer1 && s.As != Customer2 && s.As != Guest:
		return fmt.Errorf("unknown caller %q", s.As)
	case !isToken(s.Method):
		return fmt.Errorf("method %q is not a token", s.Method)
	}
	target, whole := strings.CutPrefix(s.Path, "!")
	if whole && !strings.HasPrefix(target, "/") && !isAbsolute(target) {
		return fmt.Errorf("request target %q is neither a path nor absolute", target)
	}
	if strings.IndexFunc(target, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return fmt.Errorf("path %q contains blanks, control characters or characters outside ASCII", s.Path)
	}
	for _, h := range s.headers() {
		if !isToken(h.name) {
			return fmt.Errorf("header name %q is not a token", h.name)
		}
		if strings.ContainsAny(h.value, "\r\n\x00") {
			return fmt.Errorf("the value of header %q contains a line end or NUL", h.name)
		}
		if isReservedHeader(h.name) && !strings.EqualFold(h.name, "Host") {
			return fmt.Errorf("header %q is set by the suite", h.name)
		}
	}
	return nil
}

// isReservedHeader reports whether the suite sets a header itself, so that neither
// exchanges nor credentials may contain it.
func isReservedHeader(name string) bool {
	return slices.Contains([]string{"host", "content-length", "transfer-encoding", "connection", "expect"}, strings.ToLower(name))
}

// A header is one header line of a request.
type header struct{ name, value string }

// headers returns the headers of the request: Accept, Content-Type, then Headers by name.
func (s *Step) headers() []header {
	var hs []header
	if s.Accept != nil && !s.setsHeader("Accept") {
		hs = append(hs, header{"Accept", *s.Accept})
	}
	if s.ContentType != nil && !s.setsHeader("Content-Type") {
		hs = append(hs, header{"Content-Type", *s.ContentType})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		hs = append(hs, header{name, s.Headers[name]})
	}
	return hs
}

// setsHeader reports whether Headers contains a header, in any letter case.
func (s *Step) setsHeader(name string) bool {
	for own := range s.Headers {
		if strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

// isWrite reports whether the method is POST, PUT or DELETE.
func (s *Step) isWrite() bool {
	return s.Method == "POST" || s.Method == "PUT" || s.Method == "DELETE"
}

// isWrite reports whether a step of the exchange writes.
func (c *Exchange) isWrite() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.isWrite() })
}

// isAbsolute reports whether a request target is in absolute form.
func isAbsolute(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") ||
		strings.HasPrefix(target, "{{base_url}}")
}

// isToken reports whether s is a token of RFC 9110 5.6.2.
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) < 0
}

//go:embed documented/*.json
var documentedExchanges embed.FS

// DocumentedExchanges returns the exchanges of the document's own clauses: the differences of
// the documented dialect from the recorded original, and the rows of the document's tables.
// They hold only in the documented dialect.
func DocumentedExchanges() ([]Exchange, error) {
	sub, err := fs.Sub(documentedExchanges, "documented")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}

//go:embed rich/reads.json.gz
var richReads []byte

// RichExchanges returns recorded reads of a larger shop than the demo store: with three
// websites, store views that have values of their own, all types of products, and orders of
// every state. They hold in the dialect magento, for a server with the records and the
// credentials of that shop. Where the original leaves the order of records open, they are
// sorted by id. The caller may modify the slice.
func RichExchanges() ([]Exchange, error) {
	const name = "reads.json"
	unpacked, err := gzip.NewReader(bytes.NewReader(richReads))
	if err == nil {
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(unpacked, maxExchangeFile)); err == nil {
			return decodeExchanges(name, data, (*Step).validate)
		}
	}
	return nil, fmt.Errorf("contracttests: %s: %w", name, err)
}
