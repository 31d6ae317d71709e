// Package chromium opens pages in a real browser for tests. It is apart from package testenv because its library is
// large, and few tests need it.
//
// # How it is tested
//
// By the tests of pages, at night.
package chromium

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/portico-commerce/portico/config/testenv"
)

// Open starts Chromium and returns a chromedp context for it, which is canceled at the
// end of the test. Open skips or fails the test like testenv.Need if Chromium is not
// installed.
func Open(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(testenv.Need(t, "chromium")))
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
