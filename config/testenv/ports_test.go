package testenv

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestFreePort checks that nothing listens on a free port, and that no process gets one that another
// has, though that one does not listen on it yet.
func TestFreePort(t *testing.T) {
	t.Parallel()
	const helper = "PORTICO_TEST_RESERVE"
	if text := os.Getenv(helper); text != "" {
		port, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("reserved: %t\n", reserve(port))
		return
	}
	address := FreeAddress(t)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	if port < firstPort || port >= endOfPort {
		t.Errorf("the port is %d", port)
	}
	if reserve(port) {
		t.Error("this process gets the port again")
	}
	other := exec.Command(os.Args[0], "-test.run", "^TestFreePort$")
	other.Env = append(os.Environ(), helper+"="+strconv.Itoa(port))
	output, err := other.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(output), "reserved: false\n") {
		t.Errorf("another process gets the port as well: %s", output)
	}
}
