package strictyaml

import (
	"errors"
	"strconv"
	"strings"
)

// A Size is a number of bytes, written as 4096, 256KiB, 16MiB or 1GiB.
type Size int64

const sizeForm = "a number of bytes such as 16MiB"

// UnmarshalText decodes a size of less than 4 EiB.
func (s *Size) UnmarshalText(text []byte) error {
	digits, unit := string(text), Size(1)
	for suffix, size := range map[string]Size{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if before, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = before, size
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return errors.New("must be " + sizeForm)
	}
	*s = Size(n) * unit
	return nil
}
