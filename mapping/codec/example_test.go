package codec_test

import (
	"fmt"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// The same record in JSON and XML; a number in JSON is a text in XML.
func ExampleDecode() {
	bodies := map[contract.Format]string{
		contract.JSON: `{"sku":"kettle","qty":3}`,
		contract.XML:  `<magento_api><sku>kettle</sku><qty>3</qty></magento_api>`,
	}
	for _, format := range []contract.Format{contract.JSON, contract.XML} {
		record, err := codec.Decode(format, []byte(bodies[format]))
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, m := range record.Members {
			fmt.Println(m.Key, m.Value.Text, m.Value.Kind == codec.Number)
		}
	}
	// Output:
	// sku kettle false
	// qty 3 true
	// sku kettle false
	// qty 3 false
}

// The root element is for XML; a JSON body has none.
func ExampleAppend() {
	record := codec.Node{Kind: codec.Struct, Members: []codec.Member{
		{Key: "sku", Value: codec.Node{Kind: codec.Text, Text: "tea & cups"}},
		{Key: "qty", Value: codec.Node{Kind: codec.Number, Text: "3"}},
		{Key: "note"}, // null
	}}
	for _, format := range []contract.Format{contract.JSON, contract.XML} {
		fmt.Printf("%s\n", codec.Append(nil, format, "magento_api", &record, false))
	}
	// Output:
	// {"sku":"tea & cups","qty":3,"note":null}
	// <?xml version="1.0"?>
	// <magento_api>
	//   <sku>tea &amp; cups</sku>
	//   <qty>3</qty>
	//   <note/>
	// </magento_api>
}

// The reply format is chosen by the Accept header of the request.
func ExampleNegotiate() {
	for _, accept := range []string{"text/xml", "application/json;q=0.5, application/xml", "image/png"} {
		format, _, ok := codec.Negotiate(accept)
		if !ok {
			fmt.Println("not acceptable:", accept)
			continue
		}
		fmt.Println("XML:", format == contract.XML)
	}
	// Output:
	// XML: true
	// XML: true
	// not acceptable: image/png
}
