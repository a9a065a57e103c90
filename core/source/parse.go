package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ErrNoDocument means that a text is neither Markdown nor a log that is read.
var ErrNoDocument = errors.New("it is neither Markdown nor a log of a known format")

// Parse reads a document that is no file, as a Folder reads one: its Path says by its extension
// what it may be. It returns doc with Kind, Format, Branch, CopyOf and Size, and content that is
// whole. It looks at no file, so that of a fork or of a subagent all is read. Errors wrap
// ErrNoDocument if a Folder leaves such a file out: packed logs and exports, too, which may be of
// any size.
func Parse(ctx context.Context, doc Document, text []byte) (Document, Content, error) {
	doc.File, doc.Kind, doc.Format, doc.Size = "", KindMarkdown, KindMarkdown, int64(len(text))
	content, err := parse(ctx, &doc, text)
	if err != nil {
		return doc, Content{}, fmt.Errorf("read %s: %w", doc.Path, err)
	}
	return doc, content, nil
}

func parse(ctx context.Context, doc *Document, text []byte) (Content, error) {
	if isPacked(doc.Path) || isArchive(doc.Path) || !isDocument(doc.Path) && !IsRules(doc.Path) {
		return Content{}, ErrNoDocument
	}
	if mayBeLog(doc.Path) {
		log, err := sniffLog(ctx, bytes.NewReader(text), doc.Size, doc.Path, false)
		if err != nil {
			return Content{}, err
		}
		if found, known := formatNamed(log.format); known && !found.export {
			if !isLines(doc.Path) && doc.Size > maxJSONLog {
				return Content{}, errors.New(tooLarge(doc.Size, maxJSONLog))
			}
			doc.Kind, doc.Format, doc.Branch, doc.CopyOf = KindConversation, log.format, log.branch, log.copyOf
			return readConversation(ctx, bytes.NewReader(text), doc.Size, *doc, Position{}, 0)
		}
		if !isMarkdownLog(doc.Path) {
			return Content{}, ErrNoDocument
		}
	}
	return readMarkdown(ctx, bytes.NewReader(text), doc.Size, maxMarkdown)
}
