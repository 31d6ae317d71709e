package config

import (
	"cmp"
	"errors"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Setting is the complete definition of one setting.
type Setting struct {
	Name    string // name in the YAML file, with the section: "log.level"
	Kind    Kind
	Default string
	// DefaultOpenMage is the default in the dialect openmage; "" if it is the same.
	DefaultOpenMage string
	Help            string   // one or two sentences, with the unit
	Choices         []string // allowed values of kinds Choice and Choices
	// MayBeEmpty: a value of kind Choices may be an empty list.
	MayBeEmpty bool

	// Min and Max are the inclusive bounds of kinds Int, Size (in bytes) and Duration (in
	// nanoseconds).
	Min, Max int64

	Secret bool   // never shown; may be read from PORTICO_<NAME>_FILE
	Reload bool   // a running process applies a new value: see [Config.Reload]
	Flag   string // name of the command-line flag; empty if there is none

	// Valid validates a value beyond its kind; nil accepts all. Its error names the valid
	// values ("must be …") and must not repeat the value of a secret.
	Valid func(string) error

	field []int // of the struct that gets the value, see [reflect.Value.FieldByIndex]
}

// Variable returns the environment variable: PORTICO_LOG_LEVEL for "log.level".
func (s Setting) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.Name, ".", "_"))
}

// Check returns an error that names the valid values, unless text is one.
func (s Setting) Check(text string) error {
	_, err := s.parse(text)
	return err
}

// DefaultIn returns the default value in a dialect.
func (s Setting) DefaultIn(dialect string) string {
	if dialect == "openmage" {
		return cmp.Or(s.DefaultOpenMage, s.Default)
	}
	return s.Default
}

// Same reports whether two texts are the same value of the setting, as 2 and 2.0000 are of a
// decimal. Texts that are no values are the same only if they are equal.
func (s Setting) Same(a, b string) bool {
	one, err := s.parse(a)
	other, otherErr := s.parse(b)
	if err != nil || otherErr != nil {
		return a == b
	}
	return reflect.DeepEqual(one, other)
}

// A Section defines the settings of one adapter. Name is the adapter's name; the names of
// the settings do not include it ("dsn" of section "sql" is the setting "sql.dsn").
type Section struct {
	Name     string
	Settings []Setting
}

// Settings returns the definitions of all settings in the order of the example file: the fields
// of [Config] first, then the sections. The names of the sections are the choices of the
// setting "adapter".
func Settings(sections ...Section) []Setting {
	all := taggedSettings(reflect.TypeFor[Config]())
	for _, section := range sections {
		for _, s := range section.Settings {
			s.Name = section.Name + "." + s.Name
			all = append(all, s)
		}
	}
	at := slices.IndexFunc(all, func(s Setting) bool { return s.Name == "adapter" })
	for _, section := range sections {
		all[at].Choices = append(all[at].Choices, section.Name)
	}
	return all
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// validBasePath rejects URLs whose path has several spellings: it must be identical where
// it is signed, linked or recorded.
func validBasePath(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil //nolint:nilerr // parseURL reports it
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	if strings.Contains(path+"/", "/api/rest/") {
		return errors.New("must not include /api/rest: use the URL before it, such as https://shop.example.com/shop")
	}
	if path == "" {
		return nil
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if strings.Trim(segment, ".") == "" || strings.Trim(segment, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~") != "" {
			return errors.New("must have a path of letters, digits and the characters - . _ ~ between single slashes, such as https://shop.example.com/shop")
		}
	}
	return nil
}

// matchPattern returns a function that rejects texts that do not match pattern completely.
// The pattern is compiled when the first text is checked, because every command lists all
// settings and few commands check any.
func matchPattern(pattern, problem string) func(string) error {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?:` + pattern + `)\z`) })
	return func(text string) error {
		if !re().MatchString(text) {
			return errors.New(problem)
		}
		return nil
	}
}
