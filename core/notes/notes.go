// Package notes holds what agents save: facts, episodes, proposals, additions to curated memory.
//
// People can read, correct and delete all of it as Markdown. A Journal makes each change whole or
// not at all, and undoes it.
package notes
