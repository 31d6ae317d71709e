package magento1

import "testing"

func TestIsWithin(t *testing.T) {
	for _, c := range []struct {
		name      string
		file      string
		offset    uint64
		within    bool
		otherLogs bool
	}{
		{"same place", "bin.000009", 100, true, false},
		{"later in the file", "bin.000009", 101, true, false},
		{"earlier in the file", "bin.000009", 99, false, false},
		{"next file", "bin.000010", 4, true, false},
		{"number with more digits", "bin.1000000", 4, true, false},
		{"file before", "bin.000008", 1 << 40, false, false},
		{"another name", "mysql-bin.000010", 4, false, true},
		{"no number", "bin", 4, false, true},
		{"no file", "", 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			within, err := Position{File: "bin.000009", Offset: 100}.isWithin(c.file, c.offset)
			if within != c.within || (err != nil) != c.otherLogs {
				t.Errorf("got %v, %v", within, err)
			}
		})
	}
}
