// Package notes holds what agents save: facts, episodes, proposals, additions to curated memory.
//
// All of it is Markdown that people can read, correct and delete. A Journal makes every change
// whole or not at all, and undoes it.
package notes
