package program

import (
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m, func() { app.Main() }) }
