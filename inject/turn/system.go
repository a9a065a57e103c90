package turn

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
)

// A System is text for the system message.
type System struct {
	// Curated is curated memory, which acts as instruction.
	Curated string
	// Reference is text that formatter.Reference has framed.
	Reference string
	// Whole documents are in Curated, and not retrieved.
	Whole []string
	// Standing is what the user said, in Reference.
	Standing []core.Statement
}

// without leaves out what the request has.
func (s System) without(texts []string) System {
	for _, text := range texts {
		switch {
		case strings.Contains(text, s.Curated):
			s.Curated = ""
		case formatter.ContainsCurated(s.Curated) && formatter.ContainsCurated(text):
			s.Curated, s.Whole = "", nil // it may be of other files
		}
		if formatter.ContainsReference(text) {
			s.Reference = ""
		}
	}
	return s
}

// system returns text for the system message, unless texts hold it, and options without what is in
// it. Curated memory, which changes less often, comes first.
func system(ctx context.Context, options Options, texts []string) (text string, _ Options) {
	if options.System == nil || ctx.Err() != nil {
		return "", options
	}
	s, err := options.System(ctx)
	if err != nil {
		logger(options).Warn("the system message does not get all of memory", "error", err)
	}
	s = s.without(texts)
	options = options.without(s.Whole)
	options.began = s.Standing
	return formatter.Join(s.Curated, s.Reference), options
}

// leading returns how many system messages come first.
func leading[M any](messages []M, role func(M) string) int {
	n := slices.IndexFunc(messages, func(m M) bool { return role(m) != "system" && role(m) != "developer" })
	if n < 0 {
		return len(messages)
	}
	return n
}

// openingTexts returns what comes before the first answer.
func openingTexts[M any](messages []M, role, text func(M) string) (texts []string) {
	for _, m := range messages {
		if role(m) == "assistant" {
			break
		}
		texts = append(texts, text(m))
	}
	return texts
}

// withSystem adds text to the system message of a copy. It returns its characters, and options
// without what is in it.
func withSystem[M any](ctx context.Context, messages []M, is Shape[M], options Options) (with []M, added int, _ Options) {
	if len(messages) == 0 {
		return messages, 0, options
	}
	text, options := system(ctx, options, openingTexts(messages, is.Role, is.Text))
	if text == "" {
		return messages, 0, options
	}
	if n := leading(messages, is.Role); n > 0 {
		messages = slices.Clone(messages)
		messages[n-1] = is.Extend(messages[n-1], text)
	} else {
		messages = slices.Insert(slices.Clone(messages), 0, is.System(text))
	}
	return messages, utf8.RuneCountInString(text), options
}
