package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// A State is how far a resource has moved.
type State string

// The states, in the order in which a resource passes through them.
const (
	// InFront: the legacy store answers, and Portico only forwards.
	InFront State = "in_front"
	// Followed: the same, and Portico's store follows the legacy store's database.
	Followed State = "followed"
	// Agreed: the same, and the last sweep found no difference that the operator has not
	// accepted.
	Agreed State = "compared"
	// Shadowed: the legacy store answers, and Portico answers reads again for comparison.
	Shadowed State = "shadowed"
	// ReadsMoved: Portico answers reads, the legacy store writes.
	ReadsMoved State = "reads_moved"
	// WritesMoved: Portico answers writes, the legacy store reads. No step leads here.
	WritesMoved State = "writes_moved"
	// Moved: Portico answers all calls. The legacy store lacks the writes of clients.
	Moved State = "moved"
	// Mirrored: Portico answers all calls, and repeats the writes at the legacy store.
	Mirrored State = "mirrored"
	// Alone: the same, and there is no legacy store.
	Alone State = "alone"
)

// A Plan is the present state of a migration, with its next steps. Its JSON is stable: members
// may be added.
type Plan struct {
	Legacy string `json:"legacy"` // base URL of the legacy store
	// Next names the resource whose step comes first, "" if no step can be taken.
	Next      string     `json:"next"`
	Resources []Resource `json:"resources"` // the most called ones come first
	Import    *Import    `json:"import"`
	Follow    *Follow    `json:"follow"`
	Sweep     *Sweep     `json:"sweep"`
	// Conflicts counts the values that both a client and the legacy store have changed, by their
	// outcome; nil if that is unknown.
	Conflicts map[string]int64 `json:"conflicts"`
	// Outside has the programs that call the legacy store outside the interface, nil if that is
	// unknown.
	Outside []outsideCaller `json:"outside"`
	// Unknown lists the missing evidence, and the way to get it.
	Unknown  []string `json:"unknown"`
	Warnings []string `json:"warnings"`
}

// A Resource is the state of one resource, or of [proxy.Outside].
type Resource struct {
	Name   string `json:"resource"`
	State  State  `json:"state"`
	Reads  string `json:"reads"`  // the system that answers them: portico or legacy
	Writes string `json:"writes"` // "" if there are none
	Shadow bool   `json:"shadow"` // whether reads go to the other system, too
	// Evidence; nil if there is none.
	Calls    *calls       `json:"calls"`
	Compared *shadowCount `json:"compared"` // by shadow reads
	Swept    *Compared    `json:"swept"`
	Mirror   *Mirror      `json:"mirror"`
	// Back describes the way back from the present state.
	Back string `json:"back"`
	Step Step   `json:"step"`
}

// A Step is the next step of a resource.
type Step struct {
	// Name is import, shadow, move_reads, prepare, move_writes, settle, end_shadow,
	// move_outside, turn_off, wait or none.
	Name  string `json:"name"`
	Title string `json:"title"`
	// First lists the findings that must be resolved before.
	First []string `json:"first"`
	// Commands and Lines are to be run, and to replace sections of the configuration.
	Commands []string `json:"commands"`
	Lines    []string `json:"lines"`
	// Restart: the lines take effect when Portico starts, not at a reload.
	Restart bool `json:"restart"`
	// Back describes the effect of the step on the way back.
	Back string `json:"back"`
}

// The names of steps.
const (
	stepImport      = "import"
	stepShadow      = "shadow"
	stepMoveReads   = "move_reads"
	stepPrepare     = "prepare"
	stepMoveWrites  = "move_writes"
	stepSettle      = "settle"
	stepEndShadow   = "end_shadow"
	stepMoveOutside = "move_outside"
	stepTurnOff     = "turn_off"
	stepWait        = "wait"
	stepNone        = "none"
)

// New returns the plan for a situation.
func New(s *Situation) *Plan {
	p := &planner{Situation: s, calls: callsByResource(s), shadows: shadowsByResource(s)}
	plan := &Plan{Legacy: s.Legacy, Import: s.Import, Follow: s.Follow, Sweep: s.Sweep, Conflicts: s.Conflicts, Outside: outsideCallers(s.Usage), Unknown: p.unknown(), Warnings: []string{}}
	for _, part := range p.order() {
		plan.Resources = append(plan.Resources, p.resource(part))
	}
	plan.Resources = append(plan.Resources, p.outside(plan))
	plan.Warnings = append(plan.Warnings, p.warnings(plan)...)
	for i := range plan.Resources {
		if name := plan.Resources[i].Step.Name; name != stepWait && name != stepNone {
			plan.Next = plan.Resources[i].Name
			break
		}
	}
	return plan
}

// A planner makes a plan.
type planner struct {
	*Situation
	calls   map[string]*calls
	shadows map[string]*shadowCount
}

// order returns the resources in the order in which to move them: the most called records come
// first, with their parts behind them.
func (p *planner) order() []Part {
	requests := map[string]int64{}
	for _, part := range p.Resources {
		if calls := p.calls[part.Name]; calls != nil {
			requests[part.Root] += calls.Requests
		}
	}
	first := func(root string) int {
		return slices.IndexFunc(p.Resources, func(other Part) bool { return other.Root == root })
	}
	ordered := slices.Clone(p.Resources)
	slices.SortStableFunc(ordered, func(a, b Part) int {
		isPart := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(requests[b.Root], requests[a.Root]), cmp.Compare(first(a.Root), first(b.Root)),
			cmp.Compare(isPart[a.Name != a.Root], isPart[b.Name != b.Root]))
	})
	return ordered
}

// rule returns the rule for the reads or the writes of a resource.
func (p *planner) rule(resource string, reads bool) proxy.Rule {
	address := contract.Address{ReadOnly: reads}
	if resource != proxy.Outside {
		address.Route = &contract.Route{Resource: resource}
	}
	return p.Rules.For(&address)
}

// moved reports whether Portico answers the reads or the writes of a resource. It answers the
// writes of a resource without any as soon as it answers the reads.
func (p *planner) moved(part Part, reads bool) bool {
	return p.rule(part.Name, reads || !part.Writes).To == proxy.Portico
}

// resource returns the state of a resource, and its next step.
func (p *planner) resource(part Part) Resource {
	reads := p.rule(part.Name, true)
	r := p.evidence(part)
	r.Reads, r.Shadow = nameOf(reads.To), reads.Shadow
	if part.Writes {
		r.Writes = nameOf(p.rule(part.Name, false).To)
	}
	r.State = p.state(part, r)
	r.Back, r.Step = p.back(part, r), p.step(part, r)
	return *r
}

// evidence returns a resource with its counts.
func (p *planner) evidence(part Part) *Resource {
	r := &Resource{Name: part.Name, Calls: p.calls[part.Name], Compared: p.shadows[part.Name]}
	if p.Sweep != nil {
		if swept, ok := p.Sweep.Resources[part.Name]; ok {
			r.Swept = &swept
		}
	}
	mirror, ok := p.Mirrors[part.Name]
	if !ok {
		mirror.Owner = nameOf(proxy.Legacy)
	}
	if ok || p.Mirrors != nil && p.mirrors(part) {
		r.Mirror = &mirror
	}
	return r
}

// state returns how far a resource has moved.
func (p *planner) state(part Part, r *Resource) State {
	readsMoved, writesMoved := p.moved(part, true), p.moved(part, false)
	switch {
	case p.Legacy == "":
		return Alone
	case readsMoved && p.mirrors(part):
		return Mirrored
	case readsMoved && writesMoved:
		return Moved
	case readsMoved:
		return ReadsMoved
	case writesMoved:
		return WritesMoved
	case r.Shadow:
		return Shadowed
	case p.Sweep != nil && p.Sweep.Complete && r.Swept != nil && r.Swept.Different == 0:
		return Agreed
	case p.Follow != nil:
		return Followed
	}
	return InFront
}

const (
	wayIsOpen = "Restore the former lines and reload: the legacy store has everything."
	wayEnded  = "Only by hand: the legacy store lacks what clients have written to Portico. Write it there before the legacy store answers again."
)

// back describes the way back from the present state.
func (p *planner) back(part Part, r *Resource) string {
	switch {
	case r.State == Alone:
		return "None: there is no legacy store."
	case r.State == Mirrored, r.Mirror != nil && r.Mirror.Owner == nameOf(proxy.Portico):
		return mirroredBack(r.Mirror)
	case part.Writes && p.moved(part, false):
		return wayEnded
	}
	if shown := p.mirroredAndShown(part); len(shown) > 0 && p.moved(part, true) {
		return "Send the writes of " + joinNames(shown) + " back to the legacy store first: these reads show them. Then restore the former lines and reload."
	}
	return wayIsOpen
}

// family returns the parts of the records of which part has parts.
func (p *planner) family(part Part) []Part {
	return slices.DeleteFunc(p.order(), func(other Part) bool { return other.Root != part.Root })
}

// step returns the next step of a resource.
func (p *planner) step(part Part, r *Resource) Step {
	if s, ok := settleWrites(r); ok {
		return s
	}
	switch r.State {
	case Alone:
		return step(stepNone, "Nothing is left to do.", "")
	case Moved, Mirrored:
		if r.Shadow && r.State == Moved && part.Writes {
			s := step(stepEndShadow, "Stop asking the legacy store: it lacks what clients write, so its answers differ.", "The way back stays as it is.")
			s.Lines = Lines(withRule(p.Rules, proxy.Rule{Resource: part.Name, To: proxy.Portico}))
			return s
		}
		s := step(stepNone, "Nothing is left to do until everything has moved.", "")
		if r.State == Mirrored || !part.Writes {
			s.before(p.staleness(part))
		}
		return s
	case WritesMoved:
		s := step(stepMoveReads, "Let Portico answer the reads, too: clients read from the legacy store, which lacks what they write to Portico.", "The way back stays as it is.")
		s.Lines = Lines(withRule(p.Rules, proxy.Rule{Resource: part.Name, To: proxy.Portico}))
		return s
	case ReadsMoved:
		return p.moveWrites(part)
	case Shadowed:
		return p.moveReads(part, r)
	}
	if p.Import == nil && !p.NoImports {
		s := step(stepImport, "Import the legacy store, so that Portico has something to answer.", "The way back stays open: the legacy store is only read.")
		s.Commands = append(s.Commands, importCommand)
		return s
	}
	s := step(stepShadow, "Let Portico answer reads a second time, in the background, and count the differences.", "The way back stays open: clients get the legacy store's answers.")
	s.before(p.sweepFaults(r), p.staleness(part))
	s.Lines = Lines(withRule(p.Rules, proxy.Rule{Resource: part.Name, Calls: proxy.Reads, To: proxy.Legacy, Shadow: true}))
	return s
}

const (
	importCommand = "portico import --config portico.yaml --from-file old.dsn --media /var/www/shop/media all"
	updateCommand = "portico import --config portico.yaml --from-file old.dsn --media /var/www/shop/media --update all"
)

// step returns a step without anything to resolve before.
func step(name, title, back string) Step {
	return Step{Name: name, Title: title, Back: back, First: []string{}, Commands: []string{}, Lines: []string{}}
}

// before adds findings that must be resolved before a step.
func (s *Step) before(lists ...[]string) {
	for _, list := range lists {
		s.First = append(s.First, list...)
	}
}

// moveReads returns the step after which Portico answers the reads of a shadowed resource.
func (p *planner) moveReads(part Part, r *Resource) Step {
	s := step(stepMoveReads, "Let Portico answer the reads, and ask the legacy store in the background.", "The way back stays open: the legacy store still gets every write.")
	s.before(p.shadowFaults(r), p.sweepFaults(r), p.staleness(part))
	s.Lines = Lines(withRule(p.Rules, proxy.Rule{Resource: part.Name, Calls: proxy.Reads, To: proxy.Portico, Shadow: true}))
	return s
}

// outside returns the state of everything that has no route. The resources of plan are complete.
func (p *planner) outside(plan *Plan) Resource {
	rules := [2]proxy.Rule{p.rule(proxy.Outside, true), p.rule(proxy.Outside, false)}
	r := Resource{Name: proxy.Outside, Reads: nameOf(rules[0].To), Writes: nameOf(rules[1].To), Back: wayIsOpen, State: Moved}
	var waits []string
	mirrored := false
	for i := range plan.Resources {
		state := plan.Resources[i].State
		mirrored = mirrored || state == Mirrored
		if state != Moved && state != Mirrored && state != Alone {
			waits = append(waits, plan.Resources[i].Name)
		}
	}
	switch {
	case p.Legacy == "":
		r.State, r.Back = Alone, "None: there is no legacy store."
		r.Step = step(stepNone, "Nothing is left to do.", "")
		return r
	case rules[0].To == proxy.Legacy && rules[1].To == proxy.Legacy:
		r.State = InFront
	case rules[0].To == proxy.Legacy:
		r.State = WritesMoved
	case rules[1].To == proxy.Legacy:
		r.State = ReadsMoved
	}
	switch {
	case len(waits) > 0:
		r.Step = step(stepWait, "Wait until all resources have moved: /oauth/, images and all other paths come last.", "The way back stays open.")
	case mirrored:
		r.Step = p.leave(plan)
	case r.State != Moved:
		r.Step = step(stepMoveOutside, "Let Portico answer everything: /oauth/ and images, and an error for what it does not have.",
			"The way back stays open for these paths: restore the lines. Tokens that Portico gives from then on are unknown to the legacy store.")
		r.Step.before(p.leftBehind())
		p.addLastImport(&r.Step)
		r.Step.Lines = Lines(nil)
	default:
		r.Step = step(stepTurnOff, "Turn the legacy store off: no request goes there.", "The way back ends when the legacy store's database is deleted: keep a copy.")
		r.Step.before(p.leftBehind())
		r.Step.Lines = []string{"routes: []", "legacy:", `  url: ""`}
		r.Step.Restart = true
	}
	return r
}

// nameOf returns the name of a system.
func nameOf(to proxy.Target) string {
	if to == proxy.Legacy {
		return "legacy"
	}
	return "portico"
}

// joinNames joins names to an enumeration.
func joinNames(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// timeText formats a time.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
