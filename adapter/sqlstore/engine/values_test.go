package engine

import "testing"

func TestFourPlaces(t *testing.T) {
	for s, want := range map[string]bool{
		"0.0000": true, "-0.0001": true, "99999999.9999": true,
		"": false, ".0000": false, "-.0000": false, "1": false, "1.000": false, "1.00000": false, "1e.0000": false, "1.00e0": false, "--1.0000": false, "NaN": false,
	} {
		if hasFourPlaces(s) != want {
			t.Errorf("fourPlaces(%q) is not %v", s, want)
		}
	}
}
