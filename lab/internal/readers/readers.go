// Package readers lets blind readers choose from the lists that turns get, and scores what they
// choose.
//
// A reader sees an Item: a prompt, the two prompts before it and the lines of its list, in the
// order of their names, which are hashes. It does not see what anybody judged. Answers name an item
// by the hash of all that the reader saw, so that they stay valid while that stays the same.
package readers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/eval"
)

// Instructions for readers.
var Instructions = map[string]string{
	"selective": "Open only what really helps with this prompt. Most lists hold nothing that does.",
	"attentive": "Open what you would open if you were the agent that works on this prompt.",
}

// An Item is what a reader sees of a turn.
type Item struct {
	ID     string   `json:"id"`
	Before []string `json:"before"` // up to two earlier prompts of the session, oldest first
	Prompt string   `json:"prompt"`
	Lines  []Line   `json:"lines"`
}

// A Line is a line of a list.
type Line struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// An Answer is what a reader opened of an item.
type Answer struct {
	Reader      string   `json:"reader"`
	Instruction string   `json:"instruction"` // a key of Instructions
	ID          string   `json:"id"`
	Open        []string `json:"open"` // names of lines
}

// A Key is what readers must not see of a turn.
type Key struct {
	ID      string         `json:"id,omitempty"` // of its item; "" without a list
	Set     string         `json:"set"`
	Turn    string         `json:"turn"`
	Nothing bool           `json:"nothing"` // it wants nothing
	Hit     bool           `json:"hit"`     // it was given something wanted
	Given   bool           `json:"given"`   // it was given anything
	Grades  map[string]int `json:"grades,omitempty"`
}

// Make returns the items of turns with a list, without duplicates and in the order of their hashes,
// and the keys of all judged turns.
func Make(ctx context.Context, sets []eval.TurnSet, report eval.TurnsReport) (items []Item, keys []Key, err error) {
	for _, asked := range report.Turns {
		if asked.Variant != "" || slices.Contains([]string{eval.KindTeamQuestion, eval.KindOrdinary, eval.KindSaidStart}, asked.Kind) {
			continue
		}
		key := Key{Set: asked.Set, Turn: asked.ID, Nothing: asked.Nothing, Hit: asked.Hit(), Given: len(asked.Given) > 0}
		if len(asked.Listed) > 0 {
			before, err := promptsBefore(ctx, sets, asked)
			if err != nil {
				return nil, nil, err
			}
			var item Item
			item, key.Grades = itemOf(asked, before)
			key.ID = item.ID
			items = append(items, item)
		}
		keys = append(keys, key)
	}
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(items, func(a, b Item) bool { return a.ID == b.ID }), keys, nil
}

func itemOf(asked eval.AskedTurn, before []string) (Item, map[string]int) {
	item := Item{Before: before, Prompt: asked.Prompt}
	grades := map[string]int{}
	for _, listed := range asked.Listed {
		line := Line{Name: hash(6, asked.Prompt, listed.Text), Text: listed.Text}
		if _, twice := grades[line.Name]; !twice {
			item.Lines = append(item.Lines, line)
		}
		grades[line.Name] = max(grades[line.Name], listed.Grade)
	}
	slices.SortFunc(item.Lines, func(a, b Line) int { return strings.Compare(a.Name, b.Name) })
	item.ID = hash(16, item.Before, item.Prompt, item.Lines)
	return item, grades
}

// hash returns the first digits of a hash of parts.
func hash(digits int, parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings and lines can always be written
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:digits]
}

// maxBefore is how many earlier prompts a reader sees.
const maxBefore = 2

// promptsBefore reads the prompts before a turn from its session's log. A turn that is in no log has
// none.
func promptsBefore(ctx context.Context, sets []eval.TurnSet, asked eval.AskedTurn) ([]string, error) {
	before := []string{}
	i := slices.IndexFunc(sets, func(s eval.TurnSet) bool { return s.Name == asked.Set })
	if i < 0 {
		return nil, fmt.Errorf("the report has turns of a set %q, which is not in the data", asked.Set)
	}
	at := slices.IndexFunc(sets[i].Turns, func(t eval.Turn) bool { return t.ID == asked.ID })
	if at < 0 {
		return nil, fmt.Errorf("the report has a turn %s/%s, which is not in the data", asked.Set, asked.ID)
	}
	turn := sets[i].Turns[at]
	if turn.Session == "" || turn.Turn <= 0 {
		return before, nil
	}
	logs, err := filepath.Glob(filepath.Join(sets[i].Folder, "sessions", turn.Session+"*"))
	if err != nil || len(logs) == 0 {
		return before, err
	}
	turns, err := source.Transcript(ctx, logs[0], math.MaxInt64)
	if err != nil {
		return nil, fmt.Errorf("read prompts before %s/%s: %w", asked.Set, asked.ID, err)
	}
	for _, t := range turns {
		if t.Role == "user" && strings.TrimSpace(t.Text) != "" {
			before = append(before, strings.TrimSpace(t.Text))
		}
	}
	before = before[:min(turn.Turn, len(before))]
	return before[max(0, len(before)-maxBefore):], nil
}
