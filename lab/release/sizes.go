package main

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// sizes writes the bytes of named symbols by module, largest first. The linker's tables add about
// half as much.
func (p *program) sizes(w io.Writer) error {
	out, err := exec.Command("go", "tool", "nm", "-size", p.binary).Output()
	if err != nil {
		return fmt.Errorf("go tool nm %s: %w (a stripped program has no names)", p.binary, err)
	}
	paths := []string{self}
	for _, m := range p.modules {
		paths = append(paths, m.path)
	}
	slices.SortFunc(paths, func(a, b string) int { return len(b) - len(a) }) // the longest that fits is it
	sizes := map[string]int{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || strings.ContainsAny(fields[2], "bBU") {
			continue
		}
		size, err := strconv.Atoi(fields[1])
		if err != nil {
			return fmt.Errorf("go tool nm: %q", line)
		}
		if owner := ownerOf(strings.Join(fields[3:], " "), paths); owner != "" {
			sizes[owner] += size
		}
	}
	var names []string
	for name := range sizes {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(sizes[b]-sizes[a], strings.Compare(a, b)) })
	for _, name := range names {
		if _, err := fmt.Fprintf(w, "%10d %s\n", sizes[name], name); err != nil {
			return err
		}
	}
	return nil
}

// ownerOf returns the module of a symbol, "" for the standard library and the linker.
func ownerOf(symbol string, paths []string) string {
	symbol = strings.ReplaceAll(symbol, "%2e", ".")
	for _, prefix := range []string{"type:.eq.", "type:.hash.", "go:itab.*", "go:itab."} {
		symbol = strings.TrimPrefix(symbol, prefix)
	}
	if strings.HasPrefix(symbol, "main.") {
		return self
	}
	for _, path := range paths {
		if strings.HasPrefix(symbol, path+".") || strings.HasPrefix(symbol, path+"/") {
			return path
		}
	}
	return ""
}
