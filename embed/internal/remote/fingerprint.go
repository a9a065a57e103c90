package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
)

// estimateVersion changes with CountTokens, since that decides where long texts are cut.
const estimateVersion = 1

// Fingerprint names a vector space as embed.Embedder wants it: kind of server, model, and what
// options change. It holds no address and no key, and it is known before the first answer, so the
// dimension is in it only where it was asked for.
func Fingerprint(kind, model string, o Options) string {
	prefixes := sha256.Sum256(fmt.Appendf(nil, "%q %q", o.DocumentPrefix, o.QueryPrefix))
	return fmt.Sprintf("%s/%s/dim=%d/max=%d.%d/prefix=%s", kind, url.QueryEscape(model),
		o.Dimension, o.withDefaults().MaxTokens, estimateVersion, hex.EncodeToString(prefixes[:6]))
}
