package codec

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

func nested(depth int) string { return strings.Repeat("<a>", depth) + strings.Repeat("</a>", depth) }

func TestDecodeXML(t *testing.T) {
	tests := []struct {
		name, body string
		want       Node
	}{
		{"text", "<r><a>t</a><b/><c></c></r>", record("a", "t", "b", "", "c", "")},
		{"root name, declaration", `<?xml version="1.0"?><any><a>1</a></any>`, record("a", "1")},
		{"declaration with all its parts", "<?xml  version = '1.0'\tencoding=\"utf-8\" standalone='yes' ?>\n<r a='1'/>\n", record("a", "1")},
		{"white space kept", "<r><a> 1\n\t</a></r>", record("a", " 1\n\t")},
		{"line breaks", "<r><a>1\r\n2\r3</a></r>", record("a", "1\n2\n3")},
		{"CDATA joined", "<r><a>x<![CDATA[a<b>&]]>y<![CDATA[&#65;]]></a></r>", record("a", "xa<b>&y&#65;")},
		{"comments and instructions skipped", "<!-- c --><?p i?><r><!-- c --><a>1<!-- c -->2<?p?>3</a></r><!-- c --><?p?>\n", record("a", "123")},
		{"references", "<r><a>x&lt;&amp;&gt;&quot;&apos;&#65;&#x42;&#xFFFD;</a></r>", record("a", "x<&>\"'AB\ufffd")},
		{"nested, text dropped", "<r>x<a>y<b>1</b>z</a></r>", record("a", record("b", "1"))},
		{"attributes of the root", `<r firstname="A"><b>1</b></r>`, record("firstname", "A", "b", "1")},
		{"attributes of a parent", `<r><p a="1"><b>2</b></p></r>`, record("p", record("a", "1", "b", "2"))},
		{"parent with value", `<r><p value="1"><b>2</b></p></r>`, record("p", record("value", "1", "b", "2"))},
		{"leaf with value", `<r><a value="FromValue" o="2">text</a></r>`, record("a", "FromValue")},
		{"leaf with empty value", `<r><a value="">text</a></r>`, record("a", "")},
		{"leaf with other attributes", `<r><data_item item_id="1">x</data_item></r>`, record("0", record("item_id", "1"))},
		{"value on the root", `<r value="1"/>`, record("value", "1")},
		{"repeated", "<r><a>1</a><a>2</a><b>3</b><a>4</a></r>", record("a", list("1", "2", "4"), "b", "3")},
		{"repeated records", "<r><a><b>1</b></a><a><b>2</b></a></r>", record("a", list(record("b", "1"), record("b", "2")))},
		{"attribute and child", `<r a="1"><a>2</a></r>`, record("a", list("1", "2"))},
		{"attribute data_item and child", `<r data_item="1"><data_item>2</data_item></r>`, record("data_item", list("1", "2"))},
		{"lists of the same name", "<r><s><data_item>1</data_item></s><s><data_item>2</data_item></s></r>", record("s", list("1", list("2")))},
		{"list with names, repeated", `<r><s a="x"><data_item>1</data_item><data_item>2</data_item></s><s>3</s><s>4</s></r>`,
			record("s", record("a", "x", "0", "1", "1", "2", "2", "3", "3", "4"))},
		{"data_item", "<r><data_item>1</data_item><data_item/></r>", list("1", "")},
		{"data_item among names", "<r><a>1</a><data_item>2</data_item><b>3</b><data_item>4</data_item></r>",
			record("a", "1", "0", "2", "b", "3", "1", "4")},
		{"data_item_1 is a name", "<r><data_item_1>1</data_item_1></r>", record("data_item_1", "1")},
		{"prefixed ignored", `<r xmlns:p="urn:p" p:x="1"><p:a>1</p:a><b p:y="2">3</b><c><p:d/>4</c></r>`, record("b", "3", "c", "4")},
		{"prefixed root", `<p:r xmlns:p="urn:p"><a>1</a></p:r>`, record("a", "1")},
		{"children of a prefixed one ignored", `<r xmlns:p="urn:p"><p:a><b>1</b></p:a></r>`, record()},
		{"xml prefix", `<r xml:lang="en"><a xml:space="preserve">1</a></r>`, record("a", "1")},
		{"default name space", `<r xmlns="urn:x"><a>1</a></r>`, record("a", "1")},
		{"same local name, two name spaces", `<r xmlns:p="urn:p" xmlns:q="urn:q" p:a="1" q:a="2" a="3"/>`, record("a", "3")},
		{"prefix that is another's name space", `<r xmlns:p="q" xmlns:q="x" p:a="1" q:a="2"/>`, record()},
		{"text in the root", "<r>text</r>", record()},
		{"empty root", "<r/>", record()},
		{"white space in attributes", "<r a='1\n2\t3\r\n4&#10;5'\n\tb='6'/>", record("a", "1 2 3 4\n5", "b", "6")},
		{"quotes in attributes", `<r a='"' b="'" c="a>b=c"/>`, record("a", `"`, "b", "'", "c", "a>b=c")},
		{"not ASCII", "<r><é>€😀</é></r>", record("é", "€😀")},
		{"byte order mark and declaration", "\ufeff<?xml version='1.0'?><r a='é'/>", record("a", "é")},
		{"byte order mark wins", "\ufeff<?xml version='1.0' encoding='iso-8859-1'?><r a='é'/>", record("a", "é")},
		{"white space before the root", "\n <r a='1'/>", record("a", "1")},
		{"style sheet instruction first", `<?xml-stylesheet href="x"?><r a='1'/>`, record("a", "1")},
		{"ISO-8859-1", "<?xml version='1.0' encoding='ISO-8859-1'?><r><a>\xe9\x85</a></r>", record("a", "é\u0085")},
		{"windows-1252", "<?xml version='1.0' encoding='windows-1252'?><r><a>\x80\xe9</a></r>", record("a", "€é")},
		{"ISO-8859-15", "<?xml version='1.0' encoding='iso-8859-15'?><r><a>\xa4</a></r>", record("a", "€")},
		{"KOI8-R", "<?xml version='1.0' encoding='koi8-r'?><r><a>\xc1</a></r>", record("a", "а")},
		{"US-ASCII", "<?xml version='1.0' encoding='us-ascii'?><r><a>x</a></r>", record("a", "x")},
		{"declared encoding, other bytes", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><r><a>é</a></r>", record("a", "Ã©")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode(contract.XML, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, got, tt.want)
		})
	}
}

func TestDecodeXMLRefuses(t *testing.T) {
	tests := []struct{ name, body string }{
		{"empty", ""},
		{"blanks", " \n"},
		{"no markup", "not xml"},
		{"JSON", `{"firstname":"a"}`},
		{"comment only", "<!-- c -->"},
		{"unfinished", "<r><a>1</a>"},
		{"unfinished tag", "<a"},
		{"wrong end tag", "<r><a>1</b></r>"},
		{"end tag with another prefix", `<r xmlns:p="urn:p"><p:a></a></r>`},
		{"end tag too many", "<r/></r>"},
		{"two roots", "<r><a>1</a></r><r2/>"},
		{"text before the root", "x<r/>"},
		{"text behind the root", "<r/>x"},
		{"CDATA behind the root", "<r/><![CDATA[ ]]>"},
		{"reference behind the root", "<r/>&#32;"},
		{"undeclared prefix", "<r><p:a>1</p:a></r>"},
		{"undeclared prefix of an attribute", `<r p:a="1"/>`},
		{"prefix out of scope", `<r><a xmlns:p="urn:p"/><p:b/></r>`},
		{"prefix without name space", `<r xmlns:p=""/>`},
		{"prefix xmlns", `<r xmlns:xmlns="urn:x"/>`},
		{"element in xmlns", `<r><xmlns:a/></r>`},
		{"name of two colons", `<r xmlns:p="urn:p"><p:a:b/></r>`},
		{"name that begins with a colon", "<r><:a/></r>"},
		{"attribute twice", `<r a="1" a="2"/>`},
		{"attribute twice by name space", `<r xmlns:p="urn:x" xmlns:q="urn:x" p:a="1" q:a="2"/>`},
		{"prefix declared twice", `<r xmlns:p="urn:x" xmlns:p="urn:y"/>`},
		{"attributes not set apart", `<r a="1"b="2"/>`},
		{"attribute without value", "<r a/>"},
		{"attribute without quotes", "<r a=1/>"},
		{"< in an attribute", `<r a="<"/>`},
		{"undeclared entity", "<r><a>&undef;</a></r>"},
		{"bare &", "<r>a & b</r>"},
		{"]]> in text", "<r>]]></r>"},
		{"-- in a comment", "<r><!-- -- --></r>"},
		{"control character", "<r>\x01</r>"},
		{"control character in a comment", "<r><!--\x01--></r>"},
		{"NUL", "<r>\x00</r>"},
		{"U+FFFE", "<r>\ufffe</r>"},
		{"reference to a control character", "<r>&#1;</r>"},
		{"reference to a surrogate", "<r>&#xD800;</r>"},
		{"reference to a surrogate in an attribute", `<r a="&#xD800;"/>`},
		{"reference beyond Unicode", "<r>&#x110000;</r>"},
		{"reference without digits", "<r>&#;</r>"},
		{"bad UTF-8", "<r>\xe9</r>"},
		{"bad UTF-8 in a name", "<\xe9/>"},
		{"white space before the declaration", "\n<?xml version='1.0'?><r/>"},
		{"comment before the declaration", "<!-- --><?xml version='1.0'?><r/>"},
		{"declaration in the document", "<r><?xml version='1.0'?></r>"},
		{"instruction called XML", "<r><?XML x?></r>"},
		{"instruction not set apart", "<r><?p!x?></r>"},
		{"byte order mark alone", "\ufeff<r/>"},
		{"byte order mark twice", "\ufeff\ufeff<?xml version='1.0'?><r/>"},
		{"version 1.1", "<?xml version='1.1'?><r/>"},
		{"no version", "<?xml encoding='utf-8'?><r/>"},
		{"standalone maybe", "<?xml version='1.0' standalone='maybe'?><r/>"},
		{"declaration not set apart", "<?xml version='1.0'encoding='utf-8'?><r/>"},
		{"UTF-16 declared", "<?xml version='1.0' encoding='UTF-16'?><r/>"},
		{"UTF-16", "\xfe\xff\x00<\x00r\x00/\x00>"},
		{"unknown encoding", "<?xml version='1.0' encoding='x-none'?><r/>"},
		{"multi-byte encoding", "<?xml version='1.0' encoding='shift_jis'?><r/>"},
		{"bytes that do not fit UTF-8", "<?xml version='1.0' encoding='utf-8'?><r>\xe9</r>"},
		{"bytes that do not fit ASCII", "<?xml version='1.0' encoding='us-ascii'?><r>\xe9</r>"},
		{"bytes that do not fit windows-1252", "<?xml version='1.0' encoding='windows-1252'?><r>\x81</r>"},
		{"bytes that do not fit ISO-8859-7", "<?xml version='1.0' encoding='iso-8859-7'?><r>\xff</r>"},
		{"257 levels", nested(257)},
		{"10,000 levels", nested(10_000)},
		{"10,000 levels, not closed", strings.Repeat("<a>", 10_000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if n, err := Decode(contract.XML, []byte(tt.body)); !errors.Is(err, ErrSyntax) {
				t.Errorf("got %v, %v, want ErrSyntax", n, err)
			}
		})
	}
}

func TestDecodeXMLEntities(t *testing.T) {
	tests := []struct {
		name, declarations, root string
		want                     Node
	}{
		{"internal", `<!ENTITY e "val">`, "<r><a>x&e;y</a></r>", record("a", "xvaly")},
		{"external", `<!ENTITY e SYSTEM "file:///no/such/file">`, "<r><a>q&e;r</a></r>", record("a", "qr")},
		{"external, public", `<!ENTITY e PUBLIC "-//x//y" 'http://no.such.host/'>`, "<r><a>q&e;r</a></r>", record("a", "qr")},
		{"in an attribute", `<!ENTITY e "v'a&quot;l">`, `<r a="x&e;y" b='&e;'/>`, record("a", `xv'a"ly`, "b", `v'a"l`)},
		{"beside references", `<!ENTITY e "v">`, "<r><a>&lt;&e;&#65;&amp;e;</a><b><![CDATA[&e;]]></b></r>", record("a", "<vA&e;", "b", "&e;")},
		{"with markup", `<!ENTITY e "<b>1</b><c d='2'/>">`, "<r><a>&e;</a></r>", record("a", record("b", "1", "c", record("d", "2")))},
		{"with another entity", `<!ENTITY e "1&f;3"><!ENTITY f "2">`, `<r a="&e;"><b>&e;</b></r>`, record("a", "123", "b", "123")},
		{"with markup that has another entity", `<!ENTITY e "<b c='&f;'>&f;</b>"><!ENTITY f "2">`, "<r>&e;</r>", record("b", record("c", "2"))},
		{"with a reference to a character", `<!ENTITY e "&#65;&#x42;">`, "<r><a>&e;</a></r>", record("a", "AB")},
		{"that escapes markup", `<!ENTITY e "&#38;#60;b&lt;">`, "<r><a>&e;</a></r>", record("a", "<b<")},
		{"that builds markup", `<!ENTITY e "&#60;b>1&#60;/b>">`, "<r>&e;</r>", record("b", "1")},
		{"line breaks in an attribute", "<!ENTITY e '1\n2'>", `<r a="&e;"/>`, record("a", "1 2")},
		{"empty", "<!ENTITY e ''>", "<r><a>x&e;y&e;</a></r>", record("a", "xy")},
		{"declared twice", `<!ENTITY e "1"><!ENTITY e "2">`, "<r><a>&e;</a></r>", record("a", "1")},
		{"a predefined one", `<!ENTITY lt "x"><!ENTITY amp "y">`, "<r><a>&lt;&amp;</a></r>", record("a", "<&")},
		{"never used in a circle", `<!ENTITY e "&f;"><!ENTITY f "&e;">`, "<r a='1'/>", record("a", "1")},
		{"parameter entities", `<!ENTITY % p "<!ENTITY e '1'>"> %p; <!ENTITY % q SYSTEM "x"> %q;`, "<r a='1'/>", record("a", "1")},
		{"other declarations", `<!ELEMENT r (#PCDATA)> <!ATTLIST r a CDATA ">"><!NOTATION n SYSTEM "x"><?p ]?><!-- ]> "-->`, "<r a='1'/>", record("a", "1")},
		{"unparsed", `<!ENTITY e SYSTEM "x" NDATA n>`, "<r a='1'/>", record("a", "1")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode(contract.XML, []byte("<?xml version='1.0'?><!DOCTYPE r ["+tt.declarations+"]>"+tt.root))
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, got, tt.want)
		})
	}
	for _, doctype := range []string{
		"<!DOCTYPE r>", `<!DOCTYPE r SYSTEM "file:///no/such/file">`, `<!DOCTYPE r PUBLIC "-//x" "http://no.such.host/x.dtd" >`,
		"<!DOCTYPE r[]>", "<!-- --><!DOCTYPE r [ ] >\n",
	} {
		t.Run(doctype, func(t *testing.T) {
			got, err := Decode(contract.XML, []byte(doctype+"<r a='1'/>"))
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, got, record("a", "1"))
		})
	}
}

func TestDecodeXMLEntitiesRefuses(t *testing.T) {
	tests := []struct{ name, body string }{
		{"circle", `<!DOCTYPE r [<!ENTITY e "&f;"><!ENTITY f "&e;">]><r>&e;</r>`},
		{"circle in an attribute", `<!DOCTYPE r [<!ENTITY e "&f;"><!ENTITY f "&e;">]><r a="&e;"/>`},
		{"circle of one", `<!DOCTYPE r [<!ENTITY e "<a>&e;</a>">]><r>&e;</r>`},
		{"undeclared", `<!DOCTYPE r [<!ENTITY e "1">]><r>&f;</r>`},
		{"undeclared in an entity", `<!DOCTYPE r [<!ENTITY e "&f;">]><r>&e;</r>`},
		{"undeclared in an attribute", `<!DOCTYPE r [<!ENTITY e "&f;">]><r a="&e;"/>`},
		{"declared by an external document", `<!DOCTYPE r SYSTEM "x"><r>&e;</r>`},
		{"element not closed", `<!DOCTYPE r [<!ENTITY e "<a>">]><r>&e;</a></r>`},
		{"element not opened", `<!DOCTYPE r [<!ENTITY e "</a><a>">]><r><a>&e;</a></r>`},
		{"second root", `<!DOCTYPE r [<!ENTITY e "<a/>">]><r/>&e;`},
		{"markup in an attribute", `<!DOCTYPE r [<!ENTITY e "<a/>">]><r a="&e;"/>`},
		{"bare & by reference", `<!DOCTYPE r [<!ENTITY e "&#38;">]><r>&e;</r>`},
		{"bare & by reference in an attribute", `<!DOCTYPE r [<!ENTITY e "&#38;">]><r a="&e;"/>`},
		{"bare &", `<!DOCTYPE r [<!ENTITY e "a & b">]><r/>`},
		{"bare %", `<!DOCTYPE r [<!ENTITY e "100%">]><r/>`},
		{"parameter entity in a value", `<!DOCTYPE r [<!ENTITY % p "1"><!ENTITY e "%p;">]><r/>`},
		{"control character by reference", `<!DOCTYPE r [<!ENTITY e "&#1;">]><r/>`},
		{"surrogate by two references", `<!DOCTYPE r [<!ENTITY e "&#38;#xD800;">]><r>&e;</r>`},
		{"surrogate by two references in an attribute", `<!DOCTYPE r [<!ENTITY e "&#38;#xD800;">]><r a="&e;"/>`},
		{"declaration in the value", `<!DOCTYPE r [<!ENTITY e "<?xml version='1.0'?>">]><r>&e;</r>`},
		{"no name", `<!DOCTYPE r [<!ENTITY "1">]><r/>`},
		{"bad name", `<!DOCTYPE r [<!ENTITY 1e "1">]><r/>`},
		{"no value", `<!DOCTYPE r [<!ENTITY e>]><r/>`},
		{"more than a value", `<!DOCTYPE r [<!ENTITY e "1" "2">]><r/>`},
		{"external without address", `<!DOCTYPE r [<!ENTITY e PUBLIC "x">]><r/>`},
		{"declaration in a declaration", `<!DOCTYPE r [<!ELEMENT r <x>>]><r/>`},
		{"address not set apart", `<!DOCTYPE r SYSTEM"x"><r/>`},
		{"parameter mark not set apart", `<!DOCTYPE r [<!ENTITY %p "1">]><r/>`},
		{"bad reference in a value", `<!DOCTYPE r [<!ENTITY e "&1;">]><r/>`},
		{"reference without end in a value", `<!DOCTYPE r [<!ENTITY e "&f">]><r/>`},
		{"unknown declaration", `<!DOCTYPE r [<!FOO x>]><r/>`},
		{"conditional section", `<!DOCTYPE r [<![INCLUDE[]]>]><r/>`},
		{"text in the subset", `<!DOCTYPE r [x]><r/>`},
		{"subset not closed", `<!DOCTYPE r [<r/>`},
		{"no root name", `<!DOCTYPE><r/>`},
		{"lower case", `<!doctype r><r/>`},
		{"text behind the root name", `<!DOCTYPE r x><r/>`},
		{"two", `<!DOCTYPE r><!DOCTYPE r><r/>`},
		{"behind the root", `<r/><!DOCTYPE r>`},
		{"in the root", `<r><!DOCTYPE r></r>`},
		{"another directive", `<!ELEMENT r ANY><r/>`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if n, err := Decode(contract.XML, []byte(tt.body)); !errors.Is(err, ErrSyntax) {
				t.Errorf("got %v, %v, want ErrSyntax", n, err)
			}
		})
	}
}

func FuzzXML(f *testing.F) {
	for _, seed := range []string{
		"<service_api><firstname><![CDATA[a<b>&]]></firstname><lastname>x&lt;&amp;&#65;&#x42;</lastname></service_api>",
		"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<any>\n <!-- c -->\n <firstname>1<!-- c -->2</firstname>\n <lastname>é€</lastname>\n</any>\n",
		`<r firstname="RootAttr"><lastname value="FromValue" o="2">text</lastname></r>`,
		`<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e "val"><!ENTITY f SYSTEM "x">]><r b="&e;"><firstname>x&e;y&f;</firstname></r>`,
		"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><r><firstname>\xe9</firstname></r>",
		"<r><street><data_item>l1</data_item><data_item>l2</data_item></street><street>m</street></r>",
		`<r xmlns:p="urn:p"><p:a/><b p:c="1">2</b></r>`,
		"\ufeff<?xml version='1.0'?><r/>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := Decode(contract.XML, body)
		if err != nil {
			return
		}
		if n.Kind != Struct {
			t.Fatalf("%q decodes to kind %v", body, n.Kind)
		}
		checkRendering(t, &n)
		doc, _ := xmlText(body)
		dec := xml.NewDecoder(strings.NewReader(doc))
		dec.Strict = false // it does not know the entities
		for err = nil; err == nil; {
			_, err = dec.Token()
		}
		if err != io.EOF {
			t.Errorf("accepted, but encoding/xml does not read %q: %v", body, err)
		}
	})
}
