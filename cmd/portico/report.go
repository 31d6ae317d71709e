package main

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

// A usageReport says who calls what, as "portico report" prints it.
type usageReport struct {
	Calls []callUsage `json:"calls"`
	// First is what has to work on the new side first: calls that have been
	// answered without an error, the most used first.
	First []priority `json:"first"`
	// Unused are calls of the contract that nobody has made.
	Unused []string `json:"unused"`
}

// A callUsage is what one consumer makes of one call.
type callUsage struct {
	Consumer string           `json:"consumer"`
	Call     string           `json:"call"`
	Requests int64            `json:"requests"`
	Refused  int64            `json:"refused"` // of the requests: status 4xx
	Failed   int64            `json:"failed"`  // status 5xx, or no reply
	Legacy   int64            `json:"legacy"`  // answered by the old system
	Formats  map[string]int64 `json:"formats"`
	Statuses map[int]int64    `json:"statuses"`
	Agents   map[string]int64 `json:"agents"`
	Uses     map[string]int64 `json:"uses"`
	First    time.Time        `json:"first"`
	Last     time.Time        `json:"last"`
}

// A priority is a call in the order in which calls have to work on the new side.
type priority struct {
	Call      string   `json:"call"`
	Requests  int64    `json:"requests"` // without those that were refused or failed
	Share     float64  `json:"share"`    // of all such requests, 0 to 1
	Sum       float64  `json:"sum"`      // of the shares so far
	Legacy    int64    `json:"legacy"`   // still answered by the old system
	Consumers int      `json:"consumers"`
	Uses      []string `json:"uses"` // of all consumers, the most frequent first
}

func reportCommand() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Say who calls what, from what has been recorded",
		Long: `Say who calls what: each consumer's calls with their numbers, errors, formats and
the list modifiers they use; what has to work on the new side first; and calls that
nobody makes. The counts are those that all servers have written to record.dir,
of all requests.

Consumers are named by the beginning of their key. What is counted tells nothing
of a store's customers.`,
		Example: `  portico report --dir /var/lib/portico/record
  portico report --config portico.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if dir = cmp.Or(dir, cfg.Record.Dir); dir == "" {
				return errors.New("there is no folder to read: give --dir, or set record.dir (PORTICO_RECORD_DIR)")
			}
			usage, err := recording.ReadUsage(os.DirFS(dir))
			if err != nil {
				return fmt.Errorf("%s: %w\ngive the folder that record.dir of a running server names", dir, err)
			}
			report := newUsageReport(usage.Rows(), mapping.Calls())
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(report)
			}
			return report.write(cmd.OutOrStdout())
		},
	}
	addSettingFlags(cmd)
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the counts (default record.dir)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newUsageReport makes the report of rows; calls are all calls of the contract.
func newUsageReport(rows []recording.Row, calls []string) *usageReport {
	report := &usageReport{Calls: []callUsage{}, First: []priority{}, Unused: []string{}}
	used := map[string]*callUsage{}
	for _, row := range rows {
		key := row.Call + " " + row.Consumer
		usage := used[key]
		if usage == nil {
			usage = &callUsage{
				Consumer: row.Consumer, Call: row.Call, First: row.First, Last: row.Last,
				Formats: map[string]int64{}, Statuses: map[int]int64{}, Agents: map[string]int64{}, Uses: map[string]int64{},
			}
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
	report.First = priorities(rows)
	for _, call := range calls {
		if call != otherCall && !slices.ContainsFunc(rows, func(r recording.Row) bool { return r.Call == call }) {
			report.Unused = append(report.Unused, call)
		}
	}
	return report
}

// otherCall stands for requests that no route of the contract serves.
const otherCall = "other"

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

// priorities returns the calls in the order of their requests that were answered.
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
		list[i].Sum = sum
	}
	return list
}

// byCount returns the names of counts, the greatest first.
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
			strings.Join(byCount(u.Formats), ","), some(byCount(u.Agents)), some(byCount(u.Uses)),
			u.First.UTC().Format(time.DateTime), u.Last.UTC().Format(time.DateTime))
	}
	fmt.Fprintln(table, "\nWhat has to work on the new side first:")
	fmt.Fprintln(table, "\nCALL\tREQUESTS\tSHARE\tSUM\tLEGACY\tCONSUMERS\tUSES")
	for i := range r.First {
		p := &r.First[i]
		fmt.Fprintf(table, "%s\t%d\t%.1f%%\t%.1f%%\t%s\t%d\t%s\n", p.Call, p.Requests, 100*p.Share, 100*p.Sum, percent(p.Legacy, p.Requests), p.Consumers, some(p.Uses))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nNot called at all: %s\n", cmp.Or(strings.Join(r.Unused, ", "), "none"))
	return err
}

// percent writes a part of a whole; "-" for none.
func percent(part, whole int64) string {
	if part == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// some writes the first of a list, and how many more there are. JSON has them all.
func some(names []string) string {
	const most = 4
	switch {
	case len(names) == 0:
		return "-"
	case len(names) <= most:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
