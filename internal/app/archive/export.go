package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/secret"
)

// Exported sums up an export.
type Exported struct {
	Path     string         `json:"path"`
	Files    int            `json:"files"`
	Bytes    int64          `json:"bytes"`
	Projects int            `json:"projects"`
	Sessions int            `json:"sessions"`
	Places   map[string]int `json:"places"`   // files by place
	Redacted int            `json:"redacted"` // secrets taken out
	// RedactedIn are the files, here, that they were taken out of.
	RedactedIn []string  `json:"redactedIn,omitempty"`
	LeftOut    []LeftOut `json:"leftOut"`
}

// Export writes what a person has in all projects to a new folder or .tar.gz file.
func Export(ctx context.Context, w *app.Workspace, target string) (Exported, error) {
	g, err := gather(ctx, w)
	if err != nil {
		return Exported{}, fmt.Errorf("export: %w", err)
	}
	g.name()
	out, err := create(target)
	if err != nil {
		return Exported{}, err
	}
	e, err := g.write(ctx, out)
	e.Path = target
	if err == nil {
		err = out.commit()
	} else {
		err = errors.Join(err, out.discard())
	}
	if err != nil {
		return e, fmt.Errorf("export to %s: %w", target, err)
	}
	return e, nil
}

// write adds the files and the manifest.
func (g *gatherer) write(ctx context.Context, out writer) (Exported, error) {
	e := Exported{Places: map[string]int{}}
	m := Manifest{Format: format, Version: g.w.Version, At: time.Now().UTC().Truncate(time.Second), Home: paths.Spellings(g.w.Home)}
	projects, sessions := map[string]bool{}, map[string]bool{}
	for _, f := range g.files {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		data, ok := g.read(&f)
		if !ok {
			continue
		}
		if isConcept(f.Name) {
			data, f.AddedAt, f.Added = withType(f.File, data)
		}
		if err := out.add(f.Name, data, f.ModTime); err != nil {
			return e, err
		}
		m.Files = append(m.Files, f.File)
		e.Bytes += int64(len(data))
		if f.Redacted > 0 {
			e.Redacted += f.Redacted
			e.RedactedIn = append(e.RedactedIn, f.disk)
		}
		e.Places[f.Place]++
		if f.Project != "" {
			projects[f.Project] = true
		}
		if id, _, inside := strings.Cut(f.Path, "/"); f.Place == Sessions && inside {
			sessions[f.Folder+"/"+id] = true
		}
	}
	m.LeftOut = g.leftOut
	e.Files, e.Projects, e.Sessions, e.LeftOut = len(m.Files), len(projects), len(sessions), m.LeftOut
	manifest, err := json.MarshalIndent(m, "", " ")
	if err == nil {
		err = out.add(indexName, index(m), m.At)
	}
	if err == nil {
		err = out.add(ManifestName, append(manifest, '\n'), m.At)
	}
	return e, err
}

// read returns a file without secrets.
func (g *gatherer) read(f *found) (data []byte, ok bool) {
	data, _, err := safefile.ReadPath(f.disk, largestFile)
	if err != nil {
		g.leave(f.disk, err.Error())
		return nil, false
	}
	if g.w.Settings.Redact {
		redact := withoutSecrets
		if f.Place == State {
			redact = stateWithoutSecrets
		}
		var text string
		if text, f.Redacted = redact(string(data)); f.Redacted > 0 {
			if isValid(f.Path, data) && !isValid(f.Path, []byte(text)) {
				g.leave(f.disk, "it holds a secret that cannot be taken out")
				return nil, false
			}
			data = []byte(text)
		}
	}
	sum := sha256.Sum256(data)
	f.SHA256 = hex.EncodeToString(sum[:])
	return data, true
}

func withoutSecrets(text string) (string, int) {
	text, findings := secret.Redact(text)
	return text, len(findings)
}

var jsonString = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })

// stateWithoutSecrets looks at each string of JSON alone: beside a name such as "key", a hash of
// memcore's own would count as a secret.
func stateWithoutSecrets(text string) (string, int) {
	redacted := 0
	return jsonString().ReplaceAllStringFunc(text, func(literal string) string {
		var value string
		if json.Unmarshal([]byte(literal), &value) != nil {
			return literal
		}
		clean, n := withoutSecrets(value)
		if n == 0 {
			return literal
		}
		redacted += n
		quoted, _ := json.Marshal(clean)
		return string(quoted)
	}), redacted
}

// isValid reports whether a file is what its name says.
func isValid(name string, data []byte) bool {
	switch path.Ext(name) {
	case ".json":
		return json.Valid(data)
	case ".jsonl":
		for line := range strings.Lines(string(data)) {
			if strings.TrimSpace(line) != "" && !json.Valid([]byte(line)) {
				return false
			}
		}
	case ".yaml":
		var any any
		return yaml.Unmarshal(data, &any) == nil
	}
	return true
}
