// Package chromium starts a browser without a window for tests that look at pages.
//
// # Principles
//
//  1. As package programs: whoever has no Chromium can run all other tests.
//  2. However long a page takes, the browser ends with its test, within five minutes.
//
// # How it is tested
//
// By the tests that look at pages.
package chromium

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/portico-commerce/portico/contracttests/programs"
)

// Open returns the context of a browser that ends with the test. It skips the test
// where Chromium is not installed, as programs.Need does.
func Open(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(programs.Need(t, "chromium")))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses root with one
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}
