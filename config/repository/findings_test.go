package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// findingHeader matches the beginning of a script: its four parts, in this order, each with a text.
var findingHeader = regexp.MustCompile(`\A#!/usr/bin/env bash
# Package: +\S.*\d.*
(?:# +.*
)*# Guess: +\S.*
(?:# +.*
)*# Behavior: +\S.*
(?:# +.*
)*# Output: +\S.*
(?:# +.*
)*set -euo pipefail
`)

// findingFaults returns the faults in the form of a script of folder findings.
func findingFaults(name, script string, mode os.FileMode) (faults []string) {
	if !findingHeader.MatchString(script) {
		faults = append(faults, name+": must begin with the parts that findings/README.md names")
	}
	if mode&0o111 != 0o111 {
		faults = append(faults, fmt.Sprintf("%s: the mode %v is not executable", name, mode))
	}
	return faults
}

// TestFindings checks the form of the scripts without running them.
func TestFindings(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("..", "..", "findings", "*.sh"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no findings: %v", err)
	}
	for _, name := range scripts {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range findingFaults(filepath.Base(name), string(script), info.Mode()) {
			t.Error(fault)
		}
	}
}

// TestFindingFaultsAreFound checks findingFaults.
func TestFindingFaultsAreFound(t *testing.T) {
	const good = "#!/usr/bin/env bash\n# Package:  a v1.0.0\n# Guess:    b\n#           c\n# Behavior: d\n# Output:   e\nset -euo pipefail\n"
	for _, tt := range []struct {
		name, script string
		mode         os.FileMode
		want         int
	}{
		{"good", good, 0o755, 0},
		{"not executable", good, 0o644, 1},
		{"no version", "#!/usr/bin/env bash\n# Package:  a\n# Guess:    b\n# Behavior: d\n# Output:   e\nset -euo pipefail\n", 0o755, 1},
		{"no output", "#!/usr/bin/env bash\n# Package:  a v1\n# Guess:    b\n# Behavior: d\nset -euo pipefail\n", 0o755, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := findingFaults("a.sh", tt.script, tt.mode); len(got) != tt.want {
				t.Errorf("found %q", got)
			}
		})
	}
}
