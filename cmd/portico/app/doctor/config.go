package doctor

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// settingFaults returns a finding for each fault of a configuration that cannot be loaded.
func settingFaults(err error) []Finding {
	var findings []Finding
	for _, fault := range program.Faults(err) {
		findings = append(findings, failed("", fault.String(), ""))
	}
	findings[len(findings)-1].Advice = `See "portico config --example" for every setting. The other checks need a valid configuration.`
	return findings
}

// checkSettings reports the sources of the settings. It is called only if they are valid.
func (e *examination) checkSettings(context.Context) []Finding {
	rows := e.cfg.Rows()
	from := "no file"
	if e.file != "" {
		from = e.file
	}
	return one(passed("", fmt.Sprintf("valid, from %s; %d differ from their defaults", from, len(config.Changed(rows)))))
}

// checkSecretFiles checks that only their owner and group may read the files that hold secrets.
func (e *examination) checkSecretFiles(context.Context) []Finding {
	var findings []Finding
	var files []string
	for _, name := range e.secretFiles() {
		info, err := os.Stat(name)
		if err != nil {
			continue // the check that needs the file reports it
		}
		files = append(files, name)
		if mode := info.Mode().Perm(); mode&0o004 != 0 {
			findings = append(findings, warned("", fmt.Sprintf("%s holds secrets, and every user of this machine may read it (mode %04o)", name, mode), "Run: chmod o= "+name))
		}
	}
	switch {
	case len(findings) > 0:
		return findings
	case len(files) == 0:
		return notUsed("no secrets are in files")
	}
	return one(passed("", strings.Join(files, ", ")+": closed to other users"))
}

// secretFiles returns the names of the configured files that hold secrets.
func (e *examination) secretFiles() []string {
	var files []string
	add := func(name string) {
		if name != "" && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	for _, row := range e.cfg.Rows() {
		if !row.Secret || row.Value != "(set)" {
			continue
		}
		if e.file != "" && strings.HasPrefix(row.Source, e.file+":") {
			add(e.file)
		}
		if variable := row.Environment + "_FILE"; row.Source == "environment "+variable {
			add(e.program.Getenv(variable))
		}
	}
	add(e.cfg.Server.TLSKey)
	add(e.cfg.Sections[program.RESTSection]["client_key"])
	add(engine.File(e.cfg.Sections[program.SQLSection]["dsn"]))
	return files
}

// The widest public networks that are plausible for proxies, such as the networks of a content
// delivery network, by the length of the prefix.
const (
	widestPublic4 = 12
	widestPublic6 = 28
)

// checkProxies checks that forwarding headers are trusted from plausible networks only.
func (e *examination) checkProxies(context.Context) []Finding {
	const advice = "Set trusted_proxies to the addresses of your own proxies: whoever else is in there can pretend to be any client, at any host and scheme."
	var findings []Finding
	for _, network := range e.cfg.TrustedProxies {
		switch {
		case network.Bits() == 0:
			findings = append(findings, warned("", fmt.Sprintf("%s: X-Forwarded-For and its like are trusted from everyone", network), advice))
		case isPublic(network):
			findings = append(findings, warned("", fmt.Sprintf("%s: a large part of the public Internet is trusted", network), advice))
		}
	}
	switch {
	case len(findings) > 0:
		return findings
	case len(e.cfg.TrustedProxies) > 0:
		return one(passed("", fmt.Sprintf("%d plausible networks", len(e.cfg.TrustedProxies))))
	case e.cfg.PublicHTTPS() && e.cfg.Server.TLSCert == "":
		return one(warned("", "public_url is https, so a proxy ends TLS, and no proxy is trusted: its X-Forwarded headers are ignored, and limits and the log take it for the client", "Set trusted_proxies to the address of the proxy."))
	}
	return notUsed("trusted_proxies is not set")
}

// isPublic reports whether a network reaches far into the public Internet.
func isPublic(network netip.Prefix) bool {
	address := network.Addr()
	shared := netip.MustParsePrefix("100.64.0.0/10") // of providers, and of clusters in the cloud
	if address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() || shared.Contains(address) {
		// Such a network can begin there and go on elsewhere.
		return network.Bits() < 7 || address.Is4() && network.Bits() < 8
	}
	widest := widestPublic6
	if address.Is4() {
		widest = widestPublic4
	}
	return network.Bits() < widest
}
