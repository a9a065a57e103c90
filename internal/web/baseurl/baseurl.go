// Package baseurl parses configured addresses of servers.
package baseurl

import (
	"errors"
	"net/url"
)

// Parse parses a base URL such as "https://api.openai.com/v1". Errors continue a sentence. They do
// not quote it: it may hold a password.
func Parse(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil || base.Hostname() == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("is not of the form https://host/v1")
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New(`has a "?" or "#", after which the path of a request would be lost`)
	}
	return base, nil
}
