package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

const (
	// callTimeout limits a call of "portico call".
	callTimeout = time.Minute
	// maxCallBody limits the body that "portico call" sends, in bytes.
	maxCallBody = 64 << 20
)

// callFlags are the flags of the command "call".
type callFlags struct {
	as, consumer, url, accept, data, contentType, caCert string
	consumerKey, consumerSecretFile, token, tokenFile    string
	include, demo                                        bool
}

// CallCommand returns the command "call".
func CallCommand(p *program.Program) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call [METHOD] PATH",
		Short: "Sign a call and send it to a running Portico",
		Long: `Sign a call and send it, by default to the Portico that runs with the same settings
on this machine. PATH is below /api/rest, such as /products?limit=2. The body of the
reply goes to standard output, its status to standard error; with -i the status and
the headers come before the body.

--as says who calls: guest, admin (whoever has the latest token), admin:ID,
customer:ID or customer:EMAIL. The call is signed with a token of the configured
store that acts for the caller, or with the credentials that the flags give, or with
those of the demo store (--demo). It counts like any call of that consumer, and what it
writes is written.

The exit code is 1 if the status is 400 or above.`,
		Example: `  portico call --demo --as admin /orders
  portico call --config portico.yaml --as customer:1 -i GET /customers/1
  portico call --as admin --data '{"qty":5}' PUT /stockitems/1
  portico call --as admin --data @product.json POST /products`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			request, err := f.newRequest(cmd, cfg, args)
			if err != nil {
				return err
			}
			if err := signCall(cmd, cfg, &f, request); err != nil {
				return err
			}
			return f.send(cmd, cfg, request)
		},
	}
	p.AddSettingFlags(cmd, "listen", "sql.dsn")
	flags := cmd.Flags()
	flags.StringVar(&f.as, "as", "guest", "caller: guest, admin, admin:ID, customer:ID or customer:EMAIL")
	flags.StringVar(&f.consumer, "consumer", "", "key of the consumer whose token is used (default: any)")
	flags.BoolVar(&f.demo, "demo", false, "use the credentials of the demo store")
	flags.StringVar(&f.consumerKey, "consumer-key", "", "consumer key to sign with, instead of credentials of the store")
	flags.StringVar(&f.consumerSecretFile, "consumer-secret-file", "", "file with its secret")
	flags.StringVar(&f.token, "token", "", "token to sign with")
	flags.StringVar(&f.tokenFile, "token-secret-file", "", "file with its secret")
	flags.StringVar(&f.url, "url", "", "base URL of another server, such as https://shop.example")
	flags.StringVar(&f.caCert, "cacert", "", "file with certificates to trust, in PEM (default: those of the system, and server.tls_cert)")
	flags.StringVar(&f.accept, "accept", "application/json", "media type of the reply")
	flags.StringVar(&f.data, "data", "", "body to send; @FILE sends a file, @- standard input")
	flags.StringVar(&f.contentType, "content-type", "", "media type of the body (default: JSON, or XML if it begins with <)")
	flags.BoolVarP(&f.include, "include", "i", false, "print the status and the headers, too")
	flags.Bool("json", false, "print status, headers and body as JSON")
	cmd.MarkFlagsRequiredTogether("consumer-key", "consumer-secret-file", "token", "token-secret-file")
	cmd.MarkFlagsMutuallyExclusive("demo", "consumer-key")
	cmd.MarkFlagsMutuallyExclusive("as", "consumer-key")
	return cmd
}

// newRequest returns the request that the arguments describe, unsigned.
func (f *callFlags) newRequest(cmd *cobra.Command, cfg *config.Config, args []string) (*http.Request, error) {
	path := args[len(args)-1]
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("the path must begin with a slash, such as /products")
	}
	if path != contract.Base && !strings.HasPrefix(path, contract.Base+"/") {
		path = contract.Base + path
	}
	base := strings.TrimRight(f.url, "/")
	if base == "" {
		var err error
		if base, err = program.LocalURL(cfg.Listen); err != nil {
			return nil, err
		}
		if cfg.Server.TLSCert != "" {
			base = "https" + strings.TrimPrefix(base, "http")
		}
		base += cfg.BasePath()
	}
	body, err := f.body(cmd)
	if err != nil {
		return nil, err
	}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	if len(args) == 2 {
		method = strings.ToUpper(args[0])
	}
	request, err := http.NewRequestWithContext(cmd.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", f.accept)
	request.Header.Set("User-Agent", buildinfo.UserAgent("portico-call"))
	if body != "" {
		guessed := "application/json"
		if strings.HasPrefix(strings.TrimSpace(body), "<") {
			guessed = "text/xml"
		}
		request.Header.Set("Content-Type", cmp.Or(f.contentType, guessed))
	}
	return request, nil
}

// body returns the body to send.
func (f *callFlags) body(cmd *cobra.Command) (string, error) {
	name, ok := strings.CutPrefix(f.data, "@")
	if !ok {
		return f.data, nil
	}
	from := cmd.InOrStdin()
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer func() { _ = file.Close() }() // opened for reading only
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxCallBody+1))
	if err == nil && len(text) > maxCallBody {
		err = fmt.Errorf("the body is longer than %d bytes", maxCallBody)
	}
	return string(text), err
}

// signCall signs a request as the flags say.
func signCall(cmd *cobra.Command, cfg *config.Config, f *callFlags, r *http.Request) error {
	signer, err := callSigner(cmd, cfg, f)
	if err != nil || signer == nil {
		return err
	}
	authorization, err := signer.Sign(&auth.Request{
		Method: r.Method, Scheme: r.URL.Scheme, Host: r.URL.Host, Target: r.URL.RequestURI(), ContentType: r.Header.Get("Content-Type"),
		Form: func() ([]byte, error) {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			return io.ReadAll(body)
		},
	}, time.Now())
	if err == nil {
		r.Header.Set("Authorization", authorization)
	}
	return err
}

// callSigner returns the signer for the caller, or nil for a Guest.
func callSigner(cmd *cobra.Command, cfg *config.Config, f *callFlags) (signer *auth.Signer, err error) {
	if f.consumerKey != "" {
		secrets, err := readSecrets(cmd, f.consumerSecretFile, f.tokenFile)
		if err != nil {
			return nil, err
		}
		return auth.NewSigner(f.consumerKey, secrets.Consumer, f.token, secrets.Token), nil
	}
	if f.as == "guest" {
		return nil, nil //nolint:nilnil // documented
	}
	keys, err := openKeyring(cmd, cfg, f.demo)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, keys.close()) }()
	consumer, token, err := keys.find(cmd.Context(), f.as, f.consumer)
	if err != nil {
		return nil, err
	}
	return auth.NewSigner(consumer.Key, consumer.Secret, token.Token, token.Secret), nil
}

// A printedReply is the output of "portico call --json".
type printedReply struct {
	Status int         `json:"status"`
	Header http.Header `json:"headers"`
	// Body is the body if it is text, and otherwise empty.
	Body string `json:"body"`
}

// send sends the request and prints the reply.
func (f *callFlags) send(cmd *cobra.Command, cfg *config.Config, request *http.Request) (err error) {
	transport, err := f.transport(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(request.Context(), callTimeout)
	defer cancel()
	reply, err := transport.RoundTrip(request.WithContext(ctx)) // which follows no redirect
	if err != nil {
		return fmt.Errorf("%w\nstart the server with \"portico serve\", or name another one with --url", err)
	}
	defer func() { err = errors.Join(err, reply.Body.Close()) }()
	if err := f.print(cmd, reply); err != nil {
		return err
	}
	if reply.StatusCode >= http.StatusBadRequest {
		hint := ""
		if reply.StatusCode == http.StatusUnauthorized {
			hint = "\nthe server does not know the credentials, or its clock or public_url differ: is it the server of this store?"
			if request.URL.Scheme == "https" && (f.url != "" || cfg.Server.TLSCert == "") {
				hint += "\nif a proxy ends TLS in front of it, trusted_proxies there must name the proxy, or its X-Forwarded-Proto is ignored"
			}
		}
		return fmt.Errorf("the server answers %s%s", program.Printable(reply.Status), hint)
	}
	return nil
}

// print prints a reply.
func (f *callFlags) print(cmd *cobra.Command, reply *http.Response) error {
	out := cmd.OutOrStdout()
	if asJSON, err := cmd.Flags().GetBool("json"); err != nil || asJSON {
		body, readErr := io.ReadAll(io.LimitReader(reply.Body, maxCallBody))
		if err := errors.Join(err, readErr); err != nil {
			return err
		}
		printed := printedReply{Status: reply.StatusCode, Header: reply.Header, Body: string(body)}
		if !utf8.Valid(body) {
			printed.Body = ""
		}
		return program.WriteResult(cmd, printed, nil)
	}
	if f.include {
		fmt.Fprintf(out, "%s %s\n", reply.Proto, program.Printable(reply.Status))
		for _, name := range slices.Sorted(maps.Keys(reply.Header)) {
			for _, value := range reply.Header[name] {
				fmt.Fprintf(out, "%s: %s\n", name, program.Printable(value))
			}
		}
		fmt.Fprintln(out)
	} else {
		fmt.Fprintln(cmd.ErrOrStderr(), program.Printable(reply.Status))
	}
	last := &lastByte{Writer: out}
	_, err := io.Copy(last, reply.Body)
	if err == nil && last.written && last.last != '\n' {
		fmt.Fprintln(out)
	}
	return err
}

// lastByte is a writer that remembers the last byte.
type lastByte struct {
	io.Writer
	last    byte
	written bool
}

// Write writes a piece.
func (l *lastByte) Write(piece []byte) (int, error) {
	n, err := l.Writer.Write(piece)
	if n > 0 {
		l.last, l.written = piece[n-1], true
	}
	return n, err
}

// transport returns the transport of a single call. It trusts the certificate of the
// configuration only for the server of the same configuration.
func (f *callFlags) transport(cfg *config.Config) (*http.Transport, error) {
	transport := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	file := f.caCert
	if file == "" && f.url == "" {
		file = cfg.Server.TLSCert
	}
	if file == "" {
		return transport, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if err := program.AddCertificates(roots, file); err != nil {
		return nil, err
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return transport, nil
}
