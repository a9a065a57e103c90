package source

import (
	"context"
	"fmt"
	"os"
)

// Try returns why nothing could be indexed of a file or folder: it is no text, or nobody may open
// it. Of a folder it does not look at what is in it.
func Try(ctx context.Context, path string) error {
	f := NewFolder(FolderOptions{Path: path})
	at, err := f.locate()
	if err != nil {
		return err
	}
	if at.info.IsDir() {
		dir, err := os.Open(at.real)
		if err != nil {
			return err
		}
		return dir.Close()
	}
	found, err := f.List(ctx)
	if err != nil {
		return err
	}
	for _, skip := range found.Skipped {
		return fmt.Errorf("%s: %s", path, skip.Reason)
	}
	for _, doc := range found.Documents {
		if doc.Kind == KindConversation {
			return nil // List has looked into it
		}
		_, err = f.Read(ctx, doc, Position{})
	}
	return err
}
