package openai

import "strings"

// A Key is a secret that fmt, log/slog and encoding/json do not print.
type Key struct{ secret *string } // fmt prints nested pointers as addresses

// NewKey trims white space.
func NewKey(secret string) Key {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return Key{}
	}
	return Key{&secret}
}

// String reports only whether there is a key.
func (k Key) String() string {
	if k.secret == nil {
		return "none"
	}
	return "***"
}

// GoString is String, for %#v.
func (k Key) GoString() string { return k.String() }

// MarshalText is String, for JSON, YAML and logs.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k Key) reveal() string {
	if k.secret == nil {
		return ""
	}
	return *k.secret
}
