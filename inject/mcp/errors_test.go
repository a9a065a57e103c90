package mcp

import (
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
)

func TestWithCode(t *testing.T) {
	require.NoError(t, withCode(nil))
	for want, err := range map[int64]error{
		jsonrpc.CodeInvalidParams:  fmt.Errorf("read: %w", notes.ErrPath),
		jsonrpc.CodeInternalError:  errors.New("disk full"),
		jsonrpc.CodeMethodNotFound: fmt.Errorf("call: %w", &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"}),
	} {
		var wire *jsonrpc.Error
		require.ErrorAs(t, withCode(err), &wire)
		require.Equal(t, want, wire.Code, "%v", err)
		require.Equal(t, err.Error(), withCode(err).Error())
	}
	var wire *jsonrpc.Error
	require.ErrorAs(t, withCode(ErrNoFile), &wire)
	require.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
}
