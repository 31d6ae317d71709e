package handlers

import (
	"errors"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// layoutFault returns the message of a refused layout update, or "" if it is valid.
func layoutFault(t *testing.T, text string) string {
	t.Helper()
	w := write{ProductWrites: &ProductWrites{Resource: &resource.Resource{Dialect: contract.Documented()}}}
	var fault contract.Fault
	switch err := w.checkLayout(text); {
	case err == nil:
		return ""
	case !errors.As(err, &fault):
		t.Fatalf("%q: %v", text, err)
	}
	return strings.TrimPrefix(fault.Message, `Invalid attribute "custom_layout_update": `)
}

// TestCheckLayout checks the texts of products 5.5.
func TestCheckLayout(t *testing.T) {
	const (
		passes   = ""
		notXML   = "XML data is invalid."
		template = "Invalid template path used in layout update."
		helper   = "Helper attributes should not be used in custom layout updates."
	)
	for _, c := range []struct{ name, text, want string }{
		{"one element", `<block type="core/text"/>`, passes},
		{"several elements", `<a/><b>x</b>`, passes},
		{"plain text", "just text", passes},
		{"open tag", "<a", notXML},
		{"text and an open element", "foo <b>", notXML},
		{"bare ampersand", "x & y", notXML},
		{"escaped ampersand", "x &amp; y", passes},
		{"unknown entity", "&nbsp;", notXML},
		{"closing tag without an opening one", "</layout><layout>", notXML},
		{"second root", "</layout><x></x><layout>", notXML},
		{"document type", `<!DOCTYPE a [<!ENTITY e "x">]>`, notXML},
		{"processing instruction", `<?php echo 1 ?>`, passes},
		{"comment", `<!-- <a -->`, passes},
		{"too deep", strings.Repeat("<a>", 300) + strings.Repeat("</a>", 300), notXML},
		{"template", `<block type="core/template" template="page/x.phtml"/>`, passes},
		{"template in another folder", `<block type="core/template" template="../../x.phtml"/>`, template},
		{"template inside a path", `<block><action method="setTemplate"><template>a/../../x.phtml</template></action></block>`, template},
		{"template by references", `<block template="&#46;&#46;/x.phtml"/>`, template},
		{"the same path in another attribute", `<block name="../x"/>`, passes},
		{"helper of an action's child", `<block type="core/template"><action method="x"><y helper="core/data/foo"/></action></block>`, helper},
		{"helper elsewhere", `<block helper="x"/>`, passes},
		{"helper of the action itself", `<action helper="x"/>`, passes},
		{"both", `<block template="../x"><action><y helper="z"/></action></block>`, template},
		{"both, in the other order", `<b><action><y helper="z"/></action><c template="../x"/></b>`, template},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := layoutFault(t, c.text); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// FuzzCheckLayout checks that any text is valid or refused with one of the three
// messages.
func FuzzCheckLayout(f *testing.F) {
	for _, seed := range []string{`<a template="../x"/>`, `<action><y helper="z"/></action>`, "</layout><layout>", "x & y", "<!-- -- -->", "<![CDATA[../]]>", "<a b='1' b='2'/>", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := layoutFault(t, text); got != "" && !strings.HasSuffix(got, ".") {
			t.Errorf("%q: %q", text, got)
		}
	})
}
