package contract

import "strings"

// A Script is what clients of a shop call in front of the interface where the web server rewrites no
// addresses (rulings 23). "" means that they call the interface itself.
type Script string

// Scripts that the dialects with [Dialect.Scripts] serve, and a store code in the place of one.
const (
	IndexScript Script = "/index.php"
	APIScript   Script = "/api.php" // with the query type=rest; other types are SOAP and XML-RPC
	StoreCode   Script = "store code"
)

// CutScript returns the script at the beginning of a path that is still encoded, and the path of the
// interface or of the OAuth pages behind it. The code of a store view may follow the script, or stand
// alone, if withCode is true. It returns "" and the path for any other one.
func (d *Dialect) CutScript(path, query string, withCode bool) (script Script, behind string) {
	if !d.Scripts || strings.HasPrefix(path, Base) {
		return "", path
	}
	behind = path
	for _, s := range []Script{IndexScript, APIScript} {
		if rest, ok := strings.CutPrefix(path, string(s)); ok && (rest == "" || rest[0] == '/') {
			script, behind = s, rest
		}
	}
	if code, rest, ok := strings.Cut(strings.TrimPrefix(behind, "/"), "/"); ok && withCode && isStoreCode(code) && strings.HasPrefix("/"+rest, Base) {
		behind = "/" + rest
		if script == "" {
			script = StoreCode
		}
	}
	switch {
	case script == APIScript && !ChoosesREST(query, false):
	case script == APIScript && !strings.HasPrefix(behind, apiPrefix):
		return script, Base + behind
	case script != "" && strings.HasPrefix(behind, Base), script == IndexScript && isOAuthPath(behind):
		return script, behind
	}
	return "", path
}

// isStoreCode reports whether text can be the code of a store view.
func isStoreCode(text string) bool {
	const most = 32
	first := strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyz")
	return first != text && len(text) <= most && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// isOAuthPath reports whether a path is one of the pages of wire 13.
func isOAuthPath(path string) bool {
	for _, page := range []string{"/oauth/", "/admin/oauth_authorize", "/admin/oAuth_authorize", "/customer/account/loginPost"} {
		if strings.HasPrefix(path, page) {
			return true
		}
	}
	return false
}

// ChoosesREST reports whether the last parameter type of a query is rest; chosen is the answer without one.
func ChoosesREST(query string, chosen bool) bool {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		if name = strings.TrimLeft(FormDecode(name), " "); name == "type" {
			chosen = FormDecode(value) == "rest"
		} else if strings.HasPrefix(name, "type[") && strings.Contains(name, "]") {
			chosen = false // a list
		}
	}
	return chosen
}
