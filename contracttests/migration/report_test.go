package migration_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// countedDir returns a folder with the counts of two servers.
func countedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, rows := range map[string]string{
		"one": `{"consumer":"abc","agent":"PHP","call":"listOrders","side":"legacy","status":200,"format":"xml","count":90,
				"first":"2012-03-01T10:00:00Z","last":"2012-03-02T10:00:00Z","uses":{"page":90,"limit":90,"filter status eq":10,"order created_at":5,"dir":5}},
			{"consumer":"abc","agent":"PHP","call":"listOrders","side":"legacy","status":500,"format":"other","count":10,
				"first":"2012-03-01T11:00:00Z","last":"2012-03-05T10:00:00Z","uses":{}},
			{"consumer":"guest","agent":"none","call":"other","side":"portico","status":404,"format":"json","count":3,
				"first":"2012-03-01T10:00:00Z","last":"2012-03-01T10:00:00Z","uses":{}}`,
		"two": `{"consumer":"abc","agent":"Robot","call":"getProduct","side":"portico","status":200,"format":"json","count":30,
				"first":"2012-02-01T10:00:00Z","last":"2012-02-01T11:00:00Z","uses":{}},
			{"consumer":"guest","agent":"none","call":"getProduct","side":"portico","status":404,"format":"json","count":10,
				"first":"2012-03-01T10:00:00Z","last":"2012-03-01T10:00:00Z","uses":{}},
			{"consumer":"abc","agent":"PHP","call":"listOrders","side":"portico","status":200,"format":"json","count":30,
				"first":"2012-02-29T10:00:00Z","last":"2012-03-02T10:00:00Z","uses":{"page":30}}`,
	} {
		outside := `{"kind":"storefront","agent":"Mozilla","side":"legacy","count":900,"refused":9,"failed":0,"first":"2012-03-01T10:00:00Z","last":"2012-03-02T10:00:00Z"},
			{"kind":"soap","agent":"PHP-SOAP","side":"legacy","count":3,"refused":0,"failed":1,"first":"2012-03-01T10:00:00Z","last":"2012-03-02T10:00:00Z"},
			{"kind":"soap","agent":"PHP-SOAP","side":"portico","count":2,"refused":2,"failed":0,"first":"2012-02-01T10:00:00Z","last":"2012-02-02T10:00:00Z"}`
		if name == "two" {
			outside = `{"kind":"soap","agent":"Robot","side":"legacy","count":7,"refused":0,"failed":0,"first":"2012-03-03T10:00:00Z","last":"2012-03-04T10:00:00Z"}`
		}
		apptest.WriteFile(t, filepath.Join(dir, "usage-"+name+".json"), `{"version":1,"rows":[`+rows+`],"outside":[`+outside+`]}`)
	}
	return dir
}

// TestReportTables checks the tables of "portico report".
func TestReportTables(t *testing.T) {
	dir := countedDir(t)
	printed := apptest.MustRun(t, "report", "--dir", dir)
	for name, line := range map[string]string{
		"one consumer's call": "abc listOrders 130 - 7.7% 76.9% xml,json,other PHP page, limit, filter status eq, dir and 1 more 2012-02-29 10:00:00 2012-03-05 10:00:00",
		"another call":        "abc getProduct 30 - - - json Robot - 2012-02-01 10:00:00 2012-02-01 11:00:00",
		"refusals":            "guest getProduct 10 100.0% - - json none - 2012-03-01 10:00:00 2012-03-01 10:00:00",
		"first of all":        "listOrders 120 80.0% 80.0% 75.0% 1 page, limit, filter status eq, dir and 1 more",
		"then":                "getProduct 30 20.0% 100.0% - 1 -",
		"SOAP":                "soap 7 - - 100.0% Robot 2012-03-03 10:00:00 2012-03-04 10:00:00",
		"both systems":        "soap 5 40.0% 20.0% 60.0% PHP-SOAP 2012-02-01 10:00:00 2012-03-02 10:00:00",
		"storefront":          "storefront 900 1.0% - 100.0% Mozilla 2012-03-01 10:00:00 2012-03-02 10:00:00",
	} {
		if !slices.ContainsFunc(strings.Split(printed, "\n"), func(l string) bool { return strings.Join(strings.Fields(l), " ") == line }) {
			t.Errorf("%s: no line %q in\n%s", name, line, printed)
		}
	}
	_, unused, _ := strings.Cut(printed, "Not called at all: ")
	unused, _, _ = strings.Cut(unused, "\n")
	if names := strings.Split(unused, ", "); len(names) != len(mapping.Calls())-2 || slices.Contains(names, "listOrders") || !slices.Contains(names, "getOrder") {
		t.Errorf("not called: %s", names)
	}
	if configured := apptest.MustRun(t, "report", "--config", apptest.NewFile(t, "portico.yaml", "record: {dir: "+dir+"}\n")); configured != printed {
		t.Error("record.dir is not the folder without --dir")
	}
}

// TestReportJSON checks the JSON output of "portico report".
func TestReportJSON(t *testing.T) {
	var report recording.UsageReport
	apptest.Parse(t, apptest.MustRun(t, "report", "--json", "--dir", countedDir(t)), &report)
	var orders *recording.CallUsage
	for i := range report.Calls {
		if report.Calls[i].Call == "listOrders" {
			orders = &report.Calls[i]
		}
	}
	if orders == nil || orders.Requests != 130 || orders.Failed != 10 || orders.Legacy != 100 || orders.Statuses[500] != 10 || orders.Agents["PHP"] != 130 ||
		orders.Uses["page"] != 120 || orders.Formats["xml"] != 90 || orders.Last.Day() != 5 {
		t.Errorf("%+v", orders)
	}
	if len(report.Outside) != 3 || report.Outside[0].Agent != "Robot" || report.Outside[2].Requests != 900 {
		t.Errorf("outside: %+v", report.Outside)
	}
	if len(report.Calls) != 4 || len(report.Priorities) != 2 || report.Priorities[0].Legacy != 90 || len(report.Priorities[0].Uses) != 5 {
		t.Errorf("%+v", report)
	}
}

// TestReportRefuses checks the errors of "portico report".
func TestReportRefuses(t *testing.T) {
	empty := t.TempDir()
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"no folder":       {[]string{"report"}, "give --dir, or set record.dir"},
		"nothing there":   {[]string{"report", "--dir", empty}, "name the folder that is record.dir of a running server"},
		"no such folder":  {[]string{"report", "--dir", filepath.Join(empty, "x")}, "name the folder"},
		"stray arguments": {[]string{"report", "here"}, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := apptest.Run(t, c.arguments...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}
