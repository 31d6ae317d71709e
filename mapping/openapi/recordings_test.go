package openapi_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// A deviation is a kind of recorded call that cannot conform to the document by its nature.
type deviation struct {
	ofAnswer bool   // of an answer; otherwise of a request
	err      string // pattern of the checker's message
	reason   string
}

// deviations returns all kinds. A test fails if one no longer occurs.
func deviations() []deviation {
	return []deviation{
		{false, `^no such call`, "the path is spelled in another way, such as with a slash at its end"},
		{false, `^no Content-Type`, "the body is read in the call's default format, and OpenAPI cannot say that a body has no media type"},
		{false, `^parameter "attrs" .*(empty value|not one of the allowed)`, "attrs has names that are not fields, which it ignores"},
		{false, `^parameter "limit" .*(invalid integer|empty value)`, "a limit with a fraction or without digits means something, but nothing to advertise"},
		{false, `^parameter "dir" .*must be one of 'asc', 'desc'`, "other spellings of dir are accepted: in upper case, or as no direction"},
		{false, `^parameter "filter" .*path 1\.`, "deepObject has no lists, and no third level"},
		{false, `^ignored fields`, "fields that the caller may not write are ignored"},
		{false, `got (null|boolean|number|string|array|object), want`, "values of other types are converted, or count as not sent"},
		{false, `value must be one of '(image|image/jpg)',`, "other values are ignored"},
		{false, `missing property '(item_id|website_id|qty)'`, "of several records each is refused alone"},
		{false, `the body is not a valid document`, "a body in JSON is accepted as text/xml where the document demands that type"},
		{false, `media type application/xhtml\+xml`, "the type is one of XML, and no client is known to send it"},
		{true, `got array, want object`, "a record of which attrs selects only fields that it lacks is an empty list"},
		{true, `^no Content-Type$`, "the original has crashed, and its answer is not always the same"},
		{true, `media type text/html is not in the document|is_in_stock': got boolean, want string`, "the recording prepares another one and does not hold in this dialect"},
	}
}

// A source is a set of recordings that hold in a dialect, on a store.
type source struct {
	name      string
	dialect   *contract.Dialect
	fields    contract.FieldOptions
	exchanges func() ([]contracttests.Exchange, error)
}

func sources() []source {
	everybody, admin := contract.Roles(), []contract.Role{contract.Admin}
	added := func(name string, readers []contract.Role) contract.AddedField {
		return contract.AddedField{Resource: "products", Name: name, Read: readers, Write: admin, InList: true, InSingle: true}
	}
	// the attributes of the larger store
	own := contract.FieldOptions{Added: []contract.AddedField{added("size", everybody), added("material", everybody), added("eco", everybody), added("care", admin)}}
	return []source{
		{"recordings", contract.Magento(), contract.FieldOptions{}, contracttests.Exchanges},
		{"reads of a larger store", contract.Magento(), own, contracttests.RichExchanges},
		{"integers as numbers", contract.Magento().WithNumericIntegers(), contract.FieldOptions{}, func() ([]contracttests.Exchange, error) {
			return contracttests.Load(os.DirFS("../../contracttests/exchanges/integers"))
		}},
		{"clauses of the document", contract.Documented(), contract.FieldOptions{}, contracttests.DocumentedExchanges},
		{"recordings without a difference", contract.Documented(), contract.FieldOptions{}, func() ([]contracttests.Exchange, error) {
			all, err := contracttests.Exchanges()
			return slices.DeleteFunc(all, func(e contracttests.Exchange) bool { return e.Differs != "" }), err
		}},
	}
}

// document returns the document of the source's store.
func (s *source) document(t testing.TB) *openapi.Document {
	t.Helper()
	fields, err := contract.NewFields(s.fields)
	if err != nil {
		t.Fatal(err)
	}
	var added []adapter.AddedAttribute
	for _, f := range s.fields.Added {
		added = append(added, adapter.AddedAttribute{Resource: adapter.Resource(f.Resource), Name: f.Name, Kind: adapter.KindText})
	}
	schemas, err := adapter.NewSchemas().With(added...)
	if err != nil {
		t.Fatal(err)
	}
	return openapi.Build(openapi.Options{Dialect: s.dialect, Fields: fields, Schemas: schemas, Version: "test", APIKeys: true})
}

// TestRecordings checks that every recorded request that the contract accepts and every
// recorded answer conform to the document, except for the deviations.
func TestRecordings(t *testing.T) {
	seen := map[string]int{}
	for _, source := range sources() {
		t.Run(source.name, func(t *testing.T) { checkSource(t, &source, seen) })
	}
	for _, d := range deviations() {
		if t.Logf("%4d deviate: %s", seen[d.reason], d.reason); seen[d.reason] == 0 {
			t.Errorf("no recording deviates because %s", d.reason)
		}
	}
}

// checkSource checks the recordings of a source, and counts deviations by their reason.
func checkSource(t *testing.T, source *source, seen map[string]int) {
	c := newChecker(t, source.dialect, source.document(t))
	exchanges, err := source.exchanges()
	if err != nil {
		t.Fatal(err)
	}
	var requests, answers, outside int
	report := func(e *contracttests.Exchange, s *contracttests.Step, ofAnswer bool, err error) {
		if err == nil {
			return
		}
		for _, d := range deviations() {
			if d.ofAnswer == ofAnswer && regexp.MustCompile(d.err).MatchString(err.Error()) {
				seen[d.reason]++
				return
			}
		}
		t.Errorf("%s, %s: %s %s as %s: %v", e.File, e.Name, s.Method, s.Path, s.As, err)
	}
	for i := range exchanges {
		e := &exchanges[i]
		for j := range e.Steps {
			s := &e.Steps[j]
			accepted := s.Response.Status < http.StatusMultipleChoices
			if strings.HasPrefix(s.Path, "!") {
				outside++ // a target that is no path of the interface
				continue
			}
			call, err := c.find(*s)
			if err != nil {
				if outside++; accepted {
					report(e, s, false, err)
				}
				continue
			}
			if answers++; accepted {
				requests++
				report(e, s, false, withoutIgnored(call, source.dialect, c.checkRequest(t, call)))
			}
			report(e, s, true, c.checkAnswer(call))
		}
	}
	t.Logf("%d exchanges: %d answers and %d accepted requests checked, %d on no call of the document", len(exchanges), answers, requests, outside)
	if answers == 0 || requests == 0 {
		t.Error("nothing was checked")
	}
}

// withoutIgnored drops an error about additional properties, which are ignored, if the caller
// may write none of them.
func withoutIgnored(call *call, d *contract.Dialect, err error) error {
	if err == nil || !strings.Contains(err.Error(), "additional properties") {
		return err
	}
	path, _, _ := strings.Cut(call.Path, "?")
	route, _ := contract.NewTable(contract.Routes(contract.StandardFields())).Match(path)
	role := map[string]contract.Role{"admin": contract.Admin}[call.As]
	if strings.HasPrefix(call.As, "customer") {
		role = contract.Customer
	}
	for _, line := range regexp.MustCompile(`additional properties (.*) not allowed`).FindAllStringSubmatch(err.Error(), -1) {
		for name := range strings.SplitSeq(line[1], ", ") {
			if i, ok := route.Fields.Index(strings.Trim(name, "'")); ok && route.Fields.Fields[i].Writable(d, role) {
				return err
			}
		}
	}
	return fmt.Errorf("ignored fields: %w", err)
}
