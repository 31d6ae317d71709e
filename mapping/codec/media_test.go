package codec

import (
	"errors"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

func TestNegotiate(t *testing.T) {
	const none = contract.Format(255)
	tests := []struct {
		accept string
		want   contract.Format
		any    bool
	}{
		{"application/json", contract.JSON, false},
		{"application/*", contract.JSON, false},
		{"*/*", contract.JSON, true},
		{"text/plain", contract.Text, false},
		{"text/*", contract.Text, false},
		{"application/xml", contract.XML, false},
		{"text/xml", contract.XML, false},
		{"application/xhtml+xml", contract.XML, false},
		{"image/png, application/*;q=0.1", contract.JSON, false},
		{"text/plain;q=0.5,application/json;q=0.9", contract.JSON, false},
		{"text/plain; q=0.9, application/json; q=0.5", contract.Text, false},
		{"text/plain,application/json", contract.Text, false},
		{"text/plain;q=1,application/json;q=1.0", contract.Text, false},
		{"text/plain;q=0,application/json", contract.JSON, false},
		{"text/plain;q=0", contract.Text, false},
		{"application/json;q=2,text/plain", contract.JSON, false},
		{"text/html,image/png;q=0.9,*/*;q=0.1", contract.JSON, true},
		{"*/*, text/xml;q=0.9", contract.JSON, true},
		{"*/*;q=0.5, text/xml", contract.XML, false},
		{"application/json,text/plain;charset=utf-8", contract.Text, false},
		{"application/json,text/plain;version=2", contract.Text, false},
		{"application/json,text/plain;version=0;q=1", contract.JSON, false},
		{`application/json;q="0.1",text/plain;q=0.5`, contract.Text, false},
		{"application/json;q=9,text/plain;q=10", contract.Text, false},
		{"application/json;q= 0.5 ,text/plain;q=0.4", contract.JSON, false},
		{"application/json;q=0.5=1,text/plain;q=2", contract.Text, false},
		{"application/json;q=0.5=1,text/plain;q=0.9", contract.JSON, false},
		{"application/json;;q=0.1,text/plain;q=0.5", contract.JSON, false},
		{"application/json;q=,text/plain;q=0", contract.Text, false},
		{"image/png;q=1,application/json,text/plain;q=1", contract.Text, false},
		{"image png;q=1,application/json,text/plain;q=1", contract.JSON, false},
		{"application/json,text/plain;q=1.0,application/json;q=2", contract.JSON, false},
		{" text/xml ;q=1", contract.XML, false},
		{",,text/xml,,", contract.XML, false},
		{"application/json;q=1e0,text/xml;q=1e1", contract.XML, false},
		{"", none, false},
		{"image/png", none, false},
		{"text/html;q=0.9", none, false},
		{"*", none, false},
		{"application", none, false},
		{"APPLICATION/JSON", none, false},
		{"application/vnd.api+json", none, false},
		{"*/json", none, false},
		{"application/json/x", none, false},
		{",;=", none, false},
	}
	for _, tt := range tests {
		t.Run(tt.accept, func(t *testing.T) {
			f, any, ok := Negotiate(tt.accept)
			if ok != (tt.want != none) || ok && (f != tt.want || any != tt.any) {
				t.Errorf("got %v, %v, %v", f, any, ok)
			}
		})
	}
}

// TestNegotiateAbsurd checks that a header of very many parts, each with a different quality,
// is parsed completely.
func TestNegotiateAbsurd(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		b.WriteString("a;q=" + strings.Repeat("1", i%300) + ",")
	}
	if f, _, ok := Negotiate(b.String() + "text/xml;q=0"); !ok || f != contract.XML {
		t.Errorf("got %v, %v", f, ok)
	}
}

func TestContentType(t *testing.T) {
	tests := []struct {
		header string
		want   contract.Format
		err    error
	}{
		{"application/json", contract.JSON, nil},
		{"text/plain", contract.Text, nil},
		{"application/xml", contract.XML, nil},
		{"text/xml", contract.XML, nil},
		{"application/xhtml+xml", contract.XML, nil},
		{"application/json; charset=utf-8", contract.JSON, nil},
		{"application/json;charset=UTF-8", contract.JSON, nil},
		{"application/json;   CharSet=Utf-8", contract.JSON, nil},
		{"", 0, ErrNoContentType},
		{"application/json; charset=iso-8859-1", 0, ErrCharset},
		{`application/json; charset="utf-8"`, 0, ErrCharset},
		{"application/json; charset=utf8", 0, ErrCharset},
		{"application/json; charset=utf-8; v=2", 0, ErrCharset},
		{"application/json; charset=utf-8 ", 0, ErrCharset},
		{"text/html; charset=latin1", 0, ErrCharset},
		{"application/json; foo=bar", 0, ErrContentTypeSyntax},
		{"application/json;", 0, ErrContentTypeSyntax},
		{"application/json; charset=", 0, ErrContentTypeSyntax},
		{"application/json ; charset=utf-8", 0, ErrContentTypeSyntax},
		{"application/json;\tcharset=utf-8", 0, ErrContentTypeSyntax},
		{"application/json charset=utf-8", 0, ErrContentTypeSyntax},
		{"multipart/form-data; boundary=x", 0, ErrContentTypeSyntax},
		{"*/*", 0, ErrContentTypeSyntax},
		{"application/json, application/xml", 0, ErrContentTypeSyntax},
		{"; charset=utf-8", 0, ErrContentTypeSyntax},
		{"text/é", 0, ErrContentTypeSyntax},
		{"APPLICATION/JSON", 0, ErrMediaType},
		{"text/json", 0, ErrMediaType},
		{"application/x-www-form-urlencoded", 0, ErrMediaType},
		{"application/vnd.api+json", 0, ErrMediaType},
		{"json", 0, ErrMediaType},
		{"text/html; charset=utf-8", 0, ErrMediaType},
	}
	for _, tt := range tests {
		t.Run(tt.header, func(t *testing.T) {
			f, mediaType, err := ContentType(tt.header)
			if !errors.Is(err, tt.err) || f != tt.want {
				t.Fatalf("got %v, %v, want %v, %v", f, err, tt.want, tt.err)
			}
			if sent, _, _ := strings.Cut(tt.header, ";"); err == ErrMediaType && mediaType != sent {
				t.Errorf("media type %q, want %q", mediaType, sent)
			}
		})
	}
}

func FuzzAccept(f *testing.F) {
	for _, seed := range []string{
		"text/plain;q=1,application/json;q=1.0", "application/json,text/plain;charset=utf-8", `application/json;q="0.1",text/plain;q=0.5`,
		"text/html,image/png;q=0.9,*/*;q=0.1", "image/png, application/*;q=0.1", ",;=", "application/json; charset=utf-8",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		format, any, ok := Negotiate(header)
		if any && (!ok || format != contract.JSON || !strings.Contains(header, "*/*")) {
			t.Errorf("Negotiate(%q) = %v, %v, %v", header, format, any, ok)
		}
		// A type that is not acceptable, of the least quality, changes nothing.
		if f2, any2, ok2 := Negotiate("image/png;q=," + header); f2 != format || any2 != any || ok2 != ok {
			t.Errorf("Negotiate(%q) = %v, %v, %v, but with another type %v, %v, %v", header, format, any, ok, f2, any2, ok2)
		}
		_, mediaType, err := ContentType(header)
		if (err == nil || err == ErrMediaType) && !strings.HasPrefix(header, mediaType) {
			t.Errorf("ContentType(%q) has media type %q", header, mediaType)
		}
	})
}
