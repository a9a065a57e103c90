package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
)

// estimateVersion changes with CountTokens, which cuts long texts.
const estimateVersion = 1

// Fingerprint names a vector space. It is known before the first answer, so it lacks the dimension.
func Fingerprint(kind, model string, o Options) string {
	prefixes := sha256.Sum256(fmt.Appendf(nil, "%q %q", o.DocumentPrefix, o.QueryPrefix))
	return fmt.Sprintf("%s/%s/max=%d.%d/prefix=%s", kind, url.QueryEscape(model),
		o.withDefaults().MaxTokens, estimateVersion, hex.EncodeToString(prefixes[:6]))
}
