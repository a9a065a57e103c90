// Package notes holds what agents save: facts, episodes, proposals, additions to curated memory.
//
// People can read, correct and delete all of it as Markdown. A Journal makes each change whole or
// not at all, and undoes it.
//
// save.go, forget.go and correct.go change curated memory, data.go and draft.go facts and episodes;
// proposals.go has what waits for a person, tool.go the tools for models.
package notes
