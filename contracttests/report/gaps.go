package report

import (
	"fmt"
	"io"
	"regexp"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"go.yaml.in/yaml/v3"
)

// WriteGaps writes the cases of the suite that call a route for which reason returns a text, in the
// form of a file for "contracttest --skip" that begins with a comment. If every case of a file does so,
// the file becomes one entry.
func WriteGaps(w io.Writer, comment string, reason func(*contract.Route) string) error {
	suite, err := contracttests.NewSuite()
	if err != nil {
		return err
	}
	type gap struct {
		Case   string `yaml:"case"`
		Reason string `yaml:"reason"`
	}
	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	byFile, total := map[string][]gap{}, map[string]int{}
	var files []string
	for _, c := range suite.CaseCalls() {
		if total[c.Resource]++; total[c.Resource] == 1 {
			files = append(files, c.Resource)
		}
		for _, path := range c.Paths {
			called, _ := table.Match(path)
			if called == nil {
				continue
			}
			if text := reason(called); text != "" {
				byFile[c.Resource] = append(byFile[c.Resource], gap{"^" + regexp.QuoteMeta(c.Resource+"/"+c.Name+"/"), text})
				break
			}
		}
	}
	all := []gap{}
	for _, file := range files {
		gaps := byFile[file]
		if len(gaps) > 0 && len(gaps) == total[file] {
			gaps = []gap{{"^" + file + "/", gaps[0].Reason}}
		}
		all = append(all, gaps...)
	}
	fmt.Fprintln(w, "# "+comment)
	return yaml.NewEncoder(w).Encode(all)
}
