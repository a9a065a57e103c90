package core

import (
	"context"

	"github.com/memcore/memcore/core/digest"
)

func (m *Manager) exchangesOf(ctx context.Context, document string) ([]digest.Exchange, error) {
	return nil, nil
}
