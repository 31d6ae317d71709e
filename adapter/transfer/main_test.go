package transfer

import (
	"testing"

	"github.com/portico-commerce/portico/contracttests/programs"
)

func TestMain(m *testing.M) { programs.Main(m, nil) }
