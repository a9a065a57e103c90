// Package baseurl reads the addresses of servers as people configure them.
package baseurl

import (
	"errors"
	"net/url"
)

// Parse reads the address of a server to which the path of each request is appended, such as "https://api.openai.com/v1". Errors are
// sentences to stand behind what the address is for, and do not have its text, which may hold a password or a key.
func Parse(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil || base.Hostname() == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("is not of the form https://host/v1")
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New(`has a "?" or "#", behind which the path of a request would be lost`)
	}
	return base, nil
}
