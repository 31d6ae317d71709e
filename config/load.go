package config

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

const (
	// fileVariable names the YAML file when the caller does not.
	fileVariable = prefix + "CONFIG"
	// testPrefix begins the variables that ask for tests of ours. No setting has it.
	testPrefix = prefix + "TEST_"

	maxFileBytes   = mib
	maxSecretBytes = 64 * kib
)

// serviceLink matches the variables that Kubernetes adds to every container
// when a service is called "portico". They are not ours.
var serviceLink = regexp.MustCompile(`\APORTICO_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)\z`)

// Sources says where settings come from, from the weakest to the strongest.
type Sources struct {
	Sections []Section      // the adapters built in
	File     string         // path of the YAML file; empty: the one PORTICO_CONFIG names, or none
	Environ  []string       // "NAME=value", as os.Environ returns it
	Flags    *pflag.FlagSet // parsed, with the flags of [AddFlags]; nil for none

	// Attribute and Fields check an entry of the tables further than its keys tell;
	// nil accepts all. Each line of an error says what would be valid.
	Attribute func(Attribute) error
	Fields    func(FieldList) error
}

// AddFlags defines the flags of settings, each with the setting's default and
// help.
func AddFlags(flags *pflag.FlagSet, settings []Setting) {
	for _, s := range settings {
		if s.Flag != "" {
			flags.String(s.Flag, s.Default, s.Help)
		}
	}
}

// Load merges the sources, checks every value and every combination, and
// returns the configuration, or all that is wrong with it as [Faults].
func Load(from Sources) (*Config, error) {
	l := newLoader(from)
	l.defaults()
	if path := from.path(); path != "" {
		l.file(path)
	}
	l.environment(from.Environ)
	if from.Flags != nil {
		l.flags(from.Flags)
	}
	config := newConfig(l.values, from.Sections)
	config.Attributes = entriesOf(l, "attributes", newAttribute)
	config.Fields = entriesOf(l, "fields", newFieldList)
	config.Routes = entriesOf(l, "routes", newRoute)
	for _, r := range rules() {
		if !slices.ContainsFunc(r.settings, l.faults.about) {
			l.fault(r.settings[0], l.values[r.settings[0]].origin, r.problem(config))
		}
	}
	if err := l.faults.err(); err != nil {
		return nil, err
	}
	config.rows = l.rows()
	return config, nil
}

func (from Sources) path() string {
	path := from.File
	for _, entry := range from.Environ {
		if value, ok := strings.CutPrefix(entry, fileVariable+"="); ok && from.File == "" {
			path = value
		}
	}
	return path
}

// A value is what one setting is set to.
type value struct {
	text   string
	parsed any
	origin string // the layer it came from, for people
}

type values map[string]value

// get returns the parsed value of a setting; T is the type of its kind.
func get[T any](v values, name string) T {
	parsed, _ := v[name].parsed.(T)
	return parsed
}

// A loader collects the values of layer after layer, and the faults in them.
type loader struct {
	from     Sources
	settings []Setting
	byName   map[string]Setting
	values   values
	entries  map[string][]entry // of each table
	origins  map[string]string  // of each table
	faults   Faults
}

func newLoader(from Sources) *loader {
	l := &loader{
		from: from, settings: Settings(from.Sections...), byName: map[string]Setting{},
		values: values{}, entries: map[string][]entry{}, origins: map[string]string{},
	}
	for _, s := range l.settings {
		l.byName[s.Name] = s
	}
	return l
}

func (l *loader) fault(setting, origin, problem string) {
	if problem != "" {
		l.faults = append(l.faults, Fault{Setting: setting, Origin: origin, Problem: problem})
	}
}

// layer lays what a provider reads over the layers before. The provider's keys
// are names of settings and its values texts; origin says where one was given.
func (l *loader) layer(provider koanf.Provider, origin func(name string) string) {
	given := koanf.New(".")
	if err := given.Load(provider, nil); err != nil {
		l.fault("", origin(""), err.Error())
	}
	texts := given.All()
	for _, name := range given.Keys() {
		text, _ := texts[name].(string)
		l.set(name, text, origin(name))
	}
}

func (l *loader) set(name, text, origin string) {
	setting, ok := l.byName[name]
	if !ok {
		l.fault(name, origin, "unknown setting"+l.suggest(name, l.names()))
		return
	}
	parsed, err := setting.parse(text)
	if err != nil {
		l.fault(name, origin, setting.quote(text)+" "+err.Error())
	}
	l.values[name] = value{text, parsed, origin}
}

// names returns every name that a file may set.
func (l *loader) names() []string {
	var names []string
	for _, s := range l.settings {
		names = append(names, s.Name)
	}
	for _, t := range Tables() {
		names = append(names, t.Name)
	}
	return names
}

func (l *loader) variables() []string {
	var names []string
	for _, s := range l.settings {
		names = append(names, s.Variable())
	}
	return names
}

// quote returns the beginning of a value for a message, or nothing of a secret.
func (s Setting) quote(text string) string {
	if s.Secret {
		return "value"
	}
	return fmt.Sprintf("%.64q", redacted(text))
}

// notPort matches what stands in the place of a port in a URL and is none: perhaps a
// password whose host is missing.
var notPort = regexp.MustCompile(`^([^/?#\[\]:]*):[^/?#]*[^/?#0-9][^/?#]*`)

// redacted returns text with "…" in the place of what would be the user, the password
// and the query of a URL, whether or not text is a valid one.
func redacted(text string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		scheme, rest = "", text
	}
	at := strings.LastIndexByte(rest, '@')
	if at >= 0 {
		rest = "…" + rest[at:]
	}
	if !isURL {
		return rest
	}
	if at < 0 {
		rest = notPort.ReplaceAllString(rest, "$1:…")
	}
	if before, _, found := strings.Cut(rest, "?"); found {
		rest = before + "?…"
	}
	return scheme + "://" + rest
}

func (l *loader) defaults() {
	texts := map[string]any{}
	for _, s := range l.settings {
		texts[s.Name] = s.Default
	}
	l.layer(confmap.Provider(texts, ""), func(string) string { return "default" })
}

func (l *loader) file(path string) {
	text, err := readFile(path, maxFileBytes)
	if err != nil {
		l.fault("", path, err.Error())
		return
	}
	tables := Tables()
	document := readYAML(text, func(name string) bool {
		return slices.ContainsFunc(tables, func(t Table) bool { return t.Name == name })
	})
	at := func(name string) string { return fmt.Sprintf("%s:%d", path, document.lines[name]) }
	for _, f := range document.faults {
		origin := path
		if f.line > 0 {
			origin = fmt.Sprintf("%s:%d", path, f.line)
		}
		l.fault("", origin, f.problem)
	}
	for _, name := range document.blank {
		if !l.known(name) {
			l.fault(name, at(name), "unknown setting"+l.suggest(name, l.names()))
		}
	}
	l.layer(confmap.Provider(document.texts, ""), at)
	for _, t := range tables {
		if given, ok := document.tables[t.Name]; ok {
			l.table(t, path, given)
		}
	}
}

// known reports whether name is a setting, a section of settings or a table.
func (l *loader) known(name string) bool {
	return slices.ContainsFunc(l.names(), func(known string) bool {
		return known == name || strings.HasPrefix(known, name+".")
	})
}

func (l *loader) environment(environ []string) {
	byVariable := map[string]Setting{}
	for _, s := range l.settings {
		byVariable[s.Variable()] = s
	}
	variables := map[string]string{} // of each setting, the variable that gave it
	transform := func(variable, text string) (string, any) {
		if variable == fileVariable || serviceLink.MatchString(variable) || strings.HasPrefix(variable, testPrefix) {
			return "", nil
		}
		setting, ok := byVariable[variable]
		if !ok {
			setting, ok = byVariable[strings.TrimSuffix(variable, "_FILE")]
			if !ok || !setting.Secret {
				l.fault("", "environment "+printable(variable), "unknown variable"+l.suggest(variable, l.variables()))
				return "", nil
			}
			secret, err := readFile(text, maxSecretBytes)
			if err != nil {
				l.fault(setting.Name, "environment "+variable, err.Error())
				return "", nil
			}
			text = strings.TrimRight(string(secret), "\r\n")
		}
		if other, ok := variables[setting.Name]; ok && other != variable {
			l.fault(setting.Name, "environment "+variable, "is given by "+other+" too")
			return "", nil
		}
		variables[setting.Name] = variable
		return setting.Name, text
	}
	provider := env.Provider("", env.Opt{
		Prefix:        prefix,
		TransformFunc: transform,
		EnvironFunc:   func() []string { return environ },
	})
	l.layer(provider, func(name string) string { return "environment " + variables[name] })
}

func (l *loader) flags(flags *pflag.FlagSet) {
	byFlag := map[string]string{}
	for _, s := range l.settings {
		if s.Flag != "" {
			byFlag[s.Flag] = s.Name
		}
	}
	provider := posflag.ProviderWithFlag(flags, ".", nil, func(f *pflag.Flag) (string, any) {
		return byFlag[f.Name], f.Value.String()
	})
	l.layer(provider, func(name string) string { return "flag --" + l.byName[name].Flag })
}

// readFile returns the content of a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("must not be longer than %s", sizeText(limit))
	}
	return content, nil
}
