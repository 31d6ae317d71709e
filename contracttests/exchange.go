package contracttests

import (
	"bytes"
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

// maxExchangeFile bounds one file of exchanges, in bytes.
const maxExchangeFile = 16 << 20

//go:embed exchanges/*.json
var recorded embed.FS

// An Exchange is one recorded conversation with the server, replayed from the seeded
// data set.
type Exchange struct {
	File    string `json:"-"`                 // name of the file it stands in, without folders
	Name    string `json:"name"`              // unique in its file
	Clause  string `json:"clause,omitempty"`  // sections of the specification that it shows: "contract 5.2 (GET); wire 10.5"
	Differs string `json:"differs,omitempty"` // why the documented dialect answers otherwise; empty if it does not
	Note    string `json:"note,omitempty"`    // a remark for the reader, or empty
	Reset   *bool  `json:"reset,omitempty"`   // false: goes on from the state the one before left; nil means true
	// Clauses names the entries of clauses.json that one of the document's own
	// exchanges shows; recordings have none.
	Clauses []string `json:"clauses,omitempty"`
	Steps   []Step   `json:"steps"`
}

// A Step is one request and the reply recorded for it. Path, Headers and Body
// may hold the placeholder {{base_url}}, replaced by the target's base URL.
type Step struct {
	As          string            `json:"as"`                     // Admin, Customer1, Customer2 or Guest
	Method      string            `json:"method"`                 // any token
	Path        string            `json:"path"`                   // after /api/rest; after "!" the whole request target
	Accept      *string           `json:"accept,omitempty"`       // nil: no such header; "": an empty one
	ContentType *string           `json:"content_type,omitempty"` // nil: no such header
	Headers     map[string]string `json:"headers,omitempty"`      // further ones; they replace those made from other fields
	Body        *string           `json:"body,omitempty"`         // nil: none
	Response    Response          `json:"response"`
}

// A Response is what the recorded server answered. Location and Body may hold
// placeholders: {{datetime}}, {{base_url}} and {{any}}. A nil header was absent.
type Response struct {
	Status          int     `json:"status"`
	ContentType     *string `json:"content_type,omitempty"`
	Location        *string `json:"location,omitempty"`
	WWWAuthenticate *string `json:"www_authenticate,omitempty"`
	Allow           *string `json:"allow,omitempty"`
	Body            string  `json:"body"`
}

// Result returns the result of c before it is replayed: all that does not depend on
// what the server answers.
func (c *Exchange) Result() Result {
	folder := "recorded/"
	if len(c.Clauses) > 0 {
		folder = "documented/"
	}
	r := Result{Resource: folder + strings.TrimSuffix(c.File, ".json"), Name: c.Name, Format: "json", Clauses: c.clauses()}
	formats := map[string]string{"JSON": "json", "XML": "xml", "form": "text"}
	for i := len(c.Steps) - 1; i >= 0; i-- { // the first step counts
		s := &c.Steps[i]
		if s.Response.ContentType != nil {
			if f, known := formatOf(*s.Response.ContentType); known {
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

// clauses returns what c shows: names of clauses.json, of a recording its remark.
func (c *Exchange) clauses() []string {
	if len(c.Clauses) > 0 {
		return c.Clauses
	}
	return []string{c.Clause}
}

// Exchanges returns the recorded exchanges that come with the package, in the order of
// their files and in each file's own. The slice is the caller's.
func Exchanges() ([]Exchange, error) {
	sub, err := fs.Sub(recorded, "exchanges")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}

// Load reads every *.json file at the root of fsys as a list of exchanges. It fails
// on the first file that is unreadable, larger than 16 MiB or no list of valid
// exchanges, and when there is no such file; the error names file, exchange and step.
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

// LoadRequests reads one file as [Load] does, but its steps need no responses: it is
// what [Record] starts from.
func LoadRequests(fsys fs.FS, name string) ([]Exchange, error) {
	exchanges, err := loadFile(fsys, name, (*Step).validateRequest)
	if err != nil {
		return nil, fmt.Errorf("contracttests: %s: %w", name, err)
	}
	return exchanges, nil
}

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
			return nil, fmt.Errorf("exchange %q stands there twice", c.Name)
		}
		seen[c.Name] = true
		if len(c.Steps) == 0 {
			return nil, fmt.Errorf("exchange %q has no steps", c.Name)
		}
		for j := range c.Steps {
			s := &c.Steps[j]
			if s.As == "" {
				s.As = Guest
			}
			if err := validate(s); err != nil {
				return nil, fmt.Errorf("exchange %q, step %d: %w", c.Name, j+1, err)
			}
		}
	}
	return exchanges, nil
}

// validate refuses what could not be sent as one request and answered.
func (s *Step) validate() error {
	if s.Response.Status < 200 || s.Response.Status > 599 {
		return fmt.Errorf("status %d of the response is not between 200 and 599", s.Response.Status)
	}
	return s.validateRequest()
}

// validateRequest refuses what could not be sent as one request.
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
		return fmt.Errorf("path %q has characters that no request line may hold", s.Path)
	}
	for _, h := range s.headers() {
		if !isToken(h.name) {
			return fmt.Errorf("header name %q is not a token", h.name)
		}
		if strings.ContainsAny(h.value, "\r\n\x00") {
			return fmt.Errorf("value of header %q would end the line", h.name)
		}
		if ownHeader(h.name) {
			return fmt.Errorf("header %q is the engine's own", h.name)
		}
	}
	return nil
}

// ownHeader reports whether no exchange and no credentials may state the header
// called name, because the engine does.
func ownHeader(name string) bool {
	return slices.Contains([]string{"host", "content-length", "transfer-encoding", "connection", "expect"}, strings.ToLower(name))
}

type header struct{ name, value string }

// headers returns the headers the step states: Accept, Content-Type, then the
// others by name.
func (s *Step) headers() []header {
	var hs []header
	if s.Accept != nil && !s.overrides("Accept") {
		hs = append(hs, header{"Accept", *s.Accept})
	}
	if s.ContentType != nil && !s.overrides("Content-Type") {
		hs = append(hs, header{"Content-Type", *s.ContentType})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		hs = append(hs, header{name, s.Headers[name]})
	}
	return hs
}

// overrides reports whether Headers states the header called name itself.
func (s *Step) overrides(name string) bool {
	for own := range s.Headers {
		if strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

// isWrite reports whether the method is one that changes the data set.
func (s *Step) isWrite() bool {
	return s.Method == "POST" || s.Method == "PUT" || s.Method == "DELETE"
}

// isWrite reports whether the case may leave another state behind.
func (c *Exchange) isWrite() bool {
	for i := range c.Steps {
		if c.Steps[i].isWrite() {
			return true
		}
	}
	return false
}

func isAbsolute(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") ||
		strings.HasPrefix(target, "{{base_url}}")
}

// isToken reports whether s is a token as RFC 9110 5.6.2 has it.
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) < 0
}
