package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A SweepState is the saved state of a sweep, as its state file holds it.
type SweepState struct {
	Version int `json:"version"`
	// Settings are the options of which a sweep may not change any until it is complete.
	Settings []SweepSetting `json:"settings"`
	// Stores and Lists are set once the sweep is planned.
	Stores []string      `json:"stores"`
	Lists  []sweepLength `json:"lists"`
	Phase  int           `json:"phase"`
	Lanes  sweepLanes    `json:"lanes"`
	// Found has the keys of the lists that other lists depend on, by path of the list.
	Found map[string][]string `json:"found,omitempty"`
	// Pages, Records and RecordReads count the list pages read, the records read and the requests
	// for these records.
	Pages       int64 `json:"pages"`
	Records     int64 `json:"records"`
	RecordReads int64 `json:"record_reads"`
	// Report is the report so far.
	Report json.RawMessage `json:"report,omitempty"`
}

// A SweepSetting is an option of a sweep, with its value.
type SweepSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A sweepLength is the number of records of a list.
type sweepLength struct {
	List    string   `json:"list"` // path
	Caller  string   `json:"caller"`
	Records [2]int64 `json:"records"` // of each system
}

// sweepLanes is the progress through the lists of a phase, which are numbered.
type sweepLanes struct {
	Done  int                   `json:"done"`            // all below are complete
	Above []int                 `json:"above,omitempty"` // complete ones above Done
	Open  map[int]sweepPosition `json:"open,omitempty"`
}

// A sweepPosition is the place in a list that has been reached.
type sweepPosition struct {
	Pages [2]int  `json:"pages"` // next page of each system, from 1
	After int64   `json:"after"` // records up to this id are compared
	Ended [2]bool `json:"ended"`
	// Done are records after that id that were read one by one.
	Done []int64 `json:"done,omitempty"`
	// Partly: some records of the next page may have been compared already.
	Partly [2]bool `json:"partly,omitzero"`
	// Unordered: the list is not in the order of the ids, and After is 0.
	Unordered bool `json:"unordered,omitempty"`
}

// isDone reports whether a list is complete.
func (l *sweepLanes) isDone(number int) bool {
	return number < l.Done || slices.Contains(l.Above, number)
}

// finish marks a list as complete.
func (l *sweepLanes) finish(number int) {
	delete(l.Open, number)
	l.Above = append(l.Above, number)
	slices.Sort(l.Above)
	for len(l.Above) > 0 && l.Above[0] == l.Done {
		l.Done, l.Above = l.Done+1, l.Above[1:]
	}
}

const (
	stateVersion = 1
	// MaxSweepState is the maximum size of a file, in bytes.
	MaxSweepState = 64 << 20
)

// NewSweepState returns the state of a sweep that has not begun.
func NewSweepState(settings []SweepSetting) *SweepState {
	return &SweepState{Version: stateVersion, Settings: settings}
}

// DecodeSweepState decodes the state that a sweep with the given settings has saved in a file,
// whose name is for errors. It fails for a file of another sweep.
func DecodeSweepState(name string, data []byte, settings []SweepSetting) (*SweepState, error) {
	var s SweepState
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil || s.Version != stateVersion || !s.valid() {
		return nil, fmt.Errorf("%s is no state of a sweep of this version: name another file, or delete it", name)
	}
	if err := sameSettings(s.Settings, settings); err != nil {
		return nil, fmt.Errorf("%s is the state of another sweep: %w; repeat the options of that sweep, or name another file", name, err)
	}
	return &s, nil
}

// valid reports whether all numbers and keys of s are possible.
func (s *SweepState) valid() bool {
	ok := s.Phase >= 0 && s.Phase <= phases && s.Pages >= 0 && s.Records >= 0 && s.RecordReads >= 0 && s.Lanes.Done >= 0
	for _, p := range s.Lanes.Open {
		ok = ok && p.Pages[0] >= 1 && p.Pages[1] >= 1
	}
	for _, keys := range s.Found {
		ok = ok && len(keys) <= maxFound && !slices.ContainsFunc(keys, func(key string) bool { return !plainKey.MatchString(key) })
	}
	for _, l := range s.Lists {
		ok = ok && min(l.Records[0], l.Records[1]) >= 0 && max(l.Records[0], l.Records[1]) <= maxRecords
	}
	return ok && !slices.ContainsFunc(s.Stores, func(store string) bool { return !plainKey.MatchString(store) })
}

// sameSettings returns an error that names the first setting in which two sweeps differ.
func sameSettings(saved, now []SweepSetting) error {
	for i := range max(len(saved), len(now)) {
		switch {
		case i >= len(saved) || i >= len(now) || saved[i].Name != now[i].Name:
			return errors.New("it has other settings")
		case saved[i].Value != now[i].Value:
			return fmt.Errorf("its %s is %q, not %q", now[i].Name, saved[i].Value, now[i].Value)
		}
	}
	return nil
}

// Encode encodes the state for DecodeState. The result can contain data of a store.
func (s *SweepState) Encode() ([]byte, error) {
	data, err := json.Marshal(s)
	if err == nil && len(data) > MaxSweepState {
		err = fmt.Errorf("the state of the sweep is larger than %d bytes", MaxSweepState)
	}
	return data, err
}

// sortedKeys returns sets of keys as sorted lists: shorter keys first, so that numbers
// ascend.
func sortedKeys(sets map[string]map[string]bool) map[string][]string {
	sorted := make(map[string][]string, len(sets))
	for name, set := range sets {
		sorted[name] = slices.SortedFunc(maps.Keys(set), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	}
	return sorted
}
