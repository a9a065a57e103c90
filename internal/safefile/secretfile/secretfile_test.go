package secretfile

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestReason(t *testing.T) {
	denied := []string{
		".env", "a/.env.local", "prod.env", ".ENV", "credentials.json", "Credentials.json", "x/secrets.yaml", "secrets.md", "secret.txt",
		"server.pem", "id_rsa", "id_rsa.pub", "id_ed25519", "tls.key", ".netrc", ".npmrc", ".git-credentials", "gcp-credentials.json",
		"service-account-prod.json", "~/.ssh/config", "/home/a/.aws/credentials", "/home/a/.gnupg/x.md", ".ssh", "a/.kube/notes.md",
		"/home/a/.config/gcloud/notes.md", "/home/a/.codex/auth.json", "/home/a/.gemini/oauth_creds.json", "x/../.ssh/y.md", "vault.kdbx",
	}
	allowed := []string{
		"", ".", "environment.md", "env.md", "secretary.md", "credential-rotation.md", "keys.md", "monkey.md", "ssh.md", "docs/.beans/a.md",
		"/home/a/.claude/projects/x/y.jsonl", "development/a.md", "/devices/a.md", "processes.md", "id.md", "docker/a.md",
	}
	if runtime.GOOS != "windows" {
		denied = append(denied, "/proc/1/environ", "/proc", "/sys/x.md", "/dev/stdin", "/run/secrets/db.md", "/x/../proc/self/a.md")
	}
	for _, path := range denied {
		if Reason(filepath.FromSlash(path)) == "" {
			t.Errorf("Reason(%q) is empty, want a reason", path)
		}
	}
	for _, path := range allowed {
		if reason := Reason(filepath.FromSlash(path)); reason != "" {
			t.Errorf("Reason(%q) = %q, want none", path, reason)
		}
	}
}
