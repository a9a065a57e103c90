package httpapi

import "context"

// A CasesRequest asks for cases, questions with what their answers must have.
type CasesRequest struct {
	Target
	Query string `json:"query,omitempty" jsonschema:"only the case of this question"`
}

// A CaseRequest says what a person wants of the answer to a question.
type CaseRequest struct {
	Target
	Query   string `json:"query" jsonschema:"the question, such as the text of a user's turn"`
	Wish    string `json:"wish" jsonschema:"come or stayAway for hits with path, heading and text; nothing if there must be no hit"`
	Path    string `json:"path,omitempty" jsonschema:"of the document, or of a folder above it"`
	Heading string `json:"heading,omitempty" jsonschema:"one of those above the text"`
	Text    string `json:"text,omitempty" jsonschema:"in the hit's text"`
	Undo    bool   `json:"undo,omitempty" jsonschema:"true to take the wish back"`
}

// Cases are those of the workspace's file.
type Cases struct {
	File  string `json:"file"` // absolute; it may not exist
	Cases []Case `json:"cases"`
}

// A Case is a question and what its answer must have.
type Case struct {
	Query         string        `json:"query"`
	Expect        []Expectation `json:"expect"`
	ExpectNot     []Expectation `json:"expectNot"`
	ExpectNothing bool          `json:"expectNothing"`
}

// An Expectation is met by a hit with all its fields.
type Expectation struct {
	Path    string `json:"path,omitempty"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text,omitempty"`
}

// caseOperations returns the routes of cases.
func caseOperations(s *Server) []operation {
	return []operation{
		post(s, "/v1/cases", "List the cases of memcore-eval.yaml", func(ctx context.Context, ws Workspace, r CasesRequest) (Cases, error) {
			return ws.Cases(ctx, r)
		}),
		personal(post(s, "/v1/case", "Say what the answer to a question must have, as a case in memcore-eval.yaml", func(ctx context.Context, ws Workspace, r CaseRequest) (Cases, error) {
			return ws.ChangeCase(ctx, r)
		})),
	}
}
