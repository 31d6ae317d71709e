package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module   = "github.com/portico-commerce/portico"
	maxLines = 500 // for a file that is not a test
)

// allowedImports names, for each package of the module, the packages of the module that it
// may import. A package that is not listed is an error.
func allowedImports() map[string][]string {
	return map[string][]string{
		"cmd/portico": {"cmd/portico/app"},
		"cmd/portico/app": {
			"adapter", "adapter/demo", "adapter/guard", "adapter/outbox", "adapter/replica", "adapter/sqlstore", "adapter/tracing/otlp", "cache",
			"cmd/portico/app/backup", "cmd/portico/app/certificate", "cmd/portico/app/client", "cmd/portico/app/comparison", "cmd/portico/app/console",
			"cmd/portico/app/credentials", "cmd/portico/app/cutover", "cmd/portico/app/doctor", "cmd/portico/app/erase", "cmd/portico/app/legacysystem",
			"cmd/portico/app/mappings", "cmd/portico/app/program", "cmd/portico/app/records", "config", "config/buildinfo", "contracttests", "mapping", "mapping/auth",
			"mapping/consent", "mapping/contract", "mapping/httpapi", "mapping/landing", "mapping/legacy/compare", "mapping/legacy/exchange",
			"mapping/legacy/follow", "mapping/legacy/migration", "mapping/legacy/mirror", "mapping/legacy/passthrough",
			"mapping/legacy/recording", "mapping/legacy/shadow", "mapping/openapi", "mapping/redact", "mapping/reference",
			"adapter/sqlstore/engine", "adapter/sqlstore/leases", "adapter/sqlstore/outboxes",
			"adapter/sqlstore/importwatch",
			"mapping/calls", "mapping/legacy/gate", "mapping/pipeline", "mapping/products/writes", "mapping/ratelimit", "mapping/replycache", "mapping/shopconfig", "mapping/stockitems",
		},
		"cmd/portico/app/backup":      {"adapter", "adapter/dataset", "adapter/sqlstore", "adapter/sqlstore/backups", "cmd/portico/app/program", "config", "contracttests/report"},
		"cmd/portico/app/certificate": {},
		"cmd/portico/app/client": {
			"adapter", "adapter/demo", "cmd/portico/app/program", "config", "config/buildinfo", "mapping/auth", "mapping/auth/diagnose",
			"mapping/contract",
		},
		"cmd/portico/app/comparison": {
			"cmd/portico/app/program", "config", "contracttests", "contracttests/report", "mapping/contract", "mapping/legacy/compare",
			"mapping/legacy/migration", "mapping/legacy/recording", "mapping/legacy/sweep",
		},
		"cmd/portico/app/console":     {"adapter", "config", "mapping/legacy/migration", "mapping/ratelimit"},
		"cmd/portico/app/credentials": {"adapter", "adapter/sqlstore", "cmd/portico/app/program", "mapping/auth", "adapter/sqlstore/credentials"},
		"cmd/portico/app/cutover": {
			"adapter/magento1", "adapter/outbox", "adapter/sqlstore", "cmd/portico/app/program", "config", "config/buildinfo", "contracttests/report",
			"mapping", "mapping/legacy/migration", "mapping/legacy/recording", "mapping/legacy/shadow",
			"adapter/sqlstore/outboxes",
		},
		"cmd/portico/app/doctor": {
			"adapter", "adapter/demo", "adapter/guard", "adapter/idmap", "adapter/magento1/binlog", "adapter/replica", "adapter/sqlstore", "cache",
			"cmd/portico/app/certificate", "cmd/portico/app/credentials", "cmd/portico/app/cutover", "cmd/portico/app/legacysystem",
			"cmd/portico/app/program", "config", "contracttests/report", "mapping/auth", "mapping/contract", "mapping/legacy/passthrough",
			"adapter/sqlstore/blobs", "adapter/sqlstore/engine",
			"adapter/magento1", "adapter/magento1/server", "adapter/transfer",
		},
		"cmd/portico/app/erase": {"adapter", "adapter/sqlstore", "adapter/sqlstore/erasures", "cmd/portico/app/program", "config"},
		"cmd/portico/app/legacysystem": {
			"adapter/guard", "adapter/magento1/server", "cmd/portico/app/program", "config", "mapping/auth",
			"mapping/contract", "mapping/legacy/passthrough",
			"adapter/sqlstore/outboxes",
			"mapping/legacy/gate",
		},
		"cmd/portico/app/mappings": {"adapter", "adapter/reststore", "adapter/reststore/trial", "cmd/portico/app/program"},
		"cmd/portico/app/program": {
			"adapter", "adapter/idmap", "adapter/replica", "adapter/reststore", "adapter/sqlstore", "config", "config/buildinfo", "mapping/contract",
			"mapping/httpapi", "mapping/legacy/migration", "mapping/legacy/passthrough",
			"adapter/sqlstore/blobs", "adapter/sqlstore/blobs/s3", "adapter/sqlstore/credentials", "adapter/sqlstore/engine", "adapter/sqlstore/importwatch",
			"adapter/sqlstore/recordtx",
		},
		"cmd/portico/app/records": {
			"adapter", "adapter/dataset", "adapter/demo", "adapter/idmap", "adapter/magento1", "adapter/magento1/binlog", "adapter/magento1/restroles", "adapter/magento1/server",
			"adapter/replica/findings", "adapter/sqlstore", "adapter/transfer", "cmd/portico/app/credentials", "cmd/portico/app/legacysystem",
			"cmd/portico/app/program", "config", "contracttests/report", "mapping/contract", "mapping/legacy/follow",
			"mapping/legacy/migration", "mapping/legacy/passthrough",
			"adapter/sqlstore/credentials", "adapter/sqlstore/recordtx",
			"mapping/products/urlkey",
		},
		// the program for tests
		"cmd/portico/app/apptest": {"adapter/demo/demotest", "adapter/sqlstore", "adapter/sqlstore/sqltest", "contracttests", "config/testenv/nightly", "config/testenv/programs", "adapter/sqlstore/engine"},
		// legacy stores for tests of the program
		"cmd/portico/app/apptest/shops": {"cmd/portico/app/apptest", "adapter", "adapter/magento1/magento1test", "adapter/magento1/magento1test/oldshop", "adapter/sqlstore/sqltest", "adapter/transfer", "contracttests", "config/testenv/programs"},
		"cmd/contracttest":              {"config/buildinfo", "config/strictyaml", "contracttests", "contracttests/report"},

		"mapping/httpapi":              {"mapping", "mapping/auth", "mapping/budget", "mapping/calls", "mapping/consent", "mapping/contract", "mapping/landing", "mapping/legacy/exchange", "mapping/legacy/gate", "mapping/legacy/passthrough", "mapping/pipeline", "mapping/products/images", "mapping/ratelimit", "mapping/redact", "adapter", "adapter/guard", "adapter/tracing"},
		"mapping/openapi":              {"mapping/contract", "mapping/listquery", "adapter"},
		"mapping/reference":            {"mapping/openapi"},
		"mapping/landing":              {},
		"mapping/consent":              {"mapping/auth", "mapping/contract", "mapping/ratelimit", "adapter"},
		"mapping/legacy/passthrough":   {"config/buildinfo", "mapping/contract", "adapter", "adapter/tracing"},
		"mapping/legacy":               {},
		"mapping/legacy/exchange":      {"mapping/contract"},
		"mapping/legacy/compare":       {"mapping/codec", "mapping/contract", "config/strictyaml"},
		"mapping/legacy/sweep":         {"mapping/legacy/compare", "mapping/codec", "mapping/contract"},
		"mapping/legacy/mirror":        {"mapping/auth", "mapping/legacy/passthrough", "mapping/codec", "mapping/contract", "adapter", "adapter/outbox"},
		"mapping/legacy/recording":     {"mapping/redact", "mapping/legacy/exchange", "mapping/codec", "mapping/contract"},
		"mapping/legacy/follow":        {"adapter", "adapter/magento1", "adapter/magento1/binlog", "adapter/magento1/server", "adapter/outbox", "adapter/recordjson", "adapter/rules/imports", "adapter/transfer", "adapter/sqlstore/credentials", "adapter/sqlstore/engine", "adapter/sqlstore/importlog", "adapter/sqlstore/importwatch", "adapter/sqlstore/leases", "adapter/sqlstore/outboxes"},
		"mapping/legacy/shadow":        {"mapping/legacy/exchange", "mapping/legacy/compare", "mapping/legacy/passthrough", "mapping/contract"},
		"mapping/legacy/migration":     {"mapping/legacy/recording", "mapping/legacy/shadow", "mapping/legacy/passthrough", "mapping/contract"},
		"mapping":                      {"mapping/auth", "mapping/budget", "mapping/calls", "mapping/contract", "mapping/customers", "mapping/legacy/gate", "mapping/orders", "mapping/pipeline", "mapping/products", "mapping/products/assignments", "mapping/products/images", "mapping/products/lookup", "mapping/products/writes", "mapping/records", "mapping/replycache", "mapping/shopconfig", "mapping/stockitems", "adapter"},
		"mapping/pipeline":             {"mapping/auth", "mapping/budget", "mapping/calls", "mapping/codec", "mapping/contract", "mapping/input", "mapping/numeric", "mapping/ratelimit", "mapping/records", "mapping/replycache", "adapter", "adapter/tracing"},
		"mapping/legacy/gate":          {"mapping/auth", "mapping/calls", "mapping/contract", "mapping/numeric", "mapping/pipeline", "mapping/products/lookup", "mapping/replycache", "adapter"},
		"mapping/customers":            {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/input", "mapping/records", "mapping/shopconfig", "adapter"},
		"mapping/orders":               {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/input", "mapping/listquery", "mapping/numeric", "mapping/records", "adapter"},
		"mapping/stockitems":           {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/input", "mapping/numeric", "mapping/records", "adapter"},
		"mapping/products":             {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/listquery", "mapping/numeric", "mapping/products/images", "mapping/products/lookup", "mapping/products/prices", "mapping/records", "mapping/shopconfig", "adapter"},
		"mapping/products/writes":      {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/input", "mapping/numeric", "mapping/products/lookup", "mapping/products/urlkey", "mapping/records", "mapping/shopconfig", "mapping/stockitems", "adapter"},
		"mapping/products/images":      {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/input", "mapping/numeric", "mapping/products/lookup", "mapping/records", "mapping/shopconfig", "adapter", "adapter/imagecheck"},
		"mapping/products/assignments": {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/input", "mapping/numeric", "mapping/products/lookup", "mapping/products/urlkey", "mapping/records", "mapping/shopconfig", "adapter"},
		"mapping/products/prices":      {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/records", "mapping/shopconfig", "adapter"},
		"mapping/products/lookup":      {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/numeric", "mapping/records", "mapping/shopconfig", "adapter"},
		"mapping/products/urlkey":      {},
		"mapping/shopconfig":           {"mapping/codec", "mapping/numeric", "mapping/records", "adapter"},
		"mapping/replycache":           {"mapping/calls", "mapping/codec", "mapping/contract", "mapping/numeric", "adapter"},
		"mapping/calls":                {"mapping/auth", "mapping/codec", "mapping/contract", "mapping/listquery", "mapping/numeric", "mapping/records", "adapter"},
		"mapping/records":              {"mapping/budget", "mapping/listquery", "adapter"},
		"mapping/codec":                {"mapping/contract", "mapping/numeric"},
		"mapping/input":                {"mapping/codec", "mapping/contract", "mapping/numeric", "adapter"},
		"mapping/listquery":            {"mapping/codec", "mapping/contract", "mapping/listquery/phptime", "mapping/numeric", "adapter"},
		"mapping/listquery/phptime":    {},
		"mapping/auth":                 {"mapping/redact", "mapping/contract", "adapter"},
		"mapping/auth/diagnose":        {"mapping/auth", "adapter"},
		"mapping/auth/authtest":        {"adapter"},
		"mapping/redact":               {"mapping/codec", "mapping/contract"},
		"mapping/budget":               {"adapter"},
		"mapping/ratelimit":            {},
		"mapping/contract":             {},
		"mapping/numeric":              {},

		"adapter":             {},
		"adapter/adaptertest": {"adapter"},
		"adapter/dataset":     {"adapter", "adapter/rules", "config/suggest"},
		"adapter/demo":        {"adapter", "adapter/dataset"},
		// databases with the demo store for tests
		"adapter/demo/demotest":       {"adapter", "adapter/demo", "adapter/memstore", "adapter/sqlstore", "adapter/sqlstore/sqltest"},
		"adapter/clock":               {},
		"adapter/guard":               {"adapter", "adapter/tracing"},
		"adapter/idmap":               {"adapter"},
		"adapter/imagefiles":          {"config/buildinfo"},
		"adapter/magento1":            {"adapter", "adapter/magento1/restroles", "adapter/magento1/server"},
		"adapter/magento1/restroles":  {"adapter", "adapter/magento1/server"},
		"adapter/magento1/server":     {},
		"adapter/magento1/rowchanges": {"adapter", "adapter/magento1"},
		"adapter/magento1/binlog":     {"adapter/magento1", "adapter/magento1/rowchanges", "adapter/magento1/server"},
		"adapter/reststore":           {"adapter", "adapter/idmap", "adapter/replica", "adapter/replica/backend", "adapter/reststore/files", "adapter/reststore/graphql", "adapter/reststore/jq", "adapter/reststore/rawjson", "adapter/reststore/trial", "adapter/reststore/retries", "adapter/tracing", "config/buildinfo", "config/strictyaml"},
		"adapter/reststore/files":     {"adapter", "adapter/imagecheck", "adapter/replica/backend"},
		"adapter/reststore/graphql":   {},
		"adapter/reststore/jq":        {},
		"adapter/reststore/retries":   {},
		"adapter/reststore/rawjson":   {"adapter/reststore/jq"},
		"adapter/reststore/trial":     {"adapter"},
		// private backends for tests
		"adapter/reststore/livebackend": {"adapter/sqlstore/sqltest", "config/testenv/programs"},
		"adapter/reststore/medusatest":  {"adapter/reststore/livebackend"},
		"adapter/reststore/venduretest": {"adapter/reststore/livebackend"},
		// records as JSON
		"adapter/recordjson":           {"adapter"},
		"adapter/replica":              {"adapter", "adapter/clock", "adapter/idmap", "adapter/recordjson", "adapter/replica/backend", "adapter/replica/compare", "adapter/replica/findings", "adapter/replica/local", "adapter/replica/logonce", "adapter/replica/metrics", "adapter/replica/refusals", "adapter/replica/roots", "adapter/replica/stored", "adapter/replica/turns"},
		"adapter/replica/compare":      {"adapter"},
		"adapter/replica/backend":      {"adapter"},
		"adapter/replica/metrics":      {"adapter"},
		"adapter/replica/refusals":     {"adapter", "adapter/replica/logonce", "adapter/replica/metrics"},
		"adapter/replica/local":        {"adapter", "adapter/idmap", "adapter/replica/compare"},
		"adapter/replica/findings":     {"adapter"},
		"adapter/replica/turns":        {"adapter", "adapter/replica/backend"},
		"adapter/imagecheck":           {},
		"adapter/replica/stored":       {"adapter", "adapter/recordjson", "adapter/replica/backend"},
		"adapter/replica/logonce":      {"adapter"},
		"adapter/replica/roots":        {"adapter"},
		"adapter/outbox":               {"adapter", "adapter/recordjson"},
		"adapter/rules":                {"adapter", "adapter/outbox", "adapter/recordjson"},
		"adapter/rules/imports":        {"adapter", "adapter/outbox", "adapter/rules"},
		"adapter/memstore":             {"adapter", "adapter/outbox", "adapter/rules", "adapter/rules/imports"},
		"adapter/sqlstore":             {"adapter", "adapter/replica", "adapter/rules/imports", "adapter/sqlstore/backups", "adapter/sqlstore/blobs", "adapter/sqlstore/credentials", "adapter/sqlstore/database", "adapter/sqlstore/engine", "adapter/sqlstore/erasures", "adapter/sqlstore/idmaps", "adapter/sqlstore/importlog", "adapter/sqlstore/importwatch", "adapter/sqlstore/leases", "adapter/sqlstore/outboxes", "adapter/sqlstore/records", "adapter/sqlstore/recordtx", "adapter/sqlstore/tables"},
		"adapter/sqlstore/backups":     {"adapter", "adapter/rules", "adapter/sqlstore/blobs", "adapter/sqlstore/database", "adapter/sqlstore/engine", "adapter/sqlstore/importwatch"},
		"adapter/sqlstore/blobs":       {"adapter"},
		"adapter/sqlstore/blobs/s3":    {"adapter", "adapter/sqlstore/blobs"},
		"adapter/sqlstore/credentials": {"adapter", "adapter/clock", "adapter/rules/imports", "adapter/sqlstore/database", "adapter/sqlstore/engine", "adapter/sqlstore/leases"},
		"adapter/sqlstore/database":    {"adapter", "adapter/sqlstore/engine"},
		"adapter/sqlstore/engine":      {"adapter", "adapter/sqlstore/sqlconn", "adapter/tracing"},
		"adapter/sqlstore/erasures":    {"adapter", "adapter/sqlstore/database", "adapter/sqlstore/importwatch"},
		"adapter/sqlstore/idmaps":      {"adapter", "adapter/idmap", "adapter/sqlstore/database"},
		"adapter/sqlstore/importlog":   {"adapter", "adapter/sqlstore/database", "adapter/sqlstore/engine", "adapter/sqlstore/leases"},
		"adapter/sqlstore/importwatch": {"adapter", "adapter/sqlstore/database", "adapter/sqlstore/engine"},
		"adapter/sqlstore/leases":      {"adapter/sqlstore/database"},
		"adapter/sqlstore/outboxes":    {"adapter", "adapter/outbox", "adapter/recordjson", "adapter/sqlstore/database", "adapter/sqlstore/leases"},
		"adapter/sqlstore/query":       {"adapter", "adapter/sqlstore/database", "adapter/sqlstore/engine", "adapter/sqlstore/tables"},
		"adapter/sqlstore/records":     {"adapter", "adapter/rules", "adapter/sqlstore/database", "adapter/sqlstore/engine", "adapter/sqlstore/query", "adapter/sqlstore/tables"},
		"adapter/sqlstore/recordtx":    {"adapter", "adapter/idmap", "adapter/rules", "adapter/rules/imports", "adapter/sqlstore/blobs", "adapter/sqlstore/database", "adapter/sqlstore/engine", "adapter/sqlstore/idmaps", "adapter/sqlstore/importlog", "adapter/sqlstore/importwatch", "adapter/sqlstore/leases", "adapter/sqlstore/outboxes", "adapter/sqlstore/records", "adapter/sqlstore/tables"},
		"adapter/sqlstore/tables":      {"adapter", "adapter/rules", "adapter/sqlstore/database", "adapter/sqlstore/engine"},
		"adapter/tracing":              {},
		"adapter/tracing/otlp":         {"adapter/tracing", "config/buildinfo"},
		// a collector of traces for tests
		"adapter/tracing/otlp/otlptest": {},
		"adapter/transfer":              {"adapter", "adapter/imagefiles", "adapter/magento1", "adapter/magento1/restroles", "adapter/magento1/server", "adapter/sqlstore", "adapter/sqlstore/credentials", "adapter/sqlstore/importlog", "adapter/sqlstore/importwatch", "adapter/sqlstore/recordtx"},
		// private database servers for tests
		"adapter/sqlstore/sqlconn":               {},
		"adapter/sqlstore/sqltest":               {"adapter/sqlstore/sqlconn", "config/testenv/programs", "adapter/sqlstore/database", "adapter/sqlstore/engine", "config/testenv/nightly"},
		"adapter/sqlstore/sqltest/galeratest":    {"adapter/sqlstore/sqltest", "config/testenv/programs"},
		"adapter/sqlstore/sqltest/patronitest":   {"config/testenv/programs", "config/testenv/servers"},
		"adapter/sqlstore/sqltest/pgbouncertest": {"config/testenv/programs", "config/testenv/servers"},
		// a server of the S3 interface for tests
		"adapter/sqlstore/blobs/s3/s3test": {"adapter/sqlstore/blobs/s3", "config/testenv/programs"},
		// legacy stores for tests
		"adapter/magento1/magento1test":         {"adapter/sqlstore/sqltest"},
		"adapter/magento1/magento1test/oldshop": {"adapter", "adapter/magento1", "adapter/magento1/server", "adapter/memstore"},
		"cache":                                 {"adapter/tracing"},

		"config":            {"config/strictyaml", "config/suggest"},
		"config/buildinfo":  {},
		"config/strictyaml": {"config/suggest"},
		"config/suggest":    {},
		// reports whether tests run for a commit or at night
		"config/testenv/nightly": {},
		// locates and starts programs that tests run
		"config/testenv/programs": {},
		// runs servers that belong together
		"config/testenv/servers":           {"config/testenv/programs"},
		"config/testenv/programs/chromium": {"config/testenv/programs"},
		// starts clusters of Redis and Sentinels for tests
		"config/testenv/redisservers": {"config/testenv/programs"},
		// compiles JSON Schemas for tests
		"config/testenv/jsonschemas": {},

		"contracttests":        {"config/strictyaml"},
		"contracttests/report": {"contracttests", "contracttests/spec"},
		"contracttests/spec":   {},
		// tests of the whole program, of the files that ship with it, and of the repository
		"config/deployment":         {},
		"contracttests/conformance": {},
		"contracttests/endurance":   {},
		"contracttests/galera":      {},
		"contracttests/repository":  {},
		"contracttests/operation":   {},
		// how the program performs as a store grows
		"contracttests/growth": {},
		"contracttests/speed":  {},
		// finds lost and stale values in the calls of concurrent test clients
		"contracttests/consistency": {},
	}
}

// A confinedLibrary is a library that only some packages may import.
type confinedLibrary struct {
	library string                 // beginning of its import path
	within  func(path string) bool // whether a package of the module may import it
}

// confinedLibraries returns the confined libraries.
func confinedLibraries() []confinedLibrary {
	return []confinedLibrary{
		{"github.com/gin-gonic/", func(path string) bool { return path == "mapping/httpapi" || under("cmd/portico/app", path) }},
		{"github.com/gin-contrib/", func(path string) bool { return path == "mapping/httpapi" }},
		{"github.com/redis/", func(path string) bool { return !under("mapping", path) && !under("adapter", path) }},
		{"go.opentelemetry.io/otel/sdk", func(path string) bool { return under("adapter/tracing/otlp", path) }},
		{"go.opentelemetry.io/otel/exporters", func(path string) bool { return under("adapter/tracing/otlp", path) }},
		{"google.golang.org/grpc", func(string) bool { return false }},
		{"github.com/prometheus/", func(path string) bool {
			return path == "mapping/httpapi" || path == "mapping/legacy/follow" || !under("mapping", path)
		}},
	}
}

// under reports whether path is folder or below it.
func under(folder, path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// A listedPackage is a package of the module in the output of "go list -json".
type listedPackage struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string // without tests
	Imports    []string // of GoFiles
}

// importFaults returns the faults of the name and the imports of a package.
func importFaults(p listedPackage) []string {
	var all []string
	path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if slices.Contains([]string{"utils", "util", "common", "helpers", "helper"}, p.Name) {
		all = append(all, fmt.Sprintf("%s: the name %q does not say what the package is for", path, p.Name))
	}
	allowed, known := allowedImports()[path]
	if !known && len(p.GoFiles) > 0 {
		all = append(all, path+": the package is not in allowedImports")
	}
	for _, imported := range p.Imports {
		if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(allowed, ours) {
			all = append(all, fmt.Sprintf("%s imports %s, which allowedImports does not list", path, ours))
		}
		for _, c := range confinedLibraries() {
			if strings.HasPrefix(imported, c.library) && !c.within(path) {
				all = append(all, fmt.Sprintf("%s must not import %s", path, imported))
			}
		}
	}
	return all
}

// fileFaults returns the rules for files that a Go file, which is not a test, breaks.
func fileFaults(name string, source []byte) ([]string, error) {
	var all []string
	if lines := strings.Count(string(source), "\n"); lines > maxLines {
		all = append(all, fmt.Sprintf("%s has %d lines, over %d", name, lines, maxLines))
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			all = append(all, name+" has a func init")
		}
	}
	return all, nil
}

// folderFaults returns the top-level folders that do not belong in the repository.
func folderFaults(folders []string) []string {
	allowed := []string{"cmd", "adapter", "mapping", "cache", "config", "contracttests", "findings"}
	var all []string
	for _, folder := range folders {
		if !strings.HasPrefix(folder, ".") && !slices.Contains(allowed, folder) {
			all = append(all, folder+": the folder does not belong at the top level")
		}
	}
	return all
}

// listPackages returns every package of the module.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	// -e: continue with packages that do not compile; their own tests report that.
	command := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports", module+"/...")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []listedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listedPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// TestImportsPointDownward checks the imports of every package.
func TestImportsPointDownward(t *testing.T) {
	packages := listPackages(t)
	for _, want := range []string{"adapter", "config", "mapping/contract"} {
		if !slices.ContainsFunc(packages, func(p listedPackage) bool { return p.ImportPath == module+"/"+want }) {
			t.Errorf("%s was not listed", want)
		}
	}
	for _, p := range packages {
		for _, breach := range importFaults(p) {
			t.Error(breach)
		}
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, allowed := range allowedImports()[path] {
			if !slices.Contains(p.Imports, module+"/"+allowed) {
				t.Errorf("%s does not import %s, which allowedImports lists: remove it there", path, allowed)
			}
		}
	}
}

// TestFilesFollowRules checks every file of the module with fileFaults.
func TestFilesFollowRules(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := fileFaults(path, source)
			if err != nil {
				t.Error(err)
			}
			for _, breach := range found {
				t.Error(breach)
			}
		}
	}
}

// TestTopLevelFolders checks the top-level folders of the repository.
func TestTopLevelFolders(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, entry.Name())
		}
	}
	if !slices.Contains(folders, "adapter") {
		t.Fatal("this is not the top level")
	}
	for _, breach := range folderFaults(folders) {
		t.Error(breach)
	}
}

// TestAllowedImportsHaveNoCycle checks that allowedImports has no cycle.
func TestAllowedImportsHaveNoCycle(t *testing.T) {
	allowed := allowedImports()
	var follow func(from string, path []string)
	follow = func(from string, path []string) {
		if slices.Contains(path, from) {
			t.Fatalf("circle: %s", strings.Join(append(path, from), " → "))
		}
		for _, to := range allowed[from] {
			if _, ok := allowed[to]; !ok {
				t.Errorf("%s → %s: no such package", from, to)
			}
			follow(to, append(slices.Clone(path), from))
		}
	}
	for _, from := range slices.Sorted(maps.Keys(allowed)) {
		follow(from, nil)
	}
}

// TestImportFaultsAreFound checks that importFaults finds every kind of fault.
func TestImportFaultsAreFound(t *testing.T) {
	tests := []struct {
		name string
		p    listedPackage
		want []string
	}{
		{"allowed import", listedPackage{ImportPath: module + "/mapping/codec", Name: "codec", GoFiles: []string{"a.go"},
			Imports: []string{"io", module + "/mapping/contract"}}, nil},
		{"forbidden import", listedPackage{ImportPath: module + "/adapter/sqlstore", Name: "sqlstore", GoFiles: []string{"a.go"},
			Imports: []string{module + "/mapping/contract"}},
			[]string{"adapter/sqlstore imports mapping/contract, which allowedImports does not list"}},
		{"unknown package", listedPackage{ImportPath: module + "/mapping/soap", Name: "soap", GoFiles: []string{"a.go"}},
			[]string{"mapping/soap: the package is not in allowedImports"}},
		{"folder of tests alone", listedPackage{ImportPath: module + "/adapter/sqlstore/sqltest", Name: "sqltest"}, nil},
		{"meaningless name", listedPackage{ImportPath: module + "/cache", Name: "utils", GoFiles: []string{"a.go"}},
			[]string{`cache: the name "utils" does not say what the package is for`}},
		{"gin where it belongs", listedPackage{ImportPath: module + "/mapping/httpapi", Name: "httpapi", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/gin-gonic/gin", "github.com/prometheus/client_golang/prometheus"}}, nil},
		{"gin elsewhere", listedPackage{ImportPath: module + "/mapping", Name: "mapping", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/gin-gonic/gin/render"}},
			[]string{"mapping must not import github.com/gin-gonic/gin/render"}},
		{"redis in mapping", listedPackage{ImportPath: module + "/mapping/auth", Name: "auth", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/redis/go-redis/v9"}},
			[]string{"mapping/auth must not import github.com/redis/go-redis/v9"}},
		{"prometheus in mapping", listedPackage{ImportPath: module + "/mapping", Name: "mapping", GoFiles: []string{"a.go"},
			Imports: []string{"github.com/prometheus/client_golang/prometheus"}},
			[]string{"mapping must not import github.com/prometheus/client_golang/prometheus"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := importFaults(tt.p); !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestFileFaultsAreFound checks that fileFaults finds every kind of fault.
func TestFileFaultsAreFound(t *testing.T) {
	tests := []struct {
		name   string
		source string
		want   []string
	}{
		{"plain file", "package a\n\nfunc initial() {}\n", nil},
		{"method called init", "package a\n\ntype t int\n\nfunc (t) init() {}\n", nil},
		{"func init", "package a\n\nfunc init() {}\n", []string{"a.go has a func init"}},
		{"longest file", "package a\n" + strings.Repeat("\n", maxLines-1), nil},
		{"file too long", "package a\n" + strings.Repeat("\n", maxLines), []string{"a.go has 501 lines, over 500"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fileFaults("a.go", []byte(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestFolderFaultsAreFound checks that folderFaults finds unknown folders.
func TestFolderFaultsAreFound(t *testing.T) {
	got := folderFaults([]string{".git", "adapter", "pkg"})
	if want := []string{"pkg: the folder does not belong at the top level"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
