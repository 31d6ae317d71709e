package trial

import (
	"flag"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// update has tests write the files that they otherwise compare.
var update = flag.Bool("update", false, "write what is measured or computed to its file")

func TestMain(m *testing.M) { apptest.Main(m, func() { app.Main() }) }
