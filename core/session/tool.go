package session

import (
	"context"

	"github.com/memcore/memcore/core/tools"
)

// RecallTool returns recall_memory. The agent's own session comes first.
func RecallTool(sessions func(context.Context) ([]*Session, error), o RecallOptions) tools.Tool {
	return tools.New("recall_memory", "Search the messages and notes of working sessions, as the files are now. Returns matching entries with citations.",
		func(ctx context.Context, r RecallRequest) (tools.Answer, error) {
			in, err := sessions(ctx)
			if err != nil {
				return tools.Answer{}, err
			}
			found, err := Recall(ctx, in, r, o)
			return tools.Answer{Text: found.Answer(r.Query), Data: found}, err
		}, tools.ReadOnly, tools.Choices("scope", "all", SourceDetail, SourceMessages))
}
