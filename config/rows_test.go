package config_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/portico-commerce/portico/config"
)

// TestTableFits checks that lines are not too long and that no text is lost.
func TestTableFits(t *testing.T) {
	long := strings.Repeat("ä very/long.path_of-something, ", 12)
	cfg, err := config.Load(config.Sources{Sections: adapterSections(), File: writeFile(t, "lists.spool_dir: \""+long+"\""), Environ: []string{"PORTICO_DIALECT=magento"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string][]config.Row{"all": cfg.Rows(), "changed": config.Changed(cfg.Rows())} {
		t.Run(name, func(t *testing.T) {
			var table strings.Builder
			if err := config.WriteTable(&table, rows); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(table.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
					t.Errorf("%d characters: %s", n, line)
				}
			}
			if strings.Count(table.String(), "very") != 12 {
				t.Errorf("a part of a value is missing:\n%s", table.String())
			}
		})
	}
	if changed := config.Changed(cfg.Rows()); len(changed) != 2 || changed[0].Name != "dialect" || changed[1].Name != "lists.spool_dir" {
		t.Errorf("changed %v", changed)
	}
}
