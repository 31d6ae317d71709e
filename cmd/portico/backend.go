package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
)

// joined is Portico's own database together with a backend.
type joined struct {
	db      *sqlstore.DB
	side    *sqlstore.Replica
	backend replica.Backend
	store   *replica.Adapter // of both; it closes the backend
}

// Close closes the backend, then the database.
func (j *joined) Close() error { return errors.Join(j.store.Close(), j.db.Close()) }

// restSettings are the settings of the adapter rest.
func restSettings() []config.Setting {
	return []config.Setting{
		{Name: "mapping", Kind: config.Text, Default: "medusa",
			Help: "Mapping that describes the backend's API: medusa, which is built in, or the path of a file, with a slash or a dot in it."},
		{Name: "url", Kind: config.URL, Help: "Base URL of the backend's API, without the paths that the mapping names."},
		{Name: "user", Kind: config.Text, Help: "User name at the backend, where the mapping needs one."},
		{Name: "secret", Kind: config.Text, Secret: true, Help: "Password, key or token at the backend, as the mapping uses it."},
		{Name: "vars", Kind: config.Names, Help: "Values of the mapping's variables, as name=value. They replace the mapping's own."},
		{Name: "unmapped", Kind: config.Choice, Default: "refuse", Choices: []string{"refuse", "allocate"},
			Help: "What happens to a record of the backend without a legacy id: refuse leaves it out until portico ids import gives it one, allocate gives it the next one."},
		{Name: "scan_every", Kind: config.Duration, Default: "10s", Min: int64(time.Second), Max: int64(24 * time.Hour),
			Help: "Time between two scans for records that are new at the backend. Changes of known records are visible immediately."},
		{Name: "ca_file", Kind: config.Text, Help: "PEM file with the certificate authorities that Portico trusts for the backend. Empty: those of the system."},
		{Name: "client_cert", Kind: config.Text, Help: "PEM file with the client certificate for the backend, with rest.client_key."},
		{Name: "client_key", Kind: config.Text, Help: "PEM file with the private key of rest.client_cert."},
	}
}

// joinREST joins db with the backend of the section rest. Nothing is sent yet.
func joinREST(cfg *config.Config, db *sqlstore.DB, registerer prometheus.Registerer, log *slog.Logger) (*joined, error) {
	section := cfg.Sections[restSection]
	if section["url"] == "" {
		return nil, errors.New("rest.url: must be set to the base URL of the backend (PORTICO_REST_URL)")
	}
	mapping, file, err := readMapping(section["mapping"])
	if err != nil {
		return nil, err
	}
	vars, err := mappingVars(section["vars"])
	if err != nil {
		return nil, err
	}
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, err
	}
	every, err := time.ParseDuration(section["scan_every"])
	if err != nil {
		return nil, fmt.Errorf("rest.scan_every: %w", err)
	}
	side := db.Replica()
	backend, err := reststore.Open(reststore.Options{
		Mapping: mapping, File: file, URL: section["url"], User: section["user"], Secret: section["secret"], Vars: vars,
		Schemas: schemas, IDs: replica.NewIDCache(side), Registerer: registerer, Logger: log,
		TLS: reststore.TLS{CA: section["ca_file"], Cert: section["client_cert"], Key: section["client_key"]},
	})
	if err != nil {
		return nil, err
	}
	unmapped := replica.RefuseUnmapped
	if section["unmapped"] == "allocate" {
		unmapped = replica.AllocateIDs
	}
	store, err := replica.New(replica.Options{
		Replica: side, Backend: backend, Schemas: schemas, Unmapped: unmapped, ScanInterval: every, Registerer: registerer, Logger: log,
	})
	if err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	return &joined{db: db, side: side, backend: backend, store: store}, nil
}

// maxMappingBytes bounds a mapping file.
const maxMappingBytes = 4 << 20

// readMapping returns the mapping that is built in under name, or that of a file.
func readMapping(name string) (mapping []byte, file string, err error) {
	if mapping, ok := reststore.Mapping(name); ok {
		return mapping, name + ".yaml", nil
	}
	if !strings.ContainsAny(name, "./"+string(filepath.Separator)) {
		return nil, "", fmt.Errorf("rest.mapping: no mapping %q is built in: use medusa, or the path of a file, as ./%[1]s", name)
	}
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxMappingBytes {
		err = fmt.Errorf("%s is longer than %d bytes", name, maxMappingBytes)
	}
	if err == nil {
		mapping, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("rest.mapping: %w", err)
	}
	return mapping, name, nil
}

// mappingVars reads the setting rest.vars.
func mappingVars(text string) (map[string]string, error) {
	vars := map[string]string{}
	for entry := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			return nil, fmt.Errorf("rest.vars: %q must be a name, an equals sign and a value", entry)
		}
		vars[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return vars, nil
}

// openBackend opens the database and the backend of cfg, for commands.
func openBackend(ctx context.Context, cfg *config.Config, log *slog.Logger) (*joined, error) {
	join := joinOf(cfg)
	if join == nil {
		return nil, fmt.Errorf("adapter is %s, which has no backend: set adapter (--adapter, PORTICO_ADAPTER) to %s", cfg.Adapter, restSection)
	}
	db, err := openStore(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	j, err := join(cfg, db, prometheus.NewRegistry(), log)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return j, nil
}

// joinOf returns what joins the database with the backend of the chosen adapter, nil
// where that has none.
func joinOf(cfg *config.Config) func(*config.Config, *sqlstore.DB, prometheus.Registerer, *slog.Logger) (*joined, error) {
	for _, d := range drivers() {
		if d.settings.Name == cfg.Adapter {
			return d.join
		}
	}
	return nil // config has checked the name
}

// recordsOf returns the adapter of cfg, and what ends it besides the database.
func recordsOf(cfg *config.Config, db *sqlstore.DB, registerer prometheus.Registerer, log *slog.Logger) (adapter.Adapter, func() error, error) {
	join := joinOf(cfg)
	if join == nil {
		return db.Adapter(), func() error { return nil }, nil
	}
	j, err := join(cfg, db, registerer, log)
	if err != nil {
		return nil, nil, err
	}
	return j.store, j.store.Close, nil
}
