// Package digest sums up the log of an agent without a model: its exchanges, what the user stated,
// and the commands that failed.
//
// An exchange is a request of the user with everything that the agent did until the next request.
// It is the unit of lists and of duplicates; the chunk stays the unit of vectors and citations.
package digest

import "time"

// Version grows when Of finds something else in the same log, so that indexes are made again.
const Version = 10

// A Digest is what a log says in short. All of it is in the order of the log, and without secrets
// if the turns were.
type Digest struct {
	Exchanges  []Exchange  `json:"exchanges,omitempty"`
	Statements []Statement `json:"statements,omitempty"`
	Failures   []Failure   `json:"failures,omitempty"`
}

// An Exchange is a request of the user with the agent's work on it.
type Exchange struct {
	// StartLine and EndLine are the first and last line in the log, from 1.
	StartLine int       `json:"startLine"`
	EndLine   int       `json:"endLine"`
	Session   string    `json:"session,omitempty"`
	Time      time.Time `json:"time,omitzero"` // of the request; zero if unknown
	// Request is the telling part of what the user asked for, one line of at most 160 bytes.
	Request string `json:"request"`
	// Outcome is the sentence of the answer that says most: a cause, a decision, a fix, a rule. One
	// line of at most 200 bytes; "" if the answer says nothing.
	Outcome string `json:"outcome,omitempty"`
	// Reply is what the user said next, if that rejects or corrects the answer, or answers a
	// question of the agent, as Told has it. One line of at most 300 bytes.
	Reply string `json:"reply,omitempty"`
	// Moments are those that the last order in it asked for.
	Moments []Moment `json:"moments,omitempty"`
	// Files are at most three files that the agent changed, as it named them.
	Files []string `json:"files,omitempty"`
	// Interrupted means that the user stopped the agent, or rejected its last call, without a
	// reason.
	Interrupted bool `json:"interrupted,omitempty"`
}

// A Kind says what a statement is.
type Kind string

// Kinds of statements.
const (
	Rule       Kind = "rule"       // how something shall be done
	Correction Kind = "correction" // what the agent did wrong, and what is right
	Preference Kind = "preference" // what the user likes
	Decision   Kind = "decision"
	Fact       Kind = "fact" // about the user, the project or its surroundings
)

// A Moment is a kind of work for which standing statements are given again.
type Moment string

// Moments.
const (
	Commit Moment = "commit" // also messages, branches, pull requests
	Test   Moment = "test"
	Review Moment = "review"
	Deploy Moment = "deploy" // also releases
)

// A Statement is what the user stated: a sentence or two.
type Statement struct {
	Line    int       `json:"line"` // in the log, from 1
	Session string    `json:"session,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	// Text is as the user said it, one line of at most 300 bytes.
	Text string `json:"text"`
	// Asked is the question of an agent's dialog that the user answers. Text begins with it if the
	// answer states nothing by itself.
	Asked string `json:"asked,omitempty"`
	Kind  Kind   `json:"kind"`
	// Standing statements hold for all later work ("always", "from now on", how to test or commit),
	// not for one order.
	Standing bool `json:"standing,omitempty"`
	// Sure is the probability that a standing statement is one, in (0, 1].
	Sure float64 `json:"sure,omitempty"`
	// Withdraws means that the statement takes an earlier one back and puts nothing in its place:
	// "forget about the changelog".
	Withdraws bool `json:"withdraws,omitempty"`
	// Moments are those it is about: by its words, or, unless it is standing, by the order that it was
	// said to. Often none.
	Moments []Moment `json:"moments,omitempty"`
}

// A Failure is a command that failed.
type Failure struct {
	Line    int       `json:"line"` // of its result in the log, from 1
	Session string    `json:"session,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	// Program names what ran, with its subcommand if it has one: "go test", "npm run", "psql".
	Program string `json:"program"`
	// Command is the command that failed, at most 200 bytes.
	Command string `json:"command"`
	// Error is the error's line without paths, numbers, names and quoted values: equal errors of
	// different runs are equal.
	Error string `json:"error"`
	// Shown is the error's line as it stood, at most 160 bytes.
	Shown string `json:"shown"`
	// Cure is the command of the same program that worked next, at most 200 bytes; "" if none did.
	Cure string `json:"cure,omitempty"`
}
