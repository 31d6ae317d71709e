package testenv

import (
	"fmt"
	"maps"
	"slices"
)

// CheckBatches decides whether some order of whole batches explains the values that concurrent
// batches have left behind. written has the items that each batch wrote, by the number of the
// batch, and last the batch whose value each item holds in the end. The error names the item or
// the batches that no order explains.
func CheckBatches(written map[int][]string, last map[string]int) error {
	before := map[int]map[int]bool{} // by batch: the batches that it must come after
	for batch, items := range written {
		for _, item := range items {
			winner, ok := last[item]
			switch {
			case !ok || !slices.Contains(written[winner], item):
				return fmt.Errorf("%s holds a value that no batch wrote to it, though batch %d did write to it", item, batch)
			case before[winner] == nil:
				before[winner] = map[int]bool{}
			}
			if batch != winner {
				before[winner][batch] = true
			}
		}
	}
	// Remove batches in the order of a possible sequence.
	for len(before) > 0 {
		size := len(before)
		maps.DeleteFunc(before, func(_ int, others map[int]bool) bool {
			for batch := range others {
				if before[batch] != nil {
					return false
				}
			}
			return true
		})
		if len(before) == size {
			return fmt.Errorf("no order of the batches has this result: each of %v would come after another one of them", slices.Sorted(maps.Keys(before)))
		}
	}
	return nil
}
