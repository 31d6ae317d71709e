package openapi

// A Document is an OpenAPI 3.1 document, with the parts of the specification that this
// package uses.
type Document struct {
	OpenAPI    string         `json:"openapi"`
	Info       Info           `json:"info"`
	Servers    []Server       `json:"servers"`
	Security   []Requirement  `json:"security"`
	Tags       []Tag          `json:"tags"`
	Paths      Map[*PathItem] `json:"paths"`
	Components Components     `json:"components"`
}

// Info describes the interface as a whole.
type Info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Summary     string  `json:"summary"`
	Description string  `json:"description"`
	License     License `json:"license"`
	// Dialect is the dialect that the document describes.
	Dialect DialectInfo `json:"x-dialect"`
}

// A License is the license of the document.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

// DialectInfo describes the dialect of a document.
type DialectInfo struct {
	Name    string `json:"name"`
	XMLRoot string `json:"xml-root"`
}

// A Server is a base URL of the interface.
type Server struct {
	URL string `json:"url"`
}

// A Requirement names the security scheme that a call needs; an empty one stands for none.
type Requirement map[string][]string

// A Tag groups the calls of a resource.
type Tag struct {
	Name string `json:"name"`
}

// A PathItem has the calls of a path.
type PathItem struct {
	Summary    string       `json:"summary,omitempty"`
	Parameters []*Parameter `json:"parameters,omitempty"`
	Get        *Operation   `json:"get,omitempty"`
	Post       *Operation   `json:"post,omitempty"`
	Put        *Operation   `json:"put,omitempty"`
	Delete     *Operation   `json:"delete,omitempty"`
}

// An Operation is one call.
type Operation struct {
	OperationID string         `json:"operationId"`
	Tags        []string       `json:"tags"`
	Summary     string         `json:"summary"`
	Parameters  []*Parameter   `json:"parameters,omitempty"`
	RequestBody *RequestBody   `json:"requestBody,omitempty"`
	Responses   Map[*Response] `json:"responses"`
	Security    []Requirement  `json:"security"`
	Call        string         `json:"x-call"` // as in logs, metrics and "portico routes"
	Roles       []string       `json:"x-roles"`
	Format      string         `json:"x-default-format,omitempty"`
	List        *List          `json:"x-list,omitempty"`
	// Faults has the messages of errors by status, with an ellipsis in the place of each
	// value; BatchFaults the messages of single records in a reply with status 207.
	Faults      Map[[]string] `json:"x-faults,omitzero"`
	BatchFaults Map[[]string] `json:"x-batch-faults,omitzero"`
}

// A List holds the properties of a list that OpenAPI cannot express.
type List struct {
	// KeyedBy is the field whose values are the names of the members in JSON; "" for an
	// array.
	KeyedBy   string `json:"keyed-by,omitempty"`
	Modifiers string `json:"modifiers"` // applied, checked or ignored
	// NumberedXML: the elements are data_item_1, data_item_2 and so on.
	NumberedXML bool `json:"numbered-xml-elements,omitempty"`
	// Filterable names the fields that filter accepts; RequiresDir the fields by which
	// order needs a dir.
	Filterable  []string `json:"filterable,omitempty"`
	RequiresDir []string `json:"order-requires-dir,omitempty"`
}

// A Parameter is a parameter of a path or a query, or a reference to one.
type Parameter struct {
	Ref         string  `json:"$ref,omitempty"`
	Name        string  `json:"name,omitempty"`
	In          string  `json:"in,omitempty"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Style       string  `json:"style,omitempty"`
	Explode     *bool   `json:"explode,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
}

// A RequestBody is the body of a call.
type RequestBody struct {
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required"`
	Content     Map[*MediaType] `json:"content"`
}

// A Response is an answer with a status, or a reference to one.
type Response struct {
	Ref         string          `json:"$ref,omitempty"`
	Description string          `json:"description,omitempty"`
	Headers     Map[*Header]    `json:"headers,omitzero"`
	Content     Map[*MediaType] `json:"content,omitzero"`
}

// A Header is a header of an answer.
type Header struct {
	Description string  `json:"description"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema"`
}

// A MediaType is a body in one format.
type MediaType struct {
	Schema  *Schema `json:"schema"`
	Example any     `json:"example,omitempty"`
	// Text is an example in XML: tools take an example for a value in JSON.
	Text string `json:"x-example,omitempty"`
}

// Components are the parts that the rest of the document refers to.
type Components struct {
	Schemas         Map[*Schema]         `json:"schemas"`
	Parameters      Map[*Parameter]      `json:"parameters,omitzero"`
	Responses       Map[*Response]       `json:"responses"`
	SecuritySchemes Map[*SecurityScheme] `json:"securitySchemes"`
}

// A SecurityScheme is a way to authenticate.
type SecurityScheme struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Name        string `json:"name,omitempty"`
	In          string `json:"in,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
}

// A Schema is a JSON Schema, with the keywords that this package uses.
type Schema struct {
	Ref         string   `json:"$ref,omitempty"`
	Type        Types    `json:"type,omitempty"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	// Integers: Enum holds decimal integers, which are allowed as numbers if Type has these, and maybe "".
	Integers   bool         `json:"-"`
	Const      any          `json:"const,omitempty"`
	Format     string       `json:"format,omitempty"`
	Pattern    string       `json:"pattern,omitempty"`
	Minimum    *int         `json:"minimum,omitempty"`
	Maximum    *int         `json:"maximum,omitempty"`
	MaxItems   *int         `json:"maxItems,omitempty"`
	MinItems   int          `json:"minItems,omitempty"`
	Default    any          `json:"default,omitempty"`
	Items      *Schema      `json:"items,omitempty"`
	OneOf      []*Schema    `json:"oneOf,omitempty"`
	Properties Map[*Schema] `json:"properties,omitzero"`
	Required   []string     `json:"required,omitempty"`
	// Names is the schema of the names of members without a property, Additional the
	// schema of their values; Closed allows no such members.
	Names      *Schema `json:"propertyNames,omitempty"`
	Additional *Schema `json:"additionalProperties,omitempty"`
	Closed     bool    `json:"-"`
	XML        *XML    `json:"xml,omitempty"`

	// Readers has the roles that may read the field, each with the views that show it
	// unless attrs selects others: list, single, category, or one of them in one format.
	Readers Map[[]string] `json:"x-readers,omitzero"`
	// MayBeMissing: a record may lack the field even in these views.
	MayBeMissing bool `json:"x-may-be-missing,omitempty"`
	// Writers are the roles whose values for the field are accepted.
	Writers []string `json:"x-writers,omitempty"`
}

// Types are the types of a value; most have one.
type Types []string

// XML describes the notation of a value in XML.
type XML struct {
	Name    string `json:"name,omitempty"`
	Wrapped bool   `json:"wrapped,omitempty"`
}
