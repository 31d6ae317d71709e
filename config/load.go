package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const (
	// fileVariable is the variable with the path of the YAML file.
	fileVariable = prefix + "CONFIG"
	// testPrefix is the prefix of variables that request tests. No setting has it.
	testPrefix = prefix + "TEST_"

	// defaultOrigin is the origin of values that no source sets.
	defaultOrigin = "default"

	maxFileBytes   = mib
	maxSecretBytes = 64 * kib
)

// kubernetesVariable matches variables that Kubernetes sets in every container for a
// service called "portico". They are ignored.
var kubernetesVariable = regexp.MustCompile(`\APORTICO_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)\z`)

// Sources are the sources of settings, in increasing order of precedence.
type Sources struct {
	Sections []Section      // settings of the built-in adapters
	File     string         // path of the YAML file; empty: the value of PORTICO_CONFIG, if set
	Environ  []string       // "NAME=value", as os.Environ returns it
	Flags    *pflag.FlagSet // parsed flags defined by [AddFlags]; may be nil

	// Attribute and Fields validate table entries beyond their keys; nil accepts all
	// entries. Each line of their error is reported as one problem.
	Attribute func(Attribute) error
	Fields    func(FieldList) error
	// Routes returns the problems of the table routes as a whole; nil accepts all.
	Routes func(*Config) []string
}

// AddFlags defines the flags of settings, with the settings' defaults and help.
func AddFlags(flags *pflag.FlagSet, settings []Setting) {
	for _, s := range settings {
		if s.Flag != "" {
			flags.String(s.Flag, s.Default, s.Help)
		}
	}
}

// Load merges the sources and validates every value and combination. It returns the
// configuration, or all problems as [Faults].
func Load(sources Sources) (*Config, error) {
	l := newLoader(sources)
	l.applyDefaults()
	if path := sources.filePath(); path != "" {
		l.applyFile(path)
	}
	l.applyEnvironment(sources.Environ)
	if sources.Flags != nil {
		l.applyFlags(sources.Flags)
	}
	return l.finish()
}

// WithRoutes returns a copy of c, which must come from [Load], in which the table routes comes
// from text: YAML with the one section routes, from the source name. It validates the combination
// as Load does, and returns all problems as [Faults]. c does not change.
func (c *Config) WithRoutes(name string, text []byte) (*Config, error) {
	l := newLoader(c.loaded.sources)
	maps.Copy(l.values, c.loaded.values)
	maps.Copy(l.entries, c.loaded.entries)
	maps.Copy(l.origins, c.loaded.origins)
	tables := Tables()
	routes := tables[slices.IndexFunc(tables, func(t Table) bool { return t.Name == "routes" })]
	delete(l.entries, routes.Name)
	delete(l.origins, routes.Name)
	if len(text) > maxFileBytes {
		return nil, Faults{{Origin: name, Problem: fmt.Sprintf("is larger than %d bytes", maxFileBytes)}}
	}
	document := readYAML(text, func(table string) bool { return table == routes.Name })
	l.addDocumentFaults(name, document)
	for _, other := range document.names {
		if other != routes.Name {
			l.addFault(other, fmt.Sprintf("%s:%d", name, document.lines[other]), "is not a part of routes: leave it out")
		}
	}
	if given, ok := document.tables[routes.Name]; ok {
		l.loadTable(routes, name, given)
	} else if len(l.faults) == 0 {
		l.addFault(routes.Name, name, "is missing: begin with the line \"routes:\"")
	}
	return l.finish()
}

// finish converts the merged values, and validates the combinations.
func (l *loader) finish() (*Config, error) {
	sources := l.sources
	for _, s := range l.settings {
		if value := s.DefaultIn(l.values["dialect"].text); value != s.Default && l.values[s.Name].origin == defaultOrigin {
			l.set(s.Name, value, defaultOrigin)
		}
	}
	config := &Config{Sections: map[string]map[string]string{}}
	into := reflect.ValueOf(config).Elem()
	assign(into, l.settings, l.values)
	for _, section := range sources.Sections {
		texts := map[string]string{}
		for _, s := range section.Settings {
			texts[s.Name] = l.values[section.Name+"."+s.Name].text
		}
		config.Sections[section.Name] = texts
	}
	for _, t := range Tables() {
		for _, e := range l.entries[t.Name] {
			list := into.Field(t.field)
			list.Set(reflect.Append(list, t.decode(e)))
		}
	}
	for _, r := range conditions() {
		if !slices.ContainsFunc(r.settings, l.faults.hasSetting) {
			l.addFault(r.settings[0], l.values[r.settings[0]].origin, r.problem(config))
		}
	}
	if sources.Routes != nil && len(l.faults) == 0 {
		for _, problem := range sources.Routes(config) {
			l.addFault("routes", l.origins["routes"], problem)
		}
	}
	if err := l.faults.err(); err != nil {
		return nil, err
	}
	config.rows, config.loaded = l.rows(), l
	return config, nil
}

func (from Sources) filePath() string {
	path := from.File
	for _, entry := range from.Environ {
		if value, ok := strings.CutPrefix(entry, fileVariable+"="); ok && from.File == "" {
			path = value
		}
	}
	return path
}

// A value is the value of one setting.
type value struct {
	text   string
	parsed any
	origin string // where it was set, for messages
}

type values map[string]value

// get returns the parsed value of a setting. T must be the type for its kind.
func get[T any](v values, name string) T {
	parsed, _ := v[name].parsed.(T)
	return parsed
}

// A loader merges the values of all layers and collects problems.
type loader struct {
	sources  Sources
	settings []Setting
	byName   map[string]Setting
	values   values
	entries  map[string][]entry // of each table
	origins  map[string]string  // of each table
	faults   Faults
}

func newLoader(sources Sources) *loader {
	l := &loader{
		sources: sources, settings: Settings(sources.Sections...), byName: map[string]Setting{},
		values: values{}, entries: map[string][]entry{}, origins: map[string]string{},
	}
	for _, s := range l.settings {
		l.byName[s.Name] = s
	}
	return l
}

func (l *loader) addFault(setting, origin, problem string) {
	if problem != "" {
		l.faults = append(l.faults, Fault{Setting: setting, Origin: origin, Problem: problem})
	}
}

// applyLayer overrides settings with texts by their names. origin returns where a setting was set.
func (l *loader) applyLayer(texts map[string]string, origin func(name string) string) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		l.set(name, texts[name], origin(name))
	}
}

func (l *loader) set(name, text, origin string) {
	setting, ok := l.byName[name]
	if !ok {
		l.addFault(name, origin, "unknown setting"+l.suggest(name, l.names()))
		return
	}
	parsed, err := setting.parse(text)
	if err != nil {
		l.addFault(name, origin, setting.describeValue(text)+" "+err.Error())
	}
	l.values[name] = value{text, parsed, origin}
}

// names returns all names that a file may set.
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

// describeValue returns the quoted beginning of a value for a message, or "value" for a
// secret.
func (s Setting) describeValue(text string) string {
	if s.Secret {
		return "value"
	}
	return fmt.Sprintf("%.64q", redactURL(text))
}

// invalidPort matches text in the position of a URL's port that is not a port: it may be a
// password if the host is missing.
var invalidPort = regexp.MustCompile(`^([^/?#\[\]:]*):[^/?#]*[^/?#0-9][^/?#]*`)

// redactURL replaces user, password and query of a URL by "…". It works for invalid URLs,
// too.
func redactURL(text string) string {
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
		rest = invalidPort.ReplaceAllString(rest, "$1:…")
	}
	if before, _, found := strings.Cut(rest, "?"); found {
		rest = before + "?…"
	}
	return scheme + "://" + rest
}

func (l *loader) applyDefaults() {
	texts := map[string]string{}
	for _, s := range l.settings {
		texts[s.Name] = s.Default
	}
	l.applyLayer(texts, func(string) string { return defaultOrigin })
}

func (l *loader) applyFile(path string) {
	text, err := readFile(path, maxFileBytes)
	if err != nil {
		l.addFault("", path, err.Error())
		return
	}
	tables := Tables()
	document := readYAML(text, func(name string) bool {
		return slices.ContainsFunc(tables, func(t Table) bool { return t.Name == name })
	})
	at := func(name string) string { return fmt.Sprintf("%s:%d", path, document.lines[name]) }
	l.addDocumentFaults(path, document)
	for _, name := range document.empty {
		if !l.isKnown(name) {
			l.addFault(name, at(name), "unknown setting"+l.suggest(name, l.names()))
		}
	}
	l.applyLayer(document.texts, at)
	for _, t := range tables {
		if given, ok := document.tables[t.Name]; ok {
			l.loadTable(t, path, given)
		}
	}
}

// addDocumentFaults adds the faults of a file.
func (l *loader) addDocumentFaults(path string, document *document) {
	for _, f := range document.faults {
		origin := path
		if f.line > 0 {
			origin = fmt.Sprintf("%s:%d", path, f.line)
		}
		l.addFault("", origin, f.problem)
	}
}

// isKnown reports whether name is a setting, a section or a table.
func (l *loader) isKnown(name string) bool {
	return slices.ContainsFunc(l.names(), func(known string) bool {
		return known == name || strings.HasPrefix(known, name+".")
	})
}

func (l *loader) applyEnvironment(environ []string) {
	byVariable := map[string]Setting{}
	for _, s := range l.settings {
		byVariable[s.Variable()] = s
	}
	texts := map[string]string{}
	variables := map[string]string{} // by setting, the variable that set it
	for _, entry := range environ {
		variable, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, prefix) || variable == fileVariable || kubernetesVariable.MatchString(variable) || strings.HasPrefix(variable, testPrefix) {
			continue
		}
		origin := "environment " + variable
		setting, ok := byVariable[variable]
		if !ok {
			setting, ok = byVariable[strings.TrimSuffix(variable, "_FILE")]
			if !ok || !setting.Secret {
				l.addFault("", "environment "+quoteIfNeeded(variable), "unknown variable"+l.suggest(variable, l.variables()))
				continue
			}
			secret, err := readFile(text, maxSecretBytes)
			if err != nil {
				l.addFault(setting.Name, origin, err.Error())
				continue
			}
			text = strings.TrimRight(string(secret), "\r\n")
		}
		if other, ok := variables[setting.Name]; ok && other != variable {
			l.addFault(setting.Name, origin, "is also set by "+other)
			continue
		}
		texts[setting.Name], variables[setting.Name] = text, variable
	}
	l.applyLayer(texts, func(name string) string { return "environment " + variables[name] })
}

func (l *loader) applyFlags(flags *pflag.FlagSet) {
	texts := map[string]string{}
	for _, s := range l.settings {
		if f := flags.Lookup(s.Flag); f != nil && f.Changed {
			texts[s.Name] = f.Value.String()
		}
	}
	l.applyLayer(texts, func(name string) string { return "flag --" + l.byName[name].Flag })
}

// readFile reads a file of at most limit bytes.
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
