package records

import (
	_ "embed" // for the skeleton
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// newCommand returns the command "mapping new".
func newCommand(p *program.Program) *cobra.Command {
	var resources []string
	var graphQL, toStdout bool
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a mapping file to start from",
		Long: `Write NAME.yaml, a mapping file to start from, into the current folder. It loads without
faults, for an imaginary API that has the attributes under their own names. Comments marked
EDIT say what to change: paths, expressions, and defaults of what every record needs. The
command does not overwrite a file.

--resources names the resources that the backend has. Parts, such as stock_items, need
their root, such as products.`,
		Example: `  portico mapping new shop
  portico mapping new shop --resources customers,customer_addresses,orders,order_items
  portico mapping new shop --graphql --stdout`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			schemas, err := program.Schemas(cfg)
			if err != nil {
				return err
			}
			s, err := newSkeleton(schemas, args[0], resources)
			if err != nil {
				return err
			}
			s.GraphQL = graphQL
			if toStdout {
				return s.write(cmd.OutOrStdout())
			}
			file, err := os.OpenFile(s.Name+".yaml", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return fmt.Errorf("%w: choose another name, or print the file with --stdout", err)
			}
			if err := s.write(file); err != nil {
				_ = file.Close()
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s.yaml is written; go through the lines marked EDIT, then: portico mapping check ./%[1]s.yaml\n", s.Name)
			return file.Close()
		},
	}
	p.AddSettingFlags(cmd)
	cmd.Flags().StringSliceVar(&resources, "resources", []string{"customers", "products", "stock_items"}, "the resources that the backend has")
	cmd.Flags().BoolVar(&graphQL, "graphql", false, "for a backend with a GraphQL API")
	cmd.Flags().BoolVar(&toStdout, "stdout", false, "print the file instead")
	return cmd
}

// schemaCommand returns the command "mapping schema".
func schemaCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of mapping files, for editors",
		Long: `Print the JSON Schema of mapping files. Editors with a YAML language server complete the
words of a mapping file and mark mistakes if its first line names the schema, as in a file of
"portico mapping new":

  # yaml-language-server: $schema=mapping.schema.json

The attributes that the configuration adds are in it. "portico mapping check" finds more.`,
		Example: `  portico mapping schema > mapping.schema.json`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return printFormat(p, cmd, reststore.Schema) },
	}
	p.AddSettingFlags(cmd)
	return cmd
}

//go:embed skeleton.tmpl
var skeletonTemplate string

// A skeleton is a mapping file to start from.
type skeleton struct {
	Name    string
	GraphQL bool
	Roots   []*skeletonResource
}

// A skeletonResource is a resource of a skeleton.
type skeletonResource struct {
	Name       adapter.Resource
	Attributes []string // that the backend owns
	Values     []string // the owned attributes that documents have themselves
	Nested     []string // the owned attributes that hold parts, as members of a jq object with the parts
	Imported   bool     // records that only the backend has are imported
	Others     []string // lines that name all others
	Defaults   []string // of attributes that every record needs, as members of a jq object
	Fields     string   // of a GraphQL document
	Verbs      []string
	Identified bool   // parts have ids
	Match      string // or this attribute tells them apart
	HasPath    bool   // of its own, so that the path of a write ends with an id
	Parts      []*skeletonResource
}

// An example determines how a skeleton maps a resource: it has the attributes that many backends
// own, and the key that identifies a part: id, an attribute, or nothing for a single part.
type example struct {
	owned, match, verbs string
	// useful are further defaults, of attributes without which a record shows little to clients.
	useful []string
}

// examples returns the examples of the resources. A resource without an example owns the attributes
// that every record needs.
func examples() map[adapter.Resource]example {
	const all = "create update delete"
	return map[adapter.Resource]example{
		adapter.Customers:         {"email firstname lastname", "", all, []string{"store_id: 0"}},
		adapter.CustomerAddresses: {"firstname lastname street city postcode country_id telephone", "id", all, nil},
		adapter.Products:          {"sku name description price weight status", "", all, []string{"visibility: 4", "tax_class_id: 0"}},
		adapter.StockItems:        {"qty is_in_stock", "", "update", nil},
		adapter.ProductImages:     {"label position", "id", all, nil},
		adapter.ProductWebsites:   {"website_id", "website_id", "create delete", nil},
		adapter.ProductCategories: {"category_id", "category_id", "create delete", nil},
		adapter.Categories:        {"name is_active", "", "", nil},
		adapter.Orders:            {"increment_id state status created_at updated_at grand_total", "", "", nil},
		adapter.OrderItems:        {"sku name qty_ordered price row_total created_at updated_at", "id", "", nil},
		adapter.OrderAddresses:    {"address_type firstname lastname street city postcode country_id", "address_type", "", nil},
		adapter.OrderComments:     {"comment status created_at", "id", "", nil},
	}
}

// defaults returns values, as jq, of attributes that every record needs, by the attribute.
// All other attributes get a default value of their kind.
func defaults() map[string]string {
	return map[string]string{
		"type_id": `"simple"`, "attribute_set_id": "4", "min_sale_qty": `"1.0000"`, "parent_id": "1", "tax_class_id": "3", "position": "1", "stock_id": "1",
		"manage_stock": "1", "is_active": "1",
	}
}

var skeletonName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// newSkeleton returns the skeleton of a mapping with these resources.
func newSkeleton(schemas *adapter.Schemas, name string, resources []string) (*skeleton, error) {
	if !skeletonName.MatchString(name) {
		return nil, fmt.Errorf("the name %.40q must consist of lower-case letters, digits and underscores, such as shop", name)
	}
	for _, r := range resources {
		schema := schemas.Of(adapter.Resource(r))
		switch {
		case schema == nil || schema.Resource == adapter.Admins:
			return nil, fmt.Errorf("there is no resource %.40q: use some of %s", r, mappable())
		case schema.Root != "" && !slices.Contains(resources, string(schema.Root)):
			return nil, fmt.Errorf("%s are parts of %s: add these to --resources", r, schema.Root)
		}
	}
	s := &skeleton{Name: name}
	roots := map[adapter.Resource]*skeletonResource{}
	for _, r := range adapter.Resources() { // roots come before their parts
		if !slices.Contains(resources, string(r)) {
			continue
		}
		one := newSkeletonResource(schemas.Of(r))
		if root := roots[schemas.Of(r).Root]; root != nil {
			root.Parts = append(root.Parts, one)
			root.Fields += fmt.Sprintf(" %s { %s }", one.Name, one.Fields)
			continue
		}
		one.HasPath = true
		one.Fields = "id legacy_id " + one.Fields
		roots[r], s.Roots = one, append(s.Roots, one)
	}
	for _, r := range s.Roots {
		for _, a := range schemas.Of(r.Name).Attributes {
			if a.Nested != nil && slices.Contains(resources, string(a.Nested.Resource)) {
				r.Attributes = append(r.Attributes, a.Name)
				r.Nested = append(r.Nested, fmt.Sprintf("%s: .%s", a.Nested.Resource, a.Name))
			}
		}
	}
	if len(s.Roots) == 0 {
		return nil, fmt.Errorf("name a resource in --resources: some of %s", mappable())
	}
	return s, nil
}

// mappable lists the resources that a mapping may have.
func mappable() string {
	var names []string
	for _, r := range adapter.Resources() {
		if r != adapter.Admins {
			names = append(names, string(r))
		}
	}
	return strings.Join(names, ", ")
}

func newSkeletonResource(schema *adapter.Schema) *skeletonResource {
	e := examples()[schema.Resource]
	r := &skeletonResource{Name: schema.Resource, Attributes: strings.Fields(e.owned), Verbs: strings.Fields(e.verbs), Imported: !schema.HasFile}
	switch e.match {
	case "id":
		r.Identified, r.HasPath = true, true
	default:
		r.Match = e.match
	}
	var others []string
	for _, a := range schema.Attributes {
		switch {
		case a.Name == schema.Key, a.Name == schema.RootAttribute, slices.Contains(r.Attributes, a.Name):
		case schema.Needs(&a) && e.owned == "":
			r.Attributes = append(r.Attributes, a.Name)
		case schema.Needs(&a) && !schema.HasFile: // files come with the attributes that they need
			r.Defaults = append(r.Defaults, a.Name+": "+defaultOf(&a))
			fallthrough
		case !a.WriteOnly && !a.OnDemand:
			others = append(others, a.Name)
		}
	}
	r.Defaults = append(r.Defaults, e.useful...)
	r.Others = wrap(others)
	r.Values = slices.Clone(r.Attributes)
	r.Fields = strings.Join(r.Values, " ")
	if r.Identified {
		r.Fields = "id " + r.Fields
	}
	return r
}

// defaultOf returns a value, as jq, of an attribute that every record needs.
func defaultOf(a *adapter.Attribute) string {
	if v := defaults()[a.Name]; v != "" {
		return v
	}
	switch {
	case a.Refers != "", strings.HasPrefix(a.Name, "use_config_"):
		return "1"
	case a.Kind == adapter.KindInteger:
		return "0"
	case a.Kind == adapter.KindDecimal:
		return `"0.0000"`
	default:
		return `"` + a.Name + `"`
	}
}

// wrap joins names to lines.
func wrap(names []string) (lines []string) {
	const most = 110
	for _, name := range names {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+len(name) < most {
			lines[last] += ", " + name
		} else {
			lines = append(lines, name)
		}
	}
	return lines
}

// write writes the mapping file.
func (s *skeleton) write(w io.Writer) error {
	t, err := template.New("skeleton").Funcs(template.FuncMap{
		"join": func(all []string) string { return strings.Join(all, ", ") },
		"dict": func(graphQL bool, r *skeletonResource, root adapter.Resource, id string) map[string]any {
			return map[string]any{"GraphQL": graphQL, "Resource": r, "Root": string(root), "ID": id}
		},
	}).Parse(skeletonTemplate)
	if err != nil {
		return err
	}
	return t.Execute(w, s)
}
