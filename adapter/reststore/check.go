package reststore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"github.com/portico-commerce/portico/config/strictyaml"
)

// A Remark is a result of [Check] about a line of a mapping file.
type Remark struct {
	Level   Level  `json:"level"`
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // 0: the whole file
	Message string `json:"message"`
}

// A Level is the severity of a remark.
type Level string

const (
	// Fault: the mapping is refused.
	Fault Level = "fault"
	// Warning: the mapping works, but some records of the backend will not appear.
	Warning Level = "warning"
	// Note: the operator has to do something in addition.
	Note Level = "note"
)

// String returns the remark with file and line.
func (r Remark) String() string {
	f := strictyaml.Fault{File: r.File, Line: r.Line, Message: r.Message}
	if r.Level != Fault {
		f.Message = string(r.Level) + ": " + f.Message
	}
	return f.Error()
}

// Check returns all faults of a mapping file. If there are none, it returns the obstacles that may
// keep records of the backend from being imported, and the records that the local replica must
// have first. It sends nothing, and needs neither a URL nor credentials.
func Check(o Options) (remarks []Remark) {
	o.setDefaults()
	o.User, o.Secret = cmp.Or(o.User, "user:token"), cmp.Or(o.Secret, "secret:secret")
	l := newLoader(&o)
	m := l.decode()
	for _, f := range l.Faults() {
		remarks = append(remarks, Remark{Fault, f.File, f.Line, f.Message})
	}
	if remarks != nil {
		return remarks
	}
	for _, r := range m.resources {
		remarks = append(remarks, l.adviseOn(m, r)...)
	}
	slices.SortStableFunc(remarks, func(a, b Remark) int { return a.Line - b.Line })
	return append(remarks, l.requiredRecords(m)...)
}

// adviseOn returns the warnings about one resource.
func (l *loader) adviseOn(m *mapping, r *resource) (warnings []Remark) {
	warn := func(p place, format string, arguments ...any) {
		warnings = append(warnings, Remark{Warning, l.File, p.Line, p.Path + " " + fmt.Sprintf(format, arguments...)})
	}
	isRoot := r.root == r
	if !isRoot && !r.Adopts && !r.schema.HasFile {
		warn(r.place, "has no adopts: true, so %s that only the backend has are not imported", r.name)
	}
	if given := l.givenBy(r); !given.Open && (isRoot || r.Adopts) {
		var lacking []string
		if r.schema.HasFile && !hasKey(given, contentURL) {
			lacking = append(lacking, contentURL)
		}
		for _, a := range r.schema.Attributes {
			if !r.schema.HasFile && r.schema.Needs(&a) && a.Name != r.owner && !hasKey(given, a.Name) {
				lacking = append(lacking, a.Name)
			}
		}
		remedy := "map them in read, or give them a default in rest"
		if !isRoot {
			remedy = "give them a value in items"
		}
		if lacking != nil {
			warn(r.place, "gives no value of %s, without which %s cannot be imported: %s", strings.Join(lacking, ", "), r.name, remedy)
		}
	}
	for name, p := range r.place.In("references").Members() {
		if to := r.References[name]; m.Resources[to] == nil {
			warn(p, "refers to %s, which are not among resources: no id of the backend is known to belong to one of them", to)
		}
	}
	return warnings
}

// givenBy returns the keys of the objects that the expressions of a resource return for new
// records.
func (l *loader) givenBy(r *resource) *expr.Keys {
	const depth = 20
	given := &expr.Keys{Functions: l.functions}
	for _, e := range []*expression{r.Read, r.Rest, r.Items} {
		if e != nil {
			given.Add(e.query, depth)
		}
	}
	return given
}

// hasKey reports whether the keys contain an attribute, or the backend's id of the record that it
// refers to.
func hasKey(keys *expr.Keys, attribute string) bool {
	return slices.Contains(keys.Names, attribute) || slices.Contains(keys.Names, attribute+refSuffix)
}

// requiredRecords returns notes about the resources outside the mapping that records refer to, or
// that records need to be visible.
func (l *loader) requiredRecords(m *mapping) (notes []Remark) {
	needed := map[adapter.Resource][]string{}
	for _, r := range m.resources {
		given := l.givenBy(r)
		for _, a := range r.schema.Attributes {
			if a.Refers != "" && m.Resources[a.Refers] == nil && a.Name != r.owner && (r.schema.Needs(&a) || hasKey(given, a.Name)) {
				needed[a.Refers] = append(needed[a.Refers], fmt.Sprintf("%s.%s", r.name, a.Name))
			}
		}
	}
	for _, to := range slices.Sorted(maps.Keys(needed)) {
		notes = append(notes, Remark{Note, l.File, 0, fmt.Sprintf("%s must be in the local replica before records refer to them (%s): portico seed --adapter sql", to, strings.Join(needed[to], ", "))})
	}
	if m.Resources[adapter.Products] != nil && m.Resources[adapter.ProductWebsites] == nil {
		notes = append(notes, Remark{Note, l.File, 0, "customers and guests see a product only if it is assigned to their website: map product_websites, or let clients assign new products"})
	}
	return notes
}

// checkNested checks that the mapping owns the attributes through which clients also write the
// records of a mapped part, such as the stock items of products.
func (l *loader) checkNested(m *mapping, r *resource) {
	if r.schema == nil {
		return // reported already
	}
	for _, a := range r.schema.Attributes {
		if a.Nested != nil && m.Resources[a.Nested.Resource] != nil {
			l.Require(slices.Contains(r.Attributes, a.Name), r.place.In("attributes"), "must have %s, through which clients also write the %s that resources have", a.Name, a.Nested.Resource)
		}
	}
}
