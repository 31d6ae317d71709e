#!/usr/bin/env bash
# Package:  github.com/oapi-codegen/oapi-codegen v2.8.2
# Guess:    A generator that reads OpenAPI 3.1, whose type may be a list, and makes a pointer of ["string", "null"],
#           makes a union or any of ["number", "string"].
# Behavior: One type beside "null" is read, and "null" alone is any. Two types beside it are an error for the whole
#           document, even ["integer", "number"], where every value is a number. The same types as alternatives of
#           oneOf are read.
# Output:   "string", "null"       Value *string
#           "null"                 Value any
#           "number", "string"     unhandled Schema type: &[number string]
#           "integer", "number"    unhandled Schema type: &[integer number]
#           oneOf number, string   Value *Item_Value
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH=$folder/go GOBIN=$folder GOFLAGS=-modcacherw
go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 2>/dev/null

# show NAME SCHEMA: prints the field that is generated for a schema, or the error.
show() {
  cat >document.yaml <<YAML
openapi: 3.1.0
info: {title: Items, version: "1"}
paths: {}
components:
  schemas:
    Item:
      type: object
      properties:
        value: $2
YAML
  ./oapi-codegen -generate types,skip-prune -package items document.yaml >generated 2>&1 || true
  printf '%-21s  %s\n' "$1" "$(grep -oE 'Value \*?[A-Za-z_]+ |unhandled Schema type: .*' generated | head -1 | sed 's/ *$//')"
}

{
  for types in '"string", "null"' '"null"' '"number", "string"' '"integer", "number"'; do
    show "$types" "{type: [$types]}"
  done
  show "oneOf number, string" "{oneOf: [{type: number}, {type: string}]}"
} | tee seen
diff - seen <<'SEEN'
"string", "null"       Value *string
"null"                 Value any
"number", "string"     unhandled Schema type: &[number string]
"integer", "number"    unhandled Schema type: &[integer number]
oneOf number, string   Value *Item_Value
SEEN
