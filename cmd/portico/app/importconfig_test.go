package app

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// loadText loads a configuration file with this text.
func loadText(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	return config.Load(config.Sources{Sections: newProgram().Sections(), File: apptest.NewFile(t, "portico.yaml", text), Attribute: program.CheckAttribute, Fields: program.CheckFieldList})
}

// TestImportConfig prints the configuration of a shop, loads it, serves with it, and looks at
// what it says.
func TestImportConfig(t *testing.T) {
	dsn, _ := magento1test.NewShop(t, magento1test.Rich, "")
	printed := apptest.MustRun(t, "import", "config", "--from", dsn)
	cfg, err := loadText(t, printed)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if cfg.Dialect != "magento" || cfg.PublicURL != "http://shop.example" || !strings.Contains(strings.Join(cfg.Store.AttributeSets, ","), "4") || len(cfg.Attributes) < 4 {
		t.Errorf("it has not what the shop has:\n%s", printed)
	}
	if settings, comments := strings.Count(printed, "\n  "), strings.Count(printed, "# from "); comments < 8 || comments > settings {
		t.Errorf("%d comments at %d settings:\n%s", comments, settings, printed)
	}
	file := apptest.NewFile(t, "portico.yaml", printed)
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	apptest.Start(t, commands, "--config", file).Stop(t)

	// The part attributes says the same.
	if got := commands.MustRun(t, "import", "--from", dsn, "attributes"); !strings.Contains(got, "Add to portico.yaml") || !strings.Contains(got, "  - {resource: products, name: ") {
		t.Errorf("without the file it prints %s", got)
	}
	if got := commands.MustRun(t, "import", "--from", dsn, "--config", file, "attributes"); !strings.Contains(got, "the configuration has all") {
		t.Errorf("with the file it prints %s", got)
	}
}
