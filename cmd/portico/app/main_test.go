package app

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"testing"
)

func TestMain(m *testing.M) { apptest.Main(m, func() { Main() }) }
