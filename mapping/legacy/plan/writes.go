package plan

import (
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// moveWrites returns the step after which Portico answers the writes of a resource whose reads it
// answers, with the writes of the other parts of its records.
func (p *planner) moveWrites(part Part) Step {
	const open = "The way back stays open."
	var names, waits, first []string
	for _, member := range p.family(part) {
		if p.moved(member, false) {
			continue
		}
		names = append(names, member.Name)
		first = append(first, p.shadowFaults(p.evidence(member))...)
		for _, name := range p.readsBehind(member) {
			if !slices.Contains(waits, name) {
				waits = append(waits, name)
			}
		}
	}
	switch {
	case len(waits) > 0:
		s := step(stepWait, "Wait with the writes until Portico answers the reads of "+joinNames(waits)+", too: they show what these writes change.", open)
		s.before(p.staleness(part))
		return s
	case p.unmirrored():
		return p.moveWritesUnmirrored(part, names, first)
	case len(p.Unset) > 0:
		s := step(stepPrepare, "Set "+joinNames(p.Unset)+", and restart: Portico repeats clients' writes at the legacy store as an Admin, and reads from its database what has become of them.", open)
		s.before(p.staleness(part))
		return s
	}
	s := step(stepMoveWrites, "Let Portico answer the writes of "+together(names)+", and repeat them at the legacy store.",
		"The way back stays open: restore the former lines, those without mirror: true, and reload. The writes go back once the legacy store has all of them.")
	s.before(first, p.staleness(part))
	rules := p.Rules
	for _, name := range names {
		if p.rule(name, true).Shadow { // the legacy store gets each write a little later
			rules = withRule(rules, proxy.Rule{Resource: name, Calls: proxy.Reads, To: proxy.Portico})
		}
		rules = withRule(rules, proxy.Rule{Resource: name, Calls: proxy.Writes, To: proxy.Portico, Mirror: true})
	}
	s.Lines = Lines(rules)
	return s
}

// together joins the names of resources that move in one step.
func together(names []string) string {
	if len(names) < 2 {
		return joinNames(names)
	}
	return joinNames(names) + ", together"
}

// unmirrored reports whether writes move without being repeated at the legacy store: the adapter
// cannot do that, or others have moved so, and following the legacy store would undo them.
func (p *planner) unmirrored() bool {
	return p.NoMirror || slices.ContainsFunc(p.Resources, func(part Part) bool {
		return part.Writes && p.moved(part, false) && !p.mirrors(part)
	})
}

// mirrors reports whether the rules mirror the writes of a resource, if it has any.
func (p *planner) mirrors(part Part) bool { return part.Writes && p.Rules.Mirrors(part.Name) }

// moveWritesUnmirrored is the step of moveWrites if the legacy store does not get the writes.
func (p *planner) moveWritesUnmirrored(part Part, names, first []string) Step {
	s := step(stepMoveWrites, "Let Portico answer the writes of "+together(names)+".",
		"The way back ends: the legacy store lacks what clients write to Portico from then on. To go back, write it there first.")
	var all []string
	for _, member := range p.family(part) {
		all = append(all, member.Name)
	}
	s.before(first, []string{"The two systems do not share a store. From then on Portico takes over no change that the legacy store itself makes to records that Portico has of " + joinNames(all) +
		". These changes have to end: in its admin panel and storefront, and by SOAP and XML-RPC."}, p.otherWriters())
	p.addLastImport(&s)
	if s.Restart = p.Follow != nil; s.Restart {
		s.First = append(s.First, "Remove follow.dsn together with these lines, and restart: what follows the legacy store would undo what clients write here. From then on the command brings over what others change there.")
	}
	rules := p.Rules
	for _, name := range names {
		rules = withRule(rules, proxy.Rule{Resource: name, To: proxy.Portico})
	}
	s.Lines = Lines(rules)
	return s
}

// addLastImport adds the way in which the last writes to a legacy store reach Portico if Portico
// does not follow it.
func (p *planner) addLastImport(s *Step) {
	if p.NoImports {
		s.First = append(s.First, "Stop the writes to the legacy store, and bring the last ones over before you reload.")
		return
	}
	s.First = append(s.First, "Stop the writes to the legacy store, and fetch the last ones with the command, before you reload.")
	s.Commands = append(s.Commands, updateCommand)
}

// mirroredAndShown returns the resources whose writes are mirrored, and shown by the reads of
// part.
func (p *planner) mirroredAndShown(part Part) (names []string) {
	for _, other := range p.Resources {
		if p.mirrors(other) && slices.Contains(contract.ShownBy(other.Name), part.Name) {
			names = append(names, other.Name)
		}
	}
	return names
}

// mirroredBack describes the way back of a resource whose writes Portico has and mirrors.
func mirroredBack(m *Mirror) string {
	back := "Send the writes to legacy again, without mirror: true, and reload: they go back once the legacy store has all of them."
	if m != nil && m.Parked+m.Unknown > 0 {
		back += " It does not get some of them: see portico mirror list."
	}
	if m != nil && m.Held > 0 {
		back += fmt.Sprintf(" It will lack changes for which its interface has no form (%d): see portico mirror list --held.", m.Held)
	}
	return back + " This way ends when the legacy store is left."
}

// inPlace reports whether the writes of a resource are known to be where the rules send them.
func inPlace(r *Resource) bool {
	if r.Mirror == nil {
		return r.State != Mirrored
	}
	return !r.Mirror.Turning && (r.State == Mirrored) == (r.Mirror.Owner == nameOf(proxy.Portico))
}

// owed returns the reasons why the writes of a resource are not where the rules send them, and
// the changes that the legacy store lacks.
func owed(r *Resource) (all []string) {
	m := r.Mirror
	switch {
	case m == nil && inPlace(r):
		return nil
	case m == nil:
		return []string{"Which system has the writes of " + r.Name + " is unknown, because the store cannot be read."}
	case !inPlace(r):
		all = append(all, "The writes of "+r.Name+" have not changed sides: "+m.Owner+" still has them. All processes have to run with these routes; the log of portico serve says what else is missing.")
	}
	if m.Unknown > 0 {
		all = append(all, fmt.Sprintf("Nobody knows whether the legacy store has created some records of %s: %d. Look at portico mirror list.", r.Name, m.Unknown))
	}
	if m.Parked > 0 {
		all = append(all, fmt.Sprintf("The legacy store refuses changes of %s: %d. Look at portico mirror list.", r.Name, m.Parked))
	}
	if m.Waiting > 0 {
		all = append(all, fmt.Sprintf("Changes of %s wait to be repeated at the legacy store: %d, the oldest since %s.", r.Name, m.Waiting, timeText(m.Oldest)))
	}
	return all
}

// settleWrites returns the step that brings the writes of a resource where the rules send them,
// and brings the legacy store the changes that it does not get by itself. ok is false if there is
// nothing to do.
func settleWrites(r *Resource) (s Step, ok bool) {
	switch m := r.Mirror; {
	case m != nil && m.Parked+m.Unknown > 0:
		s = step(stepSettle, "See what the legacy store does not get, and retry or skip it.", "The way back stays open. Until this is settled the writes cannot go back, and the legacy store should not be left.")
		s.Commands = append(s.Commands, "portico mirror list --config portico.yaml")
	case !inPlace(r):
		s = step(stepWait, "Wait until the writes have changed sides: "+r.Writes+" is to have them.", "The way back stays open.")
	default:
		return s, false
	}
	s.before(owed(r))
	return s, true
}

// leave returns the step that ends mirroring, following and the legacy store, once that has all
// writes. The resources of plan are complete.
func (p *planner) leave(plan *Plan) Step {
	var lacking []string
	for i := range plan.Resources {
		lacking = append(lacking, owed(&plan.Resources[i])...)
	}
	if len(lacking) > 0 {
		s := step(stepWait, "Wait until the legacy store has all writes.", "The way back stays open.")
		s.before(lacking)
		return s
	}
	s := step(stepTurnOff, "Leave the legacy store: Portico answers everything, repeats no more writes there, and follows it no longer. Then turn it off.",
		"The way back ends: from then on the legacy store lacks what clients write, and does not know the tokens that Portico gives. Keep a copy of its database.")
	s.before(p.leftBehind(), []string{
		"Stop the writes to the legacy store, wait until the store has followed the last one, and run portico plan again.",
		"Unset PORTICO_FOLLOW_DSN and PORTICO_LEGACY_URL where they are set: the environment overrides these lines.",
	})
	s.Lines = []string{"routes: []", "follow:", `  dsn: ""`, "legacy:", `  url: ""`}
	s.Restart = true
	return s
}
