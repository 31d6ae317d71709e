package contracttests

import "testing"

// TestRichExchanges checks that the recorded reads of the larger shop are complete.
func TestRichExchanges(t *testing.T) {
	cases, err := RichExchanges()
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for i := range cases {
		steps += len(cases[i].Steps)
		if cases[i].isWrite() || cases[i].Differs == "" {
			t.Errorf("%s writes, or does not say that it holds in one dialect only", cases[i].Name)
		}
	}
	if len(cases) != 136 || steps != 772 {
		t.Errorf("%d cases with %d requests, want 136 with 772", len(cases), steps)
	}
}
