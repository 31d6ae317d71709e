package program

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
)

// wireMutants returns the mutants whose faults are in the rules that all resources share.
func wireMutants() []mutant {
	const all = "* *"
	return append(assignTo("wire", "documented", []mutant{
		{name: "JSON has no charset", calls: all, fault: mapHeader("Content-Type", func(s string) string {
			return strings.Replace(s, "application/json; charset=utf-8", "application/json", 1)
		})},
		{name: "XML is text/xml", calls: all, fault: mapHeader("Content-Type", func(s string) string { return strings.Replace(s, "application/xml", "text/xml", 1) })},
		{name: "XML has its charset in capitals", calls: all, fault: mapHeader("Content-Type", func(s string) string { return strings.Replace(s, "xml; charset=utf-8", "xml; charset=UTF-8", 1) }),
			survives: "names of charsets have no letter case"},
		{name: "refusals are HTML", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.status >= 400 && r.body != "" {
				r.header.Set("Content-Type", "text/html; charset=UTF-8")
			}
			return r
		}},
		{name: "XML has no declaration", calls: all, fault: replaceBytes("<?xml version=\"1.0\"?>\n", "")},
		{name: "XML declares its encoding", calls: all, fault: replaceBytes(`<?xml version="1.0"?>`, `<?xml version="1.0" encoding="UTF-8"?>`)},
		{name: "XML is not indented", calls: all, fault: replaceBytes(">\n  <", "><", ">\n    <", "><", ">\n      <", "><")},
		{name: "XML is indented by tabs", calls: all, fault: replaceBytes("\n    <", "\n\t\t<", "\n  <", "\n\t<")},
		{name: "XML has no last line break", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if strings.HasPrefix(r.body, "<?xml") {
				r.body = strings.TrimSuffix(r.body, "\n")
			}
			return r
		}},
		{name: "XML has no short tags", calls: all, fault: replaceBytes("<prefix/>", "<prefix></prefix>", "<tier_price/>", "<tier_price></tier_price>", "<low_stock_date/>", "<low_stock_date></low_stock_date>", "<label/>", "<label></label>")},
		{name: "empty lists in XML have two tags", calls: all, fault: replaceBytes("<service_api/>", "<service_api></service_api>")},
		{name: "JSON has blanks", calls: all, fault: onlyInFormat("json", replaceBytes(`":`, `": `))},
		{name: "JSON does not escape slashes", calls: all, fault: replaceBytes(`\/`, `/`)},
		{name: "JSON escapes angle brackets", calls: all, fault: onlyInFormat("json", replaceBytes("<", `\u003c`, ">", `\u003e`))},
		{name: "JSON has letters beyond ASCII", calls: all, fault: onlyInFormat("json", replaceBytes(`\u00e9`, "é", `\u00df`, "ß", `\u00fc`, "ü", `\u00f6`, "ö", `\u00e4`, "ä", `\u20ac`, "€"))},
		{name: "JSON escapes in capitals", calls: all, fault: onlyInFormat("json", replaceBytes(`\u00e9`, `\u00E9`, `\u00df`, `\u00DF`, `\u00fc`, `\u00FC`, `\u00f6`, `\u00F6`, `\u00e4`, `\u00E4`, `\u20ac`, `\u20AC`))},
		{name: "XML has letters beyond ASCII", calls: all, fault: onlyInFormat("xml", replaceBytes("&#xE9;", "é", "&#xDF;", "ß", "&#xFC;", "ü", "&#xF6;", "ö", "&#xE4;", "ä", "&#x20AC;", "€"))},
		{name: "XML escapes in decimals", calls: all, fault: onlyInFormat("xml", replaceBytes("&#xE9;", "&#233;", "&#xDF;", "&#223;", "&#xFC;", "&#252;", "&#xF6;", "&#246;", "&#xE4;", "&#228;", "&#x20AC;", "&#8364;"))},
		{name: "XML escapes quotes", calls: all, fault: onlyInFormat("xml", replaceBytes(`isn't`, `isn&apos;t`, `"First`, `&quot;First`, `"item_id"`, `&quot;item_id&quot;`, `"website_id"`, `&quot;website_id&quot;`))},
		{name: "empty lists are empty objects", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.body == "[]" {
				r.body = "{}"
			}
			return r
		}},
		{name: "refusals have codes that are texts", calls: all, fault: editRefusal(func(root *codec.Node) {
			forEachAt(root, "messages.error.*.code", func(parent *codec.Node, at int) { parent.Members[at].Value.Kind = codec.Text })
		})},
		{name: "refusals have their entry alone", calls: all, fault: editRefusal(func(root *codec.Node) {
			forEachAt(root, "messages.error", func(parent *codec.Node, at int) {
				if list := parent.Members[at].Value; len(list.Members) > 0 {
					parent.Members[at].Value = list.Members[0].Value
				}
			})
		})},
		{name: "refusals have no messages around them", calls: all, fault: editRefusal(func(root *codec.Node) {
			if messages, ok := root.Get("messages"); ok {
				*root = *messages
			}
		})},
		{name: "refusals are in an element of another name", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.status < 400 {
				return r
			}
			return replaceXMLRoot("error")(c, func(*call) *response { return r })
		}},
		{name: "refusals have codes beside their status", calls: all, fault: editRefusal(func(root *codec.Node) {
			forEachAt(root, "messages.error.*.code", func(parent *codec.Node, at int) { parent.Members[at].Value.Text = "0" })
		})},
		{name: "refusals have the names of statuses", calls: all, fault: editRefusal(func(root *codec.Node) {
			forEachAt(root, "messages.error.*", func(parent *codec.Node, at int) {
				entry := &parent.Members[at].Value
				entry.Members = append(entry.Members, codec.Member{Key: "status", Value: codec.TextNode("error")})
			})
		})},

		{name: "a refused role is 401", calls: all, fault: replaceStatus(http.StatusForbidden, http.StatusUnauthorized)},
		{name: "a refused role is 404", calls: all, fault: replaceRefusal(entry{403, "Access denied"}, entry{404, "Resource not found."})},
		{name: "a refused role is refused with a full stop", calls: all, fault: replaceMessageText("Access denied", "Access denied.")},
		{name: "a refused method is 501", calls: all, fault: replaceStatus(http.StatusMethodNotAllowed, http.StatusNotImplemented)},
		{name: "a refused method is 404", calls: all, fault: replaceStatus(http.StatusMethodNotAllowed, http.StatusNotFound)},
		{name: "a refused method lists the others", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.status == http.StatusMethodNotAllowed {
				r.header.Set("Allow", "GET")
			}
			return r
		}},
		{name: "a refused body is 422", calls: all, fault: replaceStatus(http.StatusBadRequest, http.StatusUnprocessableEntity)},
		{name: "a wrong token is that of a Guest", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.status == http.StatusUnauthorized {
				c.header.Del("Authorization")
				return honest(c)
			}
			return r
		}},
		{name: "a wrong signature is let in", calls: all, fault: retryRefusedAs(http.StatusUnauthorized, contracttests.Admin)},
		{name: "a wrong token is 403", calls: all, fault: replaceStatus(http.StatusUnauthorized, http.StatusForbidden)},
		{name: "a wrong token is asked for another one", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.status == http.StatusUnauthorized {
				r.header.Set("WWW-Authenticate", `OAuth realm="x"`)
			}
			return r
		}},
		{name: "the problem with a token is not reported", calls: all, fault: editRefusal(func(root *codec.Node) {
			forEachAt(root, "messages.error.*.message", func(parent *codec.Node, at int) {
				if text := &parent.Members[at].Value.Text; strings.HasPrefix(*text, "oauth_problem=") {
					*text = "oauth_problem=permission_denied"
				}
			})
		})},
		{name: "an unknown path is refused as an unknown record", calls: all, fault: replaceMessageText("Request does not match any route.", "Resource not found.")},
		{name: "an unknown path is 400", calls: all, fault: replaceRefusal(entry{404, "Request does not match any route."}, entry{400, "Request does not match any route."})},
		{name: "an unknown method is 405", calls: all, fault: replaceRefusal(entry{400, "Invalid request method"}, entry{405, "Invalid request method"})},
		{name: "PATCH is PUT", calls: "PATCH *", fault: func(c *call, honest implementation) *response {
			c.method = http.MethodPut
			return honest(c)
		}},
		{name: "HEAD is GET", calls: "HEAD *", fault: replaceStatus(http.StatusBadRequest, http.StatusOK)},
		{name: "a slash at the end is not ignored", calls: all, fault: func(c *call, honest implementation) *response {
			if strings.HasSuffix(c.path, "/") {
				c.path += "x"
			}
			return honest(c)
		}},
		{name: "paths have no letter case", calls: all, fault: func(c *call, honest implementation) *response {
			if !strings.HasPrefix(c.path, "!") {
				c.path = strings.ToLower(c.path)
			}
			return honest(c)
		}},
		{name: "slashes inside a path are one", calls: all, fault: rewritePath(func(path string) string {
			return "/" + strings.Join(strings.FieldsFunc(path, func(r rune) bool { return r == '/' }), "/")
		})},
		{name: "any version will do", calls: all, fault: func(c *call, honest implementation) *response {
			c.header.Del("Version")
			return honest(c)
		}},
		{name: "a wrong version is refused in other words", calls: all, fault: replaceMessageText("Invalid version", "Unknown version")},

		{name: "text/plain is JSON", calls: all, fault: replaceRequestHeader("Accept", "text/plain", "application/json")},
		{name: "text/xml is JSON", calls: all, fault: replaceRequestHeader("Accept", "text/xml", "application/json")},
		{name: "application/xhtml+xml is JSON", calls: all, fault: replaceRequestHeader("Accept", "application/xhtml+xml", "application/json")},
		{name: "application/* is XML", calls: all, fault: replaceRequestHeader("Accept", "application/*", "text/xml")},
		{name: "the first type of Accept wins", calls: all, fault: func(c *call, honest implementation) *response {
			if first, _, several := strings.Cut(c.header.Get("Accept"), ","); several {
				first, _, _ = strings.Cut(first, ";")
				c.header.Set("Accept", first)
			}
			return honest(c)
		}},
		{name: "what cannot be accepted is 406", calls: all, fault: replaceStatus(http.StatusInternalServerError, http.StatusNotAcceptable)},
		{name: "what cannot be accepted is JSON", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.body == "Service temporary unavailable" {
				c.header.Set("Accept", "application/json")
				return honest(c)
			}
			return r
		}},
		{name: "refusals are JSON always", calls: all, fault: func(c *call, honest implementation) *response {
			if r := honest(c); r.status < 400 {
				return r
			}
			c.header.Set("Accept", "application/json")
			return honest(c)
		}},
		{name: "refusals of roles are XML always", calls: all, fault: func(c *call, honest implementation) *response {
			if r := honest(c); r.status != http.StatusForbidden {
				return r
			}
			c.header.Set("Accept", "text/xml")
			return honest(c)
		}},

		{name: "bodies may be of any media type", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if strings.Contains(r.body, "Server can not understand Content-Type") {
				c.header.Set("Content-Type", "application/json")
				return honest(c)
			}
			return r
		}},
		{name: "bodies may be of any charset", calls: all, fault: func(c *call, honest implementation) *response {
			if mediaType, _, ok := strings.Cut(c.header.Get("Content-Type"), ";"); ok {
				c.header.Set("Content-Type", mediaType)
			}
			return honest(c)
		}},
		{name: "forms are not read", calls: all, fault: func(c *call, honest implementation) *response {
			if strings.HasPrefix(c.header.Get("Content-Type"), "text/plain") {
				return refusal(c, entry{400, `Server can not understand Content-Type HTTP header media type "text/plain"`})
			}
			return honest(c)
		}},
		{name: "bodies in XML need the root of the dialect", calls: all, fault: func(c *call, honest implementation) *response {
			if strings.Contains(c.header.Get("Content-Type"), "xml") && strings.HasPrefix(c.body, "<") && !strings.Contains(c.body, "<service_api") {
				return refusal(c, entry{400, "Decoding error."})
			}
			return honest(c)
		}},
		{name: "attributes in XML are not read", calls: all, fault: func(c *call, honest implementation) *response {
			if head, rest, ok := strings.Cut(c.body, "<data_item "); ok {
				_, rest, _ = strings.Cut(rest, ">")
				c.body = head + "<data_item>" + rest
			}
			return honest(c)
		}},
		{name: "broken bodies are 500", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if strings.Contains(r.body, "Decoding error.") {
				r.status = http.StatusInternalServerError
			}
			return r
		}},
		{name: "broken bodies are refused in other words", calls: all, fault: replaceMessageText("Decoding error.", "The request data is invalid.")},
		{name: "empty bodies are taken", calls: "PUT *", fault: pretendSuccess("The request data is invalid.")},
		{name: "empty bodies are refused in other words", calls: all, fault: replaceMessageText("The request data is invalid.", "Decoding error.")},
		{name: "unknown fields are refused", calls: all, fault: func(c *call, honest implementation) *response {
			if strings.Contains(c.body, "unknown") || strings.Contains(c.body, "nonsense") || strings.Contains(c.body, "bogus") || strings.Contains(c.body, "foo") {
				return refusal(c, entry{400, "The request data is invalid."})
			}
			return honest(c)
		}},
		{name: "lists are created at once", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			if r.status == http.StatusMethodNotAllowed && c.method == http.MethodPost && strings.Contains(c.body, "[") {
				return emptyReply()
			}
			return r
		}},
		{name: "limits may be any number", calls: all, fault: ignoreParamsIfRefused("The paging limit exceeds", "limit")},
		{name: "pages may be any number", calls: all, fault: ignoreParamsIfRefused("Resource collection paging error.", "page")},
		{name: "an order that is unknown is none", calls: all, fault: ignoreParamsIfRefused("Resource collection ordering error.", "order", "dir")},
		{name: "a filter that is unknown is none", calls: all, fault: ignoreParamsIfRefused("Resource collection filtering error.", "filter")},
		{name: "limits are refused in other words", calls: all, fault: replaceMessageText("The paging limit exceeds the allowed number.", "Resource collection paging error.")},
		{name: "ids are numbers to the letter", calls: all, fault: func(c *call, honest implementation) *response {
			for segment := range strings.SplitSeq(c.path, "/") {
				if digits := strings.TrimLeft(segment, "0"); digits != segment && digits != "" && strings.Trim(digits, "0123456789") == "" {
					return refusal(c, entry{404, "Resource not found."})
				}
			}
			return honest(c)
		}},
		{name: "a page beyond the last is empty", calls: "GET *", fault: emptyPagesBeyondEnd},
		{name: "lists have all there is by default", calls: "GET *", fault: unlimitedByDefault},
		{name: "lists have twenty records by default", calls: "GET *", fault: twentyByDefault},
		{name: "directions are ascending by default", calls: "GET *", fault: func(c *call, honest implementation) *response {
			if strings.Contains(c.query, "order=") && !strings.Contains(c.query, "dir=") {
				c.query += "&dir=asc"
			}
			return honest(c)
		}},
		{name: "only the first of several filters counts", calls: "GET *", fault: func(c *call, honest implementation) *response {
			return ignoreParams("filter[2]", "filter[1]")(c, honest)
		}},
		{name: "filters by likeness are by equality", calls: "GET *", fault: replaceInQuery("[like]", "[eq]")},
		{name: "filters by more are by less", calls: "GET *", fault: replaceInQuery("[gt]", "[lt]")},
		{name: "filters by one of several are by none", calls: "GET *", fault: replaceInQuery("[in]", "[nin]")},
		{name: "filters by inequality are by equality", calls: "GET *", fault: replaceInQuery("[neq]", "[eq]")},
		{name: "replies are cut off", calls: all, fault: func(c *call, honest implementation) *response {
			r := honest(c)
			r.body = r.body[:len(r.body)-len(r.body)/10]
			return r
		}},
	}), assignTo("wire", "magento", []mutant{
		{name: "XML has the root of the document", calls: all, fault: replaceXMLRoot("service_api")},
		{name: "without Accept there is JSON", calls: all, fault: func(c *call, honest implementation) *response {
			if c.header.Get("Accept") == "" {
				c.header.Set("Accept", "application/json")
			}
			return honest(c)
		}},
		{name: "any format is XML", calls: all, fault: replaceRequestHeader("Accept", "*/*", "text/xml")},
		{name: "a missing Content-Type is XML", calls: all, fault: contentType("", "text/xml")},
		{name: "what is unknown of methods is reported as the document does", calls: all, fault: replaceMessageText("implemented yet.", "implemented yet")},
	})...)
}

// replaceInQuery replaces a part of the query.
func replaceInQuery(from, to string) fault {
	escape := strings.NewReplacer("[", "%5B", "]", "%5D")
	return func(c *call, honest implementation) *response {
		c.query = strings.NewReplacer(from, to, escape.Replace(from), escape.Replace(to)).Replace(c.query)
		return honest(c)
	}
}

// emptyPagesBeyondEnd answers pages beyond the last with an empty list, instead of the
// last page.
func emptyPagesBeyondEnd(c *call, honest implementation) *response {
	r := honest(c)
	before := c.clone()
	for _, page := range []struct{ this, last string }{{"page=2", "page=1"}, {"page=3", "page=2"}, {"page=99", "page=98"}, {"page=999", "page=998"}, {"page=9999", "page=9998"}} {
		before.query = strings.Replace(c.query, page.this, page.last, 1)
		if before.query != c.query && strings.HasSuffix("&"+c.query, "&"+page.this) && honest(before).body == r.body && r.status == http.StatusOK {
			r.edit(func(root *codec.Node) { root.Members = nil })
			return r
		}
	}
	return r
}

// unlimitedByDefault returns whole lists to calls without a limit.
func unlimitedByDefault(c *call, honest implementation) *response {
	return withDefaultLimit(c, honest, "0")
}

// twentyByDefault returns up to twenty entries to calls without a limit.
func twentyByDefault(c *call, honest implementation) *response {
	return withDefaultLimit(c, honest, "20")
}

// withDefaultLimit adds a limit to calls without one.
func withDefaultLimit(c *call, honest implementation, limit string) *response {
	if !strings.Contains(c.query, "limit") {
		c.query = strings.TrimPrefix(c.query+"&limit="+limit, "&")
	}
	return honest(c)
}
