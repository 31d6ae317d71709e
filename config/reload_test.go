package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/config"
)

func TestReload(t *testing.T) {
	const secret = "a-token-of-sixteen"
	tests := []struct {
		name, before, after string
		changed             []string
		faults              []string
	}{
		{name: "nothing"},
		{name: "written in another way", before: "limits.body_bytes: 2MiB", after: "limits:\n  body_bytes: 2048KiB"},
		{name: "a default written down", after: "log.level: info\nlisten: 127.0.0.1:8080"},
		{name: "settings that reload", before: "log.level: warn", after: "limits.body_bytes: 2MiB", changed: []string{"log.level", "limits.body_bytes"}},
		{name: "a table that reloads", before: "legacy.url: http://old", after: "legacy.url: http://old\nroutes:\n- {resource: all, to: legacy}", changed: []string{"routes"}},
		{
			name: "order of a table", before: "routes:\n- {resource: orders, to: portico}\n- {resource: all, to: portico}",
			after: "routes:\n- {resource: all, to: portico}\n- {resource: orders, to: portico}", changed: []string{"routes"},
		},
		{
			name: "one of two needs a restart", after: "log.level: warn\nlisten: 127.0.0.1:81", changed: []string{"listen", "log.level"},
			faults: []string{"portico.yaml:2: listen: has changed, which takes effect only with a restart: restart Portico, or restore the former value"},
		},
		{
			name: "no longer set", before: "\ndialect: magento", changed: []string{"dialect"},
			faults: []string{"default: dialect: has changed, which takes effect only with a restart: restart Portico, or restore the former value, set before at portico.yaml:2"},
		},
		{
			name: "a secret", after: "ops.token: " + secret, changed: []string{"ops.token"},
			faults: []string{"portico.yaml:1: ops.token: has changed, which takes effect only with a restart: restart Portico, or restore the former value"},
		},
		{
			name: "a table that needs a restart", after: "\nattributes:\n- {resource: customers, name: shoe_size, kind: text, roles: [admin]}", changed: []string{"attributes"},
			faults: []string{"portico.yaml:2: attributes: has changed, which takes effect only with a restart: restart Portico, or restore the former value"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			load := func(text string) *config.Config {
				c, err := config.Load(config.Sources{Sections: adapterSections(), File: writeFile(t, text)})
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			changed, err := load(tt.before).Reload(load(tt.after))
			if diff := cmp.Diff(tt.changed, changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			var lines []string
			if faults, ok := errors.AsType[config.Faults](err); ok {
				for _, f := range faults {
					lines = append(lines, f.String())
				}
			} else if err != nil {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tt.faults, lines); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if strings.Contains(strings.Join(lines, ""), secret) {
				t.Error("a secret shows")
			}
		})
	}
}
