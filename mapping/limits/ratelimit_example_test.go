package limits_test

import (
	"fmt"
	"github.com/portico-commerce/portico/mapping/limits"
	"net/netip"
	"time"
)

// Each network may send one request every ten seconds, and two in a burst.
func ExampleLimiter_Take() {
	limiter, err := limits.NewLimiter[netip.Prefix](0.1, 2, time.Now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		if wait, ok := limiter.Take(limits.Network("192.0.2.7")); !ok {
			fmt.Println("refused, Retry-After:", wait)
			continue
		}
		fmt.Println("served")
	}
	// Output:
	// served
	// served
	// refused, Retry-After: 10
}

// All addresses of an IPv6 connection count as one caller.
func ExampleNetwork() {
	fmt.Println(limits.Network("2001:db8::1"))
	fmt.Println(limits.Network("2001:db8::2"))
	fmt.Println(limits.Network("192.0.2.7"))
	// Output:
	// 2001:db8::/64
	// 2001:db8::/64
	// 192.0.2.7/32
}
