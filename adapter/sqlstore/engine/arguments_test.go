package engine

import (
	"slices"
	"testing"
)

func TestPadToPowerOfTwo(t *testing.T) {
	for _, test := range []struct {
		name     string
		in, want []any
	}{
		{"none", []any{}, []any{}},
		{"one", []any{1}, []any{1}},
		{"two", []any{1, 2}, []any{1, 2}},
		{"three", []any{1, 2, 3}, []any{1, 2, 3, 3}},
		{"five", []any{1, 2, 3, 4, 5}, []any{1, 2, 3, 4, 5, 5, 5, 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := PadToPowerOfTwo(test.in); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
