package replica

import "slices"

// reordered reports whether the elements that two lists without duplicates share are in another order
// in the second one.
func reordered(before, after []string) bool {
	return !slices.Equal(sharedWith(after, before), sharedWith(before, after))
}

// sharedWith returns the elements of a list that another list has, too.
func sharedWith(other, list []string) []string {
	has := make(map[string]bool, len(other))
	for _, one := range other {
		has[one] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return !has[one] })
}
