package app

import (
	"cmp"
	"context"
	"os"
	"strings"
	"sync"
	"time"

	webconsole "github.com/portico-commerce/portico/cmd/portico/app/console"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
	"github.com/portico-commerce/portico/mapping/redact"
)

// maxRefusedCalls is the number of refused calls that are remembered.
const maxRefusedCalls = 200

// refusedCalls are the latest calls whose credentials were refused. It is safe for concurrent use.
type refusedCalls struct {
	mu    sync.Mutex
	calls [maxRefusedCalls]webconsole.RefusedCall
	count int // of all calls so far
}

// add stores a call. If there are too many, it replaces the oldest one.
func (c *refusedCalls) add(r httpapi.RefusedRequest) {
	call := webconsole.RefusedCall{
		Time: time.Now(), Consumer: strings.Clone(redact.Consumer(r.Request)), Call: r.Call, Method: contract.MethodLabel(r.Request.Method),
		// Without the clones, the whole head of the request would stay in memory.
		Path: strings.Clone(redact.Path(r.Request.URL.EscapedPath())), Agent: strings.Clone(redact.Agent(r.Request.Header)), Client: r.Client, Problem: r.Problem,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[c.count%maxRefusedCalls] = call
	c.count++
}

// all returns the calls, the last first.
func (c *refusedCalls) all() (all []webconsole.RefusedCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range min(c.count, maxRefusedCalls) {
		all = append(all, c.calls[(c.count-1-i)%maxRefusedCalls])
	}
	return all
}

// callers returns the clients with the calls that they make, from the recorded counts of all
// processes, and the registered programs that have not called.
func (p *consoleParts) callers(ctx context.Context) (*webconsole.CallerReport, error) {
	report, byKey := &webconsole.CallerReport{}, map[string]*webconsole.Caller{}
	caller := func(key string) *webconsole.Caller {
		folded := strings.ToLower(key)
		if byKey[folded] == nil {
			byKey[folded] = &webconsole.Caller{Key: key}
		}
		return byKey[folded]
	}
	usage, missing := p.usage()
	report.Missing = missing
	sums := map[*webconsole.Caller]*recording.CallUsage{}
	if usage != nil {
		for _, row := range usage.Rows() {
			c := caller(row.Consumer)
			if sums[c] == nil {
				sums[c] = recording.NewCallUsage(&row)
			}
			sums[c].Add(&row)
		}
		for _, u := range recording.NewUsageReport(usage, mapping.Calls()).Calls {
			c := caller(u.Consumer)
			c.Calls = append(c.Calls, webconsole.CallUsage{Call: u.Call, Usage: usageOf(&u)})
		}
	}
	for c, sum := range sums {
		c.Usage = usageOf(sum)
	}
	grants, err := p.db.Credentials().List(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		c := caller(redact.KeyName(g.Consumer.Key))
		c.Names = append(c.Names, cmp.Or(g.Consumer.Name, "(no name)"))
	}
	for _, c := range byKey {
		report.Callers = append(report.Callers, *c)
	}
	return report, nil
}

// usage returns the recorded counts, or the reason why they are missing.
func (p *consoleParts) usage() (usage *recording.Usage, missing string) {
	dir := p.current().Record.Dir
	if dir == "" {
		return nil, "Calls are not counted: set record.dir, and reload."
	}
	usage, err := recording.ReadUsage(os.DirFS(dir))
	if err != nil {
		return nil, "There are no counts yet, or they cannot be read: " + err.Error()
	}
	return usage, ""
}

// usageOf converts counts.
func usageOf(u *recording.CallUsage) webconsole.Usage {
	return webconsole.Usage{
		Requests: u.Requests, Refused: u.Refused, Failed: u.Failed, Legacy: u.Legacy,
		Formats: recording.ByCount(u.Formats), Agents: recording.ByCount(u.Agents), First: u.First, Last: u.Last,
	}
}
