package importer_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestImportCharset imports texts whose tables claim to be in another encoding than they are.
func TestImportCharset(t *testing.T) {
	t.Parallel()
	const table = "catalog_product_entity_varchar"
	dsn := sqltest.SQLite(t)
	shop := apptest.NewImported(t, magento1test.Rich, "", dsn)
	apptest.Execute(t, shop.DB, "ALTER TABLE "+table+" MODIFY value VARCHAR(255) CHARACTER SET latin1",
		"UPDATE "+table+" SET value = X'A3F364BC' WHERE entity_id = 1 AND attribute_id = "+productAttribute("name"))
	shop.Run(t, "--charset", "iso-8859-2", "websites", "categories", "products")
	if got := productOf(t, dsn, 1).Get("name").Text(); got != "Łódź" {
		t.Errorf("the name is %q", got)
	}
	if _, _, err := shop.Commands.Run(t, append([]string{"import", "--charset", "klingon", "products"}, shop.From...)...); err == nil || !strings.Contains(err.Error(), "WHATWG") {
		t.Errorf("%v, want the character set refused", err)
	}
}

// TestImportRate checks that reading pauses: at one record a second it takes longer than the command
// may take here.
func TestImportRate(t *testing.T) {
	t.Parallel()
	shop := apptest.NewImported(t, magento1test.Demo, "", sqltest.SQLite(t))
	arguments := append([]string{"import", "--config", shop.Config, "websites"}, shop.From...)
	if _, _, err := shop.Commands.RunWith(t, nil, 2*time.Second, append([]string{"import", "config", "--rate", "1"}, shop.From...)...); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("%v, want a pause that is too long", err)
	}
	if _, _, err := shop.Commands.Run(t, append(arguments, "--rate", "-1")...); err == nil || !strings.Contains(err.Error(), "the rate must not be negative") {
		t.Errorf("%v, want the rate refused", err)
	}
	shop.Commands.MustRun(t, append(arguments, "--rate", "1000000")...)
}

// TestImportFromOldServer imports from a server that speaks old versions of TLS, knows the user's
// password in the form of MySQL before 4.1, or lacks features that imports need.
func TestImportFromOldServer(t *testing.T) {
	https := httptest.NewUnstartedServer(nil)
	https.StartTLS()
	defer https.Close()
	tls10 := &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10, Certificates: https.TLS.Certificates}
	newest := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: https.TLS.Certificates}
	shop := apptest.NewImported(t, magento1test.Demo, "", sqltest.SQLite(t))
	config, err := mysql.ParseDSN(strings.TrimPrefix(shop.From[1], "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		server     oldServer
		parameters string
		flags      []string
		want       string // the error; "" if there is none
	}{
		{"TLS 1.0", oldServer{tls: tls10}, "tls=skip-verify", nil, "add --old-tls"},
		{"TLS 1.0, allowed", oldServer{tls: tls10}, "tls=skip-verify", []string{"--old-tls"}, ""},
		{"new TLS, old allowed", oldServer{tls: newest}, "tls=skip-verify", []string{"--old-tls"}, ""},
		{"TLS with a certificate of nobody", oldServer{tls: newest}, "tls=true", nil, "certificate signed by unknown authority"},
		{"old password", oldServer{oldPassword: true}, "", nil, "add allowOldPasswords=true to the DSN"},
		{"old password, allowed", oldServer{oldPassword: true}, "allowOldPasswords=true", nil, ""},
		{"before MySQL 5.6", oldServer{refused: "READ ONLY", number: 1064}, "", nil, "older than MySQL 5.6"},
		{"before MySQL 5.5", oldServer{refused: "utf8mb4", number: 1115}, "", nil, "older than MySQL 5.6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shop, _ := shop.WithStore(t)
			from := "mysql:root@tcp(" + c.server.start(t, config.Addr) + ")/" + config.DBName + "?" + c.parameters
			_, _, err := shop.Commands.Run(t, append([]string{"import", "--config", shop.Config, "--from", from, "websites"}, c.flags...)...)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// An oldServer stands before a server and makes it look like an old one while a client logs in.
type oldServer struct {
	tls         *tls.Config // nil: it has no TLS
	oldPassword bool
	// refused is a part of statements that are refused, with a number and the text of an error.
	refused string
	number  uint16
}

// start starts the server before the one at an address, and returns its own.
func (s oldServer) start(t *testing.T, server string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(client, server)
		}
	}()
	return listener.Addr().String()
}

// serve serves one connection. If it fails, the client sees a closed connection.
func (s oldServer) serve(client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	in, err := s.logIn(client, server)
	if err != nil {
		return
	}
	go func() {
		_ = s.passStatements(in, server)
		_ = server.Close()
	}()
	_, _ = io.Copy(in, server)
}

// passStatements forwards the statements of a client, except the ones that s refuses.
func (s oldServer) passStatements(client io.ReadWriter, server io.Writer) error {
	for {
		statement, number, err := readPacket(client)
		if err != nil {
			return err
		}
		if s.refused != "" && bytes.Contains(statement, []byte(s.refused)) {
			refusal := binary.LittleEndian.AppendUint16([]byte{0xFF}, s.number)
			err = writePacket(client, append(refusal, "#42000it is too new"...), number+1)
		} else {
			err = writePacket(server, statement, number)
		}
		if err != nil {
			return err
		}
	}
}

// capabilitySSL is the capability of TLS, in the greeting of the server and the answer.
const capabilitySSL = 0x800

// logIn forwards the packets of client and server until the client has logged in. TLS and an
// additional authentication question take packets that the server never sees, so the sequence numbers
// of client and server differ.
func (s oldServer) logIn(client, server net.Conn) (net.Conn, error) {
	greeting, number, err := readPacket(server)
	if err != nil {
		return nil, err
	}
	// After the protocol and the version are 13 bytes of numbers.
	capabilities := greeting[1+bytes.IndexByte(greeting[1:], 0)+1+13:]
	lower := binary.LittleEndian.Uint16(capabilities) &^ capabilitySSL
	if s.tls != nil {
		lower |= capabilitySSL
	}
	binary.LittleEndian.PutUint16(capabilities, lower)
	if err := writePacket(client, greeting, number); err != nil {
		return nil, err
	}
	if s.tls != nil {
		if _, _, err := readPacket(client); err != nil { // it asks for TLS
			return nil, err
		}
		client = tls.Server(client, s.tls)
	}
	answer, number, err := readPacket(client)
	if err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint32(answer, binary.LittleEndian.Uint32(answer)&^capabilitySSL)
	if err := writePacket(server, answer, 1); err != nil {
		return nil, err
	}
	done, _, err := readPacket(server)
	if err != nil {
		return nil, err
	}
	if s.oldPassword {
		if err := writePacket(client, []byte{0xFE}, number+1); err != nil { // asks for the old form
			return nil, err
		}
		if _, number, err = readPacket(client); err != nil {
			return nil, err
		}
	}
	return client, writePacket(client, done, number+1)
}

// readPacket reads a packet of MySQL's protocol and its number.
func readPacket(from io.Reader) (payload []byte, number byte, err error) {
	var header [4]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return nil, 0, err
	}
	payload = make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
	_, err = io.ReadFull(from, payload)
	return payload, header[3], err
}

// writePacket writes a packet of MySQL's protocol.
func writePacket(to io.Writer, payload []byte, number byte) error {
	size := len(payload)
	_, err := to.Write(append([]byte{byte(size), byte(size >> 8), byte(size >> 16), number}, payload...))
	return err
}
