package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// ManifestFile is the file that describes a folder.
const ManifestFile = "manifest.json"

// A ManifestFormat is the form of a kind of manifest. All releases frame manifests alike (JSON:
// kind, format, folder, checksum, content), to tell newer ones from damaged ones.
type ManifestFormat struct {
	Kind   string // such as "keywords"
	Number int    // grows when earlier releases cannot read the folder
}

type frame struct {
	Kind    string
	Format  int
	Folder  string // folders of other generations share files with it
	Content json.RawMessage
}

// text returns the file's only valid form.
func (f frame) text() []byte {
	head := f.head()
	all := append(make([]byte, 0, len(head)+len(f.Content)+1), head...)
	return append(append(all, f.Content...), '}')
}

// head returns what precedes the content.
func (f frame) head() []byte {
	head := fmt.Appendf(nil, `{"kind":%q,"format":%d,"folder":%q,`, f.Kind, f.Format, f.Folder)
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, f.Content)
	return fmt.Appendf(head, `"checksum":%d,"content":`, sum)
}

// isAll reports whether text is f's, without a copy of the content.
func (f frame) isAll(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, f.head())
	rest, whole := bytes.CutSuffix(rest, []byte("}"))
	return ok && whole && bytes.Equal(rest, f.Content)
}

// frameOf parses a manifest but not its content, which may have megabytes.
func frameOf(text []byte) (f frame, err error) {
	head, content, framed := bytes.Cut(text, []byte(`"content":`))
	content, whole := bytes.CutSuffix(content, []byte("}"))
	if framed && whole && json.Unmarshal(append(bytes.Clone(head), `"content":null}`...), &f) == nil {
		f.Content = content
		return f, nil
	}
	f = frame{}
	return f, json.Unmarshal(text, &f)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns a folder's manifest with content as JSON.
func (m ManifestFormat) Encode(folder string, content any) ([]byte, error) {
	text, err := json.Marshal(content)
	return frame{m.Kind, m.Number, filepath.Base(folder), text}.text(), err
}

// Read reads a folder's manifest. Errors wrap fs.ErrNotExist, ErrNewer (a higher number than m's),
// ErrFormat (a lower one) or ErrCorrupt.
func (m ManifestFormat) Read(folder string, content any) error {
	return m.read(folder, content, func(all []byte) []byte { return all })
}

// ReadBefore is Read for what precedes a key of the content that is not its first and that no
// object before it has: the rest, which may have megabytes, is checked and not parsed.
func (m ManifestFormat) ReadBefore(key, folder string, content any) error {
	return m.read(folder, content, func(all []byte) []byte {
		if before, _, ok := bytes.Cut(all, fmt.Appendf(nil, ",%q:", key)); ok { // no text of JSON has quotes
			return append(bytes.Clone(before), '}')
		}
		return all
	})
}

func (m ManifestFormat) read(folder string, content any, part func(all []byte) []byte) error {
	path := filepath.Join(folder, ManifestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := frameOf(text)
	withoutFrame := f.Kind == "" && f.Format > 0 && f.Format < m.Number // by an earlier release
	switch {
	case err != nil:
	case withoutFrame:
		return m.otherFormat(path, f.Format)
	case !f.isAll(text):
		err = fmt.Errorf("wrong checksum")
	case f.Kind != m.Kind:
		err = fmt.Errorf("it is a manifest of %s", f.Kind)
	case f.Format != m.Number:
		return m.otherFormat(path, f.Format)
	case f.Folder != filepath.Base(folder):
		err = fmt.Errorf("it is the manifest of folder %q", f.Folder)
	default:
		err = json.Unmarshal(part(f.Content), content)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %v", path, ErrCorrupt, err)
	}
	return nil
}

func (m ManifestFormat) otherFormat(path string, format int) error {
	err := ErrFormat
	if format > m.Number {
		err = ErrNewer
	}
	return fmt.Errorf("%w: %s has format %d, this release reads %d", err, path, format, m.Number)
}
