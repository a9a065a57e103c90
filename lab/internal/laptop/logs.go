package laptop

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// words of logs.
var words = strings.Fields(`harbour ferry staging database port deploy release branch cache index token session gateway timeout retry worker queue
	metric alert backup restore schema migration customer invoice parser lexer window lantern island bridge river mountain engine compiler editor
	import export ledger account password login redirect cookie header payload buffer socket thread mutex channel kernel driver battery sensor`)

// openings of requests.
var openings = []string{"Please fix this: ", "We decided that ", "Why does this happen? ", "From now on, always use "}

// decision is what the user says once in a log, and Question asks for it.
func decision(n int) string {
	return fmt.Sprintf("We decided that harbour%d listens on port %d, behind the %s.", n, 10_000+n, words[n%len(words)])
}

// Question asks for what the user says in one of the logs.
func Question(n, sessions int) string {
	return fmt.Sprintf("which port does harbour%d listen on?", n%sessions)
}

// WriteLogs makes the project, a repository, and writes its sessions of Claude Code, six hours
// apart, as one a file of about 100 KB.
func (l Laptop) WriteLogs(sessions int) error {
	if err := os.MkdirAll(filepath.Join(l.Project, ".git"), 0o755); err != nil {
		return err
	}
	folder := filepath.Join(l.Home, ".claude", "projects", strings.ReplaceAll(l.Project, string(filepath.Separator), "-"))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for n := range sessions {
		text, end, err := l.log(n)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", n))
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(path, end, end); err != nil {
			return err
		}
	}
	return nil
}

func (l Laptop) log(n int) (text []byte, end time.Time, err error) {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	sentences := func(least, most int) string {
		var all strings.Builder
		for range least + random.IntN(most-least+1) {
			all.WriteString("The")
			for range 14 {
				all.WriteString(" " + words[random.IntN(len(words))])
			}
			fmt.Fprintf(&all, " of service%d. ", random.IntN(4000))
		}
		return all.String()
	}
	const logSize = 100_000
	at, parent := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n)*6*time.Hour), ""
	for turn := 0; len(text) < logSize; turn++ {
		at = at.Add(time.Minute)
		id := fmt.Sprintf("%08d-%04d", n, turn)
		line := map[string]any{"parentUuid": parent, "uuid": id, "sessionId": fmt.Sprintf("%08d-0000-4000-8000-000000000000", n),
			"cwd": l.Project, "timestamp": at.Format(time.RFC3339), "version": "2.0.0", "type": "assistant"}
		message := func(role string, content any) {
			line["type"], line["message"] = role, map[string]any{"role": role, "content": content}
		}
		part := func(kind string, more map[string]any) []any { more["type"] = kind; return []any{more} }
		switch {
		case turn == 0:
			message("user", decision(n))
		case turn%4 == 0:
			message("user", openings[random.IntN(len(openings))]+sentences(1, 2))
		case turn%4 == 1:
			message("assistant", append(part("text", map[string]any{"text": sentences(1, 3)}),
				part("tool_use", map[string]any{"id": "tool" + id, "name": "Bash", "input": map[string]any{"command": "go test ./" + words[random.IntN(len(words))]}})...))
		case turn%4 == 2:
			message("user", part("tool_result", map[string]any{"tool_use_id": "tool" + parent, "content": "ok " + sentences(60, 100)}))
		default:
			message("assistant", part("text", map[string]any{"text": sentences(1, 4)}))
		}
		parent = id
		data, err := json.Marshal(line)
		if err != nil {
			return nil, at, err
		}
		text = append(append(text, data...), '\n')
	}
	return text, at, nil
}
