// Package privilege runs every command of the built program and attacks its privileges: permissions
// of files, web pages that use its servers, connections, and leaks of secrets.
package privilege
