package migrate

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
)

var (
	//go:embed compare.html
	comparePage string
	//go:embed compare.css
	compareStyle string
)

// writeHTML writes the report as a self-contained page. Its content security policy allows only its
// own style sheet.
func (c *Report) writeHTML(w io.Writer) error {
	page, err := template.New("compare").Parse(comparePage)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(compareStyle))
	return page.Execute(w, struct {
		*Report
		Policy string
		Style  template.CSS
	}{c, "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'", template.CSS(compareStyle)})
}

// CallCount returns the counts of call. The HTML template calls it.
func (c *Report) CallCount(call string) callCount { return *c.calls[call] }
