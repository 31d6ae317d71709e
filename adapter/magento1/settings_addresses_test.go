package magento1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// TestRegionalSettingsAndAddresses checks which settings follow from the configuration of the legacy
// store (configurations 1 and 2). Without a setting the built-in values count, and what a test does
// not name is empty.
func TestRegionalSettingsAndAddresses(t *testing.T) {
	const ours = "path LIKE 'web/%' OR path LIKE 'general/locale/%'"
	tests := []struct {
		name     string
		rows     map[string]string // by path, of the default scope
		want     map[string]string
		warnings []string
	}{
		{"built-in values", nil, nil, nil},
		{"one address", map[string]string{"web/unsecure/base_url": "http://shop.example/", "web/secure/base_url": "http://shop.example/"},
			map[string]string{"public_url": "http://shop.example"}, nil},
		{"pages over http, images over both", map[string]string{"web/unsecure/base_url": "http://shop.example/", "web/secure/base_url": "https://shop.example/"},
			map[string]string{"public_url": "https://shop.example", "store.link_url": "http://shop.example", "store.media_url": "http://shop.example/media", "store.secure_media_url": "https://shop.example/media"}, nil},
		{"pages over https", map[string]string{"web/unsecure/base_url": "http://shop.example/eu", "web/secure/base_url": "https://secure.example", "web/secure/use_in_adminhtml": "1"},
			map[string]string{"public_url": "https://secure.example", "store.media_url": "http://shop.example/eu/media", "store.secure_media_url": "https://secure.example/media"},
			[]string{"whose path differs"}},
		{"addresses of their own", map[string]string{
			"web/unsecure/base_url": "https://shop.example/", "web/secure/base_url": "https://shop.example/", "web/unsecure/base_link_url": "http://www.shop.example/",
			"web/unsecure/base_media_url": "{{unsecure_base_url}}files/", "web/secure/base_media_url": "https://cdn.example/m/", "web/url/use_store": "1",
		}, map[string]string{
			"public_url": "https://shop.example", "store.link_url": "http://www.shop.example", "store.media_url": "https://shop.example/files",
			"store.secure_media_url": "https://cdn.example/m", "store.code_in_links": "true",
		}, nil},
		{"host of each request", map[string]string{"web/secure/base_url": "https://shop.example/"},
			map[string]string{"public_url": "https://shop.example"},
			[]string{"Portico takes https://shop.example", "Portico takes https://shop.example/media"}},
		{"header as PHP calls it", map[string]string{"web/secure/offloader_header": "HTTP_X_FORWARDED_PROTO"}, map[string]string{"offloader_header": "X-FORWARDED-PROTO"}, nil},
		{"no header", map[string]string{"web/secure/offloader_header": ""}, map[string]string{"offloader_header": ""}, nil},
		{"time zone and locale", map[string]string{"general/locale/timezone": " Europe/Berlin", "general/locale/code": "de_DE"},
			map[string]string{"store.timezone": "Europe/Berlin", "store.locale": "de_DE"}, nil},
		{"broken values", map[string]string{
			"general/locale/timezone": "Mars/Phobos", "general/locale/code": "deutsch!", "web/secure/offloader_header": "a b", "web/unsecure/base_url": "shop.example",
			"web/secure/base_url": "https://me:secret@shop.example/", "web/unsecure/base_media_url": "//cdn.example/", "web/secure/base_media_url": "https://cdn.example/?a",
		}, map[string]string{"store.timezone": "UTC", "offloader_header": ""}, []string{
			`"Mars/Phobos" is no time zone`, `"deutsch!" is no locale`, `"a b" is no name of a header`, `"shop.example/" is no address`,
			`"https://me:xxxxx@shop.example/" is no address`, `"//cdn.example/" is no address`, `"https://cdn.example/?a" is no address`,
		}},
		{"rewrites change nothing", map[string]string{"web/seo/use_rewrites": "1"}, nil, nil},
	}
	d, raw := openShopOf(t, magento1test.Rich)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			statements := []string{"DELETE FROM core_config_data WHERE " + ours,
				"INSERT INTO core_config_data (scope, scope_id, path, value) VALUES ('websites', 2, 'web/unsecure/base_url', 'http://europe.example/'), ('stores', 2, 'general/locale/code', 'fr_FR')"}
			for path, value := range tt.rows {
				statements = append(statements, "INSERT INTO core_config_data (scope, scope_id, path, value) VALUES ('default', 0, '"+path+"', '"+value+"')")
			}
			magento1test.Break(t, raw, statements...)
			values, warnings, _ := settingsOf(t, d)
			for name, builtIn := range map[string]string{
				"public_url": "", "store.link_url": "", "store.media_url": "", "store.secure_media_url": "", "store.code_in_links": "false",
				"offloader_header": "SSL_OFFLOADED", "store.timezone": "America/Los_Angeles", "store.locale": "en_US",
			} {
				want, ok := tt.want[name]
				if !ok {
					want = builtIn
				}
				if got := values[name]; got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			warnings = slices.DeleteFunc(warnings, func(s string) bool { return strings.Contains(s, "themes") })
			for _, want := range tt.warnings {
				at := slices.IndexFunc(warnings, func(s string) bool { return strings.Contains(s, want) })
				if at < 0 {
					t.Errorf("no warning says %q: %q", want, warnings)
					continue
				}
				warnings = slices.Delete(warnings, at, at+1)
			}
			if len(warnings) > 0 {
				t.Errorf("warnings without reason: %q", warnings)
			}
		})
	}
}

// TestReadsPath checks that a change of a setting of times, dates or addresses counts as a change of
// the settings, and that of one without effect does not.
func TestReadsPath(t *testing.T) {
	for path, want := range map[string]bool{
		"general/locale/timezone": true, "general/locale/code": true, "web/unsecure/base_url": true, "web/unsecure/base_link_url": true, "web/unsecure/base_media_url": true,
		"web/secure/base_url": true, "web/secure/base_link_url": true, "web/secure/base_media_url": true, "web/secure/use_in_adminhtml": true, "web/secure/offloader_header": true,
		"web/url/use_store":          true,
		"web/secure/use_in_frontend": false, "web/seo/use_rewrites": false, "web/unsecure/base_skin_url": false, "catalog/seo/product_url_suffix": false,
	} {
		if got := magento1.ReadsPath(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
