package guard_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/guard"
)

// The second failure in a row opens the breaker, and the third call is not sent.
func ExampleNew() {
	metrics := guard.NewMetrics(prometheus.NewRegistry())
	g := guard.New(metrics, guard.Options{Name: "erp", Failures: 2, OpenFor: time.Minute})
	for range 3 {
		err := g.Do(context.Background(), "products", "list", func(context.Context) error {
			fmt.Println("call sent")
			return &adapter.Error{Kind: adapter.Unavailable, Op: "list products"}
		})
		fmt.Println(adapter.KindOf(err), errors.Is(err, guard.ErrOpen))
	}
	// Output:
	// call sent
	// unavailable false
	// call sent
	// unavailable false
	// unavailable true
}

// A call that is not answered within the timeout fails with kind Unavailable.
func ExampleGuard_Do() {
	metrics := guard.NewMetrics(prometheus.NewRegistry())
	g := guard.New(metrics, guard.Options{Name: "erp", Timeout: 10 * time.Millisecond})
	err := g.Do(context.Background(), "orders", "get", func(ctx context.Context) error {
		<-ctx.Done() // an upstream that does not answer
		return ctx.Err()
	})
	fmt.Println(adapter.KindOf(err), errors.Is(err, guard.ErrTimeout))
	// Output: unavailable true
}
