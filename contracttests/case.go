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

// maxCaseFile bounds one case file, in bytes.
const maxCaseFile = 16 << 20

//go:embed exchanges/*.json
var exchanges embed.FS

// A Case is one recorded conversation with the server, replayed from the seeded
// data set.
type Case struct {
	File    string `json:"-"`       // name of the file it stands in, without folders
	Name    string `json:"name"`    // unique in its file
	Clause  string `json:"clause"`  // what it shows, by section of the contract
	Differs string `json:"differs"` // why the documented dialect answers otherwise; empty if it does not
	Note    string `json:"note"`    // a remark for the reader, or empty
	Reset   *bool  `json:"reset"`   // false: goes on from the state the case before left; nil means true
	// Clauses names the entries of clauses.json that one of the document's own
	// cases shows; recordings have none.
	Clauses []string `json:"clauses"`
	Steps   []Step   `json:"steps"`
}

// A Step is one request and the reply recorded for it. Path, Headers and Body
// may hold the placeholder {{base_url}}, replaced by the target's base URL.
type Step struct {
	As          string            `json:"as"`           // Admin, Customer1, Customer2 or Guest
	Method      string            `json:"method"`       // any token
	Path        string            `json:"path"`         // after /api/rest; after "!" the whole request target
	Accept      *string           `json:"accept"`       // nil: no such header; "": an empty one
	ContentType *string           `json:"content_type"` // nil: no such header
	Headers     map[string]string `json:"headers"`      // further ones; they replace those made from other fields
	Body        *string           `json:"body"`         // nil: none
	Response    Response          `json:"response"`
}

// A Response is what the recorded server answered. Location and Body may hold
// placeholders: {{datetime}}, {{base_url}} and {{any}}. A nil header was absent.
type Response struct {
	Status          int     `json:"status"`
	ContentType     *string `json:"content_type"`
	Location        *string `json:"location"`
	WWWAuthenticate *string `json:"www_authenticate"`
	Allow           *string `json:"allow"`
	Body            string  `json:"body"`
}

// Cases returns the recorded cases that come with the package, in the order of
// their files and in each file's own. The slice is the caller's.
func Cases() ([]Case, error) {
	sub, err := fs.Sub(exchanges, "exchanges")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}

// Load reads every *.json file at the root of fsys as a list of cases. It fails
// on the first file that is unreadable, larger than 16 MiB or no list of valid
// cases, and when there is no such file; the error names file, case and step.
func Load(fsys fs.FS) ([]Case, error) {
	names, err := fs.Glob(fsys, "*.json")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("contracttests: no case files")
	}
	var all []Case
	for _, name := range names {
		cases, err := loadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("contracttests: %s: %w", name, err)
		}
		all = append(all, cases...)
	}
	return all, nil
}

func loadFile(fsys fs.FS, name string) ([]Case, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCaseFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxCaseFile {
		return nil, fmt.Errorf("larger than %d bytes", maxCaseFile)
	}
	return decodeCases(path.Base(name), data)
}

func decodeCases(file string, data []byte) ([]Case, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var cases []Case
	if err := dec.Decode(&cases); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("text after the list of cases")
	}
	seen := make(map[string]bool, len(cases))
	for i := range cases {
		c := &cases[i]
		c.File = file
		if c.Name == "" {
			return nil, fmt.Errorf("case %d has no name", i+1)
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("case %q stands there twice", c.Name)
		}
		seen[c.Name] = true
		if len(c.Steps) == 0 {
			return nil, fmt.Errorf("case %q has no steps", c.Name)
		}
		for j := range c.Steps {
			s := &c.Steps[j]
			if s.As == "" {
				s.As = Guest
			}
			if err := s.validate(); err != nil {
				return nil, fmt.Errorf("case %q, step %d: %w", c.Name, j+1, err)
			}
		}
	}
	return cases, nil
}

// validate refuses what could not be sent as one request and answered.
func (s *Step) validate() error {
	switch {
	case s.As != Admin && s.As != Customer1 && s.As != Customer2 && s.As != Guest:
		return fmt.Errorf("unknown caller %q", s.As)
	case !isToken(s.Method):
		return fmt.Errorf("method %q is not a token", s.Method)
	case s.Response.Status < 200 || s.Response.Status > 599:
		return fmt.Errorf("status %d of the response is not between 200 and 599", s.Response.Status)
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
		switch strings.ToLower(h.name) {
		case "host", "content-length", "transfer-encoding", "connection", "expect":
			return fmt.Errorf("header %q is the engine's own", h.name)
		}
	}
	return nil
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
func (c *Case) isWrite() bool {
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
