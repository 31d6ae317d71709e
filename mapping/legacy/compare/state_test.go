package compare

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestState checks that a state is encoded and decoded whole.
func TestState(t *testing.T) {
	settings := []SweepSetting{{"--legacy", "http://a"}, {"--seed", "1"}}
	want := &SweepState{
		Version: stateVersion, Settings: settings, Stores: []string{"1"}, Lists: []sweepLength{{"/orders", "admin", [2]int64{7, 8}}}, Phase: 1,
		Lanes: sweepLanes{Done: 3, Above: []int{5}, Open: map[int]sweepPosition{4: {Pages: [2]int{2, 3}, After: 100, Done: []int64{101}}}},
		Found: map[string][]string{"/products/:id/categories": {"4", "10"}}, Pages: 9, Records: 4, RecordReads: 40, Report: json.RawMessage(`{"a":1}`),
	}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeSweepState("sweep.state", data, settings); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %v (%v)", got, err)
	}
}

// TestStateRefused checks that the state of another sweep and invalid data are refused.
func TestStateRefused(t *testing.T) {
	settings := []SweepSetting{{"--legacy", "http://a"}, {"--seed", "1"}}
	tests := []struct{ name, content, want string }{
		{"other systems", `{"version":1,"settings":[{"name":"--legacy","value":"http://b"},{"name":"--seed","value":"1"}]}`, `its --legacy is "http://b", not "http://a"`},
		{"other settings", `{"version":1,"settings":[{"name":"--legacy","value":"http://a"}]}`, "it has other settings"},
		{"other version", `{"version":2,"settings":[]}`, "no state of a sweep of this version"},
		{"unknown field", `{"version":1,"more":1}`, "no state of a sweep"},
		{"broken", `{"version":1,`, "no state of a sweep"},
		{"page 0", `{"version":1,"lanes":{"done":0,"open":{"0":{"pages":[0,1],"after":0,"ended":[false,false]}}}}`, "no state of a sweep"},
		{"key that is a path", `{"version":1,"found":{"/products/:id/categories":["../x"]}}`, "no state of a sweep"},
		{"store that is a path", `{"version":1,"stores":["../x"]}`, "no state of a sweep"},
		{"negative length", `{"version":1,"lists":[{"list":"/orders","caller":"admin","records":[-1,0]}]}`, "no state of a sweep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := DecodeSweepState("sweep.state", []byte(tt.content), settings); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
