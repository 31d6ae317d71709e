package guard_test

import (
	"github.com/portico-commerce/portico/config/testenv"
	"testing"
)

func TestMain(m *testing.M) { testenv.Main(m, nil) }
