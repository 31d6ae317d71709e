package chromium

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/portico-commerce/portico/config/testenv"
)

// screenshotsDir is the environment variable that names a folder for screenshots.
const screenshotsDir = "PORTICO_TEST_SCREENSHOTS"

// A Browser is a Chromium that walks through pages, and records its messages about them.
type Browser struct {
	t   *testing.T
	Ctx context.Context

	mu   sync.Mutex
	Said []string // messages of the browser about the pages
}

// OpenBrowser starts a browser that is closed at the end of the test.
func OpenBrowser(t *testing.T) *Browser {
	t.Helper()
	ctx := Open(t)
	b := &Browser{t: t, Ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	return b
}

// listen handles the events of the browser that tests check.
func (b *Browser) listen(event any) {
	said := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text
	case *log.EventEntryAdded:
		said = e.Entry.Text
	}
	// Browsers ask for an icon by themselves.
	if b.mu.Lock(); said != "" && !strings.Contains(said, "404") {
		b.Said = append(b.Said, said)
	}
	b.mu.Unlock()
}

// Do runs steps, and fails the test if one fails.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.Ctx, stepTimeout)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

// ScreenSize sets the size of the window, as on a phone or a desktop.
func (b *Browser) ScreenSize(width, height int64, mobile bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.Ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: mobile})
	if err != nil {
		b.t.Fatal(err)
	}
}

// Navigate runs steps that lead to another page, and waits for that page.
func (b *Browser) Navigate(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, stepTimeout)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// Click clicks an element, without waiting for another page.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.Navigate(chromedp.Click(chromedp.CSS(selector)))
}

// Screenshot saves a screenshot if the environment variable screenshotsDir is set.
func (b *Browser) Screenshot(name string) {
	b.t.Helper()
	if folder := os.Getenv(screenshotsDir); folder != "" {
		save(b.t, b.Ctx, filepath.Join(folder, name+".png"))
	}
}

// picturesSwitch is the environment variable that renews the pictures of the guides.
const picturesSwitch = "PORTICO_TEST_PICTURES"

// Picture makes a picture of a guide of what the browser of ctx shows if the environment variable
// picturesSwitch is set. path is below the root of the repository.
func Picture(t *testing.T, ctx context.Context, path string) {
	t.Helper()
	if os.Getenv(picturesSwitch) != "" {
		save(t, ctx, filepath.Join(testenv.Root(t), path))
	}
}

// save writes what the browser of ctx shows to a PNG file.
func save(t *testing.T, ctx context.Context, path string) {
	t.Helper()
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, shot.Data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// WaitForText waits for an element and returns its text.
func (b *Browser) WaitForText(selector string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, stepTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		b.t.Fatalf("%s: %v", selector, err)
	}
	return strings.TrimSpace(text)
}

// axeVersion is the version of axe-core, which npm downloads for the test.
const axeVersion = "4.10.3"

// AxeSource returns the script that looks for accessibility faults.
func AxeSource(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	npm := exec.CommandContext(t.Context(), testenv.Need(t, "npm"), "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@"+axeVersion)
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm: %v\n%s", err, out)
	}
	source, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// Violations returns the accessibility faults that axe finds on the page.
func (b *Browser) Violations(axe string) []string {
	b.t.Helper()
	if _, err := chromedp.Run(b.Ctx, chromedp.Evaluate[bool](axe+"; true")); err != nil {
		b.t.Fatal(err)
	}
	found, err := chromedp.Run(b.Ctx, chromedp.Evaluate[[]string](
		`axe.run(document).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + v.help + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// ColorScheme makes the browser prefer a color scheme.
func (b *Browser) ColorScheme(scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// stepTimeout is the time after which a step fails the test.
const stepTimeout = 30 * time.Second
