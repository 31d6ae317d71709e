package consent

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Names of the form fields.
const (
	tokenField    = "oauth_token"
	simpleField   = "simple"
	keyField      = "form_key"
	nameField     = "login[username]"
	passwordField = "login[password]"
)

// fields are the values of the known form fields in a query or a form; the first value of
// each counts. Unknown fields are dropped.
type fields map[string]string

// parseFields parses a query or a form-encoded body. It skips malformed pairs and reports
// them in err.
func parseFields(text string) (fields, error) {
	found := fields{}
	var malformed error
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil || !slices.Contains([]string{tokenField, simpleField, keyField, nameField, passwordField}, name) {
			continue
		}
		value, err = url.QueryUnescape(value)
		if err != nil {
			malformed = err
			continue
		}
		if _, known := found[name]; !known {
			found[name] = value
		}
	}
	return found, malformed
}

// readForm reads the fields of a POST request; other requests have none. The error for a
// form that cannot be read is ErrForm.
func readForm(r *http.Request) (fields, error) {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || mediaType != formType {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	form, err := parseFields(string(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	return form, nil
}
