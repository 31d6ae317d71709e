package plan

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// calls counts the requests for a resource.
type calls struct {
	Requests int64     `json:"requests"`
	Refused  int64     `json:"refused"` // of the requests: status 4xx
	Failed   int64     `json:"failed"`  // status 5xx, or no reply
	Legacy   int64     `json:"legacy"`  // answered by the legacy store
	Callers  int       `json:"callers"` // consumers, as the counts name them; Guests are one
	Last     time.Time `json:"last,omitzero"`
}

// A shadowCount counts the shadow reads of a resource.
type shadowCount struct {
	Since     time.Time        `json:"since"`
	Same      int64            `json:"same"`
	Different int64            `json:"different"`
	Unsure    int64            `json:"unsure"`        // different while a write was in progress
	Missed    int64            `json:"missed"`        // not compared, for any reason
	Fields    map[string]int64 `json:"fields"`        // answers that differ in a field
	SameSince int64            `json:"same_since"`    // same answers of the calls after their last difference
	Last      time.Time        `json:"last,omitzero"` // comparison
	// LastDifferent is when the last difference was found; zero: none.
	LastDifferent time.Time `json:"last_different,omitzero"`
}

// An outsideCaller counts the requests outside the interface that the legacy store has
// answered to programs of one name.
type outsideCaller struct {
	Kind     string    `json:"kind"` // as recording.OutsideKinds names it
	Agent    string    `json:"agent"`
	Requests int64     `json:"requests"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

// resourceOf returns the resource of each call.
func resourceOf(parts []Part) map[string]string {
	of := map[string]string{}
	for _, part := range parts {
		for _, call := range part.Calls {
			of[call] = part.Name
		}
	}
	return of
}

// callsByResource adds up the recorded counts. The map is empty if there are none.
func callsByResource(s *Situation) map[string]*calls {
	all := map[string]*calls{}
	if s.Usage == nil {
		return all
	}
	for _, part := range s.Resources {
		all[part.Name] = &calls{}
	}
	of := resourceOf(s.Resources)
	callers := map[[2]string]bool{}
	for _, row := range s.Usage.Rows() {
		calls := all[of[row.Call]]
		if calls == nil { // no call of the contract
			continue
		}
		if caller := [2]string{of[row.Call], row.Consumer}; !callers[caller] {
			callers[caller] = true
			calls.Callers++
		}
		calls.Requests += row.Count
		switch {
		case row.Status >= http.StatusInternalServerError || row.Status == 0:
			calls.Failed += row.Count
		case row.Status >= http.StatusBadRequest:
			calls.Refused += row.Count
		}
		if row.Side == "legacy" {
			calls.Legacy += row.Count
		}
		if row.Last.After(calls.Last) {
			calls.Last = row.Last
		}
	}
	return all
}

// shadowsByResource adds up the counts of shadow reads. Resources without a selected read
// are missing.
func shadowsByResource(s *Situation) map[string]*shadowCount {
	all := map[string]*shadowCount{}
	if s.Shadow == nil {
		return all
	}
	of := resourceOf(s.Resources)
	for _, call := range s.Shadow.Calls {
		resource := of[call.Call]
		if resource == "" {
			continue
		}
		count := all[resource]
		if count == nil {
			count = &shadowCount{Since: s.Shadow.Since, Fields: map[string]int64{}}
			all[resource] = count
		}
		for outcome, n := range call.Outcomes {
			switch outcome {
			case compare.ShadowSame:
				count.Same += n
			case compare.Different:
				count.Different += n
			case compare.Inconclusive:
				count.Unsure += n
			default:
				count.Missed += n
			}
		}
		for field, n := range call.Fields {
			count.Fields[field] += n
		}
		count.SameSince += call.SameSince
		if call.Last.After(count.Last) {
			count.Last = call.Last
		}
		if call.LastDifferent.After(count.LastDifferent) {
			count.LastDifferent = call.LastDifferent
		}
	}
	return all
}

// outsideCallers returns the callers of the legacy store outside the interface, nil if they
// are unknown.
func outsideCallers(usage *recording.Usage) []outsideCaller {
	if usage == nil {
		return nil
	}
	all := []outsideCaller{}
	for _, row := range usage.Outside() {
		if row.Side == "legacy" {
			all = append(all, outsideCaller{Kind: row.Kind, Agent: row.Agent, Requests: row.Count, First: row.First, Last: row.Last})
		}
	}
	return all
}

// unknown lists the missing evidence, and the way to get it.
func (p *planner) unknown() []string {
	all := []string{}
	if p.Legacy == "" {
		return all
	}
	add := func(known bool, text string) {
		if !known {
			all = append(all, text)
		}
	}
	add(p.UsageFault == "", p.UsageFault)
	add(p.Usage != nil || p.UsageFault != "", "Who calls what: set record.dir, and let clients work for a while.")
	add(p.Import != nil || p.NoImports, "When everything was imported: run portico import all.")
	add(p.Follow == nil || p.Follow.LagSeconds != nil, "How far the store is behind the legacy store: name the operators' port of the portico serve that follows with --ops. A portico follow of its own says it in its log.")
	shadowed := slices.ContainsFunc(p.Rules, func(r proxy.Rule) bool { return r.Shadow })
	add(p.Shadow != nil || !shadowed, "What the shadow has found: start portico serve, or name its operators' port with --ops.")
	add(p.Sweep != nil, "Whether both systems answer the same: run portico compare --sweep --note --config portico.yaml --legacy "+p.Legacy+" --candidate http://127.0.0.1:8081 --credentials credentials.yaml")
	return all
}

// sweepFaults lists the findings of the last sweep that must be resolved for a resource.
func (p *planner) sweepFaults(r *Resource) []string {
	var faults []string
	switch {
	case p.Sweep == nil || r.Swept == nil:
		return []string{"No sweep has compared it: run portico compare --sweep --note."}
	case r.Swept.Different > 0:
		faults = append(faults, fmt.Sprintf("In the sweep of %s, %d of %d answers differed: find out why, and repeat it.", timeText(p.Sweep.Ended), r.Swept.Different, r.Swept.Answers))
	case !p.Sweep.Complete:
		faults = append(faults, fmt.Sprintf("The sweep of %s was not complete: repeat it without --sample, and see what it could not read.", timeText(p.Sweep.Ended)))
	}
	if p.Follow == nil && p.Import != nil && p.Import.At.After(p.Sweep.Started) {
		faults = append(faults, fmt.Sprintf("The sweep of %s is older than the last import, of %s: repeat it.", timeText(p.Sweep.Started), timeText(p.Import.At)))
	}
	return faults
}

// shadowFaults lists the findings of the shadow reads that must be resolved for a resource.
func (p *planner) shadowFaults(r *Resource) []string {
	count := r.Compared
	switch {
	case r.Calls != nil && r.Calls.Requests == 0 && r.Swept != nil && r.Swept.Different == 0:
		return nil // no client calls it, and the sweep has compared it
	case r.Calls != nil && r.Calls.Requests == 0:
		return []string{"Nobody calls " + r.Name + ", so that only a sweep can compare it: run portico compare --sweep --note."}
	case p.Shadow == nil:
		return []string{"What the shadow of " + r.Name + " has found is unknown: start portico serve, or name its operators' port with --ops."}
	case count == nil || count.Same+count.Different == 0:
		return []string{"No read of " + r.Name + " has been compared yet: let clients work."}
	case count.Different > 0:
		return []string{fmt.Sprintf("The shadow of %s: %d of %d answers differed since %s, the last one at %s, in %s; %d have been the same since. Look at /shadow of the operators' port.",
			r.Name, count.Different, count.Same+count.Different, timeText(count.Since), timeText(count.LastDifferent), joinNames(mostFrequent(count.Fields)), count.SameSince)}
	}
	return nil
}

// mostFrequent returns the first few names by their counts.
func mostFrequent(counts map[string]int64) []string {
	const most = 4
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), most)]
}

// staleness describes the changes that Portico's store may lack of a resource whose writes
// go to the legacy store.
func (p *planner) staleness(part Part) []string {
	switch {
	case p.Follow != nil:
		return p.lag(part)
	case p.NoImports:
		return []string{"portico import cannot reach the records of the configured adapter: bring the legacy store's changes over yourself."}
	case p.Import == nil:
		return []string{"No import of everything is noted, so what Portico answers may be anything: run portico import all."}
	}
	return []string{fmt.Sprintf("Portico has the legacy store's records of %s: repeat portico import --update for as long as the legacy store changes them.", timeText(p.Import.At))}
}

// maxLag is how far the store may be behind, in seconds, before the lag must be resolved.
const maxLag = 60

// lag describes the changes that the store lacks of a resource although it follows the
// legacy store.
func (p *planner) lag(part Part) []string {
	var all []string
	switch {
	case p.Follow.LagSeconds == nil:
		all = append(all, "How far the store is behind the legacy store is unknown.")
	case *p.Follow.LagSeconds > maxLag:
		all = append(all, fmt.Sprintf("The store is %.0f seconds behind the legacy store: wait until it has caught up.", *p.Follow.LagSeconds))
	}
	if parked := p.Follow.Parked[part.Name]; parked > 0 {
		all = append(all, fmt.Sprintf("Changed records that could not be stored: %d. The log of the process that follows names the reasons.", parked))
	}
	return all
}

// otherWriters names the callers that may write to the legacy store without Portico's calls.
func (p *planner) otherWriters() []string {
	return p.still("They may write: ", recording.SOAP, recording.XMLRPC, recording.Admin, recording.Storefront)
}

// leftBehind names the callers that still need the legacy store.
func (p *planner) leftBehind() []string {
	if p.Usage == nil {
		return []string{"Who still calls the legacy store is unknown: set record.dir, and let clients work for a while."}
	}
	return p.still("Portico does not serve ", recording.SOAP, recording.XMLRPC, recording.Admin, recording.Storefront)
}

// still lists the kinds of requests that the legacy store has answered.
func (p *planner) still(lead string, kinds ...string) []string {
	var all []string
	for _, kind := range kinds {
		var requests int64
		var first, last time.Time
		var agents []string
		for _, caller := range outsideCallers(p.Usage) {
			if caller.Kind != kind {
				continue
			}
			requests += caller.Requests
			agents = append(agents, caller.Agent)
			if first.IsZero() || caller.First.Before(first) {
				first = caller.First
			}
			if caller.Last.After(last) {
				last = caller.Last
			}
		}
		if requests > 0 {
			const most = 4
			shown := joinNames(agents[:min(len(agents), most)])
			if len(agents) > most {
				shown = fmt.Sprintf("%s and %d more", shown, len(agents)-most)
			}
			all = append(all, fmt.Sprintf("%s%s (%s since %s by %s, the last one at %s).", lead, kindText(kind), requestsText(requests), timeText(first), shown, timeText(last)))
		}
	}
	return all
}

func requestsText(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// kindText names a kind of requests.
func kindText(kind string) string {
	switch kind {
	case recording.SOAP:
		return "SOAP"
	case recording.XMLRPC:
		return "XML-RPC"
	case recording.Admin:
		return "the admin panel"
	}
	return "pages of the storefront"
}

// warnings describes the problems beside the steps.
func (p *planner) warnings(plan *Plan) []string {
	var all []string
	if p.Sweep != nil && strings.TrimRight(p.Sweep.Legacy, "/") != strings.TrimRight(p.Legacy, "/") {
		all = append(all, "The last sweep has compared "+p.Sweep.Legacy+", and the legacy store is at "+p.Legacy+": repeat it unless both are the same.")
	}
	last := &plan.Resources[len(plan.Resources)-1]
	if last.Step.Name == stepWait && last.State != InFront {
		all = append(all, "Portico answers "+proxy.Outside+" before all resources have moved: the legacy store does not know the tokens that Portico gives under /oauth/. Send "+proxy.Outside+" to legacy.")
	}
	for _, part := range p.Resources {
		if part.Name != part.Root {
			continue
		}
		var here, there []string
		for _, member := range p.family(part) {
			if member.Writes && p.moved(member, false) {
				here = append(here, member.Name)
			} else if !p.moved(member, true) || !p.moved(member, false) {
				there = append(there, member.Name)
			}
		}
		if p.Legacy != "" && len(here) > 0 && len(there) > 0 {
			all = append(all, "Portico answers the writes of "+joinNames(here)+", and the legacy store calls of "+joinNames(there)+". One write may change both: move them together.")
		}
	}
	for i := range plan.Resources {
		if r := &plan.Resources[i]; r.State == WritesMoved && r.Name != proxy.Outside {
			all = append(all, "Clients write "+r.Name+" to Portico, and read them from the legacy store.")
		}
	}
	return all
}
