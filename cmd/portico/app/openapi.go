package app

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// openapiCommand returns the command "openapi".
func openapiCommand(p *program.Program) *cobra.Command {
	var format string
	var withOptions bool
	cmd := &cobra.Command{
		Use:   "openapi",
		Short: "Print the interface as an OpenAPI 3.1 document",
		Long: `Print the interface as an OpenAPI 3.1 document, made from the tables that Portico serves
it from: every call with its roles, parameters, bodies, answers and errors, in one dialect.
Generators make clients of it, and other tools check requests and answers against it.

The document describes the store that the configuration describes: with the attributes
that it adds, without the fields that it hides from every role. What OpenAPI cannot say is
in extensions that begin with x-, which the description of the document explains. With
--options, it also has the options of added attributes as enums, which the command reads from
the store. "portico serve" offers the document with these options on the operators' port, at
/openapi.json.`,
		Example: `  portico openapi --dialect magento > store.yaml
  portico openapi --format json | jq '.paths | keys'
  npx openapi-typescript store.yaml -o store.ts`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			var missing []*contract.Route
			if a := p.Adapter(cfg.Adapter); a != nil {
				if missing, err = routesNotOffered(cmd, cfg, a); err != nil {
					return err
				}
			}
			isOffered := func(r *contract.Route) bool {
				return !slices.ContainsFunc(missing, func(m *contract.Route) bool { return m.Path == r.Path })
			}
			read := noOptions
			if withOptions {
				read = func() ([]adapter.Record, error) { return storedOptions(cmd, p, cfg) }
			}
			document, err := openAPI(p, cfg, isOffered, read)
			if err != nil {
				return err
			}
			encode := map[string]func() ([]byte, error){"yaml": document.YAML, "json": document.JSON}[format]
			if encode == nil {
				return fmt.Errorf("--format: must be yaml or json (got %q)", format)
			}
			encoded, err := encode()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(encoded)
			return err
		},
	}
	p.AddSettingFlags(cmd, "dialect", "adapter", "public_url")
	cmd.Flags().StringVar(&format, "format", "yaml", "yaml or json")
	cmd.Flags().BoolVar(&withOptions, "options", false, "read the options of added attributes from the store")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"yaml", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is the one above
	return cmd
}

// openAPI returns the document of the store that cfg describes, with the routes of the
// records that its backend has, and the options that a function returns if the store has attributes with
// options.
func openAPI(p *program.Program, cfg *config.Config, isOffered func(*contract.Route) bool, options func() ([]adapter.Record, error)) (*openapi.Document, error) {
	d, err := program.Dialect(cfg)
	if err != nil {
		return nil, err
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return nil, err
	}
	fields, err := program.Fields(cfg)
	if err != nil {
		return nil, err
	}
	examples, err := recordedExamples(d)
	if err != nil {
		return nil, err
	}
	var stored []adapter.Record
	if schemas.HaveOptions() {
		if stored, err = options(); err != nil {
			return nil, err
		}
	}
	return openapi.Build(openapi.Options{
		Dialect: d, Fields: fields, Schemas: schemas, Version: p.Build.Version, Server: cfg.PublicURL,
		Offers: isOffered, APIKeys: cfg.Auth.Bearer, JSONWithoutAccept: cfg.AcceptMissing == "json", Examples: examples,
		AttributeOptions: stored,
	}), nil
}

func noOptions() ([]adapter.Record, error) { return nil, nil }

// storedOptions returns the options of added attributes in the store that cfg describes.
func storedOptions(cmd *cobra.Command, p *program.Program, cfg *config.Config) (options []adapter.Record, err error) {
	log := program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg))
	if a := p.Adapter(cfg.Adapter); a != nil {
		records, err := program.OpenAdapter(cmd.Context(), a, cfg, prometheus.NewRegistry(), log)
		if err != nil {
			return nil, err
		}
		options, err = optionsIn(cmd.Context(), records)
		return options, errors.Join(err, records.Close())
	}
	db, err := program.OpenStoreAs(cmd.Context(), cfg, false, log)
	if err != nil {
		return nil, err
	}
	options, err = optionsIn(cmd.Context(), db.Adapter())
	return options, errors.Join(err, db.Close())
}

// optionsIn returns the options of added attributes. There are none if the adapter does not have them.
func optionsIn(ctx context.Context, from adapter.Adapter) ([]adapter.Record, error) {
	store, err := from.Store(adapter.AttributeOptions)
	if adapter.KindOf(err) == adapter.Unsupported {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := store.List(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	return found.Records, nil
}

// An interfaceReference describes the interface as it is served. Each part is built on first use, and on
// every use if the store has attributes with options, which imports change.
type interfaceReference struct {
	document func() ([]byte, error) // in JSON
	parts    func() (*openapi.ReferenceParts, error)
}

// newReference returns the reference of the store that cfg describes. options returns the options of its
// attributes; nil if no attribute has options.
func newReference(p *program.Program, cfg *config.Config, isOffered func(*contract.Route) bool, options func() ([]adapter.Record, error)) *interfaceReference {
	document := func() (*openapi.Document, error) { return openAPI(p, cfg, isOffered, options) }
	if options == nil {
		document = sync.OnceValues(document)
	}
	reference := &interfaceReference{
		document: func() ([]byte, error) {
			d, err := document()
			if err != nil {
				return nil, err
			}
			return d.JSON()
		},
		parts: func() (*openapi.ReferenceParts, error) {
			d, err := document()
			if err != nil {
				return nil, err
			}
			known, err := contracttests.DialectBehaviors()
			if err != nil {
				return nil, err
			}
			differences := make([]openapi.Difference, len(known))
			for i, k := range known {
				differences[i] = openapi.Difference{Number: k.Number, Says: k.Says, Section: k.Section, Documented: k.Documented, Magento: k.Magento, OpenMage: k.OpenMage}
			}
			return openapi.RenderReference(d, differences)
		},
	}
	if options == nil {
		reference.document, reference.parts = sync.OnceValues(reference.document), sync.OnceValues(reference.parts)
	}
	return reference
}

// forConsole returns the parts as the console takes them.
func (r *interfaceReference) forConsole() (calls, dialects template.HTML, err error) {
	parts, err := r.parts()
	if err != nil {
		return "", "", err
	}
	return parts.Calls, parts.Differences, nil
}

// topics returns the pages of a demo for everybody.
func (o *ops) topics() []openapi.LandingTopic {
	return []openapi.LandingTopic{
		{Path: "/reference", Title: "All calls with their fields and errors", Content: func() (template.HTML, error) {
			calls, _, err := o.reference().forConsole()
			return calls, err
		}},
		{Path: "/differences", Title: "Where the dialects differ", Content: func() (template.HTML, error) {
			_, dialects, err := o.reference().forConsole()
			return dialects, err
		}},
	}
}

// recordedExamples returns the recorded calls that hold in a dialect.
func recordedExamples(d *contract.Dialect) ([]openapi.Example, error) {
	exchanges, err := contracttests.ExchangesIn(contracttests.Dialect(d.Name))
	if err != nil {
		return nil, err
	}
	if d.Name == contract.Documented().Name {
		exchanges = slices.DeleteFunc(exchanges, func(e contracttests.Exchange) bool { return e.Differs != "" })
	}
	// The recordings have placeholders for values that differ from server to server.
	filled := strings.NewReplacer("{{base_url}}", "https://shop.example", "{{datetime}}", "2012-01-02 03:04:05", "{{any}}", "…")
	var examples []openapi.Example
	for _, e := range exchanges {
		for _, s := range e.Steps {
			x := openapi.Example{Method: s.Method, Path: s.Path, Status: s.Response.Status, Body: filled.Replace(s.Response.Body)}
			if s.ContentType != nil && s.Body != nil && *s.ContentType == "application/json" {
				x.Request = filled.Replace(*s.Body)
			}
			if s.Response.ContentType != nil {
				x.MediaType, _, _ = mime.ParseMediaType(*s.Response.ContentType)
			}
			examples = append(examples, x)
		}
	}
	return examples, nil
}

// serveOpenAPI answers with the document of the store in JSON.
func (o *ops) serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	document, err := o.reference().document()
	if err != nil {
		http.Error(w, "the document could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document) // fails only if the client has disconnected
}
