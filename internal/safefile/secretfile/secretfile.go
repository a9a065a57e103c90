// Package secretfile recognises files of secrets, which memcore never opens.
package secretfile

import (
	"path/filepath"
	"runtime"
	"strings"
)

// Names of secrets, in lower case.
var (
	deniedFolders = map[string]bool{
		".ssh": true, ".aws": true, ".gnupg": true, ".azure": true, ".kube": true, ".docker": true,
		".password-store": true, "keyrings": true, "keychains": true, "gcloud": true,
	}
	deniedFiles = []string{
		".env*", "*.env", "credentials", "credentials.*", "*-credentials.json", "secrets", "secrets.*", "secret.*",
		"service-account*.json", "service_account*.json", "client_secret*.json",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.gpg",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".dockercfg",
		"auth.json", ".credentials.json", "oauth_creds.json", "*oauth-tokens.json",
	}
	deniedTrees = []string{"/proc", "/sys", "/dev", "/run/secrets", "/etc/shadow", "/etc/gshadow", "/etc/sudoers"}
)

// Reason says why a file or folder is never opened; "" if it may be. Check the targets of links,
// too.
func Reason(path string) string {
	path = filepath.Clean(path)
	if runtime.GOOS != "windows" {
		for _, tree := range deniedTrees {
			if path == tree || strings.HasPrefix(path, tree+"/") {
				return "it is part of " + tree
			}
		}
	}
	names := strings.Split(filepath.ToSlash(path), "/")
	for _, name := range names[:len(names)-1] {
		if deniedFolders[strings.ToLower(name)] {
			return "folder " + name + " holds credentials"
		}
	}
	return Name(names[len(names)-1])
}

// Name is Reason for the last element of a path.
func Name(name string) string {
	lower := strings.ToLower(name)
	if deniedFolders[lower] {
		return "folder " + name + " holds credentials"
	}
	for _, pattern := range deniedFiles {
		if matches(pattern, lower) {
			return "its name is that of a secret (" + pattern + ")"
		}
	}
	return ""
}

// matches is path.Match for patterns with at most one star, which each file of a workspace is
// matched with.
func matches(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return name == pattern
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
