// Command table prints the rows that attacks reported (see package harness) and a summary, which it
// also writes into a document between <!-- torture --> and <!-- /torture -->. It exits with 1 if a
// row failed, or if a part of -want has no row.
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

	"github.com/memcore/memcore/internal/dev/torture/harness"
)

const (
	begin = "<!-- torture -->\n"
	end   = "<!-- /torture -->\n"
)

func main() {
	rows := flag.String("rows", "", "the file of rows, a line of JSON each")
	want := flag.String("want", "", "parts that must have a row, by commas")
	doc := flag.String("doc", "", "the document that gets the table")
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
	fmt.Fprint(w, summary(rows, about), "\n", cases(rows))
	if doc != "" {
		if err := write(doc, summary(rows, about)); err != nil {
			return err
		}
	}
	return judge(rows, want)
}

func read(name string) ([]harness.Row, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the rows: %w", err)
	}
	defer file.Close()
	var rows []harness.Row
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row harness.Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("reading the rows of %s: %q: %w", name, lines.Text(), err)
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b harness.Row) int {
		return cmp.Or(strings.Compare(a.Part, b.Part), strings.Compare(a.Case, b.Case))
	})
	return rows, nil
}

// judge returns an error that names failed rows and missing parts.
func judge(rows []harness.Row, want string) error {
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

// summary has a line for each part and unit.
func summary(rows []harness.Row, about string) string {
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
	return b.String()
}

// cases has a line for each row.
func cases(rows []harness.Row) string {
	var b strings.Builder
	b.WriteString("| attack | on | count | result |\n|---|---|---:|---|\n")
	for _, row := range rows {
		result := row.Result
		if row.Failed {
			result = "**failed**: " + result
		}
		fmt.Fprintf(&b, "| %s | %s | %s %s | %s |\n", cell(row.Part), cell(row.Case), thousands(row.Count), cell(row.Unit), cell(result))
	}
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
