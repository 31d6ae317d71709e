package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/recording"
)

// A usageReport lists which consumers make which calls. It is the output of "portico
// report".
type usageReport struct {
	Calls []callUsage `json:"calls"`
	// Priorities has the calls that were answered without an error, the most used first.
	// They are what Portico has to serve first.
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
	Legacy   int64     `json:"legacy"`  // answered by the legacy system
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

// A callUsage counts the requests of one consumer for one call.
type callUsage struct {
	Consumer string           `json:"consumer"`
	Call     string           `json:"call"`
	Requests int64            `json:"requests"`
	Refused  int64            `json:"refused"` // of the requests: status 4xx
	Failed   int64            `json:"failed"`  // status 5xx, or no reply
	Legacy   int64            `json:"legacy"`  // answered by the legacy system
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
	Legacy     int64    `json:"legacy"`   // answered by the legacy system
	Consumers  int      `json:"consumers"`
	Uses       []string `json:"uses"` // of all consumers, the most frequent first
}

// reportCommand returns the command "report".
func (p *program) reportCommand() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Report which consumers make which calls, from recorded counts",
		Long: `Report which consumers make which calls. The report has three parts: the calls of each
consumer with their numbers, errors, formats and list modifiers; all calls by the number
of successful requests, which tells what Portico has to serve first; and the calls that no
consumer makes. A table of the requests outside /api/rest follows: which programs use SOAP,
XML-RPC, /oauth/, images, the admin panel under /admin, and the storefront, which is all
the rest. The counts cover all requests to all servers that write to record.dir.

Consumers are named by the beginning of their key. The counts contain no data of
customers.`,
		Example: `  portico report --dir /var/lib/portico/record
  portico report --config portico.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.loadConfig(cmd)
			if err != nil {
				return err
			}
			if dir = cmp.Or(dir, cfg.Record.Dir); dir == "" {
				return errors.New("there is no folder to read: give --dir, or set record.dir (PORTICO_RECORD_DIR)")
			}
			usage, err := recording.ReadUsage(os.DirFS(dir))
			if err != nil {
				return fmt.Errorf("%s: %w\nname the folder that is record.dir of a running server", dir, err)
			}
			report := newUsageReport(usage, mapping.Calls())
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(report)
			}
			return report.write(cmd.OutOrStdout())
		},
	}
	p.addSettingFlags(cmd)
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the counts (default record.dir)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newUsageReport makes the report of the recorded counts. calls lists all calls of the
// contract.
func newUsageReport(counts *recording.Usage, calls []string) *usageReport {
	rows := counts.Rows()
	report := &usageReport{Calls: []callUsage{}, Priorities: []priority{}, Unused: []string{}, Outside: outsideUsages(counts.Outside())}
	used := map[string]*callUsage{}
	for _, row := range rows {
		key := row.Call + " " + row.Consumer
		usage := used[key]
		if usage == nil {
			usage = newCallUsage(&row)
			used[key] = usage
		}
		usage.add(&row)
	}
	for _, usage := range used {
		report.Calls = append(report.Calls, *usage)
	}
	slices.SortFunc(report.Calls, func(a, b callUsage) int {
		return cmp.Or(cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Call, b.Call))
	})
	report.Priorities = priorities(rows)
	for _, call := range calls {
		if call != otherCall && !slices.ContainsFunc(rows, func(r recording.Row) bool { return r.Call == call }) {
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
func outsideUsages(rows []recording.OutsideRow) []outsideUsage {
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
	kinds := recording.OutsideKinds()
	slices.SortStableFunc(all, func(a, b outsideUsage) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(b.Requests, a.Requests))
	})
	return all
}

// newCallUsage returns counts without requests for the consumer, the call and the time of row.
func newCallUsage(row *recording.Row) *callUsage {
	return &callUsage{
		Consumer: row.Consumer, Call: row.Call, First: row.First, Last: row.Last,
		Formats: map[string]int64{}, Statuses: map[int]int64{}, Agents: map[string]int64{}, Uses: map[string]int64{},
	}
}

// add adds the counts of row.
func (u *callUsage) add(row *recording.Row) {
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
func priorities(rows []recording.Row) []priority {
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
		s.Consumers, s.Uses = len(s.consumers), byCount(s.uses)
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

// byCount returns the keys of counts, the one with the greatest count first.
func byCount(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// write writes the report as tables.
func (r *usageReport) write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CONSUMER\tCALL\tREQUESTS\tREFUSED\tFAILED\tLEGACY\tFORMATS\tAGENTS\tUSES\tFIRST\tLAST")
	for i := range r.Calls {
		u := &r.Calls[i]
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", u.Consumer, u.Call, u.Requests,
			percent(u.Refused, u.Requests), percent(u.Failed, u.Requests), percent(u.Legacy, u.Requests),
			strings.Join(byCount(u.Formats), ","), abbreviate(byCount(u.Agents)), abbreviate(byCount(u.Uses)),
			u.First.UTC().Format(time.DateTime), u.Last.UTC().Format(time.DateTime))
	}
	fmt.Fprintln(table, "\nWhat Portico has to serve first:")
	fmt.Fprintln(table, "\nCALL\tREQUESTS\tSHARE\tSUM\tLEGACY\tCONSUMERS\tUSES")
	for i := range r.Priorities {
		p := &r.Priorities[i]
		fmt.Fprintf(table, "%s\t%d\t%.1f%%\t%.1f%%\t%s\t%d\t%s\n", p.Call, p.Requests, 100*p.Share, 100*p.Cumulative, percent(p.Legacy, p.Requests), p.Consumers, abbreviate(p.Uses))
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
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", u.Kind, u.Requests, percent(u.Refused, u.Requests), percent(u.Failed, u.Requests),
			percent(u.Legacy, u.Requests), u.Agent, u.First.UTC().Format(time.DateTime), u.Last.UTC().Format(time.DateTime))
	}
	return table.Flush()
}

// percent formats part as a percentage of whole, or returns "-" if part is 0.
func percent(part, whole int64) string {
	if part == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// abbreviate joins the first names, and says how many more there are. The JSON output has
// all of them.
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
