package reststore

import (
	"embed"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

//go:embed example.yaml medusa.yaml
var embedded embed.FS

// Mapping returns the content of the built-in mapping file with this name, such as
// "medusa". It reports false if there is none.
func Mapping(name string) ([]byte, bool) {
	content, err := embedded.ReadFile(name + ".yaml")
	return content, err == nil
}

// A mapping is a mapping file, validated and compiled.
type mapping struct {
	name        string
	fingerprint []byte // of the file and its variables; part of every tag
	connection  connection
	resources   []*resource // roots before their parts
}

// resource returns the mapping of a resource, or nil if the backend does not have it.
func (m *mapping) resource(name adapter.Resource) *resource {
	for _, r := range m.resources {
		if r.name == name {
			return r
		}
	}
	return nil
}

// connection configures how requests are sent and what errors mean.
type connection struct {
	auth    auth
	headers []header
	ping    *request
	limits  limits
	retry   retry
	errors  []rule
}

// auth authenticates requests with a fixed header or with a token obtained by a login. At
// most one is set.
type auth struct {
	fixed *header
	login *login
}

// A header is an HTTP request header.
type header struct{ name, value string }

// limits bound a single request.
type limits struct {
	responseBytes int64
	depth         int
	timeout       time.Duration
	inFlight      int
}

// retry configures retries of reads. budget is the average number of retries per request.
type retry struct {
	attempts int
	budget   float64
	wait     time.Duration
	maxWait  time.Duration
}

// A rule gives the meaning of responses for which when holds. Without a kind, the status
// determines the kind.
type rule struct {
	when      *expression
	kind      adapter.ErrorKind
	hasKind   bool
	field     *expression
	reason    *expression
	anyStatus bool // also applied to responses with a success status
}

// A resource configures how the records of one resource are read and written.
type resource struct {
	name       adapter.Resource
	schema     *adapter.Schema
	root       *resource // the resource itself, unless it is a part
	owner      string    // of a part: the attribute with the key of its root record
	attributes []string
	// references maps attributes that hold keys to the resource they refer to. Nested
	// attributes are named "list.name".
	references map[string]adapter.Resource

	// readNames are the keys that read may return, and restNames those of rest.
	readNames, restNames map[string]bool

	// Only for a root.
	fetch, scan, find *documentRequest
	id                path
	key               *expression
	read, rest        *expression
	parts             []*resource
	join              *join

	// Only for a part.
	items      *expression
	identified bool
	match      []string
	adopts     bool

	create, update, remove               *verb
	noCreate, noUpdate, noDelete, noFind string // the reason why an operation is missing
}

// A verb is a write operation: requests in order.
type verb struct{ steps []*step }

// A documentRequest is a request for documents.
type documentRequest struct {
	request *request
	items   path // of the list in a response
	single  bool // items is the path of a single document
	among   bool // of find: a response may contain documents that do not match
	// where, of scan, selects the documents that are records of the contract; nil selects
	// all.
	where *expression
	batch int // maximum number of ids per request
	pages *pages
}

// pages configures how a list is read page by page: by offset, page number or cursor.
type pages struct {
	size   int
	limit  string // query parameter for size; "" if there is none
	offset string // query parameter for the number of documents to skip
	page   string // query parameter for the page number; the first page is first
	first  int
	total  path   // of the total number of documents; nil if the backend does not report it
	cursor string // query parameter for the cursor
	next   path   // of the next cursor
}

// A step is one request of a write. With each, it is sent once for every value of each.
type step struct {
	name      string
	when      *expression
	each      *expression
	request   *request
	multipart *multipart
	id        *expression // of the new record, in the response
	undo      *step       // reverts the step if a later one is rejected
}

// A multipart is a request body that uploads a file.
type multipart struct {
	field     string
	attribute string // attribute with the file's content
	filename  *expression
	mediaType *expression
}

// A request is a request of the mapping file. Its expressions are evaluated for each call.
type request struct {
	at      string // file and line, for errors
	method  string
	path    *template
	query   []parameter
	headers []header
	body    *expression
	// returnsDocuments: the response is split into documents instead of being decoded, so
	// any_status rules see it only if it contains none.
	returnsDocuments bool
}

// A parameter is a query parameter. It is omitted if its value is null and repeated for
// the elements of a list.
type parameter struct {
	name  string
	value *expression
}

// A path is a list of member names that lead to a value in a document. The empty path is
// the document itself.
type path []string
