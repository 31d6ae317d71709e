package contracttests_test

import (
	"fmt"
	"github.com/portico-commerce/portico/contracttests"
)

func ExampleSpec_Find() {
	s, err := contracttests.LoadSpec()
	if err != nil {
		fmt.Println(err)
		return
	}
	section, ok := s.Find("wire 6.4")
	fmt.Println(section.Title, ok)
	fmt.Println(section.URL())
	// Output:
	// XML true
	// https://github.com/portico-commerce/portico/blob/main/contracttests/spec/wire.md#64-xml
}

// Citations finds the sections that a comment or a report cites.
func ExampleSpec_Citations() {
	s, err := contracttests.LoadSpec()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, citation := range s.Citations("Negotiate picks the format (wire 5; see products 3.6 and 3.8).") {
		fmt.Println(citation)
	}
	// Output:
	// wire 5
	// products 3.6
	// products 3.8
}
