package mcp

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/memcore/memcore/internal/kind"
)

// withCode gives an error its kind's code. Errors of tools do not come here: the model reads them
// as results.
func withCode(err error) error {
	var coded *jsonrpc.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	code := int64(jsonrpc.CodeInternalError)
	if k := kind.Of(err); k == kind.BadInput || k == kind.NotFound {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: err.Error()}
}
