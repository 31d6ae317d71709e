package client

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/mapping/auth/diagnose"
)

// OAuthCommand returns the command "oauth" with its subcommand.
func OAuthCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{Use: "oauth", Short: "Explain the OAuth signatures of clients"}
	cmd.AddCommand(explainCommand(p))
	return cmd
}

// explainCommand returns the command "oauth explain".
func explainCommand(p *program.Program) *cobra.Command {
	var consumerFile, tokenFile, scheme string
	var demoStore, noToken bool
	cmd := &cobra.Command{
		Use:   "explain [URL | REQUEST | FILE | -]",
		Short: "Say what is wrong with the OAuth signature of a request",
		Long: `Say what is wrong with the OAuth signature of a request. The request is raw HTTP or a URL,
with headers from --header: the argument itself, a file, or standard input. Nothing is sent.

All faults are named at once. With the secrets, the signature is computed again
with each usual mistake, and with each two of them, to name the one that was made.
The command takes the secrets of the configured store if there is a file with settings or
PORTICO_SQL_DSN, or of the two files, or of the demo store with --demo.
Used nonces are not looked up. No secret is printed.

The exit code is 0 if the signature is accepted or nothing is wrong with it, else 1.`,
		Example: `  portico oauth explain --config portico.yaml request.txt
  portico oauth explain --consumer-secret-file consumer --token-secret-file token request.txt
  portico oauth explain -H 'Authorization: OAuth ...' https://shop.example/api/rest/orders
  portico oauth explain -H 'Authorization: OAuth ...' 'DELETE https://shop.example/api/rest/customers/2'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			text, err := readRequest(cmd, args)
			if err != nil {
				return err
			}
			request, err := diagnose.Parse(text)
			if err != nil {
				return err
			}
			o := diagnose.Options{
				Scheme: scheme, NoToken: noToken, TimestampMaxAge: cfg.Auth.TimestampMaxAge,
				RefusePlaintext: cfg.Auth.RefusePlaintext, PlusAsSpace: cfg.Auth.PlusAsSpace,
			}
			if cfg.PublicURL != "" {
				if o.PublicURL, err = url.Parse(cfg.PublicURL); err != nil {
					return errors.New("public_url: not a URL")
				}
			}
			switch {
			case consumerFile != "":
				if o.Secrets, err = readSecrets(cmd, consumerFile, tokenFile); err != nil {
					return err
				}
			case demoStore || namesStore(p, cmd):
				keys, err := openKeyring(cmd, cfg, demoStore)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, keys.close()) }()
				o.Credentials = keys
			}
			report, err := diagnose.Diagnose(cmd.Context(), request, o)
			if err != nil {
				return err
			}
			if err := program.WriteResult(cmd, report, func(w io.Writer) { printDiagnosis(w, report) }); err != nil {
				return err
			}
			if report.Verdict == diagnose.Refused || report.Verdict == diagnose.Guest {
				return errors.New("the request is not authenticated")
			}
			return nil
		},
	}
	p.AddSettingFlags(cmd)
	cmd.Flags().Bool("json", false, "print JSON")
	cmd.Flags().StringArrayP("header", "H", nil, "`HEADER` of a request that is an argument, such as 'Authorization: OAuth ...'; may be repeated")
	cmd.Flags().StringVar(&consumerFile, "consumer-secret-file", "", "file with the consumer secret (- for standard input)")
	cmd.Flags().StringVar(&tokenFile, "token-secret-file", "", "file with the token secret (default: none)")
	cmd.Flags().StringVar(&scheme, "scheme", "http", "scheme of a raw request that does not say it: http or https")
	cmd.Flags().BoolVar(&noToken, "request-token", false, "the request is for a request token, which is signed without a token")
	cmd.Flags().BoolVar(&demoStore, "demo", false, "use the credentials of the demo store")
	cmd.MarkFlagsMutuallyExclusive("demo", "consumer-secret-file")
	return cmd
}

// namesStore reports whether the caller of a command has named a store.
func namesStore(p *program.Program, cmd *cobra.Command) bool {
	return p.ConfigFile(cmd) != "" || p.Getenv("PORTICO_SQL_DSN") != "" || p.Getenv("PORTICO_SQL_DSN_FILE") != ""
}

// readRequest returns the request in the argument, with the headers of --header, or in the file
// that the argument names, or in standard input.
func readRequest(cmd *cobra.Command, args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		if strings.ContainsAny(args[0], " \n") || strings.Contains(args[0], "://") {
			headers, err := cmd.Flags().GetStringArray("header")
			return strings.Join(append([]string{args[0]}, headers...), "\n"), err
		}
		file, err := os.Open(args[0])
		if err != nil {
			return "", err
		}
		defer func() { _ = file.Close() }() // opened for reading only
		return readRequestText(file)
	}
	return readRequestText(cmd.InOrStdin())
}

func readRequestText(from io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(from, diagnose.MaxText+1))
	return string(text), err
}

// readSecrets reads the secrets of a consumer and, unless its file is "", of a token.
func readSecrets(cmd *cobra.Command, consumerFile, tokenFile string) (*diagnose.Secrets, error) {
	consumer, err := program.ReadSecretFile(cmd, consumerFile)
	if err != nil {
		return nil, err
	}
	secrets := &diagnose.Secrets{Consumer: consumer}
	if tokenFile != "" {
		if secrets.Token, err = program.ReadSecretFile(cmd, tokenFile); err != nil {
			return nil, err
		}
	}
	return secrets, nil
}

// printDiagnosis prints a report for people.
func printDiagnosis(w io.Writer, r *diagnose.Report) {
	fmt.Fprintf(w, "request\t%s %s\n", program.Printable(r.Method), program.Printable(r.URL))
	verdict := map[string]string{
		diagnose.Accepted: "accepted", diagnose.Refused: "refused: " + program.Printable(r.Problem), diagnose.Guest: "answered as one of a Guest: it has no OAuth credentials",
		diagnose.Unknown: "nothing decides: without the secrets the signature cannot be checked",
	}[r.Verdict]
	fmt.Fprintf(w, "verdict\t%s\n", verdict)
	for _, f := range r.Findings {
		kind := "fault"
		if f.Hint {
			kind = "hint"
		}
		fmt.Fprintf(w, "%s\t%s\n", kind, program.Printable(f.Message))
	}
	if r.BaseString != "" {
		fmt.Fprintf(w, "base string\t%s\n", program.Printable(r.BaseString))
	}
}
