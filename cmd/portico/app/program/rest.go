package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/config"
)

// restBackend is the backend that a mapping file describes.
func restBackend() Backend {
	return Backend{Name: RESTSection, Settings: restSettings(), Open: openREST}
}

// restSettings are the settings of the backend rest.
func restSettings() []config.Setting {
	return []config.Setting{
		{Name: "mapping", Kind: config.Text, Default: "medusa",
			Help: "Mapping that describes the backend's API: magento2, medusa or vendure, which are built in, or the path of a file, with a slash or a dot in it."},
		{Name: "url", Kind: config.URL, Flag: "rest-url", Help: "Base URL of the backend's API, without the paths that the mapping names."},
		{Name: "user", Kind: config.Text, Help: "User name at the backend, where the mapping needs one."},
		{Name: "secret", Kind: config.Text, Secret: true, Help: "Password, key or token at the backend, as the mapping uses it."},
		{Name: "vars", Kind: config.Names, Flag: "rest-vars", Help: "Values of the mapping's variables, as name=value. They replace the mapping's own."},
		{Name: "ca_file", Kind: config.Text, Help: "PEM file with the certificate authorities that Portico trusts for the backend. Empty: those of the system."},
		{Name: "client_cert", Kind: config.Text, Help: "PEM file with the client certificate for the backend, with rest.client_key."},
		{Name: "client_key", Kind: config.Text, Help: "PEM file with the private key of rest.client_cert."},
	}
}

// openREST opens the backend rest. It sends nothing to the backend.
func openREST(_ context.Context, e *Environment) (replica.Backend, error) {
	o, err := RESTOptions(e.Settings, e.Schemas)
	if err != nil {
		return nil, err
	}
	if o.URL == "" {
		return nil, ErrNoRESTURL
	}
	o.IDs, o.Registerer, o.Logger = e.IDs, e.Registerer, e.Log
	return reststore.Open(o)
}

// ErrNoRESTURL says that the base URL of the backend is not set.
var ErrNoRESTURL = errors.New("rest.url: must be set to the base URL of the backend (PORTICO_REST_URL)")

// RESTOptions reads the mapping file, its variables and the certificates that the settings of the
// section rest name.
func RESTOptions(section map[string]string, schemas *adapter.Schemas) (o reststore.Options, err error) {
	o = reststore.Options{URL: section["url"], User: section["user"], Secret: section["secret"], Schemas: schemas}
	if o.Mapping, o.File, err = readMapping(section["mapping"]); err != nil {
		return o, err
	}
	if o.Vars, err = mappingVars(section["vars"]); err != nil {
		return o, err
	}
	o.TLS, err = ClientTLS(section["ca_file"], section["client_cert"], section["client_key"])
	return o, err
}

// maxMappingBytes bounds a mapping file.
const maxMappingBytes = 4 << 20

// readMapping returns the text of the built-in mapping called name, or of the mapping file
// at the path name. file is the name by which errors refer to it.
func readMapping(name string) (mapping []byte, file string, err error) {
	if mapping, ok := reststore.Mapping(name); ok {
		return mapping, name + ".yaml", nil
	}
	if !strings.ContainsAny(name, "./"+string(filepath.Separator)) {
		return nil, "", fmt.Errorf("rest.mapping: no mapping %q is built in: use magento2, medusa or vendure, or the path of a file, such as ./%[1]s", name)
	}
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxMappingBytes {
		err = fmt.Errorf("%s is longer than %d bytes", name, maxMappingBytes)
	}
	if err == nil {
		mapping, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("rest.mapping: %w", err)
	}
	return mapping, name, nil
}

// mappingVars parses the setting rest.vars: name=value pairs, separated by commas.
func mappingVars(text string) (map[string]string, error) {
	vars := map[string]string{}
	for entry := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			return nil, fmt.Errorf("rest.vars: %q must be a name, an equals sign and a value", entry)
		}
		vars[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return vars, nil
}
