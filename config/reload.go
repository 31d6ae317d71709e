package config

import (
	"reflect"
	"slices"
)

// Reload decides whether a process that runs with c can apply next. Both must come from
// [Load]. It returns the names of the settings and tables whose values differ, in the order of
// [Settings] and [Tables]. If any of them needs a restart, the error is [Faults] with one
// fault for each such name, and next must not be applied in part.
func (c *Config) Reload(next *Config) (changed []string, err error) {
	var faults Faults
	add := func(name string, reload bool, before, after string) {
		changed = append(changed, name)
		if !reload {
			faults = append(faults, Fault{Setting: name, Origin: after, Problem: restartProblem(before, after)})
		}
	}
	for _, s := range next.loaded.settings {
		before, after := c.loaded.values[s.Name], next.loaded.values[s.Name]
		if before.text != after.text && !reflect.DeepEqual(before.parsed, after.parsed) {
			add(s.Name, s.Reload, before.origin, after.origin)
		}
	}
	for _, t := range Tables() {
		if before, after := c.loaded, next.loaded; !sameEntries(t, before.entries[t.Name], after.entries[t.Name]) {
			add(t.Name, t.Reload, before.tableOrigin(t), after.tableOrigin(t))
		}
	}
	return changed, faults.err()
}

// restartProblem describes a change that needs a restart. A value that is no longer set has
// no place of its own, so the problem names the place where it was set before.
func restartProblem(before, after string) string {
	const problem = "has changed, which takes effect only with a restart: restart Portico, or restore the former value"
	if after == defaultOrigin && before != defaultOrigin {
		return problem + ", set before at " + before
	}
	return problem
}

// sameEntries reports whether two lists of entries have the same values in the same order.
func sameEntries(t Table, before, after []entry) bool {
	return slices.EqualFunc(before, after, func(b, a entry) bool { return b.text(t) == a.text(t) })
}

// tableOrigin returns where a table is set.
func (l *loader) tableOrigin(t Table) string {
	if origin, ok := l.origins[t.Name]; ok {
		return origin
	}
	return defaultOrigin
}
