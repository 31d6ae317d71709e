package app

import (
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m, func() { Main() }) }
