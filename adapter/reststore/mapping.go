package reststore

import (
	"embed"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

//go:embed example.yaml medusa.yaml
var embedded embed.FS

// Mapping returns the mapping file that is built in under this name, as "medusa". It
// reports false when there is none.
func Mapping(name string) ([]byte, bool) {
	content, err := embedded.ReadFile(name + ".yaml")
	return content, err == nil
}

// A mapping is a mapping file, checked and compiled.
type mapping struct {
	name        string
	fingerprint []byte // of the file and the variables: part of every tag
	connection  connection
	resources   []*resource // roots before their parts
}

// of returns the mapping of a resource, nil when the backend keeps nothing of it.
func (m *mapping) resource(name adapter.Resource) *resource {
	for _, r := range m.resources {
		if r.name == name {
			return r
		}
	}
	return nil
}

// connection says how requests are sent, and what errors mean.
type connection struct {
	auth    auth
	headers []header
	ping    *request
	limits  limits
	retry   retry
	errors  []rule
}

// auth says how a request proves who sends it: by a fixed header, or by a token that
// a log-in returns.
type auth struct {
	fixed *header
	login *login
}

// A header is one header of a request.
type header struct{ name, value string }

// limits bound what one request may take.
type limits struct {
	responseBytes int64
	depth         int
	timeout       time.Duration
	inFlight      int
}

// retry says how often a read is sent again. Budget is how many retries there may be
// for each request, on average.
type retry struct {
	attempts int
	budget   float64
	wait     time.Duration
	maxWait  time.Duration
}

// A rule says what a reply means for which when holds. Without a kind it is that of
// the status.
type rule struct {
	when      *expression
	kind      adapter.ErrorKind
	hasKind   bool
	field     *expression
	reason    *expression
	anyStatus bool // looked at for replies of success as well
}

// A resource says how the records of one resource are read and written.
type resource struct {
	name       adapter.Resource
	schema     *adapter.Schema
	root       *resource // itself, unless it is a part
	owner      string    // of a part: the attribute that names its root
	attributes []string
	// references are the attributes that hold keys of other resources, by name, or by
	// "list.name" for those of nested records.
	references map[string]adapter.Resource

	// mayRead are the names that read may make, and mayRest those of rest.
	readNames, restNames map[string]bool

	// Of a root.
	fetch, scan, find *documentRequest
	id                path
	key               *expression
	read, rest        *expression
	parts             []*resource
	join              *join

	// Of a part.
	items      *expression
	identified bool
	match      []string
	adopts     bool

	create, update, remove               *verb
	noCreate, noUpdate, noDelete, noFind string // why there is none
}

// A verb is how a write is done: requests in order.
type verb struct{ steps []*step }

// A reading is a request for documents.
type documentRequest struct {
	request *request
	items   path // of the list in a reply
	single  bool // items leads to one document
	among   bool // of find: a reply may hold others as well
	// where, of scan, says which documents are records of the contract; nil: all.
	where *expression
	batch int // how many ids at a time; 1 without $ids
	pages *pages
}

// pages says how a list is read page by page: by an offset, a page number or a cursor.
type pages struct {
	size   int
	limit  string // the query parameter that holds size; "" for none
	offset string // the query parameter that counts documents
	page   string // the query parameter that counts pages, from first on
	first  int
	total  path   // of the number of all documents; nil when a backend does not tell it
	cursor string // the query parameter that holds the cursor
	next   path   // of the next cursor
}

// A step is one request of a write, or with each one for every value of that.
type step struct {
	name      string
	when      *expression
	each      *expression
	request   *request
	multipart *multipart
	id        *expression // of a new record, in the reply
	undo      *step       // what takes it back when a later step is refused
}

// A multipart is a body that carries a file.
type multipart struct {
	field     string
	attribute string // whose value is the file's content
	filename  *expression
	mediaType *expression
}

// A request is a request whose parts are worked out from an input.
type request struct {
	at      string // where it stands in the mapping file
	method  string
	path    *template
	query   []parameter
	headers []header
	body    *expression
	// documents: for documents, which are not decoded to see what a reply means.
	returnsDocuments bool
}

// A parameter is a parameter of a query. Null is left out, a list repeats it.
type parameter struct {
	name  string
	value *expression
}

// A path leads to a value in a document, by names of members. An empty one is the
// document itself.
type path []string
