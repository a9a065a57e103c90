package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/text/stated"
)

// labelsFile has the labels of messages in real logs, which are not kept here, one line a message:
// "SET SESSION LINE HASH", and "K:LABEL" for each of its sentences, from 0, that states something.
const labelsFile = "stated/labels.txt"

// logPrefix begins sentence.file of a log.
const logPrefix = "log "

// readLogs returns the labelled sentences of the sets in a folder that lab/turns/rebuild.py made.
// Messages that read otherwise than when they were labelled are left out, and counted in changed.
// Sets that are not in the folder are left out, too.
func readLogs(folder string) (all []sentence, changed int, err error) {
	f, err := os.Open(labelsFile)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	logs := map[string]map[int]userMessage{} // by set and session, by line
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 {
			return nil, 0, fmt.Errorf("%s:%d: want a set, a session, a line and a hash", labelsFile, n)
		}
		set, session := fields[0], fields[1]
		if _, err := os.Stat(filepath.Join(folder, set)); err != nil {
			continue
		}
		key := set + "/" + session
		if logs[key] == nil {
			if logs[key], err = readLog(filepath.Join(folder, set, "sessions", session+"-*.jsonl")); err != nil {
				return nil, 0, err
			}
		}
		at, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, 0, fmt.Errorf("%s:%d: line %q: %w", labelsFile, n, fields[2], err)
		}
		message := logs[key][at]
		if hashOf(message.sentences) != fields[3] {
			changed++
			continue
		}
		labels := map[int]string{}
		for _, field := range fields[4:] {
			k, label, _ := strings.Cut(field, ":")
			i, err := strconv.Atoi(k)
			if kind := strings.TrimSuffix(label, "*"); err != nil || len(kind) != 1 || !strings.Contains(kinds, kind) {
				return nil, 0, fmt.Errorf("%s:%d: %q, want a sentence and its label", labelsFile, n, field)
			}
			labels[i] = label
		}
		for k, text := range message.sentences {
			label := labels[k]
			if label == "" {
				label = "N"
			}
			place := stated.Place{Opens: message.opens, First: k == 0, Last: k == len(message.sentences)-1}
			all = append(all, sentence{text: text, label: label, file: logPrefix + set, features: stated.Features(text, place)})
		}
	}
	return all, changed, lines.Err()
}

// A userMessage is one of a log.
type userMessage struct {
	sentences []string
	opens     bool // nothing of the agent precedes it
}

func readLog(pattern string) (map[int]userMessage, error) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		return nil, fmt.Errorf("want one log %s, found %d", pattern, len(names))
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		return nil, err
	}
	_, content, err := source.Parse(context.Background(), source.Document{Path: filepath.Base(names[0])}, text)
	if err != nil {
		return nil, err
	}
	all, opens := map[int]userMessage{}, true
	for _, t := range content.Turns {
		if t.Role == "user" && t.Dialog == "" && strings.TrimSpace(t.Text) != "" {
			all[t.Line] = userMessage{digest.Sentences(t.Text), opens}
		}
		opens = false
	}
	return all, nil
}

func hashOf(sentences []string) string {
	sum := sha256.Sum256([]byte(strings.Join(sentences, "\n")))
	return hex.EncodeToString(sum[:4])
}
