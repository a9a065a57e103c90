package tenants

import (
	"encoding/json"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/paths"
)

// sharedArguments redirects a save_memory from the project's curated memory to notes.SharedFile,
// for users who may not change the former.
func sharedArguments(arguments []byte) []byte {
	var asked notes.SaveRequest
	var fields map[string]json.RawMessage
	if json.Unmarshal(arguments, &asked) != nil || json.Unmarshal(arguments, &fields) != nil || fields == nil {
		return arguments // the tool refuses them
	}
	if asked.Path != "" || asked.Target != "" && asked.Target != notes.TargetProject {
		return arguments
	}
	fields["path"], _ = json.Marshal(notes.SharedFile)
	for _, name := range []string{"section", "target", "scope"} { // with a path, they do not count
		delete(fields, name)
	}
	changed, err := json.Marshal(fields)
	if err != nil {
		return arguments
	}
	return changed
}

// documentsIn returns the documents that the arguments of a tool may name.
func documentsIn(arguments []byte) (all []string) {
	var fields map[string]any
	if json.Unmarshal(arguments, &fields) != nil {
		return nil // the tool refuses them
	}
	for _, value := range fields {
		text, ok := value.(string)
		if !ok || len(text) > maxCitation {
			continue
		}
		if name, _, _, ok := paths.ParseCitation(text); ok {
			text = name
		}
		all = append(all, paths.Unspell(text))
	}
	return all
}

// maxCitation is the longest text that may name a document, in bytes.
const maxCitation = 3 * maxPath
