package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/memcore/memcore/core"
)

// Traces returns where spans go: to an OpenTelemetry collector over HTTP, which the variables of its specification (OTEL_EXPORTER_OTLP_ENDPOINT and others)
// name. Spans say which routes were asked, how long each stage took, and how many hits there were; no query, text or path. end sends what is left.
func Traces(ctx context.Context, version string) (to trace.TracerProvider, end func(context.Context) error, err error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", "memcore"), attribute.String("service.version", version))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return provider, provider.Shutdown, nil
}

// traced makes a span of each request.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.o.Traces == nil {
		return next
	}
	return otelhttp.NewHandler(next, "request", otelhttp.WithTracerProvider(s.o.Traces), otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
		if r.Pattern != "" {
			return r.Pattern
		}
		return r.Method
	}))
}

// say adds to the span of a request what retrieval has done.
func say(ctx context.Context, result core.Result) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.Int("memcore.hits", len(result.Hits)), attribute.String("memcore.state", string(result.State)), attribute.Bool("memcore.degraded", len(result.Degraded) > 0))
	suspicious := 0
	for _, hit := range result.Hits {
		if hit.Suspicion != nil {
			suspicious++
		}
	}
	span.SetAttributes(attribute.Int("memcore.suspicious", suspicious), attribute.Int("memcore.withheld", len(result.Withheld)))
	for stage, took := range result.Took {
		span.SetAttributes(attribute.Float64("memcore.ms."+stage, float64(took.Microseconds())/1000))
	}
}
