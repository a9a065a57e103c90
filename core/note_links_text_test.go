package core

import (
	"strings"
	"testing"
)

func TestSaysMore(t *testing.T) {
	for _, tt := range []struct {
		text, target string
		want         bool
	}{
		{"the retry budget", "backoff", true},
		{"Budget!", "calls/backoff", true},
		{"重试预算", "backoff", true},
		{"here", "backoff", false},
		{"this page", "backoff", false},
		{"siehe hier", "backoff", false},
		{"→", "backoff", false},
		{"42", "backoff", false},
		{"R", "backoff", false},
		{"Retry budget", "calls/retry-budget", false},
		{"budget", "calls/retry_budget", false},
		{"calls/retry-budget.md", "calls/retry-budget", false},
		{"https://example.com/budget", "backoff", false},
		{"www.example.com", "backoff", false},
		{strings.Repeat("gnu ", 9), "backoff", false},
		{strings.Repeat("gnu", 30), "backoff", false},
	} {
		if got := saysMore(tt.text, tt.target); got != tt.want {
			t.Errorf("saysMore(%q, %q) = %v, want %v", tt.text, tt.target, got, tt.want)
		}
	}
}
