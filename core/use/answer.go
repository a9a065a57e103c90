package use

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/journal"
)

// Answers returns what followed each prompt in the agent's log, by ID. last is a hook's last
// answer, if any, since an agent may write its log later.
func Answers(turns []journal.Entry, log []chunker.Turn, last string) map[string]Answer {
	answers := map[string]Answer{}
	places := locate(turns, log)
	for i, t := range turns {
		var a Answer
		if at := places[i]; at >= 0 {
			a = answer(log, at, next(places[i+1:], len(log)))
		} else if t.Prompt != "" {
			a.Before = []string{t.Prompt}
		}
		// Without the prompt, words of the answer may come from it.
		if last != "" && i == len(turns)-1 && len(a.Before) > 0 {
			a.Steps = append(a.Steps, Step{Said: last})
		}
		answers[t.ID] = a
	}
	return answers
}

// next returns the first place that is not -1, or end.
func next(places []int, end int) int {
	for _, at := range places {
		if at >= 0 {
			return at
		}
	}
	return end
}

// clockSkew is how much hook and log may differ.
const clockSkew = 10 * time.Second

// locate finds each prompt: the same text at the nearest time, else the user's, else -1.
func locate(turns []journal.Entry, log []chunker.Turn) []int {
	places := make([]int, len(turns))
	from := 0
	for i, t := range turns {
		same, near := -1, -1
		apart := func(at int) time.Duration {
			if log[at].Time.IsZero() {
				return 0
			}
			return log[at].Time.Sub(t.At).Abs()
		}
		for at := from; at < len(log); at++ {
			if log[at].Role != "user" || log[at].Dialog != "" || strings.TrimSpace(log[at].Text) == "" {
				continue
			}
			if journal.KeyOf(log[at].Text) == t.Key && (same < 0 || apart(at) < apart(same)) {
				same = at
			}
			if !log[at].Time.IsZero() && apart(at) <= clockSkew && (near < 0 || apart(at) < apart(near)) {
				near = at
			}
		}
		if places[i] = same; same < 0 {
			places[i] = near
		}
		if places[i] >= 0 {
			from = places[i] + 1
		}
	}
	return places
}

func answer(log []chunker.Turn, prompt, end int) Answer {
	var a Answer
	for _, t := range log[:prompt+1] {
		a.Before = append(a.Before, t.Text)
		for _, tool := range t.Tools {
			a.Before = append(a.Before, arguments(tool.Input), tool.Output)
		}
	}
	for _, t := range log[prompt+1 : end] {
		if t.Role != "assistant" {
			a.Steps = append(a.Steps, Step{Shown: t.Text})
		} else if t.Text != "" {
			a.Steps = append(a.Steps, Step{Said: t.Text})
		}
		// A turn's calls were made before any returned.
		for _, tool := range t.Tools {
			if tool.Input != "" && !tool.Failed {
				a.Steps = append(a.Steps, Step{Call: arguments(tool.Input)})
			}
		}
		for _, tool := range t.Tools {
			if tool.Output != "" {
				a.Steps = append(a.Steps, Step{Shown: tool.Output})
			}
		}
	}
	return a
}

// arguments returns a JSON object's values, one a line.
func arguments(input string) string {
	decoder := json.NewDecoder(bytes.NewReader([]byte(input)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return input
	}
	var b strings.Builder
	values(&b, value)
	return b.String()
}

func values(b *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		b.WriteString(v)
		b.WriteByte('\n')
	case json.Number:
		b.WriteString(v.String())
		b.WriteByte('\n')
	case []any:
		for _, one := range v {
			values(b, one)
		}
	case map[string]any:
		for _, one := range v { // the order does not matter
			values(b, one)
		}
	}
}
