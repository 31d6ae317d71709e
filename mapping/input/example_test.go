package input_test

import (
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
)

// The query string of a list request becomes a query that an adapter can run.
func ExampleReader_Parse() {
	reader := input.Reader{
		Dialect: contract.Documented(),
		Fields:  contract.StandardFields().StockItems,
		Role:    contract.Admin,
	}
	schema := adapter.NewSchemas().Of(adapter.StockItems)
	parameters := codec.ParseForm("filter[1][attribute]=qty&filter[1][gt]=5&order=qty&dir=asc&limit=20&page=3")
	list, err := reader.Parse(schema, &parameters)
	if err != nil {
		fmt.Println(err)
		return
	}
	test := list.Query.Where[0].Any[0]
	fmt.Println(test.Attribute, test.Op == adapter.Gt, test.Operands)
	fmt.Println(list.Query.OrderBy, list.Query.Desc)
	fmt.Println(list.Paging.Limit, list.Paging.OffsetIn(45))
	// Output:
	// qty true [5]
	// qty false
	// 20 40
}
