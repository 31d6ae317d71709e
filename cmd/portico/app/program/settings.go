package program

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/config"
)

// Settings returns all settings, including the settings of the backends. It lists them once,
// because every command has their flags.
func (p *Program) Settings() []config.Setting {
	if p.listed == nil {
		p.listed = config.Settings(p.Sections()...)
	}
	return p.listed
}

// AddSettingFlags gives cmd a flag for every setting that has one, so that all commands
// accept the same flags. Help shows only the flags of the settings named in uses.
func (p *Program) AddSettingFlags(cmd *cobra.Command, uses ...string) {
	all := p.Settings()
	config.AddFlags(cmd.Flags(), all)
	for _, s := range all {
		flag := cmd.Flags().Lookup(s.Flag)
		if s.Flag == "" || flag == nil {
			continue
		}
		flag.Hidden = !slices.Contains(uses, s.Name)
		if len(s.Choices) == 0 {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(s.Flag, cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flag is the one defined above
		}
	}
}

// AllSettings returns the names of all settings, for commands that use all of them.
func (p *Program) AllSettings() []string {
	var names []string
	for _, s := range p.Settings() {
		names = append(names, s.Name)
	}
	return names
}

// localFile is the file with settings that is read if none is named.
const localFile = "portico.yaml"

// ConfigFile returns the path of the file with the settings of cmd, which --config or PORTICO_CONFIG names, or
// portico.yaml in the working folder; "" if there is none.
func (p *Program) ConfigFile(cmd *cobra.Command) string {
	named, _ := cmd.Flags().GetString("config")
	if named = cmp.Or(named, p.Getenv("PORTICO_CONFIG")); named != "" {
		return named
	}
	p.find.Do(func() { // once: a reload must not begin with another file, nor go on without it
		if info, err := os.Stat(localFile); err == nil && info.Mode().IsRegular() {
			p.found = localFile
		}
	})
	return p.found
}

// FoundFile returns the file with settings that [Program.ConfigFile] has found although none was named; "" if
// it has found none.
func (p *Program) FoundFile() string { return p.found }

// LoadConfig reads the configuration of cmd from file, environment and flags.
func (p *Program) LoadConfig(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := config.Load(config.Sources{
		Sections: p.Sections(), File: p.ConfigFile(cmd), Environ: p.Environ, Flags: cmd.Flags(),
		Attribute: CheckAttribute, Fields: CheckFieldList, Routes: CheckRoutes,
	})
	if err == nil {
		err = checkForms(cfg)
	}
	var faults config.Faults
	if errors.As(err, &faults) {
		return nil, fmt.Errorf("%w\n\"portico config\" lists every setting with its default", faults)
	}
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// replicaSettings are the settings of the local replica of every backend.
func replicaSettings() []config.Setting {
	return []config.Setting{
		{Name: "unmapped", Kind: config.Choice, Default: "refuse", Choices: []string{"refuse", "allocate"},
			Help: "What happens to a record of the backend without a legacy id: refuse leaves it out until portico ids import gives it one, allocate gives it the next one."},
		{Name: "scan_every", Kind: config.Duration, Default: "10s", Min: int64(time.Second), Max: int64(24 * time.Hour),
			Help: "Time between two scans for records that are new or changed at the backend. Changes of known records are visible immediately, except in cached replies to Guests, which end after the next scan."},
	}
}

// Sections returns the settings of the database, the backends and the adapters, one
// section each.
func (p *Program) Sections() []config.Section {
	all := []config.Section{{Name: SQLSection, Settings: sqlSettings()}}
	for _, b := range p.Backends {
		all = append(all, config.Section{Name: b.Name, Settings: slices.Concat(b.Settings, replicaSettings())})
	}
	for _, a := range p.Adapters {
		all = append(all, config.Section{Name: a.Name, Settings: a.Settings})
	}
	return all
}

// CheckNames checks that each section of settings has a name of its own.
func (p *Program) CheckNames() error {
	taken := map[string]bool{}
	for _, s := range config.Settings() {
		section, _, _ := strings.Cut(s.Name, ".")
		taken[section] = true
	}
	for _, s := range p.Sections() {
		if !sectionName.MatchString(s.Name) || taken[s.Name] {
			return fmt.Errorf("no backend or adapter can be called %q: the name must be lowercase letters and digits, and neither another one's nor that of a setting or section of settings", s.Name)
		}
		taken[s.Name] = true
	}
	return nil
}

var sectionName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// maxReportedFaults limits the number of faults of a file that a reload reports.
const maxReportedFaults = 50

// Faults returns the faults of an error of a reload.
func Faults(err error) config.Faults {
	if faults, ok := errors.AsType[config.Faults](err); ok {
		return faults[:min(len(faults), maxReportedFaults)]
	}
	return config.Faults{{Problem: err.Error()}}
}
