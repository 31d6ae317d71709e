package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
)

// An overview is the part of a report that a reader needs first.
type overview struct {
	Tally    tally
	Faults   []formFault // that are not accepted
	Silent   []silentResource
	Accepted []reason // accepted differences, by reason
	Causes   []cause  // of the failures
	Other    []reason // the causes that are neither in Faults nor in Silent
	Alone    int      // failures that have no other cause than Faults

	table *contract.Table
}

// newOverview returns the overview of a report.
func newOverview(r *contracttests.Report) *overview {
	o := &overview{Tally: newTally(r), Faults: findFaults(r), table: contract.NewTable(contract.Routes(contract.StandardFields()))}
	o.Silent = o.findSilent(r)
	var accepted []reason
	for i := range r.Results {
		for _, a := range r.Results[i].Accepted {
			o.Faults = slices.DeleteFunc(o.Faults, func(f formFault) bool { return f.explains(&a.Difference) })
			accepted = append(accepted, reason{Text: printableLine(truncate(a.Reason, maxPart)), Count: 1, IDs: []string{printableLine(r.Results[i].ID())}})
		}
	}
	o.Accepted = mergeReasons(accepted)
	o.Causes = o.findCauses(r)
	for _, c := range o.Causes {
		switch i := slices.IndexFunc(o.Silent, func(s silentResource) bool { return s.Name == c.silent }); {
		case i >= 0:
			o.Silent[i].Runs = len(c.Failures)
		case c.form:
			o.Alone = len(c.Failures)
		default:
			o.Other = append(o.Other, reason{Text: c.Text + c.resources(), Count: len(c.Failures)})
		}
	}
	return o
}

// maxResources is the number of resources that resources names.
const maxResources = 3

// resources returns the resources whose cases fail for a cause, in parentheses: a status alone does not tell
// what is wrong.
func (c *cause) resources() string {
	var names []string
	for _, f := range c.Failures {
		if !slices.Contains(names, f.Resource) {
			names = append(names, f.Resource)
		}
	}
	if len(names) > maxResources {
		names = append(names[:maxResources:maxResources], "and others")
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// Entries returns the entries of a file for --expect that accept the faults of every reply.
func (o *overview) Entries() (all []string) {
	for i := range o.Faults {
		if entry := o.Faults[i].Entry(); entry != "" && !slices.Contains(all, entry) {
			all = append(all, entry)
		}
	}
	return all
}

// silentNames returns the names of the resources that do not answer, with their statuses.
func (o *overview) silentNames() string {
	var all []string
	for _, s := range o.Silent {
		all = append(all, s.Name+" ("+s.Status+")")
	}
	return strings.Join(all, ", ")
}

// GapsCommand returns the command that writes the file for --skip with the resources that do not
// answer, and with those below their paths, which cases cannot call then.
func (o *overview) GapsCommand() string {
	command := "contracttest gaps"
	for _, s := range o.Silent {
		command += " " + s.Name
	}
	return command + " > gaps.yaml   # then add --skip gaps.yaml"
}

// A formFault is a demand on the form of replies that a server hardly ever meets.
type formFault struct {
	contracttests.Difference // of the first reply that does not meet it

	Broken, Of int // number of replies that do not meet it, and to which it applies
}

const (
	minFaults     = 3  // replies that make a fault one of the server, not of a call
	minFaultShare = 80 // percent of the replies
)

// findFaults returns the faults of all, or nearly all, replies, the most frequent first.
func findFaults(r *contracttests.Report) []formFault {
	byName := map[string]*formFault{}
	var names []string
	for i := range r.Results {
		for _, call := range r.Results[i].Calls {
			for _, d := range call.Form {
				f := byName[d.Where]
				if f == nil {
					f = &formFault{Difference: d}
					byName[d.Where], names = f, append(names, d.Where)
				}
				f.Of++
				if d.Want == "" {
					continue
				}
				if f.Broken++; f.Broken == 1 {
					f.Difference = d
				}
			}
		}
	}
	var all []formFault
	for _, name := range names {
		if f := byName[name]; f.Broken >= minFaults && f.Broken*100 >= f.Of*minFaultShare {
			all = append(all, *f)
		}
	}
	slices.SortStableFunc(all, func(a, b formFault) int { return b.Broken - a.Broken })
	return all
}

// kind returns the demand without the format of the body.
func (f *formFault) kind() string { return strings.TrimSuffix(f.Where, f.format()) }

// format returns the format of the body that the demand is about: JSON, XML, form, or "".
func (f *formFault) format() string {
	if last := f.Where[strings.LastIndexByte(f.Where, ' ')+1:]; isFormat(last) {
		return last
	}
	return ""
}

// Text returns the fault on one printable line.
func (f *formFault) Text() string {
	text := map[string]string{
		contracttests.FormCharset:   "no charset in the Content-Type of " + f.format(),
		contracttests.FormFormat:    "not in " + f.format() + ", which the request asks for",
		contracttests.FormBody:      "a body that is not as the Content-Type says",
		contracttests.FormRendering: "other blanks or escapes in " + f.format(),
		contracttests.FormRoot:      "another root element",
		contracttests.FormEnvelope:  "another form of refusals",
	}[f.kind()]
	return fmt.Sprintf("%s: want %s, got %s", cmp.Or(text, printableLine(truncate(f.Where, maxPart))), shortValue(f.Want), shortValue(f.Got))
}

// Count returns the number of replies with the fault.
func (f *formFault) Count() string {
	if f.Broken == f.Of {
		return fmt.Sprintf("all %d", f.Of)
	}
	return fmt.Sprintf("%d of %d", f.Broken, f.Of)
}

// Entry returns the entry of a file for --expect that accepts the fault, or "" if there is none.
func (f *formFault) Entry() string {
	field, legacy, candidate := "", "", f.Got
	switch {
	case f.kind() == contracttests.FormCharset:
		field = "content-type"
	case f.Where == contracttests.FormRoot:
		field = "root"
	case f.kind() == contracttests.FormRendering:
		field, candidate = "rendering", ""
	case strings.HasPrefix(f.Where, contracttests.FormStatus):
		field, legacy = "status-code", f.Want
	case strings.HasPrefix(f.Where, contracttests.FormNoBody):
		field, legacy, candidate = "body", f.Want, ""
	default:
		return ""
	}
	entry := "- {resource: all, field: " + field
	if legacy != "" {
		entry += ", legacy: " + strconv.Quote(legacy)
	}
	if candidate != "" {
		entry += ", candidate: " + strconv.Quote(candidate)
	}
	return printableLine(entry + ", reason: later}")
}

// explains reports whether a difference of a case is the fault.
func (f *formFault) explains(d *contracttests.Difference) bool {
	media := strings.ToLower(strings.Replace(f.format(), "form", "text/plain", 1))
	switch {
	case f.kind() == contracttests.FormCharset:
		return d.Where == "Content-Type" && strings.Contains(d.Got, media) && strings.HasPrefix(d.Want, d.Got+";")
	case f.kind() == contracttests.FormFormat:
		return d.Where == "body" && d.Want == f.format() || d.Where == "Content-Type" && strings.Contains(d.Want, media) && !strings.Contains(d.Got, media)
	case f.Where == contracttests.FormBody:
		return d.Where == "body" && isFormat(d.Want)
	case f.kind() == contracttests.FormRendering:
		return d.Where == "rendering of the body" && strings.HasPrefix(d.Want, "<") == (f.format() == "XML")
	case f.Where == contracttests.FormRoot:
		return d.Where == "root element"
	case f.Where == contracttests.FormEnvelope:
		return d.Where == "$" && d.Want == "fields [messages]"
	case strings.HasPrefix(f.Where, contracttests.FormStatus):
		return d.Where == "status" && d.Want == f.Want && d.Got == f.Got
	case strings.HasPrefix(f.Where, contracttests.FormNoBody):
		return d.Where == "body" && d.Want == f.Want
	}
	return false
}

// isFormat reports whether a word is the name of a format.
func isFormat(word string) bool { return slices.Contains([]string{"JSON", "XML", "form"}, word) }

// A silentResource is a resource of which no call succeeds.
type silentResource struct {
	Name   string
	Calls  int
	Status string // the most frequent one
	Runs   int    // that fail for it
}

// Text returns the resource with its status and the runs that fail for it.
func (s *silentResource) Text() string {
	return fmt.Sprintf("%s: %s, for which %s", s.Name, s.Status, plural(s.Runs, "run")+" failed")
}

// findSilent returns the resources that do not answer at all. Those whose calls are refused for lack
// of rights are not among them.
func (o *overview) findSilent(r *contracttests.Report) []silentResource {
	statuses, answered := map[string]map[string]int{}, map[string]bool{}
	for i := range r.Results {
		for _, call := range r.Results[i].Calls {
			line, _, _ := strings.Cut(call.Request, "\r\n")
			name, status := resourceOf(o.table, line), call.Reply[:min(3, len(call.Reply))]
			if code, err := strconv.Atoi(status); err != nil {
				status = "no reply"
			} else if code < 400 {
				answered[name] = true
			}
			if statuses[name] == nil {
				statuses[name] = map[string]int{}
			}
			statuses[name][status]++
		}
	}
	var all []silentResource
	for _, route := range o.table.Routes() {
		one := silentResource{Name: route.Resource}
		known := func(s silentResource) bool { return s.Name == one.Name }
		if answered[one.Name] || slices.ContainsFunc(all, known) {
			continue
		}
		for status, n := range statuses[one.Name] {
			if most := statuses[one.Name][one.Status]; n > most || n == most && status < one.Status {
				one.Status = status
			}
			one.Calls += n
		}
		if one.Calls >= minFaults && one.Status != "401" && one.Status != "403" {
			all = append(all, one)
		}
	}
	return all
}

// resourceOf returns the resource that a request line, or a call of a failure, addresses, or "".
func resourceOf(table *contract.Table, line string) string {
	_, path, ok := strings.Cut(line, contract.Base+"/")
	if !ok {
		return ""
	}
	path, _, _ = strings.Cut(path, " ")
	path, _, _ = strings.Cut(path, "?")
	if route, _ := table.Match(path); route != nil {
		return route.Resource
	}
	return ""
}
