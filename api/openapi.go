package api

import (
	"bytes"
	_ "embed" // for openapi.yaml
	"encoding/json"
)

// openAPIDocument is read-only; OpenAPI hands out copies.
//
//go:embed openapi.yaml
var openAPIDocument []byte

// versionPlaceholder stands in the document where the version of the binary belongs,
// quotes included, so that the file is valid YAML before and after.
const versionPlaceholder = `"0.0.0-placeholder"`

// OpenAPI returns the OpenAPI 3.1 document of the HTTP interface, in YAML, with
// version as the value of info.version ("0.0.0" if it is empty). The result is a
// fresh copy of about 65 KB: a server makes it once, at its start.
func OpenAPI(version string) []byte {
	if version == "" {
		version = "0.0.0"
	}
	// A JSON string is a YAML string too, whatever the version holds. Encoding a
	// string can not fail.
	quoted, _ := json.Marshal(version)
	return bytes.Replace(openAPIDocument, []byte(versionPlaceholder), quoted, 1)
}
