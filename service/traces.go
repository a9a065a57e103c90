package service

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/httpapi"
)

// Operations on a memory, as the semantic conventions for generative AI name them.
const (
	searchMemory = "search_memory"
	upsertMemory = "upsert_memory"
	deleteMemory = "delete_memory"
)

// memoryOperations are those of tools.
var memoryOperations = map[string]string{"search_memory": searchMemory, notes.SaveToolName: upsertMemory, "memory_patch": upsertMemory, "forget": deleteMemory}

// Spans makes spans without texts, questions and names of documents. The zero value makes none.
type Spans struct{ provider trace.TracerProvider }

// NewSpans returns what makes spans; nil makes none.
func NewSpans(provider trace.TracerProvider) Spans { return Spans{provider} }

func (s Spans) tracer() trace.Tracer {
	if s.provider == nil {
		return noop.NewTracerProvider().Tracer("")
	}
	return s.provider.Tracer("github.com/memcore/memcore/service")
}

// request begins the span of a request, below that of its client.
func (s Spans) request(r *http.Request) *http.Request {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, _ = s.tracer().Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	return r.WithContext(ctx)
}

// endRequest ends the span of a request.
func endRequest(r *http.Request, status int) {
	span := trace.SpanFromContext(r.Context())
	defer span.End()
	if !span.IsRecording() {
		return
	}
	if r.Pattern != "" {
		span.SetName(r.Pattern)
		span.SetAttributes(attribute.String("http.route", r.Pattern))
	}
	span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.Int("http.response.status_code", status))
	if a := accessOf(r.Context()); a != nil && a.User != "" { // else the name may be anything
		span.SetAttributes(attribute.String("memcore.tenant", r.PathValue("tenant")))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
	}
}

// Memory makes a span of do, which works on a tenant's memory and returns how many records it
// found or changed. Without an operation there is none.
func (s Spans) Memory(ctx context.Context, operation, tenant string, do func(context.Context) (records int, err error)) error {
	if operation == "" {
		_, err := do(ctx)
		return err
	}
	ctx, span := s.tracer().Start(ctx, operation, trace.WithAttributes(attribute.String("gen_ai.operation.name", operation),
		attribute.String("gen_ai.memory.store.id", tenant), attribute.String("memcore.tenant", tenant)))
	defer span.End()
	records, err := do(ctx)
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(httpapi.StatusOf(err))))
	} else {
		span.SetAttributes(attribute.Int("gen_ai.memory.record.count", records))
	}
	return err
}

// MemoryOperation returns the operation of a tool, or "".
func MemoryOperation(tool string) string { return memoryOperations[tool] }
