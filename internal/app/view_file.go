package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/plain"
)

// Bounds of a part of a file, for a page of moderate size.
const (
	partBytes  = 24 << 10
	partBlocks = 120
	// maxNamedLines bounds the lines that a request names, in bytes.
	maxNamedLines = 48 << 10
)

// File implements view.Memory.
func (v page) File(ctx context.Context, r view.FileRequest) (f view.File, err error) {
	f = view.File{Path: r.Path}
	chunks, err := v.s.Manager.Chunks(ctx, r.Path)
	indexed := len(chunks) > 0
	if err != nil && !isNoDocument(err) {
		return f, err
	}
	if f.Hidden, err = v.s.Manager.Hidden(ctx, r.Path); err != nil {
		return f, err
	}
	place, err := v.place(r.Path)
	if err != nil && (indexed || f.Hidden > 0) { // a log, or a file elsewhere
		f.Fixed = err.Error()
		if indexed && chunks[0].Kind == source.KindConversation {
			f.Fixed = "it is a log of an agent"
		}
		messages(&f, chunks, r.First)
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if err := v.remark(ctx, &f, place, indexed); err != nil {
		return f, err
	}
	text, err := readPlace(place)
	if errors.Is(err, notes.ErrText) && indexed { // its encoding is another, which changes would not keep
		f.Fixed = err.Error()
		messages(&f, chunks, r.First)
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if err := part(&f, text, r); err != nil {
		return f, err
	}
	f.Chunks = append(f.Chunks, slices.DeleteFunc(chunks, func(h core.MemoryHit) bool { return h.EndLine < f.First || h.StartLine > f.Last })...)
	v.mark(ctx, &f, indexed)
	return f, nil
}

// readPlace returns the text of a place's file, or kind.NotFound if that is no plain file.
func readPlace(place notes.Statement) (string, error) {
	info, err := os.Lstat(place.File())
	if err == nil && !info.Mode().IsRegular() || err != nil && !errors.Is(err, fs.ErrPermission) {
		return "", kind.As(kind.NotFound, fmt.Errorf("%s: %w", place.Path, notes.ErrNoFile))
	}
	return place.Read()
}

// messages fills in what is indexed from a line on.
func messages(f *view.File, chunks []core.MemoryHit, first int) {
	if len(chunks) > 0 {
		f.Lines = chunks[len(chunks)-1].EndLine
	}
	size := 0
	for i, h := range chunks {
		switch {
		case h.StartLine < first:
			f.Previous = chunks[max(0, i-partBlocks/4)].StartLine // about a part before
			continue
		case size > partBytes || len(f.Chunks) >= partBlocks:
			f.Next = h.StartLine
			return
		case len(f.Chunks) == 0:
			f.First = h.StartLine
		}
		h.Text, _ = notes.Clean(h.Text)
		f.Chunks, f.Last = append(f.Chunks, h), max(f.Last, h.EndLine)
		size += len(h.Text)
	}
}

// remark says what is special about the file. A file that is no memory is ErrNotIndexed.
func (v page) remark(ctx context.Context, f *view.File, place notes.Statement, indexed bool) error {
	m, err := curated.New(v.s.curatedOptions()).Load(ctx)
	if err != nil {
		return err
	}
	file, known := place.File(), indexed
	for _, c := range m.Files {
		if paths.Resolve(c.File) != file {
			continue
		}
		known = true
		switch {
		case c.Untrusted:
			f.Remarks = append(f.Remarks, "Not trusted: it does not instruct your agents.")
		case c.Reason != "":
			f.Remarks = append(f.Remarks, "Not given to your agents: "+c.Reason+".")
		case c.Cut:
			f.Remarks = append(f.Remarks, "It instructs your agents. It is cut: agents get only a part.")
		default:
			f.Remarks = append(f.Remarks, "It instructs your agents.")
		}
	}
	if !indexed {
		f.Remarks = append(f.Remarks, "Not indexed: search does not find it. It is new, excluded or hidden.")
	}
	if f.Hidden > 0 {
		f.Remarks = append(f.Remarks, "You hid "+plain.Count(f.Hidden, "part")+" of it from search.")
	}
	if known || f.Hidden > 0 {
		return nil
	}
	files, err := v.s.Notes().memoryFiles(ctx)
	if err == nil && !slices.ContainsFunc(files, func(s notes.Statement) bool { return s.File() == file }) {
		err = kind.As(kind.NotFound, core.ErrNotIndexed)
	}
	return err
}

// part fills in the lines and blocks of a request, or as many as fit.
func part(f *view.File, text string, r view.FileRequest) error {
	lines := notes.Shown(text)
	f.Lines, f.First, f.Last = len(lines), max(r.First, 1), len(lines)
	if r.Last > 0 {
		f.Last = r.Last
	}
	if f.Last > len(lines) || f.First > f.Last && len(lines) > 0 {
		return kind.Usagef("%s has no lines %d to %d: it has %s", r.Path, r.First, r.Last, plain.Count(len(lines), "line"))
	}
	size, starts := 0, []int{} // of the blocks before
	for _, b := range notes.BlocksOf(text) {
		if b.First < f.First && (r.Last > 0 || b.Last < f.First) {
			starts = append(starts, b.First)
			continue
		}
		if b.First > f.Last {
			break
		}
		size += len(strings.Join(lines[b.First-1:b.Last], "\n"))
		if r.Last == 0 && len(f.Blocks) > 0 && (size > partBytes || len(f.Blocks) == partBlocks) {
			f.Next, f.Last = b.First, b.First-1
			break
		}
		f.Blocks, f.First = append(f.Blocks, blockOf(b)), min(f.First, b.First)
	}
	if n := len(starts); n > 0 {
		f.Previous = starts[max(0, n-partBlocks)]
	}
	f.Text = strings.Join(lines[min(f.First-1, len(lines)):f.Last], "\n")
	if r.Last > 0 {
		f.Base = notes.BaseOf(lines)
	}
	if r.Last > 0 && len(f.Text) > maxNamedLines {
		return kind.Usagef("lines %d to %d of %s are too long for one request: ask for fewer", r.First, r.Last, r.Path)
	}
	return nil
}

func blockOf(b notes.Block) view.Block {
	block := view.Block{First: b.First, Last: b.Last, Level: b.Level, Depth: b.Depth, Front: b.Front, Statement: b.Statement && !b.Struck}
	if b.Struck {
		block.Marks = append(block.Marks, view.Mark{Kind: "superseded", Text: "struck through"})
	}
	if b.Secrets != "" {
		block.Marks = append(block.Marks, view.Mark{Kind: "secret", Text: b.Secrets})
	}
	return block
}

// mark marks blocks that read like instructions, and those that are not indexed.
func (v page) mark(ctx context.Context, f *view.File, indexed bool) {
	lines := strings.Split(f.Text, "\n")
	suspicious := "suspicious"
	if v.s.Settings.Injection.Policy == core.InjectionWithhold {
		suspicious = "withheld"
	}
	in := make([]bool, len(lines)+1)
	for i := range f.Chunks {
		h := &f.Chunks[i]
		for n := max(h.StartLine, f.First); n <= min(h.EndLine, f.Last); n++ {
			in[n-f.First] = true
		}
		if verdict := v.s.Manager.Judge(*h); verdict.Flagged {
			v.markSuspicious(ctx, f, *h, lines, suspicious)
		}
		h.Text = "" // Text of the file has it
	}
	for i := range f.Blocks {
		b := &f.Blocks[i]
		is := slices.ContainsFunc(b.Marks, func(m view.Mark) bool { return m.Kind == "superseded" })
		if indexed && !b.Front && b.Level == 0 && !is && !slices.Contains(in[b.First-f.First:min(b.Last-f.First+1, len(in))], true) {
			b.Marks = append(b.Marks, view.Mark{Kind: "not indexed"})
		}
	}
}

// markSuspicious marks the blocks of a suspicious chunk: those that are suspicious alone, else all.
func (v page) markSuspicious(ctx context.Context, f *view.File, h core.MemoryHit, lines []string, mark string) {
	var alone, all []*view.Block
	for i := range f.Blocks {
		b := &f.Blocks[i]
		if b.Last < h.StartLine || b.First > h.EndLine {
			continue
		}
		all = append(all, b)
		h.Text = strings.Join(lines[b.First-f.First:min(b.Last-f.First+1, len(lines))], "\n")
		if v.s.Manager.Judge(h).Flagged {
			alone = append(alone, b)
		}
	}
	if len(alone) == 0 {
		alone = all
	}
	for _, b := range alone {
		if !slices.ContainsFunc(b.Marks, func(m view.Mark) bool { return m.Kind == mark }) {
			b.Marks = append(b.Marks, view.Mark{Kind: mark, Text: "it reads like instructions to a model"})
		}
	}
}
