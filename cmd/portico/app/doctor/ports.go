package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"net"
	"net/url"
	"syscall"
	"time"
)

// checkContractPort checks that Portico can listen for clients, or is already listening.
func (e *examination) checkContractPort(ctx context.Context) []Finding {
	return one(e.checkPort(ctx, e.cfg.Listen, "listen"))
}

// checkOpsPort is checkContractPort for the operators' port. Its finding also states whether the
// port needs a token. A valid configuration has a token unless it is on loopback.
func (e *examination) checkOpsPort(ctx context.Context) []Finding {
	found := e.checkPort(ctx, e.cfg.OpsListen, "ops.listen")
	if found.Level == OK {
		switch {
		case e.cfg.OpsToken != "":
			found.Found += "; asks for ops.token"
		default:
			found.Found += "; open to all users of this machine, as ops.token is not set"
		}
	}
	return one(found)
}

// checkPort checks that an address is free, or in use by a Portico with this configuration.
func (e *examination) checkPort(ctx context.Context, address, setting string) Finding {
	listener, err := net.Listen("tcp", address)
	if err == nil {
		err = listener.Close()
	}
	if err == nil {
		return passed("", address+" is free")
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return failed("", err.Error(), "Set "+setting+" to an address of this machine, with a port that the user may listen on.")
	}
	other := failed("", address+" is in use by another program", "Stop that program (ss -ltnp shows it), or set "+setting+" to a free address.")
	base, err := program.LocalURL(e.cfg.OpsListen)
	if err != nil {
		return other
	}
	switch status, err := migrate.QueryServer(ctx, base, e.cfg.OpsToken); {
	case errors.Is(err, migrate.ErrOtherToken):
		return warned("", address+" is in use, and the program at ops.listen, maybe Portico, wants another ops.token", "Give this command the ops.token of the running Portico, or stop the other program.")
	case err != nil:
		return other
	case setting == "listen" && status.Listen != address:
		other.Found += fmt.Sprintf(": the Portico at ops.listen listens on %s", status.Listen)
		return other
	}
	return passed("", address+" is in use by the running Portico")
}

// The days that a certificate should still be valid. Programs that renew certificates do so
// thirty days before the end.
const certificateDays = 14

// checkCertificate checks the certificate of the contract's port.
func (e *examination) checkCertificate(context.Context) []Finding {
	if e.cfg.Server.TLSCert == "" {
		return notUsed("server.tls_cert is not set")
	}
	c, err := program.NewCertificateReloader(e.cfg.Server.TLSCert, e.cfg.Server.TLSKey, e.log())
	if err != nil {
		return one(failed("", err.Error(), ""))
	}
	found := certificateFinding(c.Pair.Leaf, time.Now())
	if found.Level == OK && e.cfg.PublicURL != "" {
		if u, err := url.Parse(e.cfg.PublicURL); err == nil && c.Pair.Leaf.VerifyHostname(u.Hostname()) != nil {
			return one(warned("", fmt.Sprintf("the certificate is not for %s, the host of public_url", u.Hostname()), "Clients that call this port under that name refuse it: set server.tls_cert to a certificate for it, unless a proxy is in between."))
		}
	}
	return one(found)
}

// certificateFinding is the finding about the validity period of a certificate.
func certificateFinding(leaf *x509.Certificate, now time.Time) Finding {
	const renew = "Renew it: clients refuse a certificate that is not valid."
	left := int(leaf.NotAfter.Sub(now).Hours() / 24)
	until := leaf.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case now.After(leaf.NotAfter):
		return failed("", "expired on "+until, renew)
	case now.Before(leaf.NotBefore):
		return failed("", "valid only from "+leaf.NotBefore.UTC().Format(time.DateOnly)+" on", "Compare the clock of this machine, or use another certificate.")
	case left < certificateDays:
		return warned("", fmt.Sprintf("valid for %d more days, until %s", left, until), renew)
	}
	return passed("", fmt.Sprintf("valid for %d more days, until %s", left, until))
}
