package core

import (
	"path"
	"strings"

	"github.com/memcore/memcore/core/source"
)

// Programs such as SpecStory copy agents' logs into the project. To find each text once, a copy is
// indexed only where the agent's own log of that session is not. The log is known by its name,
// which ends with the ID of the session: subagents' logs have that ID, too, but not in their names.
// A copy that is indexed already stays until something of the log is, since a query may lack the
// time to read the log.

// A listedSource has these documents now.
type listedSource struct {
	from      source.Source
	documents []source.Document
}

// needless returns the paths of the copies of logs that are there. unlisted are sources of which it
// is not known what they have now.
func needless(all []listedSource, indexed *manifest, unlisted map[string]bool) map[string]bool {
	copies := map[string]string{} // sessions by path
	for _, l := range all {
		for _, doc := range l.documents {
			if doc.CopyOf != "" {
				copies[doc.Path] = doc.CopyOf
			}
		}
	}
	if len(copies) == 0 {
		return nil
	}
	read, listed := map[string]bool{}, map[string]bool{} // logs by session
	add := func(path string) {
		if copies[path] != "" {
			return
		}
		known, isKnown := indexed.Documents[path]
		session := known.Session
		if !namesSession(path, session) {
			session = sessionAtEnd(path)
		}
		if listed[session] = true; isKnown && known.Chunks+len(known.Turns) > 0 {
			read[session] = true
		} else if isKnown {
			delete(listed, session) // nothing of it could be read
		}
	}
	for _, l := range all {
		for _, doc := range l.documents {
			if _, unread := indexed.Unread[doc.Path]; doc.Kind == source.KindConversation && !unread {
				add(doc.Path)
			}
		}
	}
	for path, known := range indexed.Documents {
		if known.Gone || known.Kind == source.KindConversation && unlisted[known.Source] {
			add(path)
		}
	}
	found := map[string]bool{}
	for path, session := range copies {
		_, isIndexed := indexed.Documents[path]
		found[path] = session != "" && (read[session] || listed[session] && !isIndexed)
	}
	return found
}

// stem returns the name of a log without folders and endings.
func stem(name string) string {
	name = strings.TrimSuffix(path.Base(name), ".zst")
	return strings.TrimSuffix(name, path.Ext(name))
}

// shortID is how much of a session's ID is at least in the name of its log, as in Gemini CLI's.
const shortID = 8

// namesSession reports whether a log is named after its session.
func namesSession(name, session string) bool {
	return len(session) >= shortID && (strings.HasSuffix(stem(name), session) || strings.HasSuffix(stem(name), "-"+session[:shortID]))
}

// sessionAtEnd returns the UUID at the end of a log's name, or "".
func sessionAtEnd(name string) string {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	name = stem(name)
	if len(name) < len(form) {
		return ""
	}
	id := name[len(name)-len(form):]
	for i := range form {
		isHex := strings.IndexByte("0123456789abcdefABCDEF", id[i]) >= 0
		if isHex != (form[i] == 'x') || !isHex && id[i] != '-' {
			return ""
		}
	}
	return id
}
