package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests/report"
)

// doctorTimeout limits all checks of "portico doctor", which run at the same time.
const doctorTimeout = 12 * time.Second

// Command returns the command "doctor".
func Command(p *program.Program) *cobra.Command {
	var asJSON, strict bool
	var replicas int
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether Portico would run well with this configuration, and what to do where not",
		Long: fmt.Sprintf(`Check what Portico needs with this configuration: the settings themselves, the files, ports
and folders of this machine, the database, Redis, the legacy store, the backend and the database
to follow, as far as they are configured. With follow.dsn it also compares the settings with the
configuration of the legacy store. Each finding is ok, a warning or a fault, and says what to do.

Run the command before the first start, after a change of settings, and when something is
wrong. It may run beside a running Portico. It changes nothing: it migrates nothing, rolls
back what it tries in the database, and removes the files it tries to write. It asks the legacy
store for one product, and the backend for a record that does not exist. All checks run at the
same time, and end within %s.

Run it on the machine and as the user of Portico: the network, the rights to files, and the
limits are those that it finds.

Other commands say more of one part:
  portico config            every setting with its value and its source
  portico follow --check    how changes of the legacy store's database can be followed
  portico ids check         whether the records of the backend and of Portico belong together
  portico plan              how far a migration is, and what comes next
  portico oauth explain     what is wrong with the signature of a call
  portico ready             whether the running Portico is ready, for health checks

--json prints every finding for programs, with what is not used. Members may be added to it,
and none are removed or renamed. No secrets are printed.

Exit codes: 0 no faults, 1 faults, or warnings with --strict, 2 the command was called
wrongly.`, doctorTimeout+time.Second),
		Example: `  portico doctor --config portico.yaml
  portico doctor --strict && portico serve
  portico doctor --replicas 8       # are the connections of all of them too many?
  portico doctor --json | jq '.findings[] | select(.level == "fault")'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return program.CannotRun{Err: err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if replicas < 1 {
				return program.CannotRun{Err: errors.New("--replicas must be 1 or more")}
			}
			r := examine(p, cmd, replicas)
			if err := writeReportOf(cmd, r, asJSON); err != nil {
				return err
			}
			if r.Level == Fault || strict && r.Level == Warning {
				return errors.New(r.Summary())
			}
			return nil
		},
	}
	p.AddSettingFlags(cmd, p.AllSettings()...)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return program.CannotRun{Err: err} })
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&replicas, "replicas", 1, "number of processes of portico serve that share the database")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 for warnings, too")
	return cmd
}

// writeReportOf prints a report.
func writeReportOf(cmd *cobra.Command, r *Report, asJSON bool) error {
	out := cmd.OutOrStdout()
	if !asJSON {
		return r.WriteText(out, report.UseColor(out))
	}
	return program.WriteJSON(out, r)
}

// examine runs all checks of "portico doctor". If the configuration cannot be read, it reports only
// that.
func examine(p *program.Program, cmd *cobra.Command, replicas int) *Report {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		settings := Check{Group: "configuration", Name: "settings", Run: func(context.Context) []Finding { return settingFaults(err) }}
		return Run(cmd.Context(), []Check{settings}, doctorTimeout)
	}
	e := &examination{program: p, cfg: cfg, file: p.ConfigFile(cmd), root: os.DirFS("/"), replicas: replicas}
	return Run(cmd.Context(), e.checks(), doctorTimeout)
}

// An examination is one run of "portico doctor". Its methods are checks.
type examination struct {
	program *program.Program
	cfg     *config.Config
	file    string // of the configuration; "": no file
	root    fs.FS  // of this machine
	// replicas is the number of processes that share the database.
	replicas int
}

// checks returns all checks in the order in which their findings are printed.
func (e *examination) checks() []Check {
	return []Check{
		{Group: "configuration", Name: "settings", Run: e.checkSettings},
		{Group: "configuration", Name: "secret files", Run: e.checkSecretFiles},
		{Group: "configuration", Name: "trusted proxies", Run: e.checkProxies},

		{Group: "ports", Name: "contract port", Run: e.checkContractPort},
		{Group: "ports", Name: "operators' port", Run: e.checkOpsPort},
		{Group: "ports", Name: "certificate", Run: e.checkCertificate},

		{Group: "database", Name: "server", Run: e.checkDatabase},

		{Group: "folders", Name: "images", Run: e.checkMedia},
		{Group: "folders", Name: "temporary files", Run: e.checkSpool},

		{Group: "redis", Name: "Redis", Run: e.checkRedis},

		{Group: "legacy store", Name: "legacy store", Run: e.checkLegacy},
		{Group: "legacy store", Name: "followed database", Run: e.checkFollow},
		{Group: "legacy store", Name: "rights in the legacy store", Run: e.checkLimits},
		{Group: "legacy store", Name: "settings of the legacy store", Run: e.checkLegacySettings},

		{Group: "backend", Name: "backend", Run: e.checkBackend},

		{Group: "machine", Name: "open files", Run: e.checkOpenFiles},
		{Group: "machine", Name: "memory", Run: e.checkMemory},
	}
}

// log returns the log of the parts that are checked. It discards everything, because the findings
// suffice.
func (e *examination) log() *slog.Logger { return slog.New(slog.DiscardHandler) }

// The outcomes of checks as findings. An empty check is the name of the check that runs.

func passed(check, found string) Finding {
	return Finding{Check: check, Level: OK, Found: found}
}

func warned(check, found, advice string) Finding {
	return Finding{Check: check, Level: Warning, Found: found, Advice: advice}
}

func failed(check, found, advice string) Finding {
	return Finding{Check: check, Level: Fault, Found: found, Advice: advice}
}

func notChecked(check, why string) Finding {
	return Finding{Check: check, Level: NotChecked, Found: why}
}

// notUsed returns the only finding about something that is not configured, with the reason.
func notUsed(why string) []Finding {
	return []Finding{{Level: NotUsed, Found: why}}
}

// one returns the only finding of a check.
func one(f Finding) []Finding { return []Finding{f} }

// errorText returns an error for a finding.
func errorText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", doctorTimeout)
	}
	return err.Error()
}

// withoutPath returns the error of a file without the path.
func withoutPath(err error) error {
	if inPath, ok := errors.AsType[*fs.PathError](err); ok {
		return inPath.Err
	}
	return err
}
