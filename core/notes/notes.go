// Package notes is memory that agents write: what they are told to remember, facts and episodes, and the working memory of a session.
//
// All of it is Markdown (a session's messages are JSON lines) that people can read, correct and delete; nothing else has to be kept in
// step. Writers in several processes lose nothing of each other's, a file is whole whenever a process is killed, and what a Journal has
// written it takes back. One rule: text is put into files that were named beforehand, and nowhere else.
package notes
