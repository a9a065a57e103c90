package main

import (
	"bytes"
	"encoding/json"
)

// An object is JSON, with its keys in alphabetical order.
type object map[string]any

// jsonFile returns a file with indented JSON. Its values always have a JSON form.
func jsonFile(name string, value any) file {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		panic(err)
	}
	return file{name, buf.Bytes(), 0o644}
}
