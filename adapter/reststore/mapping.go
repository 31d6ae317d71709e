package reststore

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"github.com/portico-commerce/portico/config/strictyaml"
)

//go:embed example.yaml examplegraphql.yaml magento2.yaml medusa.yaml vendure.yaml
var embedded embed.FS

// Mapping returns the content of the built-in mapping file with this name, such as
// "magento2", "medusa" or "vendure". It reports false if there is none.
func Mapping(name string) ([]byte, bool) {
	content, err := embedded.ReadFile(name + ".yaml")
	return content, err == nil
}

//go:embed *.expected.yaml
var expected embed.FS

// Expected returns the differences from a legacy store that the built-in mapping with this name cannot
// avoid, as a file for "portico compare --expect". It reports false if there is no such file.
func Expected(name string) ([]byte, bool) {
	content, err := expected.ReadFile(name + ".expected.yaml")
	return content, err == nil
}

// A mapping is a mapping file; example.yaml explains the members. A loader decodes it to the
// exported fields, in this order: expressions can use the variables and functions before them. In
// addition to the tags of package strictyaml, the tag vars lists the variables that expressions in
// a field can use besides the file's variables, and method is the method of requests without one.
// The fields that are not exported are derived.
type mapping struct {
	Name       string `need:"true"`
	Vars       variables
	Functions  definitions
	Connection connection
	Resources  map[adapter.Resource]*resource

	fingerprint []byte      // of the file and its variables; part of every tag
	resources   []*resource // roots before their parts, each in the order of the file
}

// connection configures how requests are sent and the meanings of errors.
type connection struct {
	GraphQL *graphqlConnection // first, because the requests of the other fields may use it
	Auth    auth
	Headers headers
	Ping    *request `method:"GET"`
	// FileHosts are the hosts, besides the backend's host, from which files of parts are read.
	FileHosts []string `yaml:"file_hosts"`
	Limits    limits
	Retry     retry
	Errors    []*rule
}

// auth authenticates requests with a fixed header, with a token obtained by a login, or with signatures. At
// most one of the exported fields is set: of a file with both Login and OAuth1, the one for which the settings
// have credentials.
type auth struct {
	Basic  *struct{ User, Password string }
	Bearer string
	Header *header
	Login  *login
	OAuth1 *oauth1

	fixed *header // nil for a login and for signatures
}

// A header is an HTTP request header.
type header struct{ Name, Value string }

// headers are HTTP request headers by name.
type headers map[string]string

// limits bound a single request.
type limits struct {
	ResponseBytes strictyaml.Size `yaml:"response_bytes" default:"16MiB" range:"1 1024MiB"`
	Depth         int             `default:"64" range:"1 1000"`
	Timeout       time.Duration   `default:"10s" range:"1ms 10m"`
	InFlight      int             `yaml:"in_flight" default:"32" range:"1 10000"`
}

// retry configures retries of reads. Budget is the average number of retries per request.
type retry struct {
	Attempts int           `default:"3" range:"1 10"`
	Budget   float64       `default:"0.1" range:"0 1"`
	Wait     time.Duration `default:"50ms" range:"1ms 1m"`
	MaxWait  time.Duration `yaml:"max_wait" default:"2s" range:"1ms 1m"`
}

// A rule gives the meaning of responses for which When holds. Without a Kind, the status
// determines the error kind.
type rule struct {
	When      *expression `need:"true"`
	Kind      *ruleKind
	Field     *expression
	Reason    *expression
	AnyStatus bool `yaml:"any_status"` // also applied to responses with a success status
	Repeat    bool // the request is sent again, as a read is, also if it is a write
}

// A ruleKind is an error kind or "changed": another program has changed the record.
type ruleKind struct {
	adapter.ErrorKind
	changed bool
}

// changedKind is the name of the kind that only rules and error() have.
const changedKind = "changed"

// UnmarshalText sets k to the kind with this name.
func (k *ruleKind) UnmarshalText(name []byte) error {
	if string(name) == changedKind {
		*k = ruleKind{adapter.Conflict, true}
		return nil
	}
	if err := k.ErrorKind.UnmarshalText(name); err != nil {
		return fmt.Errorf("%w, or %s", err, changedKind)
	}
	return nil
}

// A resource configures how the records of one resource are read and written.
type resource struct {
	Attributes []string // backend-owned
	// References maps attributes that hold keys to the resource they refer to. Nested
	// attributes are named "list.name".
	References             map[string]adapter.Resource
	Create, Update, Delete []*step // the requests of a write, in order
	Without                struct{ Create, Update, Delete, Find string }

	// Only for a root.
	Fetch *documentRequest `vars:"$ids $id" method:"GET"`
	Scan  *documentRequest `vars:"$since" method:"GET"`
	Find  *documentRequest `vars:"$key" method:"GET"`
	Joins []*join          `vars:"$ids" method:"GET"`
	Watch []*watch         `vars:"" method:"GET"`
	ID    jsonPath
	// Version is the place of the version in a document; nil if all its bytes are its version.
	// Versions requests documents that need not have more than their ids and versions.
	Version         jsonPath
	Versions        *documentRequest `vars:"$ids $id" method:"GET"`
	Views           *views           `vars:"$ids $id $view" method:"GET"`
	Key, Read, Rest *expression
	// LocalReads: reads take the record from the local replica, and only scans compare it.
	LocalReads bool `yaml:"local_reads"`

	// Only for a part.
	PartOf     adapter.Resource `yaml:"part_of"`
	Items      *expression
	Identified bool
	Match      []string
	Adopts     bool
	Order      string

	name   adapter.Resource
	place  place
	schema *adapter.Schema
	root   *resource   // the resource itself, unless it is a part
	owner  string      // of a part: the attribute with the key of its root record
	parts  []*resource // of a root
	// readNames, restNames and viewNames are the keys that Read, Rest and the Read of Views may return.
	readNames, restNames, viewNames map[string]bool
}

// A request is a request of the mapping file. Its expressions are evaluated for each call. A
// GraphQL request has GraphQL and Variables instead of Method, Path, Query and Body.
type request struct {
	Method string
	Path   *template // for a GraphQL request: the path of the connection
	// Query has the parameters. A parameter is omitted if its value is null, and repeated for the
	// elements of a list.
	Query map[string]*expression
	// Headers have jq expressions in braces. A header that is a single expression is omitted if
	// its value is null.
	Headers map[string]*headerText
	Body    *expression
	GraphQL *operation
	// Variables are the variables of a GraphQL document. A variable is omitted if its value is
	// null.
	Variables map[string]*expression

	at   string // file and line, for errors
	name string // method and path or, for a GraphQL request, the name of the document
	// returnsDocuments: the response is split into documents instead of being decoded, so
	// any_status rules see it only if it contains none.
	returnsDocuments bool
}

// A documentRequest is a request for documents.
type documentRequest struct {
	request
	Items jsonPath // of the list in a response
	Item  jsonPath `only:"fetch scan find versions"` // of a single document, instead of Items
	// Documents returns the list of documents, or null for none, instead of Items: documents that are made
	// of several values of a response, or stand inside others. Its input is the body.
	Documents *expression `vars:""`
	// Aliases: a GraphQL query for one document is repeated for each id.
	Aliases bool `only:"fetch"`
	Among   bool `only:"find"` // a response may contain documents that do not match
	// Unique: the query is by values that no two records share, and its input is that of create. It finds a document
	// without a legacy id, too.
	Unique bool `only:"find"`
	// Where selects the documents that are records of the contract; nil selects all.
	Where *expression `only:"scan" vars:""`
	Batch int         `only:"fetch joins versions views" range:"1 1000"` // maximum number of ids per request
	Pages *pages      `only:"scan find watch"`
}

// pages configures how a list is read page by page: by offset, page number, cursor or last id. The
// named parameters are parameters of the query, or variables of a GraphQL document.
type pages struct {
	Whole  bool     // the response has the whole list: there is one page
	Size   int      `default:"100" range:"1 10000"`
	Limit  string   // parameter for Size; "" if there is none
	Offset string   // parameter for the number of documents to skip
	Page   string   // parameter for the page number; the first page is First
	First  int      `default:"1" range:"0 1"`
	After  string   // parameter for the id of the last document so far; the first page has none
	Total  jsonPath // of the total number of documents; nil if the backend does not report it
	Cursor *struct {
		Query string   `need:"true"` // parameter for the cursor
		Next  jsonPath `need:"true"` // of the next cursor
		More  jsonPath // of a boolean that is true if there is another page
	}
}

// A join is a further request for data that documents only refer to, such as the price list
// of a product. The joined data is part of the document and of its tag.
type join struct {
	documentRequest
	From jsonPath `need:"true"` // place of the id of the joined document in a document
	As   string   `need:"true"` // the key under which expressions see the joined data
	Many bool     // the joined data is the list of all documents with the id, instead of one or null
	ID   jsonPath `need:"true"` // place of the id in a joined document
}

// A step is one request of a write. With Each, it is sent once for every value of Each.
type step struct {
	request   `vars:"$item"` // null unless the step has Each
	Name      string
	When      *expression
	Each      *expression
	Multipart *multipart
	ID        *expression // of the new record, in the response
	Undo      *undo       // reverts the step if a later one is rejected
	UndoneBy  string      `yaml:"undone_by"` // an earlier step, whose undo reverts this one, too
	// Warn returns a text for the log about what the backend does not keep of the record, or null. It is
	// evaluated after the requests of the step, and must not contain personal data.
	Warn *expression
}

// An undo is the request that reverts a step.
type undo struct {
	request `vars:"$item"`
	When    *expression
}

// A multipart is a request body that uploads a file.
type multipart struct {
	Field     string      // of the form, or
	Variable  string      // of a GraphQL document
	Attribute string      `need:"true"` // attribute with the file's content
	Filename  *expression `need:"true" vars:"$item"`
	Type      *expression `need:"true" vars:"$item"`
}

// A jsonPath leads to a value in a document.
type jsonPath = expr.Path

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

// Schema returns the JSON Schema, draft 2020-12, of mapping files for records with these
// schemas. It is for editors: [Check] finds more.
func Schema(schemas *adapter.Schemas) ([]byte, error) {
	root := strictyaml.Schema(reflect.TypeFor[mapping]())
	properties, _ := root["properties"].(map[string]any)
	all, _ := properties["resources"].(map[string]any)
	resources := map[string]any{}
	for _, r := range adapter.Resources() {
		schema := schemas.Of(r)
		var names []string
		for _, a := range schema.Attributes {
			if a.Name != schema.Key && a.Name != schema.RootAttribute {
				names = append(names, a.Name)
			}
		}
		resources[string(r)] = map[string]any{
			"$ref": "#/$defs/resource", "description": schema.Doc,
			"properties": map[string]any{"attributes": map[string]any{"items": map[string]any{"enum": names}}},
		}
	}
	root["$defs"] = map[string]any{"resource": all["additionalProperties"]}
	properties["resources"] = map[string]any{"type": "object", "properties": resources, "additionalProperties": false, "minProperties": 1}
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", "Mapping file of Portico"
	text, err := json.MarshalIndent(root, "", " ")
	return append(text, '\n'), err
}
