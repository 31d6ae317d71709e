package doctor

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// checkBackend checks that the backend, or the adapter in Go, can be opened, which includes its
// mapping file, that it answers, and that it accepts the credentials.
func (e *examination) checkBackend(ctx context.Context) []Finding {
	if known := e.program.Adapter(e.cfg.Adapter); known != nil {
		return one(e.checkAdapter(ctx, known))
	}
	known := e.program.Backend(e.cfg.Adapter)
	if known == nil {
		return notUsed("the adapter is " + e.cfg.Adapter)
	}
	schemas, err := program.Schemas(e.cfg)
	if err != nil {
		return one(failed("", err.Error(), ""))
	}
	backend, err := known.Open(ctx, &program.Environment{
		Settings: e.cfg.Sections[known.Name], Schemas: schemas, IDs: idmap.NewCache(noMappings{}), Registerer: prometheus.NewRegistry(), Log: e.log(),
	})
	if err != nil {
		return one(failed("", err.Error(), "Mend the settings of the section "+known.Name+", or the mapping file."))
	}
	defer func() { _ = backend.Close() }()
	findings := one(askBackend(ctx, known.Name, backend))
	if known.Name == program.RESTSection {
		findings = append(findings, e.checkRESTCertificate(ctx)...)
	}
	return findings
}

// askBackend pings a backend, and then asks it for a record that does not exist. The second request
// uses the credentials.
func askBackend(ctx context.Context, name string, backend replica.Backend) Finding {
	if err := backend.Ping(ctx); err != nil {
		return failed("", "does not answer: "+errorText(err), "See that the backend runs, and that the URL in the section "+name+" is that of its API.")
	}
	switch asked, err := program.AskBackend(ctx, backend); {
	case err != nil:
		return failed("", fmt.Sprintf("answers, but not when it is asked for %s: %s", asked, errorText(err)), "See that the credentials in the section "+name+" belong to a user who may read everything. 401 and 403 mean that they do not.")
	case asked != "":
		return passed("", backend.Name()+" answers, and accepts the credentials")
	}
	return passed("", backend.Name()+" answers")
}

// checkAdapter checks an adapter in Go.
func (e *examination) checkAdapter(ctx context.Context, known *program.Adapter) Finding {
	records, err := program.OpenAdapter(ctx, known, e.cfg, prometheus.NewRegistry(), e.log())
	if err != nil {
		return failed("", err.Error(), "Mend the settings of the section "+known.Name+".")
	}
	defer func() { _ = records.Close() }()
	if err := records.Ping(ctx); err != nil {
		return failed("", "does not answer: "+errorText(err), "See that what the adapter "+known.Name+" uses is there.")
	}
	return passed("", "the adapter "+known.Name+" answers")
}

// checkRESTCertificate checks the certificate of the backend of the adapter rest.
func (e *examination) checkRESTCertificate(ctx context.Context) []Finding {
	section := e.cfg.Sections[program.RESTSection]
	with, err := program.ClientTLS(section["ca_file"], section["client_cert"], section["client_key"])
	if err != nil {
		return nil // the backend could not be opened
	}
	return certificateOf(ctx, "backend certificate", section["url"], with)
}

// noMappings is the empty ID map of a backend that is only checked.
type noMappings struct{ idmap.Map }

// MappingsByKey returns no mappings.
func (noMappings) MappingsByKey(context.Context, adapter.Resource, []adapter.Key) ([]idmap.Mapping, error) {
	return nil, nil
}

// MappingsByBackendID returns no mappings.
func (noMappings) MappingsByBackendID(context.Context, adapter.Resource, []string) ([]idmap.Mapping, error) {
	return nil, nil
}
