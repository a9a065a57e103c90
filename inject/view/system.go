package view

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/text/plain"
)

// systemPage is the curated memory as a tree, and its budget.
type systemPage struct {
	Layer
	Tiers                 []tierNode
	Out                   []curated.File // files that are not given
	MoreIn                int            // given files, those that are not, and warnings that are not listed
	MoreOut, MoreWarnings int
	Budget                []budgetRow
}

// maxFiles bounds each list of a page.
const maxFiles = 300

// A tierNode has a tier's given files by folder.
type tierNode struct {
	Name    string
	Folders []folderNode
}

// A folderNode has the given files of a folder.
type folderNode struct {
	Path  string
	Files []fileNode
}

// A fileNode is a given file. Its tokens include its imports.
type fileNode struct {
	Path, Lines string // given lines of its own text
	Tokens      int
	Share       string // of all that is given
	LeftOut     string
	Kind        curated.Kind
	Imports     []fileNode
}

// tiers explain the levels, in order.
var tiers = []struct {
	tier curated.Tier
	name string
}{
	{curated.Global, "Your own files"}, {curated.Plugin, "Plugins"}, {curated.Project, "The project"}, {curated.Directory, "Folders below"},
}

func (v visit) system() error {
	layer, err := v.memory.Layer(v.r.Context())
	if err != nil {
		return err
	}
	return v.show("system", "system", "System prompt", systemOf(layer))
}

func systemOf(layer Layer) systemPage {
	p := systemPage{Layer: layer, Budget: budgetOf(layer)}
	p.Warnings, p.MoreWarnings = first(layer.Warnings)
	pieces, given := piecesOf(layer.Segments), 0
	for _, t := range tiers {
		tier := tierNode{Name: t.name}
		for _, f := range layer.Files {
			if f.Tier != t.tier || f.Reason != "" {
				continue
			}
			if given++; given > maxFiles {
				p.MoreIn++
				continue
			}
			file := fileNode{Path: f.Path, Lines: pieces[f.Path].lines, Tokens: f.Tokens, Share: percent(f.Tokens, layer.Usage.Tokens),
				LeftOut: f.LeftOut, Kind: f.Kind, Imports: importsOf(f.Path, pieces, 0)}
			tier.add(path.Dir(f.Path), file)
		}
		if len(tier.Folders) > 0 {
			p.Tiers = append(p.Tiers, tier)
		}
	}
	for _, f := range layer.Files {
		if f.Reason != "" {
			p.Out = append(p.Out, f)
		}
	}
	p.Out, p.MoreOut = first(p.Out)
	return p
}

// first returns the first maxFiles, and how many more there are.
func first[T any](all []T) (some []T, more int) {
	n := min(len(all), maxFiles)
	return all[:n], len(all) - n
}

func (t *tierNode) add(folder string, file fileNode) {
	i := slices.IndexFunc(t.Folders, func(f folderNode) bool { return f.Path == folder })
	if i < 0 {
		i = len(t.Folders)
		t.Folders = append(t.Folders, folderNode{Path: folder})
	}
	t.Folders[i].Files = append(t.Folders[i].Files, file)
}

// A piece is the given text of one file.
type piece struct {
	lines   string
	tokens  int
	imports []string // in order
}

// piecesOf joins the segments of each file, by path.
func piecesOf(segments []curated.Segment) map[string]piece {
	all := map[string]piece{}
	for _, s := range segments {
		p := all[s.Path]
		p.tokens += s.Tokens
		lines := fmt.Sprintf("lines %d–%d", s.FirstLine, s.LastLine)
		if s.FirstLine == s.LastLine {
			lines = fmt.Sprintf("line %d", s.FirstLine)
		}
		p.lines = strings.TrimPrefix(p.lines+", "+lines, ", ")
		all[s.Path] = p
		if from := all[s.ImportedFrom]; s.ImportedFrom != "" && !slices.Contains(from.imports, s.Path) {
			from.imports = append(from.imports, s.Path)
			all[s.ImportedFrom] = from
		}
	}
	return all
}

// deepestImports bounds the tree, in case a file is in it twice by mistake.
const deepestImports = 20

func importsOf(file string, pieces map[string]piece, depth int) (all []fileNode) {
	if depth == deepestImports {
		return nil
	}
	for _, name := range pieces[file].imports {
		p := pieces[name]
		all = append(all, fileNode{Path: name, Lines: p.lines, Tokens: p.tokens, Imports: importsOf(name, pieces, depth+1)})
	}
	return all
}

// A budgetRow is one limit.
type budgetRow struct {
	Name, Used, Most, Share string
}

func budgetOf(layer Layer) (rows []budgetRow) {
	u, l := layer.Usage, layer.Limits
	for _, row := range []struct {
		name       string
		used, most int
	}{{"Lines", u.Lines, l.Lines}, {"Tokens", u.Tokens, l.Tokens}} {
		most, share := "no limit", ""
		if row.most > 0 {
			most, share = plain.Thousands(row.most), percent(row.used, row.most)
		}
		rows = append(rows, budgetRow{row.name, plain.Thousands(row.used), most, share})
	}
	return rows
}
