package listquery_test

import (
	"testing"

	"github.com/portico-commerce/portico/config/testenv/programs"
)

func TestMain(m *testing.M) { programs.Main(m, nil) }
