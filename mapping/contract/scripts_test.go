package contract

import "testing"

func TestCutScript(t *testing.T) {
	for _, tt := range []struct {
		path, query string
		script      Script
		behind      string
		withCode    bool
	}{
		{"/api/rest/products", "", "", "/api/rest/products", true},
		{"/index.php/api/rest/products/a%2Fb", "", IndexScript, "/api/rest/products/a%2Fb", false},
		{"/index.php/api/restx", "", IndexScript, "/api/restx", false},
		{"/index.php/oauth/initiate", "", IndexScript, "/oauth/initiate", false},
		{"/index.php/admin/oauth_authorize", "", IndexScript, "/admin/oauth_authorize", false},
		{"/index.php/admin/dashboard", "", "", "/index.php/admin/dashboard", false},
		{"/index.php/api/v2_soap", "", "", "/index.php/api/v2_soap", false},
		{"/index.phpx/api/rest/products", "", "", "/index.phpx/api/rest/products", true},
		{"/api.php", "type=rest", APIScript, "/api/rest", false},
		{"/api.php/products", "a=1&type=rest", APIScript, "/api/rest/products", false},
		{"/api.php/api/rest/products", "type=rest", APIScript, "/api/rest/products", false},
		{"/api.php/api/soap", "type=rest", "", "/api.php/api/soap", false},
		{"/api.php/api/rest/products", "", "", "/api.php/api/rest/products", false},
		{"/api.php/api/rest/products", "type=soap", "", "/api.php/api/rest/products", false},
		{"/french/api/rest/products", "", "", "/french/api/rest/products", false},
		{"/french/api/rest/products", "", StoreCode, "/api/rest/products", true},
		{"/index.php/french_2/api/rest/products", "", IndexScript, "/api/rest/products", true},
		{"/index.php/french_2/api/rest/products", "", "", "/index.php/french_2/api/rest/products", false},
		{"/2french/api/rest/products", "", "", "/2french/api/rest/products", true},
		{"/a/b/api/rest/products", "", "", "/a/b/api/rest/products", true},
		{"", "", "", "", true},
	} {
		if script, behind := Magento().CutScript(tt.path, tt.query, tt.withCode); script != tt.script || behind != tt.behind {
			t.Errorf("%s?%s, codes %t: %q %s, want %q %s", tt.path, tt.query, tt.withCode, script, behind, tt.script, tt.behind)
		}
		if script, behind := Documented().CutScript(tt.path, tt.query, tt.withCode); script != "" || behind != tt.path {
			t.Errorf("documented: %s: %q %s", tt.path, script, behind)
		}
	}
}
