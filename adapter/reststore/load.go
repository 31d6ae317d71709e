package reststore

import (
	"crypto/sha256"
	"fmt"
	"github.com/portico-commerce/portico/config/strictyaml"
)

// maxMappingBytes limits the size of mapping files.
const maxMappingBytes = 1 << 20

// readerVersion is part of every tag. Change it when documents are read differently, so
// that all of them are read again.
const readerVersion = "reststore 1"

// A loader decodes, validates and compiles a mapping file. It collects all problems.
type loader struct {
	strictyaml.Decoder
	compiler
	options *Options
	graphql *graphqlConnection // nil before it is loaded, and if there is none
}

// A place is the place of a value in a mapping file, or of a missing one.
type place = strictyaml.Place

// newLoader returns a loader that calls the methods check of the values it decodes.
func newLoader(o *Options) *loader {
	l := &loader{Decoder: strictyaml.Decoder{File: o.File}, options: o}
	l.Check = func(p place, v any) {
		if v, ok := v.(interface{ check(l *loader, p place) }); ok {
			v.check(l, p)
		}
	}
	return l
}

// load decodes, validates and compiles a mapping file. Its error joins all problems, each
// with file and line.
func load(o *Options) (*mapping, error) {
	l := newLoader(o)
	m := l.decode()
	if err := l.Err(); err != nil {
		return nil, err
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%q\n", readerVersion, l.constants)
	_, _ = h.Write(o.Mapping)
	m.fingerprint = h.Sum(nil)
	return m, nil
}

// decode decodes, validates and compiles the mapping file.
func (l *loader) decode() *mapping {
	m := &mapping{}
	if len(l.options.Mapping) > maxMappingBytes {
		l.FaultAt(0, "is larger than %d bytes", maxMappingBytes)
	} else {
		l.Decode(l.options.Mapping, m)
	}
	return m
}
