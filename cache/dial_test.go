package cache_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/cache"
)

func TestDial(t *testing.T) {
	const timeout = 70 * time.Millisecond
	t.Run("one", func(t *testing.T) {
		for url, address := range map[string]string{
			"redis://redis.example":                           "redis.example:6379",
			"rediss://:password@redis.example:6380/3":         "redis.example:6380",
			"unix:///run/redis.sock?db=2":                     "/run/redis.sock",
			"redis://redis.example?max_retries=7&pool_size=3": "redis.example:6379",
		} {
			client, err := cache.Dial(url, timeout)
			if err != nil {
				t.Error(err)
				continue
			}
			o := client.(*redis.Client).Options()
			if o.Addr != address || o.MaxRetries > 0 || o.DialerRetries != 1 || !o.ContextTimeoutEnabled ||
				o.ReadTimeout != timeout || o.DialTimeout != timeout || o.PoolTimeout != timeout {
				t.Errorf("%s: %+v", address, o)
			}
			_ = client.Close()
		}
	})
	t.Run("cluster", func(t *testing.T) {
		client, err := cache.Dial("redis://a.example:1?addr=b.example:2&read_only=true", timeout)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		o := client.(*redis.ClusterClient).Options()
		if len(o.Addrs) != 2 || o.ReadOnly || o.RouteRandomly || o.RouteByLatency || o.ReadTimeout != timeout || o.MaxRetries > 0 {
			t.Errorf("%+v", o)
		}
	})
	t.Run("sentinels", func(t *testing.T) {
		client, err := cache.Dial("redis://a.example:1?master_name=shop&addr=b.example:2&replica_only=true", timeout)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if o := client.(*redis.Client).Options(); o.ReadTimeout != timeout || o.MaxRetries > 0 {
			t.Errorf("%+v", o)
		}
	})
	for name, url := range map[string]string{
		"scheme":            "http://:open-sesame@redis.example",
		"unreadable":        "redis://:open-sesame@redis.example:port",
		"control character": "redis://:open-sesame@redis.example\n",
		"unknown option":    "redis://:open-sesame@redis.example?colour=red",
		"database":          "redis://:open-sesame@redis.example/one",
		"cluster's option":  "redis://:open-sesame@redis.example?addr=b.example:2&colour=red",
		"sentinels' option": "redis://:open-sesame@redis.example?master_name=a&colour=red",
	} {
		t.Run(name, func(t *testing.T) {
			client, err := cache.Dial(url, timeout)
			if err == nil {
				_ = client.Close()
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "open-sesame") {
				t.Errorf("the password shows in %q", err)
			}
		})
	}
}

func TestLocation(t *testing.T) {
	for url, want := range map[string]string{
		"redis://:secret@redis.example:6380/3":               "redis.example:6380",
		"redis://u:secret@one:1?addr=two:2&addr=three:3":     "one:1,two:2,three:3",
		"redis://one:26379?addr=two:26379&master_name=redis": "one:26379,two:26379",
		"unix:///run/redis.sock?db=2":                        "/run/redis.sock",
		"redis://%zz":                                        "",
	} {
		if got := cache.Location(url); got != want {
			t.Errorf("%s is at %q, want %q", url, got, want)
		}
	}
}
