package program

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"
)

// DialAddress returns the address at which this machine can reach a listener with the
// address a. For a listener on all interfaces this is the loopback address.
func DialAddress(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if strings.Contains(ip.String(), ":") {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}

// HolderName returns a name for this process that no other one has.
func HolderName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%.40s %d %s", host, os.Getpid(), rand.Text()[:8])
}

// LocalURL returns the URL of a program on this machine that listens on an address.
func LocalURL(listens string) (string, error) {
	address, err := net.ResolveTCPAddr("tcp", listens)
	if err != nil {
		return "", err
	}
	if address.IP == nil {
		address.IP = net.IPv4zero
	}
	return "http://" + DialAddress(address), nil
}
