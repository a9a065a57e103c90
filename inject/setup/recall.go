package setup

import (
	_ "embed"
	"strings"

	"github.com/memcore/memcore/inject/agents"
)

// recallSteps tell a model how to answer a question from memory.
//
//go:embed recall.md
var recallSteps string

// recallName is the name of the skill, and of its folder in agents that keep each skill in one.
const recallName = "recall"

// recallDescription is what an agent knows before it reads the skill. It has no ": ", which YAML
// would take for a key.
const recallDescription = "Answers a question from memory of earlier sessions and notes, with dates and citations, or says that memory does not know. " +
	"Use it before work that earlier sessions may have settled (how something was decided, fixed, named, configured or rejected here), " +
	"and when the user refers to something said or done before (\"as we agreed\", \"the bug from last week\"). " +
	"Not for what the code, git or this conversation shows, for general knowledge, or if a passage of memory in the prompt already answers it. " +
	"Ask one whole question, with its names and files."

// recallFile returns the skill, or the subagent, as in the agent's file.
func recallFile(a agents.Agent, binary string) string {
	return "---\nname: " + recallName + "\ndescription: " + recallDescription + "\n" + a.Recall.Head + "---\n\n" + a.Recall.Task + "\n\n" +
		strings.ReplaceAll(recallSteps, "`memcore ", "`"+Quoted(binary)+" ")
}

// addRecall writes the skill. A file that memcore did not write, or that was changed since, stays.
func (e *edit) addRecall() error {
	f, err := e.open(e.file(e.scope, e.row.Recall.Files))
	if err != nil {
		return err
	}
	text := recallFile(e.row, e.binary)
	_, ours := e.options.recordOf(f.File).original(f.Before)
	switch {
	case f.Before == text:
	case f.Created:
		f.text = text
		f.did("+skill recall")
	case ours:
		f.text = text
		f.did("skill recall updated")
	default:
		e.note("%s is not as memcore wrote it, and stays: memcore's own was not added", f.Path)
	}
	return nil
}

// removeRecall takes out what addRecall wrote, if it is still the same.
func (e *edit) removeRecall() error {
	path := e.file(e.scope, e.row.Recall.Files)
	if !e.mayHold(path) {
		return nil // open has restored it, if there is a record
	}
	f, err := e.open(path)
	if err != nil {
		return err
	}
	if f.text == recallFile(e.row, e.binary) {
		f.text, f.Removed = "", true
		f.did("-skill recall")
	} else if e.options.recordOf(f.File) != nil {
		e.note("%s was changed since memcore wrote it, and stays", f.Path)
	}
	return nil
}
