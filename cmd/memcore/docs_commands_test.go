package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages returns the text of README.md and all pages of docs/, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"../README.md", "../CHANGELOG.md", "../ARCHITECTURE.md", "*.md", "integrations/*.md", "dev/*.md"} {
		found, err := filepath.Glob(docFile(pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		for _, path := range found {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			pages[path] = string(data)
		}
	}
	return pages
}

// userPages are the pages for users, including README.md.
func userPages(t *testing.T) map[string]string {
	t.Helper()
	user := map[string]string{}
	for path, text := range pages(t) {
		switch filepath.Base(path) {
		case "CHANGELOG.md", "ARCHITECTURE.md":
			continue
		}
		if filepath.Base(filepath.Dir(path)) != "dev" {
			user[path] = text
		}
	}
	return user
}

// TestDocOfSize keeps the pages for users short.
func TestDocOfSize(t *testing.T) {
	words := 0
	for path, text := range userPages(t) {
		if filepath.Base(path) != "README.md" || filepath.Base(filepath.Dir(path)) == "integrations" {
			words += len(strings.Fields(text))
		}
	}
	require.Less(t, words, 13_500, "words in docs/*.md and docs/integrations/*.md")
}

// TestDocOfCommands: docs/cli.md names all commands, and pages show only commands and flags that
// exist.
func TestDocOfCommands(t *testing.T) {
	root := newRoot(newCLI(nil, nil, nil))
	page := userPages(t)[docFile("cli.md")]
	listed := strings.Join(append(codeSpans(page), codeLines(page)...), "\n")
	for _, cmd := range allCommands(root) {
		path := strings.TrimPrefix(cmd.CommandPath(), "memcore ")
		if cmd.Runnable() && !regexp.MustCompile(`(?m)^(memcore )?`+regexp.QuoteMeta(path)+`( |$)`).MatchString(listed) {
			t.Errorf("docs/cli.md does not name %q", path)
		}
	}
	commands, flags := 0, 0
	for path, text := range userPages(t) {
		for _, line := range append(codeSpans(text), codeLines(text)...) {
			found := invocation(root, line)
			if found == nil && regexp.MustCompile(`^memcore [a-z-]{2,}( |$)`).MatchString(line) {
				t.Errorf("%s: %q: there is no such command", path, line)
			}
			if found == nil && !strings.HasPrefix(line, "--") {
				continue
			}
			commands++
			for _, flag := range flagsOf(line) {
				flags++
				if !hasFlag(root, found, flag) {
					t.Errorf("%s: %q: there is no flag --%s", path, line, flag)
				}
			}
		}
	}
	require.Greater(t, commands, 100)
	require.Greater(t, flags, 60)
}

// allCommands returns the commands below cmd that its help shows.
func allCommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, child := range cmd.Commands() {
		if !child.Hidden && child.Name() != "help" && child.Name() != "completion" {
			all = append(append(all, child), allCommands(child)...)
		}
	}
	return all
}

// codeSpans returns the text between single backticks, outside of fenced code.
func codeSpans(text string) (spans []string) {
	text = fencedCode.ReplaceAllString(text, "")
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		spans = append(spans, m[1])
	}
	return spans
}

var fencedCode = regexp.MustCompile("(?ms)^```.*?^```")

// codeLines returns the calls of memcore in fenced code, without prompt and comment.
func codeLines(text string) (lines []string) {
	call := regexp.MustCompile(`(?m)^(?:\$ )?(?:[A-Z_]+=\S+ )*(memcore .*)$`)
	for _, block := range fencedCode.FindAllString(text, -1) {
		for _, m := range call.FindAllStringSubmatch(block, -1) {
			line, _, _ := strings.Cut(m[1], " #")
			lines = append(lines, line)
		}
	}
	return lines
}

// invocation returns the command that a line calls, with or without "memcore"; nil for none.
func invocation(root *cobra.Command, line string) *cobra.Command {
	words := strings.Fields(strings.TrimPrefix(line, "memcore "))
	found := root
	for _, word := range words {
		next := found
		for _, child := range found.Commands() {
			if child.Name() == word {
				next = child
			}
		}
		if next == found {
			break
		}
		found = next
	}
	if found == root {
		return nil
	}
	return found
}

func flagsOf(line string) (names []string) {
	for _, m := range regexp.MustCompile(`(?:^|[ \[(])--([a-z][a-z-]*)`).FindAllStringSubmatch(line, -1) {
		names = append(names, m[1])
	}
	return names
}

// hasFlag reports whether cmd has the flag, or any command if cmd is nil.
func hasFlag(root, cmd *cobra.Command, name string) bool {
	commands := []*cobra.Command{cmd}
	if cmd == nil {
		commands = append(allCommands(root), root)
	}
	for _, c := range commands {
		c.InitDefaultHelpFlag()
		if c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
			return true
		}
	}
	return false
}

// TestDocOfLinks: relative links lead to files, and their anchors to headings.
func TestDocOfLinks(t *testing.T) {
	all, links := pages(t), 0
	for path, text := range all {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if name != "" {
				target = filepath.Join(filepath.Dir(path), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", path, m[1])
				continue
			}
			if anchor != "" && strings.HasSuffix(target, ".md") && !anchors(all[target])[anchor] {
				t.Errorf("%s: %s has no such heading", path, m[1])
			}
		}
	}
	require.Greater(t, links, 100)
}

// TestDocOfPaths: files and folders that pages name exist.
func TestDocOfPaths(t *testing.T) {
	named := regexp.MustCompile(`^(chunker|cmd|core|embed|eval|formatter|inject|internal|store|testdata|\.ci)(/[\w.-]+)+/?$`)
	paths := 0
	for page, text := range pages(t) {
		if filepath.Base(page) == "CHANGELOG.md" {
			continue
		}
		for _, span := range codeSpans(text) {
			if !named.MatchString(span) || strings.Contains(span, "NAME") {
				continue
			}
			paths++
			if _, err := os.Stat(filepath.Join("..", "..", strings.TrimSuffix(span, "/..."))); err != nil {
				t.Errorf("%s: there is no %s", page, span)
			}
		}
	}
	require.Greater(t, paths, 30)
}

// TestDocOfPlaces checks ARCHITECTURE's tables of names and of what to change where: "`A` and `B`
// in `file.go`" is true, and a file without a folder is in the folder named before it.
func TestDocOfPlaces(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	require.NoError(t, err)
	_, names, named := strings.Cut(string(text), "## Names of the requirements")
	names, _, _ = strings.Cut(names, "\n## ")
	_, table, ok := strings.Cut(string(text), "## Where to change what")
	require.True(t, ok && named)
	table = names + table
	span, identifier := regexp.MustCompile("`([^`\n]+)`"), regexp.MustCompile(`^[A-Za-z.]+$`)
	places := 0
	for row := range strings.Lines(table) {
		var names []string
		folder, end := "", 0
		for _, m := range span.FindAllStringSubmatchIndex(row, -1) {
			between, name := row[end:m[0]], row[m[2]:m[3]]
			end = m[1]
			switch isFile := strings.HasSuffix(name, ".go") && !strings.Contains(name, "NAME"); {
			case isFile:
				if dir := path.Dir(name); dir != "." {
					folder = dir
				}
				code, err := os.ReadFile(filepath.Join("..", "..", folder, path.Base(name)))
				if !assert.NoError(t, err, row) {
					continue
				}
				for _, wanted := range names {
					if between == " in " {
						places++
						assert.True(t, declares(string(code), wanted), "%s does not have %s: %s", name, wanted, row)
					}
				}
				names = nil
			case strings.Contains(name, "/"):
				folder, names = strings.TrimSuffix(name, "/..."), nil
			case identifier.MatchString(name) && (between == " and " || between == ", "):
				names = append(names, name)
			default:
				names = []string{name}
			}
		}
	}
	require.Greater(t, places, 10)
}

// declares reports whether a file of code declares a name, or has it as a string, such as a
// setting.
func declares(code, name string) bool {
	last := regexp.QuoteMeta(name[strings.LastIndexByte(name, '.')+1:])
	return strings.Contains(code, `"`+name+`"`) || regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)`+last+`\b`).MatchString(code)
}

// anchors returns GitHub's anchors of the headings of a page.
func anchors(text string) map[string]bool {
	text = fencedCode.ReplaceAllString(text, "")
	made := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		heading := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		made[strings.ReplaceAll(heading, " ", "-")] = true
	}
	return made
}
