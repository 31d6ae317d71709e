package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/contracttests"
)

type difference = contracttests.Difference

// called returns a call whose reply has a status, and meets or does not meet demands on its form.
func called(request, status string, form ...difference) contracttests.CallLog {
	return contracttests.CallLog{Request: request + " HTTP/1.1\r\n\r\n", Reply: status + " X\n\n", Form: form}
}

// wrongReport returns a report of a server that has no charset in any reply, answers creates with 201,
// and has no orders.
func wrongReport() *contracttests.Report {
	charset := difference{Where: contracttests.FormCharset + "JSON", Want: "application/json; charset=utf-8", Got: "application/json"}
	created := difference{Where: contracttests.FormStatus + "POST", Want: "200", Got: "201"}
	media := difference{Where: "Content-Type", Want: charset.Want, Got: charset.Got}
	r := &contracttests.Report{Command: "contracttest --url 'http://h'"}
	add := func(call, status string, form, differences []difference) {
		one := failedRun(fmt.Sprint(len(r.Results)), "", differences...)
		one.Failure.Call = "admin: " + call
		one.Calls = []contracttests.CallLog{called(call, status, form...)}
		r.Results = append(r.Results, one)
	}
	for range 3 {
		add("GET /shop/api/rest/products?limit=1", "200", []difference{charset}, []difference{media})
		add("POST /shop/api/rest/products", "201", []difference{created}, []difference{{Where: "status", Want: "200", Got: "201"}})
		add("GET /shop/api/rest/orders/1", "404", []difference{charset}, []difference{{Where: "status", Want: "200", Got: "404"}, media})
		add("GET /shop/api/rest/customers", "403", []difference{charset}, []difference{{Where: "status", Want: "200", Got: "403"}, {Where: "$", Want: "a list", Got: "record"}})
	}
	add("GET /shop/api/rest/products/2", "200", []difference{{Where: contracttests.FormCharset + "JSON"}}, []difference{{Where: "$.sku", Want: "text Resource not found.", Got: "text Resource not found"}, media})
	r.Results[0].Accepted = []contracttests.AcceptedDifference{{Reason: "agreed"}, {Reason: "agreed"}}
	return r
}

// TestOverview checks what is told apart: faults of every reply, resources that do not answer,
// accepted differences, and the other causes.
func TestOverview(t *testing.T) {
	o := newOverview(wrongReport())
	var got []string
	for _, f := range o.Faults {
		got = append(got, f.Count()+" "+f.Text()+" "+f.Entry())
	}
	for _, s := range o.Silent {
		got = append(got, s.Text())
	}
	for _, list := range [][]reason{o.Accepted, o.Other} {
		for _, r := range list {
			got = append(got, fmt.Sprint(r.Count, " ", r.Text))
		}
	}
	want := []string{
		`9 of 10 no charset in the Content-Type of JSON: want application/json; charset=utf-8, got application/json - {resource: all, field: content-type, candidate: "application/json", reason: later}`,
		`all 3 status of an accepted POST: want 200, got 201 - {resource: all, field: status-code, legacy: "200", candidate: "201", reason: later}`,
		"orders: 404, for which 3 runs failed",
		"2 agreed",
		"3 status: want 200, got 403 (r)", "1 sku: another value is required (r)",
	}
	if diff := cmp.Diff(want, got); diff != "" || o.Alone != 6 {
		t.Errorf("%d failures have no other cause, want 6; -want +got:\n%s", o.Alone, diff)
	}
}

// TestAcceptedFault checks that an accepted fault of every reply is no fault any more.
func TestAcceptedFault(t *testing.T) {
	r := wrongReport()
	r.Results[1].Accepted = []contracttests.AcceptedDifference{{Difference: difference{Where: "status", Want: "200", Got: "201"}, Reason: "agreed"}}
	if o := newOverview(r); len(o.Faults) != 1 || o.Faults[0].kind() != contracttests.FormCharset {
		t.Errorf("the faults are %v", o.Faults)
	}
}

// TestFaultExplains checks which differences of a case are a fault of every reply.
func TestFaultExplains(t *testing.T) {
	for _, tt := range []struct {
		fault string
		d     difference
		want  bool
	}{
		{contracttests.FormCharset + "JSON", difference{Where: "Content-Type", Want: "application/json; charset=utf-8", Got: "application/json"}, true},
		{contracttests.FormCharset + "JSON", difference{Where: "Content-Type", Want: "application/json; charset=utf-8", Got: "application/xml"}, false},
		{contracttests.FormFormat + "XML", difference{Where: "Content-Type", Want: "application/xml; charset=utf-8", Got: "application/json"}, true},
		{contracttests.FormFormat + "XML", difference{Where: "body", Want: "XML", Got: "none"}, true},
		{contracttests.FormFormat + "XML", difference{Where: "body", Want: "JSON", Got: "none"}, false},
		{contracttests.FormFormat + "form", difference{Where: "Content-Type", Want: "text/plain; charset=utf-8", Got: "application/json"}, true},
		{contracttests.FormBody, difference{Where: "body", Want: "JSON", Got: "none"}, true},
		{contracttests.FormBody, difference{Where: "body", Want: "none", Got: "x"}, false},
		{contracttests.FormRendering + "JSON", difference{Where: "rendering of the body", Want: "{}", Got: "{ }"}, true},
		{contracttests.FormRendering + "XML", difference{Where: "rendering of the body", Want: "{}", Got: "{ }"}, false},
		{contracttests.FormRoot, difference{Where: "root element", Want: "a", Got: "b"}, true},
		{contracttests.FormEnvelope, difference{Where: "$", Want: "fields [messages]", Got: "fields [error]"}, true},
		{contracttests.FormEnvelope, difference{Where: "$", Want: "fields [sku]", Got: "fields [error]"}, false},
		{contracttests.FormStatus + "DELETE", difference{Where: "status", Want: "200", Got: "204"}, true},
		{contracttests.FormStatus + "DELETE", difference{Where: "status", Want: "404", Got: "204"}, false},
		{contracttests.FormNoBody + "POST", difference{Where: "body", Want: "200", Got: "{}"}, true},
	} {
		f := formFault{Difference: difference{Where: tt.fault, Want: "200", Got: "204"}}
		if got := f.explains(&tt.d); got != tt.want {
			t.Errorf("%s explains %+v: %t, want %t", tt.fault, tt.d, got, tt.want)
		}
	}
}

// TestEnd checks that the report ends with its verdict in ten lines at most, which name every kind of
// cause, and that it says how to go on.
func TestEnd(t *testing.T) {
	r := wrongReport()
	for i := range 30 {
		r.Results = append(r.Results, failedRun("x", "", difference{Where: "$.field" + string(rune('a'+i)), Want: "a", Got: strings.Repeat("x", i)}))
	}
	var b strings.Builder
	if err := Table(&b, r, false, false); err != nil {
		t.Fatal(err)
	}
	const verdict = "FAILED  43 runs: 0 passed, 43 failed"
	text := b.String()
	end := text[strings.LastIndex(text, verdict):]
	if n := strings.Count(end, "\n"); n != 10 || !strings.HasPrefix(text, verdict) {
		t.Errorf("the end has %d lines, want 10:\n%s", n, end)
	}
	for _, want := range []string{"9 of 10  no charset", "all 3  status of an accepted POST", "no answer  orders (404)\n", "accepted  2 differences: agreed\n", "3  status: want 200, got 403 (r)\n", "causes more: the report begins with all\n"} {
		if !strings.Contains(end, want) {
			t.Errorf("the end lacks %q:\n%s", want, end)
		}
	}
	for _, want := range []string{"\n- {resource: all, field: content-type", "\ncontracttest gaps orders > gaps.yaml", "6 runs failed for nothing else", "(\".\" is missing)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%.3000s", want, text)
		}
	}
}
