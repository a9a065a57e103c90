package openai

import "strings"

// A Key is a secret that does not print: fmt, log/slog and encoding/json show nothing of it, not
// even where it lies deep in another struct. The zero Key is none, which suits local servers.
type Key struct{ secret *string } // a pointer below the top is printed as an address

// NewKey returns the Key for secret, without the white space around it that files tend to have.
func NewKey(secret string) Key {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return Key{}
	}
	return Key{&secret}
}

// String says whether there is a key, and nothing about it.
func (k Key) String() string {
	if k.secret == nil {
		return "none"
	}
	return "***"
}

// GoString is String, for %#v.
func (k Key) GoString() string { return k.String() }

// MarshalText is String, for JSON, YAML and logs. It cannot be read back.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k Key) reveal() string {
	if k.secret == nil {
		return ""
	}
	return *k.secret
}
