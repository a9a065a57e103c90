package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

// maxRequest limits standard input, in bytes.
const maxRequest = 64 << 20

// maxQuery limits a query there. More words do not help.
const maxQuery = 1 << 20

// queryText joins the arguments; "-" is standard input.
func (t *terminal) queryText(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text != "-" {
		return text, nil
	}
	data, long, err := t.readInput(maxQuery)
	if long {
		t.note("the query is longer than %d MB: the rest is ignored", maxQuery>>20)
	}
	return strings.ToValidUTF8(string(data), ""), err
}

// wholeText joins the arguments; "-" is all of standard input.
func (t *terminal) wholeText(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text != "-" {
		return text, nil
	}
	data, long, err := t.readInput(maxRequest)
	if long {
		return "", kind.Usagef("standard input has more than %d MB", maxRequest>>20)
	}
	return string(data), err
}

// readInput reads up to a limit. long reports whether there is more.
func (t *terminal) readInput(limit int) (data []byte, long bool, err error) {
	data, err = io.ReadAll(io.LimitReader(t.stdin, int64(limit)+1))
	if err != nil {
		return nil, false, fmt.Errorf("read standard input: %w", err)
	}
	return data[:min(len(data), limit)], len(data) > limit, nil
}

// asks reports whether the user can be asked.
func (t *terminal) asks() bool {
	f, ok := t.stdin.(*os.File)
	return ok && isTerminal(f) && !t.quiet && !t.json
}

// answer reads a line in lower case; "" at the end.
func (t *terminal) answer(ctx context.Context) string {
	typed := make(chan string, 1)
	go func() { // it may live until the process ends
		line, _ := bufio.NewReader(t.stdin).ReadString('\n')
		typed <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-typed:
		return line
	case <-ctx.Done():
		return ""
	}
}

// choose asks, and returns the first choice that begins with the answer, or "" for Enter. If no
// choice does, it says so and returns "?".
func (t *terminal) choose(ctx context.Context, question string, choices ...string) string {
	fmt.Fprint(t.stderr, question)
	answer := t.answer(ctx)
	if answer == "" {
		return ""
	}
	for _, choice := range choices {
		if strings.HasPrefix(choice, answer) {
			return choice
		}
	}
	t.note("%q is not one of the answers; nothing is changed", answer)
	return "?"
}

// agrees asks yes or no. Enter is byDefault.
func (t *terminal) agrees(ctx context.Context, question string, byDefault bool) bool {
	choices := "[y/N]"
	if byDefault {
		choices = "[Y/n]"
	}
	switch t.choose(ctx, plain.Line("%s %s ", question, choices), "yes", "no") {
	case "yes":
		return true
	case "":
		return byDefault && ctx.Err() == nil
	}
	return false
}

// confirm shows a change of a file, and asks for consent.
func confirm(ctx context.Context, a *cli, label, path, diff string, yes bool) (bool, error) {
	if !a.quiet {
		fmt.Fprint(a.stderr, a.stderr.paintDiff(diff))
	}
	return consent(ctx, a, label, "Write this to "+path+"?", yes)
}

// consent asks before a command changes memory. Where there is no terminal to ask on, only --yes is
// consent.
func consent(ctx context.Context, a *cli, label, question string, yes bool) (bool, error) {
	switch {
	case yes:
		return true, nil
	case !a.asks():
		return false, unasked(label)
	}
	return a.agrees(ctx, question, true), ctx.Err()
}
