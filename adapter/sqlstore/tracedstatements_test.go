package sqlstore_test

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/adapter/tracing/otlp"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestTracedStatements checks on each engine that the statements of a request are traced, that
// statements of other work are not, and that no span has a value.
func TestTracedStatements(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		collector := testenv.StartTraceReceiver(t)
		traces, err := otlp.New(t.Context(), otlp.Options{Endpoint: collector.URL, Sample: 1, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		db := sqlstore.OpenWith(t, sqlstore.Options{DSN: sqlstore.NewDemo(t, e), Migrate: true, SecretKey: sqlstore.SecretKey, MediaDir: t.TempDir(), Trace: true})
		products := adaptertest.StoreOf(t, db.Adapter(), adapter.Products)
		searched := adapter.ListParams{StoreID: 1, Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "name", Op: adapter.Eq, Operands: []string{"searched-name"}}}}}}}
		ctx, span := tracing.StartServer(t.Context(), traces.Tracer(), http.Header{}, "PUT")
		if _, err := products.List(ctx, &searched); err != nil {
			t.Error(err)
		}
		if err := stock(t, db).Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
			return attrs{"qty": "424242.0000"}.Record(current.Schema), nil
		}}); err != nil {
			t.Error(err)
		}
		span.End()
		if _, err := products.List(t.Context(), &searched); err != nil { // of no request
			t.Error(err)
		}
		if err := traces.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		spans := collector.Spans()
		server := spans[len(spans)-1]
		var names []string
		for _, s := range spans[:len(spans)-1] {
			names = append(names, s.Name)
			if s.Parent != server.ID || s.Kind != "SPAN_KIND_CLIENT" || s.Failed || s.Attributes["db.operation.name"] == "" ||
				!slices.Contains([]string{"sqlite", "postgresql", "mysql"}, s.Attributes["db.system.name"]) {
				t.Errorf("span %+v", s)
			}
			if query := strings.HasPrefix(s.Name, "SELECT"); query != (s.Attributes["db.response.returned_rows"] != "") {
				t.Errorf("%s returned %q rows", s.Name, s.Attributes["db.response.returned_rows"])
			}
		}
		if begin, end := slices.Index(names, "BEGIN"), slices.Index(names, "COMMIT"); begin < 1 || end < begin || !slices.Contains(names[begin:end], "UPDATE stock_item") {
			t.Errorf("statements %q", names)
		}
		if text := collector.Text(); strings.Contains(text, "searched-name") || strings.Contains(text, "424242") {
			t.Errorf("the trace has a value: %s", text)
		}
	})
}
