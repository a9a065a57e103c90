package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	webreply "github.com/memcore/memcore/internal/web/reply"
)

// Traces returns a provider for OTEL_EXPORTER_OTLP_ENDPOINT and other standard variables. Spans
// have no query, text or path. failed gets errors, end sends the rest.
func Traces(ctx context.Context, version string, failed func(error)) (to trace.TracerProvider, end func(context.Context) error, err error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { failed(unsaid(err)) }))
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithProxy(unlessRedirected))
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", "memcore"), attribute.String("service.version", version))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return provider, func(ctx context.Context) error { return unsaid(provider.Shutdown(ctx)) }, nil
}

// unlessRedirected is http.ProxyFromEnvironment that stops redirects, which would take the headers
// with them. A client of our own would ignore the variables for TLS.
func unlessRedirected(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errors.New("redirects are not followed")
	}
	return http.ProxyFromEnvironment(r)
}

// unsaid returns an error without what the collector said, which may repeat a key.
func unsaid(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(webreply.Unquoted(err).Error(), " (body: ")
	return errors.New(text)
}
