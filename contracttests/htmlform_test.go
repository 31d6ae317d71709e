package contracttests

import (
	"fmt"
	"strings"
	"testing"
)

// TestParsePage checks the text and the forms of a parsed page.
func TestParsePage(t *testing.T) {
	for _, tt := range []struct{ name, page, text, forms string }{
		{"no markup", "a\n b", "a b", ""},
		{"texts", "<title>t</title><style>s</style><script>x</script><p>a <b>b</b>\n&amp; c", "a b & c", ""},
		{"form", `<form id=f action="/a?b=1" METHOD=post><input name=x value="1&amp;2"><input type=hidden name=y></form>`, "", "f POST /a?b=1 x=1%262&y="},
		{"buttons", `<form><input type=submit name=s value=v><input type=Image name=i><button name=b>go</button><input value=unnamed></form>`, "go", " GET  "},
		{"method of neither", `<form method=dialog><input name=a></form>`, "", " GET  a="},
		{"two forms, and a field outside", `<form id=1><input name=a></form><input name=b><form id=2><input name=c></form>`, "", "1 GET  a=; 2 GET  c="},
		{"not closed", `<form id=1><input name=a value=">"><div><input name=b`, "", "1 GET  a=%3E"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := parsePage(tt.page)
			var forms []string
			for _, f := range p.forms {
				forms = append(forms, fmt.Sprintf("%s %s %s %s", f.id, f.method, f.action, f.fields.Encode()))
			}
			if got := strings.Join(forms, "; "); p.text != tt.text || got != tt.forms {
				t.Errorf("text %q, forms %q; want %q, %q", p.text, got, tt.text, tt.forms)
			}
		})
	}
	p := parsePage(`<form id=1><input name=a></form><form id=2><input name=a><input name=b></form>`)
	if f, err := p.formWith("a", "b"); err != nil || f.id != "2" {
		t.Errorf("the form with both fields: %+v, %v", f, err)
	}
	if _, err := p.formWith("a", "c"); err == nil {
		t.Error("there is a form with a field that none has")
	}
	if _, err := p.formWithID("3"); err == nil {
		t.Error("there is a form with another id")
	}
}
