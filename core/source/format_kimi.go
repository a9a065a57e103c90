package source

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
)

// Kimi CLI keeps its sessions in ~/.kimi/sessions/<hash of the working directory>/<session>/: what
// the model was sent in context.jsonl, with OpenAI's messages, events with times in wire.jsonl.
//
// This follows github.com/MoonshotAI/kimi-cli 1.49 (2026-07; src/kimi_cli/metadata.py,
// src/kimi_cli/soul/context.py and packages/kosong/src/kosong/message.py). Records whose role
// begins with "_" are the program's own, and so are texts in <system> tags.

func kimiFolders(k known) []FolderOptions {
	all := k.in("sessions")
	for i := range all {
		all[i].groups, all[i].Exclude = kimiGroups, []string{"*", "!/*/", "!/*/*/", "!/*/*/context.jsonl"}
	}
	return all
}

func kimiGroups(p Project) func(string) (belonging, string) {
	of := map[string]string{}
	for _, cwd := range p.Folders() {
		sum := md5.Sum([]byte(cwd))
		of[hex.EncodeToString(sum[:])] = cwd
	}
	return func(name string) (belonging, string) {
		if cwd := of[name]; cwd != "" {
			return named, cwd
		}
		return elsewhere, ""
	}
}

func sniffKimi(f fields) bool {
	switch f["role"] {
	case "_system_prompt", "_checkpoint", "_usage":
		return true
	}
	return false
}

// besideKimi reads when the session began.
func besideKimi(path string) beside {
	b := beside{session: filepath.Base(filepath.Dir(path))}
	head, _ := readHead(filepath.Join(filepath.Dir(path), "wire.jsonl"))
	for line := range strings.Lines(string(head)) {
		if at := fieldsOf([]byte(line))["timestamp"]; at != "" {
			b.time = parseTime(json.RawMessage(at))
			break
		}
	}
	return b
}

func parseKimi(c *conversation, r record) string {
	var in struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(r.json, &in) != nil {
		return unreadable(r.json)
	}
	if strings.HasPrefix(in.Role, "_") {
		return ""
	}
	if in.Role != "user" {
		return parseOpenAI(c, r)
	}
	var said []string
	parsed := parseContent(in.Content)
	for _, text := range parsed.texts {
		if !strings.HasPrefix(text, "<system>") && !strings.HasPrefix(text, "<system-reminder>") {
			said = append(said, text)
		}
	}
	c.add(r, message{role: "user", text: strings.Join(said, "\n\n")})
	return parsed.lost
}
