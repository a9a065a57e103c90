package use

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
)

// Answers finds in the log of a session what followed each of its prompts, which are turns in their
// order. What an event said of the last answer is last, since an agent may write its log later; "" is nothing.
// A turn that is not found in the log has no answer there.
func Answers(turns []Turn, log []chunker.Turn, last string) map[string]Answer {
	answers := map[string]Answer{}
	places := locate(turns, log)
	for i, t := range turns {
		var a Answer
		if at := places[i]; at >= 0 {
			a = answer(log, at, next(places[i+1:], len(log)))
		} else if t.Prompt != "" {
			a.Before = []string{t.Prompt}
		}
		// Without the prompt nobody knows which words the agent has from there.
		if last != "" && i == len(turns)-1 && len(a.Before) > 0 {
			a.Steps = append(a.Steps, Step{Said: last})
		}
		answers[t.ID] = a
	}
	return answers
}

// next is the first place that was found, or else the end.
func next(places []int, end int) int {
	for _, at := range places {
		if at >= 0 {
			return at
		}
	}
	return end
}

// atOnce is how far apart a hook's time and the log's may be.
const atOnce = 10 * time.Second

// locate returns where the prompts of turns are in a log, -1 for one that is not found: the nearest
// one in time that reads the same, or else any at that time.
func locate(turns []Turn, log []chunker.Turn) []int {
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
			if log[at].Role != "user" || strings.TrimSpace(log[at].Text) == "" {
				continue
			}
			if keyOf(log[at].Text) == t.Key && (same < 0 || apart(at) < apart(same)) {
				same = at
			}
			if !log[at].Time.IsZero() && apart(at) <= atOnce && (near < 0 || apart(at) < apart(near)) {
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

// answer is what follows the prompt at a place of a log.
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
		// Calls of one turn were made before any of them returned.
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

// arguments is what a tool was asked, one value a line: JSON hides line ends and quotes within words.
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
		for _, one := range v { // in any order: they are separate lines
			values(b, one)
		}
	}
}
