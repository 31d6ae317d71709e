package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxPackages is the number of packages of the module: a new idea usually belongs to a package that exists.
const maxPackages = 70

// maxArrows is the number of imports of packages of the module by others of its packages, tests not counted.
const maxArrows = 330

// Wings of the house. Packages of the contract and stores know each other only through package adapter.
const (
	contractWing = "contract"
	storeWing    = "stores"
	bothWings    = "both"
)

// A floor is a row of the table of floors in CONTRIBUTING.
type floor struct {
	number int
	wing   string
}

// floors has the floor of each package, by its path in the module.
type floors map[string]floor

// floorRow matches a row of the table: the floor, its wing, and its packages.
var floorRow = regexp.MustCompile("^\\| (\\d+) \\| (contract|stores|both) \\| (`.*`) \\|")

// parseFloors returns the table in text, which stands between two lines of comments.
func parseFloors(text string) (floors, error) {
	_, table, found := strings.Cut(text, "<!-- floors -->")
	table, _, ended := strings.Cut(table, "<!-- end of floors -->")
	if !found || !ended {
		return nil, fmt.Errorf("no table of floors")
	}
	house := floors{}
	for line := range strings.Lines(table) {
		row := floorRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		number, err := strconv.Atoi(row[1])
		if err != nil {
			return nil, err
		}
		for path := range strings.FieldsSeq(strings.ReplaceAll(row[3], "`", "")) {
			if _, twice := house[path]; twice {
				return nil, fmt.Errorf("%s is on two floors", path)
			}
			house[path] = floor{number, row[2]}
		}
	}
	return house, nil
}

// importFaults returns the fault of one package importing another, if it is one: imports lead to lower floors or stay
// in the row, and never lead from one wing to the other.
func (f floors) importFaults(from, to string) []string {
	importer, ok := f[from]
	if !ok {
		return []string{from + " is on no floor: add it to the table of CONTRIBUTING"}
	}
	imported, ok := f[to]
	if !ok {
		return []string{to + " is on no floor: add it to the table of CONTRIBUTING"}
	}
	otherWing := importer.wing != bothWings && imported.wing != bothWings && importer.wing != imported.wing
	if importer != imported && (otherWing || imported.number >= importer.number) {
		return []string{fmt.Sprintf("%s (%s, floor %d) must not import %s (%s, floor %d)",
			from, importer.wing, importer.number, to, imported.wing, imported.number)}
	}
	return nil
}

// readFloors returns the table of CONTRIBUTING.
func readFloors(t *testing.T) floors {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", ".github", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	house, err := parseFloors(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return house
}

// TestFloors checks that the table has every package once and no other, and that the house does not grow.
func TestFloors(t *testing.T) {
	house := readFloors(t)
	var paths []string
	arrows := 0
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		paths = append(paths, path)
		if _, ok := house[path]; !ok {
			t.Errorf("%s is on no floor: add it to the table of CONTRIBUTING", path)
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, module+"/") {
				arrows++
			}
		}
	}
	for path := range house {
		if !slices.Contains(paths, path) {
			t.Errorf("%s is in the table of CONTRIBUTING, and there is no such package", path)
		}
	}
	if len(paths) > maxPackages || arrows > maxArrows {
		t.Errorf("%d packages with %d imports of each other, over %d and %d", len(paths), arrows, maxPackages, maxArrows)
	}
}

// TestFloorFaultsAreFound checks the rules of floors.
func TestFloorFaultsAreFound(t *testing.T) {
	house, err := parseFloors("<!-- floors -->\n| 0 | both | `a` |\n| 1 | contract | `b` `c` |\n| 1 | stores | `d` |\n| 2 | contract | `e` |\n| 2 | both | `f` |\n<!-- end of floors -->")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, from, to string
		fault          bool
	}{
		{"down", "b", "a", false},
		{"down from both wings", "f", "d", false},
		{"in the row", "b", "c", false},
		{"up", "a", "b", true},
		{"along a floor", "f", "e", true},
		{"to the other wing", "e", "d", true},
		{"from no floor", "x", "a", true},
		{"to no floor", "a", "x", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := house.importFaults(tt.from, tt.to); (len(got) == 1) != tt.fault {
				t.Errorf("found %q", got)
			}
		})
	}
	if _, err := parseFloors("<!-- floors -->\n| 0 | both | `a` |\n| 1 | both | `a` |\n<!-- end of floors -->"); err == nil {
		t.Error("a package on two floors is accepted")
	}
	if _, err := parseFloors("no table"); err == nil {
		t.Error("a page without the table is accepted")
	}
}
