package input_test

import (
	"testing"

	"github.com/portico-commerce/portico/config/testenv/programs"
)

func TestMain(m *testing.M) { programs.Main(m, nil) }
