package records

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// TestShopConfig checks that no text of the legacy store can break out of its place in the file, and that the file
// has only values that settings may have.
func TestShopConfig(t *testing.T) {
	text := shopConfig("magento", "core_setup 1\nlisten: x", config.Settings(), []magento1.Setting{
		{Name: "store.timezone", Value: "Europe/Berlin", From: "core_config_data\nlisten: 0.0.0.0:80\r\u2028adapter: rest"},
		{Name: "stock.min_qty", Value: "2.0000", From: "b"},
		{Name: "store.currency", Value: "EUR", From: "c", Warning: "look at it"},
		{Name: "store.tax_based_on", Value: "no\nlisten: x", From: "g"},
		{Name: "store.origin_region", Value: "La Rioja", From: "i"},
		{Name: "store.themes", Value: "own/summer,rwd/default,own/sömmer", From: "h"},
		{Name: "store.tax_postcode", Value: "a #b: c", From: "d"},
		{Name: "attributes", Value: "{resource: products, name: size, kind: integer, roles: [admin]}", From: "e"},
		{Warning: "no such setting\nadapter: rest", From: "f"},
	})
	const want = `# The settings of a legacy store, by "portico import config". Read them through. No database tells
# store.tax_rounding and store.integers: "portico compare" names them if they have to change.

# What clients of the legacy store expect: core_setup 1 listen: x. "documented" is for clients that follow the contract to the letter.
dialect: magento

store:
  # from core_config_data listen: 0.0.0.0:80 adapter: rest
  timezone: Europe/Berlin
  # from c
  # look at it
  currency: EUR
  # from g
  # "no\nlisten: x" must be one of shipping, billing, origin: "shipping" counts
  tax_based_on: shipping
  # from i
  # "La Rioja" must be a region code such as CA, or empty: "" counts
  origin_region: ""
  # from h
  themes: base/default,default/default,default/iphone,default/modern,rwd/default,own/summer
  # from d
  tax_postcode: "a #b: c"

stock:
  # from b
  min_qty: 2.0000

attributes:
  # from e
  - {resource: products, name: size, kind: integer, roles: [admin]}

# Portico has no settings for these:
# no such setting adapter: rest (from f)
`
	if difference := cmp.Diff(want, text); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
}

// TestYAMLScalar checks that texts read as they are written.
func TestYAMLScalar(t *testing.T) {
	for _, text := range []string{"", " ", "UTC", "4,9", "null", "~", "true", "012", "1e3", "a: b", "a #b", "[a]", "{a}", "*", "&a", "'", `"`, "\\", "a\nb", "- a", "é", "\u2028"} {
		f := &configWriter{}
		f.set("x.y", text)
		var got struct{ X struct{ Y *string } }
		if err := yaml.Unmarshal([]byte(f.String()), &got); err != nil || got.X.Y == nil || *got.X.Y != text {
			t.Errorf("%q reads as %v (%v) from %q", text, got.X.Y, err, f.String())
		}
	}
}

// TestMissingSettings checks the missing settings that the part attributes reports.
func TestMissingSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portico.yaml")
	const settings = "store: {attribute_sets: '4', tax_classes: '0,2', themes: 'base/default'}\nattributes:\n  - {resource: products, name: size, kind: integer, roles: [admin]}\n"
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Sources{Sections: program.New().Sections(), File: path, Attribute: program.CheckAttribute})
	if err != nil {
		t.Fatal(err)
	}
	attribute := func(name string) magento1.Setting {
		return magento1.Setting{Name: "attributes", Value: "{resource: products, name: " + name + ", kind: text, roles: [admin]}", From: "eav_attribute 9",
			Attribute: &magento1.Attribute{AddedAttribute: adapter.AddedAttribute{Resource: adapter.Products, Name: name}}}
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		t.Fatal(err)
	}
	missing := importer.MissingSettings(settingLists(func() *config.Config { return cfg }), schemas, []magento1.Setting{
		{Name: "store.timezone", Value: "Asia/Tokyo"},
		{Name: "store.attribute_sets", Value: "4,9,11", From: "eav_attribute_set"},
		{Name: "store.tax_classes", Value: "0,2"},
		{Name: "store.themes", Value: "base/default,shop/summer"},
		attribute("size"), attribute("care"),
	})
	const want = `store:
  # eav_attribute_set
  attribute_sets: 4,9,11
  themes: base/default,shop/summer

attributes:
  # eav_attribute 9
  - {resource: products, name: care, kind: text, roles: [admin]}
`
	if difference := cmp.Diff(want, settingLines(missing)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	if len(missing) != 3 || !cmp.Equal(missing[0].Lacking, []string{"9", "11"}) {
		t.Errorf("%+v", missing)
	}
}
