package notes

import (
	"cmp"
	"context"
	"fmt"

	"github.com/memcore/memcore/core/tools"
)

type readParams struct {
	Path string `json:"path,omitempty" jsonschema:"path of a memory file, such as facts/user.md; or the NAME of a line of a list; or a citation, such as notes/a.md#L3-L9"`
}

type writeParams struct {
	Path    string `json:"path" jsonschema:"path of a memory file, such as facts/user.md"`
	Content string `json:"content" jsonschema:"the whole new text of the file, Markdown"`
}

type patchParams struct {
	Path    string  `json:"path" jsonschema:"path of a memory file, such as facts/user.md"`
	Patches []Patch `json:"patches" jsonschema:"replacements, made in order"`
	All     bool    `json:"all,omitempty" jsonschema:"true to make all of them or none"`
}

type appendParams struct {
	Path    string `json:"path,omitempty" jsonschema:"path of a memory file; default this month's episodes, such as episodes/2026-02.md"`
	Entry   string `json:"entry" jsonschema:"a Markdown block: a heading, then - Summary: in under ten words, - Date: and what happened"`
	Summary string `json:"summary,omitempty" jsonschema:"the file's summary line, instead of the one made of its entries"`
}

type listParams struct{}

// savedAnswer hides the diff, which a model may not see.
type savedAnswer struct {
	Saved
	Diff *struct{} `json:"diff,omitempty"` // hides Change.Diff
}

// An Elsewhere is one more target of save_memory.
type Elsewhere struct {
	Target, About string
	Save          func(context.Context, SaveRequest) (tools.Answer, error)
}

// SaveToolName is the name of the tool that SaveTool returns.
const SaveToolName = "save_memory"

// SaveTool returns save_memory, which saves to curated memory, a file of data, or elsewhere.
func SaveTool(saver *Saver, data Files, elsewhere ...Elsewhere) tools.Tool {
	targets := []any{TargetProject, TargetGlobal}
	for _, e := range elsewhere {
		targets = append(targets, e.Target)
	}
	tool := tools.New(SaveToolName, "Remember something for future sessions: when the user asks you to, states a lasting preference or convention, or a task has taught something.",
		func(ctx context.Context, r SaveRequest) (tools.Answer, error) {
			if r.Path != "" {
				return appendTo(ctx, data, r)
			}
			for _, e := range elsewhere {
				if r.Target == e.Target {
					return e.Save(ctx, r)
				}
			}
			saved, err := saver.Save(ctx, r)
			return tools.Answer{Text: saved.Answer(), Data: savedAnswer{Saved: saved}}, err
		}, tools.Aliases("fact", "scope"), tools.Choices("target", targets...))
	for _, e := range elsewhere {
		tool.Schema.Properties["target"].Description += ", or " + e.Target + ": " + e.About
	}
	return tool
}

// SharedFile has what is saved for several people. It does not instruct.
const SharedFile = FactsFolder + "/team.md"

// AppendShared appends a save to the SharedFile of data.
func AppendShared(ctx context.Context, data Files, r SaveRequest) (tools.Answer, error) {
	if r.Private || r.Supersedes != "" {
		return tools.Answer{}, fmt.Errorf("%w: with this target, leave out private and supersedes", tools.ErrArguments)
	}
	return written(data.Append(ctx, SharedFile, r.Content, ""))
}

// monthly is the path that stands for this month's episodes.
const monthly = EpisodesFolder

// appendTo appends a save to a memory file.
func appendTo(ctx context.Context, data Files, r SaveRequest) (tools.Answer, error) {
	if r.Section != "" || r.Target != "" || r.Private || r.Supersedes != "" {
		return tools.Answer{}, fmt.Errorf("%w: with path, only content counts: leave out section, target, private and supersedes; memory_patch corrects a memory file", tools.ErrArguments)
	}
	if r.Path == monthly {
		r.Path = ""
	}
	return written(data.Append(ctx, r.Path, r.Content, ""))
}

// FileTools returns memory_read, memory_write, memory_patch, memory_append and memory_list.
func FileTools(data Files) []tools.Tool {
	return []tools.Tool{
		tools.New("memory_read", "Read what a line of a list or a citation stands for, or a whole memory file of facts or episodes; without a path, list these files.", func(ctx context.Context, p readParams) (tools.Answer, error) {
			if p.Path == "" {
				return listed(ctx, data)
			}
			text, err := data.Read(ctx, p.Path)
			return tools.Answer{Text: text, Data: text}, err
		}, tools.ReadOnly),
		tools.New("memory_write", "Create or overwrite a whole memory file. Read it first: what it says now is lost.", func(ctx context.Context, p writeParams) (tools.Answer, error) {
			return written(data.Write(ctx, p.Path, p.Content))
		}, tools.Destructive),
		tools.New("memory_patch", "Change facts in a memory file: replace the old text with the new.", func(ctx context.Context, p patchParams) (tools.Answer, error) {
			w, err := data.Patch(ctx, p.Path, p.Patches, p.All)
			answer, err := written(w, err)
			if err == nil {
				answer.Text = fmt.Sprintf("%d of %d patches applied to %s.", w.Applied, len(p.Patches), w.Path) + redactedNote("\n", w.Redacted)
				for _, failed := range w.Failed {
					answer.Text += "\n" + failed
				}
				answer.Data = map[string]any{"success": len(w.Failed) == 0, "appliedCount": w.Applied, "failed": w.Failed}
			}
			return answer, err
		}, tools.Destructive),
		tools.New("memory_append", "Append an entry to an episode file, after a task whose outcome is worth remembering.", func(ctx context.Context, p appendParams) (tools.Answer, error) {
			return written(data.Append(ctx, p.Path, p.Entry, p.Summary))
		}),
		tools.New("memory_list", "List the memory files with a summary of each.", func(ctx context.Context, _ listParams) (tools.Answer, error) {
			return listed(ctx, data)
		}, tools.ReadOnly),
	}
}

func listed(ctx context.Context, data Files) (tools.Answer, error) {
	items, err := data.List(ctx)
	return tools.Answer{Text: cmp.Or(listText(items), "There are no memory files yet."), Data: items}, err
}

func written(w Written, err error) (tools.Answer, error) {
	text := fmt.Sprintf("Wrote %s.", w.Path)
	if w.Summary != "" {
		text += " Summary: " + w.Summary
	}
	text += redactedNote("\n", w.Redacted)
	if w.Remark != "" {
		text += "\n" + w.Remark
	}
	return tools.Answer{Text: text, Data: map[string]any{"success": err == nil}}, err
}
