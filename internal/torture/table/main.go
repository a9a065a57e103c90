// Command table makes a table of the rows that attacks reported (see package torture), prints it, and writes it into a document between the
// lines <!-- torture --> and <!-- /torture -->. It exits with 1 if a row failed, or if there is none of a part that -want names.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/torture"
)

const (
	begin = "<!-- torture -->\n"
	end   = "<!-- /torture -->\n"
)

func main() {
	rows := flag.String("rows", "", "the file of rows, a line of JSON each")
	want := flag.String("want", "", "parts that must have a row, by commas")
	doc := flag.String("doc", "", "the document that gets the table; empty is none")
	about := flag.String("about", "", "a line above the table: when, where, for how long")
	flag.Parse()
	if err := run(os.Stdout, *rows, *want, *doc, *about); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, name, want, doc, about string) error {
	rows, err := read(name)
	if err != nil {
		return err
	}
	text := markdown(rows, about)
	fmt.Fprint(w, text)
	if doc != "" {
		if err := write(doc, text); err != nil {
			return err
		}
	}
	return judge(rows, want)
}

func read(name string) ([]torture.Row, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the rows: %w", err)
	}
	defer file.Close()
	var rows []torture.Row
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row torture.Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("reading the rows of %s: %q: %w", name, lines.Text(), err)
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b torture.Row) int {
		return cmp.Or(strings.Compare(a.Part, b.Part), strings.Compare(a.Case, b.Case))
	})
	return rows, nil
}

// judge returns an error that names what failed and what is missing.
func judge(rows []torture.Row, want string) error {
	var failed []error
	there := map[string]bool{}
	for _, row := range rows {
		there[row.Part] = true
		if row.Failed {
			failed = append(failed, fmt.Errorf("%s: %s: failed", row.Part, row.Case))
		}
	}
	for part := range strings.SplitSeq(want, ",") {
		if part != "" && !there[part] {
			failed = append(failed, fmt.Errorf("%s: no row was reported; its test failed before it counted, or did not run", part))
		}
	}
	return errors.Join(failed...)
}

// markdown is a summary, a line for each part and unit, and then every row.
func markdown(rows []torture.Row, about string) string {
	type key struct{ part, unit string }
	type sum struct{ cases, count, failed int }
	sums := map[key]*sum{}
	var keys []key
	for _, row := range rows {
		k := key{row.Part, row.Unit}
		if sums[k] == nil {
			sums[k] = &sum{}
			keys = append(keys, k)
		}
		sums[k].cases++
		sums[k].count += row.Count
		if row.Failed {
			sums[k].failed++
		}
	}
	var b strings.Builder
	if about != "" {
		fmt.Fprintf(&b, "%s\n\n", about)
	}
	b.WriteString("| attack | cases | count | failed |\n|---|---:|---:|---:|\n")
	for _, k := range keys {
		fmt.Fprintf(&b, "| %s | %d | %s %s | %d |\n", cell(k.part), sums[k].cases, thousands(sums[k].count), cell(k.unit), sums[k].failed)
	}
	b.WriteString("\n<details><summary>Every case</summary>\n\n| attack | on | count | what came of it |\n|---|---|---:|---|\n")
	for _, row := range rows {
		result := row.Result
		if row.Failed {
			result = "**failed**: " + result
		}
		fmt.Fprintf(&b, "| %s | %s | %s %s | %s |\n", cell(row.Part), cell(row.Case), thousands(row.Count), cell(row.Unit), cell(result))
	}
	b.WriteString("\n</details>\n")
	return b.String()
}

func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// write puts the text between the marks of the document.
func write(name, text string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	head, rest, opened := strings.Cut(string(old), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !opened || !closed {
		return fmt.Errorf("writing the table into %s: it has no lines %s and %s", name, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	if err := os.WriteFile(name, []byte(head+begin+text+end+tail), 0o644); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}
