package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	specVersion = cdx.SpecVersion1_6
	schemaFile  = "bom-1.6.schema.json"
	self        = "github.com/memcore/memcore"
	lancedb     = "github.com/lancedb/lancedb-go"
)

// sbom writes the bill of materials; it is the same for the same program.
func (p *program) sbom(w io.Writer) error {
	reader, err := newLicenceReader()
	if err != nil {
		return err
	}
	std, err := p.standardLibrary()
	if err != nil {
		return err
	}
	bom := cdx.NewBOM()
	bom.SpecVersion = specVersion
	bom.JSONSchema = "http://cyclonedx.org/schema/" + schemaFile
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(p.sum)).URN()
	root := cdx.Component{BOMRef: self, Type: cdx.ComponentTypeApplication, Name: "memcore", Version: p.version(), PackageURL: golang(self, p.version()),
		Hashes: sha256Of(p.sum), Licenses: licences("Apache-2.0"), Properties: p.settings()}
	bom.Metadata = &cdx.Metadata{Timestamp: p.setting("vcs.time"), Component: &root}
	components := []cdx.Component{p.model.component()}
	dependencies := []cdx.Dependency{{Ref: self, Dependencies: new(append([]string{modelRef, "std"}, p.direct...))}, {Ref: modelRef}, {Ref: "std"}}
	for _, m := range append([]*module{std}, p.modules...) {
		_, kinds, err := reader.of(m)
		if err != nil {
			return err
		}
		component, err := m.component(kinds)
		if err != nil {
			return err
		}
		components = append(components, component)
		if m.path == "std" {
			continue
		}
		uses := m.uses
		if m.path == lancedb {
			crates, err := m.crates()
			if err != nil {
				return err
			}
			for _, crate := range crates {
				component := crate.component()
				components = append(components, component)
				uses = append(uses, component.BOMRef)
				dependencies = append(dependencies, cdx.Dependency{Ref: component.BOMRef})
			}
		}
		dependency := cdx.Dependency{Ref: m.path}
		if len(uses) > 0 {
			dependency.Dependencies = &uses
		}
		dependencies = append(dependencies, dependency)
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	if err := checkSchema(out.Bytes()); err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

func (m *module) component(licenceKinds []string) (cdx.Component, error) {
	c := cdx.Component{BOMRef: m.path, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version,
		PackageURL: golang(m.path, m.version), Licenses: licences(licenceKinds...)}
	if hash, ok := strings.CutPrefix(m.sum, "h1:"); ok {
		sum, err := base64.StdEncoding.DecodeString(hash)
		if err != nil {
			return c, fmt.Errorf("sum of %s: %w", m.path, err)
		}
		c.Hashes = sha256Of(fmt.Sprintf("%x", sum))
	}
	return c, nil
}

// golang returns the package URL of a module.
func golang(path, version string) string {
	return "pkg:golang/" + path + "@" + url.QueryEscape(version)
}

func sha256Of(sum string) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
}

func licences(kinds ...string) *cdx.Licenses {
	var all cdx.Licenses
	for _, kind := range kinds {
		all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: kind}})
	}
	return &all
}

// settings returns the build settings, as `go version -m` does.
func (p *program) settings() *[]cdx.Property {
	all := []cdx.Property{{Name: "go:version", Value: p.info.GoVersion}}
	for _, s := range p.info.Settings {
		all = append(all, cdx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	return &all
}

const modelRef = "all-MiniLM-L6-v2"

func (m model) component() cdx.Component {
	return cdx.Component{BOMRef: modelRef, Type: cdx.ComponentTypeMachineLearningModel, Name: modelRef, Group: "sentence-transformers",
		Description: "weights and vocabulary in the program, rounded; embed/minilm/README.md says from what and how", Hashes: sha256Of(m.sum),
		Licenses: licences("Apache-2.0"), Properties: &[]cdx.Property{{Name: "memcore:file", Value: "embed/minilm/minilm.bin"}}}
}

func (c crate) component() cdx.Component {
	purl := "pkg:cargo/" + c.name + "@" + c.version
	component := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: c.name, Version: c.version, PackageURL: purl,
		Licenses: &cdx.Licenses{{Expression: c.licence}}}
	if c.checksum != "" {
		component.Hashes = sha256Of(c.checksum)
	}
	return component
}

// checkSchema validates a bill of materials against CycloneDX's schema.
func checkSchema(bom []byte) error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		return fmt.Errorf("find CycloneDX's schema with go list; run it in this tool's source: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, name := range []string{schemaFile, "spdx.schema.json", "jsf-0.82.schemax.json"} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "schema", name))
		if err != nil {
			return fmt.Errorf("CycloneDX's schema: %w", err)
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("CycloneDX's schema %s: %w", name, err)
		}
		if err := compiler.AddResource("http://cyclonedx.org/schema/"+strings.Replace(name, "schemax", "schema", 1), schema); err != nil {
			return fmt.Errorf("CycloneDX's schema %s: %w", name, err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/" + schemaFile)
	if err != nil {
		return fmt.Errorf("CycloneDX's schema: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(bom))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("the bill of materials does not fit CycloneDX's schema: %w", err)
	}
	return checkReferences(bom)
}

// checkReferences checks that every dependency is a component; the schema does not.
func checkReferences(bom []byte) error {
	var read cdx.BOM
	if err := json.Unmarshal(bom, &read); err != nil {
		return err
	}
	refs := []string{read.Metadata.Component.BOMRef}
	for _, component := range *read.Components {
		if slices.Contains(refs, component.BOMRef) {
			return fmt.Errorf("the bill of materials has %s twice", component.BOMRef)
		}
		refs = append(refs, component.BOMRef)
	}
	var problems []error
	for _, dependency := range *read.Dependencies {
		names := []string{dependency.Ref}
		if dependency.Dependencies != nil {
			names = append(names, *dependency.Dependencies...)
		}
		for _, name := range names {
			if !slices.Contains(refs, name) {
				problems = append(problems, fmt.Errorf("the bill of materials names %s, which it does not contain", name))
			}
		}
	}
	return errors.Join(problems...)
}
