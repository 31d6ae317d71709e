package recording

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A UsageReport lists which consumers make which calls. It is the output of "portico
// report".
type UsageReport struct {
	Calls []CallUsage `json:"calls"`
	// Priorities has the calls that were answered without an error, the most used first. Portico
	// has to serve these first.
	Priorities []priority `json:"first"`
	// Unused has the calls of the contract that no consumer has made.
	Unused []string `json:"unused"`
	// Outside has the requests for anything but the calls of the contract.
	Outside []outsideUsage `json:"outside"`
}

// An outsideUsage counts the requests of programs with the same name for one kind of path
// outside the interface.
type outsideUsage struct {
	Kind     string    `json:"kind"` // soap, xmlrpc, oauth, media, admin or storefront
	Agent    string    `json:"agent"`
	Requests int64     `json:"requests"`
	Refused  int64     `json:"refused"` // of the requests: status 4xx
	Failed   int64     `json:"failed"`  // status 5xx, or no reply
	Legacy   int64     `json:"legacy"`  // answered by the legacy store
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

// A CallUsage counts the requests of one consumer for one call.
type CallUsage struct {
	Consumer string           `json:"consumer"`
	Call     string           `json:"call"`
	Requests int64            `json:"requests"`
	Refused  int64            `json:"refused"` // of the requests: status 4xx
	Failed   int64            `json:"failed"`  // status 5xx, or no reply
	Legacy   int64            `json:"legacy"`  // answered by the legacy store
	Formats  map[string]int64 `json:"formats"`
	Statuses map[int]int64    `json:"statuses"`
	Agents   map[string]int64 `json:"agents"`
	Uses     map[string]int64 `json:"uses"`
	First    time.Time        `json:"first"`
	Last     time.Time        `json:"last"`
}

// A priority ranks one call by its use: the most used calls have to work first after the
// migration.
type priority struct {
	Call       string   `json:"call"`
	Requests   int64    `json:"requests"` // those answered without an error
	Share      float64  `json:"share"`    // of all such requests, 0 to 1
	Cumulative float64  `json:"sum"`      // sum of the shares up to this call, 0 to 1
	Legacy     int64    `json:"legacy"`   // answered by the legacy store
	Consumers  int      `json:"consumers"`
	Uses       []string `json:"uses"` // of all consumers, the most frequent first
}

// NewUsageReport makes the report of the recorded counts. calls lists all calls of the
// contract.
func NewUsageReport(counts *Usage, calls []string) *UsageReport {
	rows := counts.Rows()
	report := &UsageReport{Calls: []CallUsage{}, Priorities: []priority{}, Unused: []string{}, Outside: outsideUsages(counts.Outside())}
	used := map[string]*CallUsage{}
	for _, row := range rows {
		key := row.Call + " " + row.Consumer
		usage := used[key]
		if usage == nil {
			usage = NewCallUsage(&row)
			used[key] = usage
		}
		usage.Add(&row)
	}
	for _, usage := range used {
		report.Calls = append(report.Calls, *usage)
	}
	slices.SortFunc(report.Calls, func(a, b CallUsage) int {
		return cmp.Or(cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Call, b.Call))
	})
	report.Priorities = priorities(rows)
	for _, call := range calls {
		if call != otherCall && !slices.ContainsFunc(rows, func(r Row) bool { return r.Call == call }) {
			report.Unused = append(report.Unused, call)
		}
	}
	return report
}

// otherCall is the name under which requests are counted that match no route of the
// contract.
const otherCall = "other"

// outsideUsages adds up the rows of the two systems, which are ordered by kind. The most
// frequent program of a kind comes first.
func outsideUsages(rows []OutsideRow) []outsideUsage {
	all := []outsideUsage{}
	for _, row := range rows {
		at := slices.IndexFunc(all, func(u outsideUsage) bool { return u.Kind == row.Kind && u.Agent == row.Agent })
		if at < 0 {
			at = len(all)
			all = append(all, outsideUsage{Kind: row.Kind, Agent: row.Agent, First: row.First, Last: row.Last})
		}
		u := &all[at]
		u.Requests, u.Refused, u.Failed = u.Requests+row.Count, u.Refused+row.Refused, u.Failed+row.Failed
		if row.Side == "legacy" {
			u.Legacy += row.Count
		}
		if row.First.Before(u.First) {
			u.First = row.First
		}
		if row.Last.After(u.Last) {
			u.Last = row.Last
		}
	}
	kinds := OutsideKinds()
	slices.SortStableFunc(all, func(a, b outsideUsage) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(b.Requests, a.Requests))
	})
	return all
}

// NewCallUsage returns counts without requests for the consumer, the call and the time of row.
func NewCallUsage(row *Row) *CallUsage {
	return &CallUsage{
		Consumer: row.Consumer, Call: row.Call, First: row.First, Last: row.Last,
		Formats: map[string]int64{}, Statuses: map[int]int64{}, Agents: map[string]int64{}, Uses: map[string]int64{},
	}
}

// Add adds the counts of row.
func (u *CallUsage) Add(row *Row) {
	u.Requests += row.Count
	switch {
	case row.Status >= 500 || row.Status == 0:
		u.Failed += row.Count
	case row.Status >= 400:
		u.Refused += row.Count
	}
	if row.Side == "legacy" {
		u.Legacy += row.Count
	}
	u.Formats[row.Format] += row.Count
	u.Statuses[row.Status] += row.Count
	u.Agents[row.Agent] += row.Count
	for use, n := range row.Uses {
		u.Uses[use] += n
	}
	if row.First.Before(u.First) {
		u.First = row.First
	}
	if row.Last.After(u.Last) {
		u.Last = row.Last
	}
}

// priorities ranks the calls by the number of requests that were answered without an
// error.
func priorities(rows []Row) []priority {
	type sums struct {
		priority
		consumers map[string]bool
		uses      map[string]int64
	}
	all, total := map[string]*sums{}, int64(0)
	for _, row := range rows {
		if row.Status >= 400 || row.Status == 0 || row.Call == otherCall {
			continue
		}
		s := all[row.Call]
		if s == nil {
			s = &sums{priority{Call: row.Call}, map[string]bool{}, map[string]int64{}}
			all[row.Call] = s
		}
		total += row.Count
		s.Requests += row.Count
		if row.Side == "legacy" {
			s.Legacy += row.Count
		}
		s.consumers[row.Consumer] = true
		for use, n := range row.Uses {
			s.uses[use] += n
		}
	}
	list := []priority{}
	for _, s := range all {
		s.Consumers, s.Uses = len(s.consumers), ByCount(s.uses)
		s.Share = float64(s.Requests) / float64(total)
		list = append(list, s.priority)
	}
	slices.SortFunc(list, func(a, b priority) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Call, b.Call))
	})
	sum := 0.0
	for i := range list {
		sum += list[i].Share
		list[i].Cumulative = sum
	}
	return list
}

// ByCount returns the keys of counts, the one with the greatest count first.
func ByCount(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// Write writes the report as tables.
func (r *UsageReport) Write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CONSUMER\tCALL\tREQUESTS\tREFUSED\tFAILED\tLEGACY\tFORMATS\tAGENTS\tUSES\tFIRST\tLAST")
	for i := range r.Calls {
		u := &r.Calls[i]
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", u.Consumer, u.Call, u.Requests,
			Percent(u.Refused, u.Requests), Percent(u.Failed, u.Requests), Percent(u.Legacy, u.Requests),
			strings.Join(ByCount(u.Formats), ","), abbreviate(ByCount(u.Agents)), abbreviate(ByCount(u.Uses)),
			u.First.UTC().Format(time.DateTime), u.Last.UTC().Format(time.DateTime))
	}
	fmt.Fprintln(table, "\nWhat Portico has to serve first:")
	fmt.Fprintln(table, "\nCALL\tREQUESTS\tSHARE\tSUM\tLEGACY\tCONSUMERS\tUSES")
	for i := range r.Priorities {
		p := &r.Priorities[i]
		fmt.Fprintf(table, "%s\t%d\t%.1f%%\t%.1f%%\t%s\t%d\t%s\n", p.Call, p.Requests, 100*p.Share, 100*p.Cumulative, Percent(p.Legacy, p.Requests), p.Consumers, abbreviate(p.Uses))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "\nNot called at all: %s\n", cmp.Or(strings.Join(r.Unused, ", "), "none")); err != nil || len(r.Outside) == 0 {
		return err
	}
	fmt.Fprintln(table, "\nOutside the interface:")
	fmt.Fprintln(table, "\nKIND\tREQUESTS\tREFUSED\tFAILED\tLEGACY\tAGENT\tFIRST\tLAST")
	for i := range r.Outside {
		u := &r.Outside[i]
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", u.Kind, u.Requests, Percent(u.Refused, u.Requests), Percent(u.Failed, u.Requests),
			Percent(u.Legacy, u.Requests), u.Agent, u.First.UTC().Format(time.DateTime), u.Last.UTC().Format(time.DateTime))
	}
	return table.Flush()
}

// Percent formats part as a percentage of whole, or returns "-" if part is 0.
func Percent(part, whole int64) string {
	if part == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// abbreviate joins the first names, followed by the number of the others. The JSON output has all
// of them.
func abbreviate(names []string) string {
	const maxNames = 4
	switch {
	case len(names) == 0:
		return "-"
	case len(names) <= maxNames:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
