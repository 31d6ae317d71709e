package contracttests

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The demands on the form of a reply, as [CallLog.Form] names them.
const (
	FormCharset   = "charset of "            // with the format of the body
	FormFormat    = "format "                // with the one that the request accepts
	FormBody      = "body"                   // can be parsed
	FormRendering = "rendering of "          // blanks and escapes, with the format of the body
	FormRoot      = "root element"           // of a body in XML
	FormEnvelope  = "error envelope"         // around the messages of a refusal
	FormStatus    = "status of an accepted " // with the method
	FormNoBody    = "body of an accepted "   // with the method
)

// maxShownForm limits the bytes shown of a body.
const maxShownForm = 48

// formOf checks a reply against the demands that the contract makes on each reply of its kind,
// whatever the case expects. It returns a [Difference] for each such demand, whose Want and Got are
// empty where the reply meets it. A reply of a server that failed has none.
func formOf(r *request, got *reply, d Dialect) (all []Difference) {
	path, _, _ := strings.Cut(r.target, "?")
	if _, after, ok := strings.Cut(path, apiPath+"/"); !ok || after == "" || got.status >= http.StatusInternalServerError {
		return nil
	}
	demand := func(where string, met bool, want, got string) {
		if met {
			want, got = "", ""
		}
		all = append(all, Difference{where, want, got})
	}
	isWrite := slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodDelete}, r.method)
	if isWrite && got.status < http.StatusBadRequest && got.status != http.StatusMultiStatus {
		demand(FormStatus+r.method, got.status == http.StatusOK, strconv.Itoa(http.StatusOK), strconv.Itoa(got.status))
		if !strings.HasSuffix(path, "/websites") { // which answers one assignment with a list in documented
			demand(FormNoBody+r.method, got.body == "", "none", clip(got.body, 0))
		}
	}
	if got.body == "" {
		return all
	}
	given := got.header.Get("Content-Type")
	f, known := formatOfMediaType(given)
	if accepted, ok := formatOfMediaType(acceptedType(r)); ok {
		demand(FormFormat+accepted.name, known && f.name == accepted.name, accepted.name, given)
	}
	if !known {
		return all
	}
	media, _, _ := strings.Cut(given, ";")
	demand(FormCharset+f.name, strings.HasSuffix(normalizeMediaType(given), ";charset=utf-8"), media+"; charset=utf-8", given)
	tree, err := f.parse(got.body)
	demand(FormBody, err == nil, f.name, clip(got.body, 0))
	if err != nil {
		return all
	}
	canonical := f.canonical(&tree)
	at := 0
	for at < min(len(canonical), len(got.body)) && canonical[at] == got.body[at] {
		at++
	}
	demand(FormRendering+f.name, canonical == got.body, clip(canonical, at), clip(got.body, at))
	content := &tree
	if f.name == "XML" && len(tree.members) == 1 {
		content = &tree.members[0].value
		demand(FormRoot, tree.members[0].name == d.rootElement(), d.rootElement(), tree.members[0].name)
	}
	if got.status >= http.StatusBadRequest {
		messages, _ := content.member("messages")
		demand(FormEnvelope, len(content.members) == 1 && messages.has("error"), fmt.Sprintf(`{"messages":{"error":[{"code":%d,"message":"…"}]}}`, got.status), clip(got.body, 0))
	}
	return all
}

// acceptedType returns the one media type that the request accepts, or another text.
func acceptedType(r *request) string {
	for _, h := range r.headers {
		if strings.EqualFold(h.name, "Accept") && !strings.ContainsAny(h.value, ",;") {
			return strings.Replace(h.value, "text/xml", "application/xml", 1)
		}
	}
	return ""
}

// clip returns the part of a body near the byte at.
func clip(body string, at int) string {
	from := max(0, at-maxShownForm/2)
	part := strings.ToValidUTF8(body[from:min(len(body), from+maxShownForm)], "")
	if from > 0 {
		part = "…" + part
	}
	if from+maxShownForm < len(body) {
		part += "…"
	}
	return part
}
