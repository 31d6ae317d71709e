package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/config"
)

// TestWithRoutes checks that other routes are validated like the routes of a file, and change
// nothing else.
func TestWithRoutes(t *testing.T) {
	t.Parallel()
	base, err := config.Load(config.Sources{
		Sections: adapterSections(), Environ: []string{"PORTICO_LEGACY_URL=http://old.example", "PORTICO_LIMITS_GUEST_RATE=7"},
		Routes: func(c *config.Config) []string {
			if len(c.Routes) > 2 {
				return []string{"there are too many"}
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		want       []config.Route
		fault      string
	}{
		{"routes", "routes:\n  - {resource: all, to: legacy}\n  - {resource: products, calls: reads, to: portico, shadow: true}",
			[]config.Route{{Resource: "all", Calls: "all", To: "legacy"}, {Resource: "products", Calls: "reads", To: "portico", Shadow: true}}, ""},
		{"none", "routes: []", nil, ""},
		{"nothing", "", nil, `lines: routes: is missing: begin with the line "routes:"`},
		{"entries alone", "- {resource: all, to: legacy}", nil, "lines:1: must be a mapping of settings"},
		{"another setting", "routes: []\nlisten: :1", nil, "lines:2: listen: is not a part of routes: leave it out"},
		{"unknown resource", "routes:\n  - {resource: cats, to: legacy}", nil, `lines:2: routes[0].resource: "cats" must be one of`},
		{"twice", "routes:\n  - {resource: all, to: legacy}\n  - {resource: all, to: portico}", nil, "lines:3: routes[1]: resource all, calls all is already in routes[0]"},
		{"entry", "routes:\n  - {resource: outside, to: legacy, shadow: true}", nil, "shadow must not be true for outside"},
		{"combination", "routes:\n  - {resource: products, to: portico, mirror: true}", nil, "legacy.consumer_key: must be set"},
		{"check of all", "routes:\n  - {resource: all, to: legacy}\n  - {resource: products, to: portico}\n  - {resource: orders, to: portico}", nil, "lines:1: routes: there are too many"},
		{"no YAML", "routes: [", nil, "lines:"},
		{"too long", "#" + strings.Repeat("a", 2<<20), nil, "lines: is larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := base.WithRoutes("lines", []byte(tt.text))
			if tt.fault == "" {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got.Routes); diff != "" || got.Limits.GuestRate != 7 || got.Legacy.URL != base.Legacy.URL {
					t.Errorf("routes (-want +got):\n%s", diff)
				}
				if changed, err := base.Reload(got); err != nil || len(changed) > 1 {
					t.Errorf("changed %q, %v", changed, err)
				}
			} else if faults, ok := errors.AsType[config.Faults](err); !ok || !strings.Contains(faults.Error(), tt.fault) {
				t.Errorf("%v, want %q", err, tt.fault)
			}
			if len(base.Routes) != 0 {
				t.Errorf("the former configuration has %v", base.Routes)
			}
		})
	}
}
