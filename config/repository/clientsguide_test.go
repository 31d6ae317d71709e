package repository

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// clientExamples is the folder of the programs on generated clients, and of their guide.
const clientExamples = "mapping/openapi/examples"

// clientsGuide returns the guide to generated clients, for a store of a dialect.
func clientsGuide(dialect string) guide {
	return guide{clientExamples + "/README.md", false, func(t *testing.T, folder string) []string {
		if err := os.CopyFS(folder, os.DirFS(filepath.Join("..", "..", clientExamples))); err != nil {
			t.Fatal(err)
		}
		if dialect == "magento" {
			for _, program := range []string{"typescript/main.ts", "go/main.go"} {
				leaveOutPassword(t, filepath.Join(folder, program))
			}
		}
		return []string{"--dialect documented", "--dialect " + dialect}
	}}
}

// leaveOutPassword follows the guide for the dialect magento: it removes the line of a program
// that sets the password of a new customer.
func leaveOutPassword(t *testing.T, path string) {
	t.Helper()
	program := regexp.MustCompile(`(?m)^.*only in the dialect documented\n`).ReplaceAllString(apptest.ReadFile(t, path), "")
	apptest.WriteFile(t, path, program)
}

// TestClientsGuide generates clients in TypeScript and Go by the commands of their guide, and
// runs the programs on them, in each dialect.
func TestClientsGuide(t *testing.T) {
	testenv.OnlyNightly(t, "clients")
	t.Parallel()
	for _, name := range []string{"bash", "curl", "npm"} {
		testenv.Need(t, name)
	}
	path := filepath.Dir(apptest.Program(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			g := clientsGuide(dialect)
			g.run(t, path, 10*time.Minute) // most of it downloads and compiles
		})
	}
}
