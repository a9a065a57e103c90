package app

import (
	"fmt"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/app/config"
)

// Sharing sets how memory is shared. Without LanceDB, earlier pulls stay.
func (x Index) Sharing(options *core.Options, embedder embed.Embedder) error {
	s := x.w.Settings.Shared
	if s.URI == "" {
		return nil
	}
	options.Owner, options.Publish = x.w.Owner(), s.Publish
	var err error
	options.Shared, err = openShared(x.w.Settings, dimensionOf(embedder))
	return err
}

// NotShared is an error if this build cannot share.
func (x Index) NotShared() error {
	if x.w.Settings.Shared.URI == "" || IsBuilt(config.EngineLanceDB) {
		return nil
	}
	return fmt.Errorf("memory.shared.uri is set, and %v: nothing is shared", NotBuilt(config.EngineLanceDB))
}

// usualDimension is used if the embedder's dimension is unknown.
const usualDimension = 384

func dimensionOf(embedder embed.Embedder) int {
	if embedder == nil || embedder.Dimension() < 1 {
		return usualDimension
	}
	return embedder.Dimension()
}
