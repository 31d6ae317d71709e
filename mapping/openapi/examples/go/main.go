// This program is a client of a store in Go. Package store is made by oapi-codegen from
// Portico's OpenAPI document.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/dghubble/oauth1"

	"example.com/storeclient/store"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// run uses every kind of call.
func run(ctx context.Context) error {
	client, err := connect(ctx)
	if err != nil {
		return err
	}
	if err := readProducts(ctx, client); err != nil {
		return err
	}
	return changeCustomers(ctx, client)
}

// connect returns a client whose requests are signed with OAuth 1.0a, and ask for JSON.
func connect(ctx context.Context) (*store.ClientWithResponses, error) {
	config := oauth1.NewConfig(os.Getenv("CONSUMER_KEY"), os.Getenv("CONSUMER_SECRET"))
	signing := config.Client(ctx, oauth1.NewToken(os.Getenv("TOKEN"), os.Getenv("TOKEN_SECRET")))
	return store.NewClientWithResponses(os.Getenv("STORE_URL"), store.WithHTTPClient(signing),
		store.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Accept", "application/json")
			return nil
		}))
}

// readProducts lists some products, and reads one.
func readProducts(ctx context.Context, client *store.ClientWithResponses) error {
	list, err := client.ListProductsWithResponse(ctx, &store.ListProductsParams{
		Filter: &store.Filter{"1": {Attribute: "name", Like: new("%Kettle")}},
		Attrs:  &[]store.ProductField{store.ProductFieldSku, store.ProductFieldName},
	})
	if err != nil {
		return err
	}
	if list.JSON200 == nil {
		return fault(list.StatusCode(), list.Body)
	}
	kettles, err := list.JSON200.AsProductByID() // a list without records is an array
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(kettles)) {
		fmt.Printf("product %s: %s, %s\n", id, *kettles[id].Sku, *kettles[id].Name)
	}

	product, err := client.GetProductWithResponse(ctx, "1", &store.GetProductParams{})
	if err != nil {
		return err
	}
	if product.JSON200 == nil {
		return fault(product.StatusCode(), product.Body)
	}
	kettle := product.JSON200 // with all its fields, because the caller is an administrator
	fmt.Printf("%s costs %s, %s in stock\n", *kettle.Sku, *kettle.Price, *kettle.StockData.Qty)
	return nil
}

// changeCustomers creates a customer, changes it and deletes it.
func changeCustomers(ctx context.Context, client *store.ClientWithResponses) error {
	created, err := client.CreateCustomerWithResponse(ctx, store.CustomerCreate{
		Firstname: "Grace",
		Lastname:  "Murray",
		Email:     "grace@example.com",
		Password:  "grace-password-1", // only in the dialect documented
		WebsiteID: number(1),
		GroupID:   number(1),
	})
	if err != nil {
		return err
	}
	if created.Headers200 == nil {
		return fault(created.StatusCode(), created.Body)
	}
	id := path.Base(created.Headers200.Location)

	updated, err := client.UpdateCustomerWithResponse(ctx, id, store.CustomerUpdate{Lastname: new("Hopper")})
	if err != nil {
		return err
	}
	if updated.StatusCode() != http.StatusOK {
		return fault(updated.StatusCode(), updated.Body)
	}
	read, err := client.GetCustomerWithResponse(ctx, id, &store.GetCustomerParams{})
	if err != nil {
		return err
	}
	if read.JSON200 == nil {
		return fault(read.StatusCode(), read.Body)
	}
	customer := read.JSON200
	fmt.Printf("created %s %s, %s\n", *customer.Firstname, *customer.Lastname, *customer.Email)

	deleted, err := client.DeleteCustomerWithResponse(ctx, id)
	if err != nil {
		return err
	}
	if deleted.StatusCode() != http.StatusOK {
		return fault(deleted.StatusCode(), deleted.Body)
	}
	missing, err := client.GetCustomerWithResponse(ctx, id, &store.GetCustomerParams{})
	if err != nil {
		return err
	}
	fmt.Println("deleted:", fault(missing.StatusCode(), missing.Body))
	return nil
}

// fault returns the messages of an answer that is an error.
func fault(status int, body []byte) error {
	var faults store.Faults
	if err := json.Unmarshal(body, &faults); err != nil {
		return fmt.Errorf("%d: %w", status, err)
	}
	var messages []string
	for _, f := range faults.Messages.Error {
		messages = append(messages, f.Message)
	}
	return fmt.Errorf("%d %s", status, strings.Join(messages, " "))
}

// number returns a number for a field that takes numbers and texts.
func number(value float64) *store.NumberOrText {
	var n store.NumberOrText
	_ = n.FromNumber(value) // cannot fail
	return &n
}
